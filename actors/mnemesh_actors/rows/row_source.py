"""The memories of one recall as a reader sees them: as they are now, or as they were recorded at a moment.

Nothing behind this boundary asks for which time it reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from mnemesh_actors.index.shard import Search
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.rows.current_rows import CurrentRows, Tie
from mnemesh_actors.rows.past_rows import PastRows
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.values.model import ListQuery, Memory, Page, Query


class RowSource(Protocol):
    """Rows of the spaces of one query."""

    @property
    def indexed(self) -> bool:
        """Whether index and view hold these very rows. Otherwise most filters are judged after the reading."""

    @property
    def unread(self) -> Collection[str]:
        """Ids that the time for reading did not reach."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Reasons for missing memories: damage, or the end of the time for reading."""

    def note_lost(self, ids: Iterable[str]) -> None:
        """These memories are damaged and may belong to the answer."""

    async def view(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Rows by id; unknown ids are absent."""

    async def ends(self, old: Sequence[Memory]) -> dict[str, Memory]:
        """The last successor of each of these, by the id of the old memory."""

    async def chains(self, memories: Sequence[Memory]) -> Mapping[str, Memory]:
        """These memories, all successors, and everything that the successors replaced."""

    async def ties(self, memories: Sequence[Memory]) -> list[Tie]:
        """The links of these memories."""

    async def page(self, listing: ListQuery) -> Page:
        """A page of a listing, with the filters that the view can judge for these rows."""

    async def matching(self, query: Query) -> tuple[list[str], list[str]] | None:
        """Ids that pass the filters of a query, and ids that lead to such; None when they are judged one by one."""

    def searched(self, search: Search) -> Search:
        """The search with the filters that the index can judge for these rows."""

    async def worded(
        self, text: str, listing: ListQuery, candidates: Candidates, by: float
    ) -> tuple[Candidates, tuple[str, ...]]:
        """The candidates with the words of these rows, and a note on texts that were not looked at. Nothing is read
        after `by`, in the event loop's time."""


def rows_of(parts: NodePorts, query: Query, by: float) -> RowSource:
    """The rows for a query. Of the past nothing is read after `by`, in the event loop's time."""
    if query.as_of is None:
        return CurrentRows(parts, query.spaces)
    return PastRows(parts, query.spaces, query.as_of, by)
