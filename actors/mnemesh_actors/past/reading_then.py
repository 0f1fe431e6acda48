"""Memories as they stood at a time, read out of their histories a few at a time.

Each memory takes a millisecond and more for each revision, up to tenths of a second, and the ledger does nothing else
meanwhile. A call therefore ends after READ_AT_ONCE_S, and writers get in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.values.model import Memory

READ_AT_ONCE = 8
READ_AT_ONCE_S = 0.02


async def read_then(
    parts: NodePorts, ids: Sequence[str], at: int, by: float | None = None
) -> tuple[dict[str, Memory], list[str]]:
    """Memories as recorded at `at` (ms), without later ones. Also the ids that were not looked at, because nothing is
    read after `by`, in the event loop's time."""
    found: dict[str, Memory] = {}

    async def read(some: Sequence[str]) -> int:
        part, number = await parts.ledger.read_some_as_of(some, at, READ_AT_ONCE_S, parts.clock())
        found.update(part)
        return number

    return found, list(ids[await in_steps(ids, by, read) :])


async def in_steps(ids: Sequence[str], by: float | None, read: Callable[[Sequence[str]], Awaitable[int]]) -> int:
    """Give `ids` to `read`, a few at a time, until `by`. Returns how many it has read."""
    now, start = asyncio.get_running_loop().time, 0
    while start < len(ids) and (by is None or now() <= by):
        start += await read(ids[start : start + READ_AT_ONCE])
    return start
