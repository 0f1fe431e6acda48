"""The time of the world at which a question asks, `valid_at`: which memories held then, and which stood instead.

Without such a time every memory passes, and a superseded one gives way to the last of its successors. An unread row
judges nothing: a memory that hangs on it is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from mnemesh_actors.rows.row_source import RowSource
from mnemesh_memory.policy.validity import held, replaced, stood_instead, successors
from mnemesh_memory.values.model import Memory, Query


class WorldTime:
    """The judge of one query over its rows."""

    def __init__(self, query: Query, rows: RowSource) -> None:
        self._moment = query.valid_at
        self._alone = query.include_superseded
        self._rows = rows

    async def standing(self, memories: Iterable[Memory]) -> set[str]:
        """Ids of the memories that held and were not replaced by another that held; none without a time."""
        asked = list(memories)
        if self._moment is None or not asked:
            return set()
        others = await self._rows.chains(asked)
        instead = {} if self._alone else stood_instead(asked, self._moment, others)
        return {
            memory.id
            for memory in asked
            if memory.id not in instead
            and held(memory, self._moment, others)
            and not self._hangs_on_unread(memory, others, alone=self._alone)
        }

    async def passing(self, memories: Sequence[Memory]) -> Collection[str]:
        """Ids of the memories that may be shown."""
        return {memory.id for memory in memories} if self._moment is None else await self.standing(memories)

    async def instead(self, old: Sequence[Memory]) -> dict[str, Memory]:
        """By the id of each superseded memory, its successor of that time; without a time, the last one."""
        if self._moment is None:
            return await self._rows.ends(old)
        others = await self._rows.chains(old)
        decided = [memory for memory in old if not self._hangs_on_unread(memory, others)]
        return stood_instead(decided, self._moment, others)

    def _hangs_on_unread(self, memory: Memory, others: Mapping[str, Memory], *, alone: bool = False) -> bool:
        """Whether an unread memory decides when this one began or, but for `alone`, may have held instead."""
        unread = self._rows.unread
        if not unread:
            return False
        chain = (memory,) if alone else (memory, *successors(memory, others))
        return any(
            (not alone and link.superseded_by in unread)
            or (link.valid_from is None and not replaced((link,)).isdisjoint(unread))
            for link in chain
        )
