"""Memories as they were recorded at a moment.

A row of the past is made out of a history, which is slow. Each is read once for a recall, and none when the time for
reading is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mnemesh_actors.index.shard import Search
from mnemesh_actors.ledger.store.reads import chain_ends
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.rows.past_reads import read_then
from mnemesh_actors.rows.past_words import as_worded
from mnemesh_actors.rows.row_source import RowSource, Tie
from mnemesh_memory.policy.validity import replaced
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.values.errors import count_of
from mnemesh_memory.values.memory_links import ATTACHED_TYPES, OUT
from mnemesh_memory.values.model import ListQuery, Memory, Page, Query

# Index and view hold today's words and states: filters on fields that may have had other values are left out.
_OPEN: Final[dict[str, Any]] = {
    "kinds": (),
    "tags_any": (),
    "tags_all": (),
    "tags_none": (),
    "window": None,
    "hidden": (),
}


def rows_of(parts: NodePorts, query: Query, by: float) -> RowSource:
    """The rows for a query: of now, or of its moment. Of the past nothing is read after `by`, in the event loop's
    time."""
    return RowSource(parts, query.spaces) if query.as_of is None else PastRows(parts, query.spaces, query.as_of, by)


class PastRows(RowSource):
    """Rows of the moment `at` (ms), read until `by`, in the event loop's time."""

    indexed = False

    def __init__(self, parts: NodePorts, spaces: tuple[str, ...], at: int, by: float) -> None:
        super().__init__(parts, spaces)
        self._at = at
        self._by = by
        self._rows: dict[str, Memory | None] = {}

    @property
    def left_out(self) -> tuple[str, ...]:
        if not self.unread:
            return super().left_out
        number = count_of(len(self.unread), "memory")
        told = f"as_of: the time was over before {number} could be read as of then, which may belong here"
        return (*super().left_out, told)

    async def view(self, ids: Sequence[str]) -> dict[str, Memory]:
        wanted = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._rows]
        rows, unread = await read_then(self._parts, wanted, self._at, self._by)
        self.unread = {*unread, *self.unread} - rows.keys()
        self._rows |= {id_: rows.get(id_) for id_ in wanted if id_ not in self.unread}
        await self._note_lost([id_ for id_ in wanted if id_ not in rows and id_ not in unread])
        return {id_: memory for id_ in ids if (memory := self._rows.get(id_)) is not None}

    async def ends(self, old: Sequence[Memory]) -> dict[str, Memory]:
        chain = await self._successors(old)
        last = chain_ends([memory.id for memory in old], lambda id_: _next(chain, id_))
        return {id_: chain[end] for id_, end in last.items() if end in chain and chain[end].state != "superseded"}

    async def chains(self, memories: Iterable[Memory]) -> Mapping[str, Memory]:
        chain = await self._successors(memories)
        return {**await self.view(sorted(replaced(chain.values()) - chain.keys())), **chain}

    async def _successors(self, memories: Iterable[Memory]) -> dict[str, Memory]:
        """These memories, and all their successors."""
        last = {memory.id: memory for memory in memories}
        chain = dict(last)
        while todo := {memory.superseded_by for memory in last.values() if memory.superseded_by} - chain.keys():
            last = await self.view(sorted(todo))
            chain |= last
        return chain

    async def ties(self, memories: Sequence[Memory]) -> list[Tie]:
        return [
            (memory.id, link.type, OUT, link.id)
            for memory in memories
            for link in memory.links
            if link.type in ATTACHED_TYPES
        ]

    async def page(self, listing: ListQuery) -> Page:
        page = await super().page(self._listed(listing))
        ids = [memory.id for memory in page.memories]
        rows = await self.view(ids)
        return replace(page, memories=tuple(rows[id_] for id_ in ids if id_ in rows))

    async def matching(self, query: Query) -> None:
        return None

    def searched(self, search: Search) -> Search:
        before = self._before(search.before)
        return replace(search, before=before, include_archive=True, include_forgotten=True, windows=False, **_OPEN)

    def _listed(self, listing: ListQuery) -> ListQuery:
        return replace(listing, before=self._before(listing.before), state="all", **_OPEN)

    def _before(self, before: int | None) -> int:
        return self._at + 1 if before is None else min(before, self._at + 1)

    async def worded(
        self, text: str, listing: ListQuery, candidates: Candidates, by: float
    ) -> tuple[Candidates, tuple[str, ...]]:
        return await as_worded(self._parts, text, self._listed(listing), self._at, candidates, by)


def _next(chain: Mapping[str, Memory], id_: str) -> str:
    return chain[id_].superseded_by if id_ in chain and chain[id_].state == "superseded" else ""
