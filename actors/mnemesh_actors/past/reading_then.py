"""Memories as they stood at a time, read out of their histories a few at a time.

Each takes a millisecond and more for each revision, up to tenths of a second, and the ledger does nothing else
meanwhile: so a call ends after READ_AT_ONCE_S, and writers get in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.values.model import Memory

READ_AT_ONCE = 8
READ_AT_ONCE_S = 0.02


async def read_then(
    parts: NodePorts, ids: Sequence[str], at: int, by: float | None = None
) -> tuple[dict[str, Memory], list[str]]:
    """Memories as they were recorded at `at` (ms), without those that were not there yet; and the ids that were not
    looked at, because nothing is read after `by`, in the event loop's time."""
    now = asyncio.get_running_loop().time
    found: dict[str, Memory] = {}
    start = 0
    while start < len(ids) and (by is None or now() <= by):
        some = ids[start : start + READ_AT_ONCE]
        part, read = await parts.ledger.read_some_as_of(some, at, READ_AT_ONCE_S, parts.clock())
        found |= part
        start += read
    return found, list(ids[start:])
