"""The memories of one recall as a reader sees them: here as they are now, in past_rows as they were at a moment.

Nothing that holds a RowSource asks for which time it reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from mnemesh_actors.index.shard import Search
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.ranking.answers import left_out
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.values.model import ListQuery, Memory, Page, Query

# Memory, type, direction and the id of the other end.
Tie: TypeAlias = tuple[str, str, str, str]


class RowSource:
    """Rows of some spaces, from the view of the ledger."""

    # Whether index and view hold these very rows. Otherwise most filters are judged after the reading.
    indexed = True

    def __init__(self, parts: NodePorts, spaces: tuple[str, ...]) -> None:
        self._parts = parts
        self._spaces = spaces
        self._lost: dict[str, None] = {}
        self._rows: dict[str, Memory | None] = {}  # Each row is read once.
        self._ties: dict[str, list[Tie]] = {}
        self._chains: dict[str, Memory] = {}
        self._walked: set[str] = set()
        self.unread: Collection[str] = ()  # Ids that the time for reading did not reach.

    @property
    def left_out(self) -> tuple[str, ...]:
        """Reasons for missing memories: damage, or the end of the time for reading."""
        return left_out(list(self._lost))

    async def _note_lost(self, absent: Sequence[str]) -> None:
        """Memories among `absent` that are damaged may belong to the answer."""
        if absent:
            self._lost |= dict.fromkeys(await self._parts.ledger.lost(absent, self._spaces, not self.indexed))

    async def view(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Rows by id; unknown ids are absent."""
        wanted = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._rows]
        if wanted:
            rows = await self._parts.ledger.read(wanted)
            self._rows |= {id_: rows.get(id_) for id_ in wanted}
            await self._note_lost([id_ for id_ in wanted if id_ not in rows])
        return {id_: memory for id_ in ids if (memory := self._rows[id_]) is not None}

    async def ends(self, old: Sequence[Memory]) -> dict[str, Memory]:
        """The last successor of each of these, by the id of the old memory."""
        # Mostly the next memory is the last: a row by its id, and no walk that may be long.
        following = await self.view([memory.superseded_by for memory in old if memory.superseded_by])
        found = {memory.id: following[by] for memory in old if (by := memory.superseded_by) in following}
        far = [id_ for id_, memory in found.items() if memory.state == "superseded"]
        if not far:
            return found
        ends = await self._parts.ledger.successors(far)
        return {id_: end for id_, memory in found.items() if (end := ends.get(id_) if id_ in far else memory)}

    async def chains(self, memories: Iterable[Memory]) -> Mapping[str, Memory]:
        """These memories, all successors, and everything that the successors replaced."""
        # A predecessor comes without its own predecessors and successors.
        if left := [memory.id for memory in memories if memory.id not in self._walked]:
            self._chains |= await self._parts.ledger.chains(left)
            for id_ in left:
                while id_ in self._chains and id_ not in self._walked:
                    self._walked.add(id_)
                    id_ = self._chains[id_].superseded_by
        return self._chains

    async def ties(self, memories: Sequence[Memory]) -> list[Tie]:
        """The links of these memories."""
        ids = [memory.id for memory in memories]
        if left := [id_ for id_ in ids if id_ not in self._ties]:
            found: dict[str, list[Tie]] = {id_: [] for id_ in left}
            for tie in await self._parts.ledger.ties(left):
                found[tie[0]].append(tie)
            self._ties |= found
        return [tie for id_ in ids for tie in self._ties[id_]]

    async def page(self, listing: ListQuery) -> Page:
        """A page of a listing, with the filters that the view can judge for these rows."""
        page = await self._parts.ledger.page(listing)
        self._lost |= dict.fromkeys(page.lost)
        return page

    async def matching(self, query: Query) -> tuple[list[str], list[str]] | None:
        """Ids that pass the filters of a query, and ids that lead to such; None when they are judged one by one."""
        return await self._parts.ledger.matching(query, self._parts.clock())

    def searched(self, search: Search) -> Search:
        """The search with the filters that the index can judge for these rows."""
        return search

    async def worded(
        self, text: str, listing: ListQuery, candidates: Candidates, by: float
    ) -> tuple[Candidates, tuple[str, ...]]:
        """The candidates with the words of these rows, and a note on texts that were not looked at. Nothing is read
        after `by`, in the event loop's time."""
        return candidates, ()
