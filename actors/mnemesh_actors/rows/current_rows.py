"""Memories as they are now, from the view of the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from mnemesh_actors.index.shard import Search
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.ranking.answers import left_out
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.values.model import ListQuery, Memory, Page, Query

# Memory, type, direction and the id of the other end.
Tie: TypeAlias = tuple[str, str, str, str]


class CurrentRows:
    """See RowSource."""

    indexed = True
    unread: frozenset[str] = frozenset()

    def __init__(self, parts: NodePorts, spaces: tuple[str, ...]) -> None:
        self._parts = parts
        self._spaces = spaces
        self._lost: dict[str, None] = {}
        self._chains: dict[str, Memory] = {}
        self._walked: set[str] = set()

    @property
    def left_out(self) -> tuple[str, ...]:
        return left_out(list(self._lost))

    def note_lost(self, ids: Iterable[str]) -> None:
        self._lost |= dict.fromkeys(ids)

    async def view(self, ids: Sequence[str]) -> dict[str, Memory]:
        rows = await self._parts.ledger.read(ids) if ids else {}
        if absent := [id_ for id_ in ids if id_ not in rows]:
            self.note_lost(await self._parts.ledger.lost(absent, self._spaces, False))
        return rows

    async def ends(self, old: Sequence[Memory]) -> dict[str, Memory]:
        return await self._parts.ledger.successors([memory.id for memory in old]) if old else {}

    async def chains(self, memories: Sequence[Memory]) -> Mapping[str, Memory]:
        # A predecessor comes without its own predecessors and successors.
        if left := [memory.id for memory in memories if memory.id not in self._walked]:
            self._chains |= await self._parts.ledger.chains(left)
            for id_ in left:
                while id_ in self._chains and id_ not in self._walked:
                    self._walked.add(id_)
                    id_ = self._chains[id_].superseded_by
        return self._chains

    async def ties(self, memories: Sequence[Memory]) -> list[Tie]:
        return await self._parts.ledger.ties([memory.id for memory in memories])

    async def page(self, listing: ListQuery) -> Page:
        page = await self._parts.ledger.page(listing)
        self.note_lost(page.lost)
        return page

    async def matching(self, query: Query) -> tuple[list[str], list[str]] | None:
        return await self._parts.ledger.matching(query, self._parts.clock())

    def searched(self, search: Search) -> Search:
        return search

    async def worded(
        self, text: str, listing: ListQuery, candidates: Candidates, by: float
    ) -> tuple[Candidates, tuple[str, ...]]:
        return candidates, ()
