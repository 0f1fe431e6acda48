"""The side of the ledger for readers: memories now and in the past. Changes nothing.

Thin: what a question means stands in reads and histories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final, NamedTuple

from mnemesh_actors.ledger.commit.history_writes import Histories
from mnemesh_actors.ledger.store import file_table, link_table, reads, session_reads
from mnemesh_actors.ledger.store.faults import question, reading
from mnemesh_actors.ledger.store.rows import RowDamaged
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.values.errors import DataLoss, MnemeshError, NotFound
from mnemesh_memory.values.model import ListQuery, Memory, Page, Query

QUICK_ROWS_MAX = 64
# The texts of a draft for a quick lookup with its vectors.
QUICK_HASHES_MAX = 8
# Reads of memories by id, for a recall, for the marks of results and for a table that follows the log.
QUICK_BY_ID = ("read", "touch", "from_peers", "activity", "ties", "hidden", "tagged")
# By method, whether a call is quick. `ports.py` refuses a name that no method has.
QUICK: Final[Mapping[str, Callable[..., bool]]] = {
    **dict.fromkeys(QUICK_BY_ID, lambda ids, *_: len(ids) <= QUICK_ROWS_MAX),
    "prepare": lambda lookups, hashes, *_: len(lookups) == 1 and len(hashes) <= QUICK_HASHES_MAX,
    "entries": lambda after, limit, *_: limit <= QUICK_ROWS_MAX,
}


class ChangedIds(NamedTuple):
    """Ids of memories changed since, in the order to read them. Also ids of further matches beyond the limit, and
    whether more were changed than are listed."""

    ids: list[str]
    unread: list[str]
    more: bool


class Views(Histories):
    """The answers of a ledger to readers. Mixed into Ledger, which has the connection and the journal."""

    def quick(self, method: str, args: tuple[Any, ...]) -> bool:
        """Few rows by their keys, and notes in memory: some tenths of a millisecond, which no reader or writer of the
        file delays."""
        return method in QUICK and QUICK[method](*args)

    @reading
    def read(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Memories by id. Unknown ids are absent, and so are those that are lost."""
        memories = reads.by_ids(self._db, ids)
        if len(memories) < len(ids):
            self._lost([id_ for id_ in ids if id_ not in memories])
        return memories

    @reading
    def lost(self, ids: Sequence[str], within: Sequence[str], past: bool = False) -> list[str]:
        """The part of `ids`, in spaces under `within`, that is damaged in the log and in the view. Of the `past`, which
        only the log has, damage in the log is enough."""
        return self._scrub.lost_past(ids, within) if past else self._lost(ids, within)

    def _lost(self, ids: Sequence[str], within: Sequence[str] | None = None) -> list[str]:
        lost = self._scrub.lost(ids, within)
        self._tell([])
        return lost

    @reading
    def find(
        self, keys: Sequence[str], spaces: Sequence[str], within: Sequence[str] | None = None
    ) -> list[Memory | MnemeshError]:
        """A memory for each id, unique prefix or title (of `spaces`), or NotFound. With `within`, patterns of spaces,
        nothing else is there at all. Raises InvalidArgument for an ambiguous prefix."""
        answers: list[Memory | MnemeshError] = []
        for key in keys:
            try:
                answers.append(self._journal.memory(reads.resolve(self._db, key, spaces, within)))
            except NotFound as error:
                lost = self._lost([key.strip().lower()], within)
                answers.append(RowDamaged(lost[0]) if lost else error)
        return answers

    @reading
    def replaceable(self, keys: Sequence[str], space: str, visible: Sequence[str] = ()) -> list[str]:
        """Ids of the memories that a draft for `space` would supersede. `visible` as in Create. Raises NotFound,
        InvalidArgument (ambiguous) or FailedPrecondition, as the write would."""
        return [self._admission.replaceable(key, space, visible).id for key in keys]

    @reading
    def read_some_as_of(
        self, ids: Sequence[str], at: int, within_s: float, clock: int | None = None
    ) -> tuple[dict[str, Memory], int]:
        """Memories as recorded at `at` (ms), without those that did not exist yet, and how many were looked at: the
        first one, and more until `within_s` is over, because nobody else is served meanwhile. Nothing was recorded
        after `clock`, the node's time now."""
        until = perf_counter() + within_s
        now = self.read(ids)
        memories: dict[str, Memory] = {}
        for number, id_ in enumerate(ids):
            if number and perf_counter() > until:
                return memories, number
            then = self._then(now[id_], at, clock) if id_ in now else None
            if then is not None:
                memories[id_] = then
        return memories, len(ids)

    def _then(self, memory: Memory, at: int, clock: int | None) -> Memory | None:
        """A memory as recorded at `at`, None for a later one or for a damaged log."""
        try:
            return None if memory.id in self._scrub.hopeless else self._as_of(memory, at, clock)
        except DataLoss:
            if not self._hurt([memory.id]):
                raise
            return None

    @reading
    def changed(self, query: ListQuery, at: int, matched: Sequence[str]) -> ChangedIds:
        """Memories changed after `at` (ms): the last changed ones under `query`, up to its limit, and the first of the
        others in `matched`, up to the same limit."""
        ids = reads.changed(self._db, query, at)
        newest, late = ids[: query.limit], reads.changed_of(self._db, matched, at).difference(ids[: query.limit])
        rest = [id_ for id_ in matched if id_ in late]
        return ChangedIds([*newest, *rest[: query.limit]], rest[query.limit :], len(ids) > query.limit)

    @reading
    def reworded(
        self, ids: Sequence[str], at: int, within_s: float, clock: int | None = None
    ) -> tuple[list[Memory], int]:
        """Of these memories, as recorded at `at` (ms), those with other searched texts by now, and how many were looked
        at. After `within_s` only the first one is sure, because nobody else is served meanwhile.
        """
        then, number = self.read_some_as_of(ids, at, within_s, clock)
        now = self.read(list(then))
        return [memory for id_, memory in then.items() if index_texts(memory) != index_texts(now[id_])], number

    @reading
    def successors(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Where the chain of successors of each superseded memory ends. A chain that ends nowhere, or runs in a circle,
        is absent."""
        ends = reads.chain_ends(ids, lambda id_: reads.successor(self._db, id_))
        memories = self.read(list(dict.fromkeys(ends.values())))
        return {
            id_: memories[end] for id_, end in ends.items() if end in memories and memories[end].state != "superseded"
        }

    chains = question(reads.chains)
    behind = question(reads.behind)
    stats = question(reads.stats)
    export_page = question(reads.export_page)
    tagged = question(reads.tagged)
    from_peers = question(reads.from_peers)
    last_tagged = question(session_reads.last_tagged)
    linked = question(link_table.linked)
    ties = question(link_table.ties)
    hidden = question(link_table.hidden)
    derived = question(link_table.derived)
    file_folders = question(file_table.folders)
    naming = question(file_table.naming)
    all_naming = question(file_table.all_naming)
    last_entries = question(file_table.last_entries)

    @reading
    def matching(self, query: Query, now: int) -> tuple[list[str], list[str]]:
        """Ids of the memories that pass the filters of a recall, newest first, and of their predecessors. Lost memories
        are among these: nobody knows whether they pass, and a reader is told."""
        ids, replaced = reads.matching(self._db, query, self._uses.pending, now)
        return [*ids, *self._scrub.lost_in(query.spaces)], replaced

    @reading
    def opening(self, spaces: Sequence[str], limit: int, now: int) -> dict[str, list[Memory]]:
        """The memories of each group of a context."""
        return session_reads.opening(self._db, spaces, limit, self._uses.pending, now)

    @reading
    def page(self, query: ListQuery) -> Page:
        """One page."""
        page = reads.page(self._db, query)
        named = query.spaces if query.within is None else query.within
        return replace(page, lost=tuple(self._scrub.lost_in(named))) if self._scrub.hopeless else page

    @reading
    def timeline(self, id_: str, before: int, after: int) -> tuple[list[Memory], int]:
        """Neighbours in time, and the position of the asked memory among them."""
        return reads.timeline(self._db, self._journal.memory(id_), before, after)
