"""The side of the ledger that everything derived follows: the index by its feed, watchers by changes, and vectors.

Mixed into Ledger, which has the connection, the journal and the transactions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from mnemesh_actors.ledger.commands import FeedPage, KeptVectors
from mnemesh_actors.ledger.feeds import entry_feed, index_feed
from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.ledger.ledger_side import LedgerSide
from mnemesh_actors.ledger.store.faults import question, reading
from mnemesh_actors.ledger.store.rows import marks
from mnemesh_actors.ledger.store.vectors import Key, cached, fill, generations, sweep
from mnemesh_crdt.admission.budget import within
from mnemesh_crdt.changes.envelope import CHANGE
from mnemesh_crdt.document.document import MemoryDocument
from mnemesh_crdt.document.happenings import Happening, happenings
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.watch.watch_values import ERASED, FORGOTTEN, UPDATED, Change, ChangesPage

# Keys of vectors that one step of a sweep looks at.
VECTORS_A_STEP = 1024


class Feeds(LedgerSide):
    """The pages that a ledger gives to its consumers."""

    @reading
    def feed(self, after: int, limit: int, generation: str) -> FeedPage:
        """The next page for the index after `after`, at most `limit` entries and FEED_BYTES_MAX."""
        page = index_feed.page(self._db, after, limit, generation, self._journal.last_seq())
        self._journal.fed(after, generation)
        return page

    feed_again = question(index_feed.again)
    vectors = question(cached)
    vector_generations = question(generations)

    @reading
    def changes(self, after: int, spaces: Sequence[str], limit: int) -> ChangesPage:
        """The changes in `spaces` after `after`, for watchers. See page."""
        return page(self._db, after, spaces, limit, self._journal.last_seq(), self._incarnation)

    first_entries = question(entry_feed.first_entries)
    latest_time = question(entry_feed.latest_time)
    postponed = question(entry_feed.postponed)
    changed_by = question(entry_feed.changed_by)

    def judged(self, ids: Sequence[str]) -> None:
        """The write guard has judged these memories, which were postponed."""
        with self._transaction():
            self._db.executemany("DELETE FROM postponed WHERE doc = ?", [(id_,) for id_ in ids])
            self._cursors.write()
        self._cursors.pending.clear()

    @reading
    def entries(self, after: int, limit: int, space: str = "") -> EntryPage:
        """The next `limit` entries after `after`, of one space or of all. See entry_feed.page."""
        return entry_feed.page(self._db, after, limit, self._journal.last_seq(), self._incarnation, space)

    @reading
    def cursor(self, name: str) -> tuple[str, int]:
        """The incarnation and the last entry that the consumer `name` has taken in. ("", 0) for a new one."""
        return self._cursors.read(name)

    def keep_cursor(self, name: str, incarnation: str, seq: int) -> None:
        """Keep how far the consumer `name` has come. A cursor of another log says nothing here and is not kept."""
        if incarnation == self._incarnation and self._cursors.note(name, incarnation, seq):
            with self._transaction():
                self._cursors.write()
            self._cursors.pending.clear()

    @reading
    def position(self) -> tuple[str, int]:
        """The incarnation of this log and its last sequence number."""
        return self._incarnation, self._journal.last_seq()

    def keep_vectors(self, vectors: KeptVectors) -> None:
        """Cache embeddings that were made outside a write. Raises DiskFull, Unavailable or DataLoss when the disk
        fails."""
        self._room.require()
        with self._transaction():
            fill(self._db, self._journal.still_said(vectors))

    def sweep_vectors(self, after: Key, used: Sequence[str]) -> Key | None:
        """Remove some vectors of models that are no longer in use. Returns where the next step begins, or None at
        the end. Raises Unavailable or DataLoss when the disk fails."""
        with self._transaction():
            self._journal.fed_only(used)
            return sweep(self._db, after, used, VECTORS_A_STEP)


# ---- pages of what changed, for watchers -----------------------------------------------------------------------------
# Bounded by entries, by bytes and by how much of the log one question may pass. Reads and keeps nothing. Entries of
# other spaces are passed by their numbers, so a page may be empty and yet move on.

CHANGES_BYTES_MAX = 1024 * 1024
# One question passes so many numbers of the log. Reading their spaces takes a few milliseconds.
SPAN = 4096
# A change by memory, space and hash.
Done: TypeAlias = tuple[str, str, bytes]


def page(
    db: sqlite3.Connection, after: int, spaces: Sequence[str], limit: int, head: int, incarnation: str
) -> ChangesPage:
    """Changes in `spaces` after `after`, at most `limit`, and CHANGES_BYTES_MAX of content or one."""
    rows = _entries(db, after, spaces, limit)
    end = int(rows[-1][0]) if len(rows) == limit else max(after, min(head, after + SPAN))
    happened = _happenings(db, rows)
    taken: list[Change] = []
    size = 0
    for row in rows:
        change = _change(row, happened)
        size += len(change.content)
        if taken and size > CHANGES_BYTES_MAX:
            end = taken[-1].seq
            break
        taken.append(change)
    return ChangesPage(tuple(taken), end, head, incarnation)


def _entries(db: sqlite3.Connection, after: int, spaces: Sequence[str], limit: int) -> list[Any]:
    # By number and never by an index of spaces (the +), so that the work is bounded by SPAN and comes in order.
    return db.execute(
        "SELECT seq, doc, space, type, hash, agent, node, at FROM entry "
        f"WHERE seq > ? AND seq <= ? AND +space IN ({marks(spaces)}) ORDER BY seq LIMIT ?",
        (after, after + SPAN, *spaces, limit),
    ).fetchall()


def _happenings(db: sqlite3.Connection, rows: Sequence[Any]) -> dict[Done, Happening]:
    """The effects of the changes among `rows`, but for memories with a damaged log. Each memory is loaded once."""
    asked: dict[tuple[str, str], set[bytes]] = {}
    for _, doc, space, type_, hash, *_ in rows:
        if type_ == CHANGE:
            asked.setdefault((doc, space), set()).add(hash)
    happened: dict[Done, Happening] = {}
    for (doc, space), hashes in asked.items():
        log = db.execute(
            "SELECT hash, raw, actor FROM entry WHERE doc = ? AND space = ? AND type = ? ORDER BY seq",
            (doc, space, CHANGE),
        ).fetchall()
        try:
            state = MemoryDocument(doc, space, *within(doc, space, {hash.hex(): raw for hash, raw, _ in log})).state()
        except DataLoss:  # a notice names it, and the watcher goes on
            continue
        named = {hash: state.name_of(hash.hex(), actor.hex()) for hash, _, actor in log}
        did = happenings(state, named.values(), {named[hash] for hash in hashes})
        happened |= {(doc, space, hash): did[named[hash]] for hash in hashes}
    return happened


def _change(row: Any, happened: Mapping[Done, Happening]) -> Change:
    seq, doc, space, type_, hash, agent, node, at = row
    change = Change(seq=seq, type=ERASED, id=doc, space=space, agent=agent, node=node, at=at)
    if type_ != CHANGE:
        return change
    if (done := happened.get((doc, space, hash))) is None:
        return replace(change, type=UPDATED)  # nobody can say more
    if (shown := done.shown) is None:
        return replace(change, type=done.type)
    content = "" if done.type == FORGOTTEN else shown.content
    return replace(change, type=done.type, revision=shown.id, kind=shown.kind, title=shown.title, content=content)
