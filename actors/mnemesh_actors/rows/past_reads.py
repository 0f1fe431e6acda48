"""Reads of histories, a few at a time.

Each history takes a millisecond and more for each revision, up to tenths of a second, and the ledger does nothing else
meanwhile. A call therefore ends after READ_AT_ONCE_S, and writers get in between.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.values.model import Memory

READ_AT_ONCE = 8
READ_AT_ONCE_S = 0.02
Portion = TypeVar("Portion")


async def read_then(
    parts: NodePorts, ids: Sequence[str], at: int, by: float = math.inf
) -> tuple[dict[str, Memory], list[str]]:
    """Memories as they were recorded at `at` (ms), without those that were not there yet. Then the ids that were not
    looked at, because nothing is read after `by`, in the event loop's time."""

    async def read(some: Sequence[str]) -> tuple[dict[str, Memory], int]:
        return await parts.ledger.read_some_as_of(some, at, READ_AT_ONCE_S, parts.clock())

    portions, number = await _portions(ids, by, read)
    return {id_: memory for portion in portions for id_, memory in portion.items()}, list(ids[number:])


async def reworded_then(parts: NodePorts, ids: Sequence[str], at: int, by: float) -> tuple[list[Memory], int]:
    """Of the first of `ids` the memories with another text at `at` (ms), and how many were looked at."""

    async def read(some: Sequence[str]) -> tuple[list[Memory], int]:
        return await parts.ledger.reworded(some, at, READ_AT_ONCE_S, parts.clock())

    portions, number = await _portions(ids, by, read)
    return [memory for portion in portions for memory in portion], number


async def _portions(
    ids: Sequence[str], by: float, read: Callable[[Sequence[str]], Awaitable[tuple[Portion, int]]]
) -> tuple[list[Portion], int]:
    """The answers of `read` to a few ids at a time, and the number of ids read in time."""
    now = asyncio.get_running_loop().time
    portions: list[Portion] = []
    done = 0
    while done < len(ids) and now() <= by:
        portion, number = await read(ids[done : done + READ_AT_ONCE])
        portions.append(portion)
        done += number
    return portions, done
