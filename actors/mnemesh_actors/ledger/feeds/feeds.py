"""The side of the ledger that everything derived follows: the index by its feed, watchers by changes, and vectors.

Mixed into Ledger, which has the connection, the journal and the transactions.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemesh_actors.ledger.commit.commands import FeedPage, Vectors
from mnemesh_actors.ledger.feeds import changes, entry_feed, index_feed
from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.ledger.integrity.faults import question, reading
from mnemesh_actors.ledger.integrity.view_repair import Mending
from mnemesh_actors.ledger.store.vectors import Key, cached, fill, generations, sweep
from mnemesh_memory.watch.watch_values import ChangesPage

# Keys of vectors that one step of a sweep looks at.
VECTORS_A_STEP = 1024


class Feeds(Mending):
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
        """The changes in `spaces` after `after`, for watchers. See changes.page."""
        return changes.page(self._db, after, spaces, limit, self._journal.last_seq(), self._incarnation)

    first_entries = question(entry_feed.first_entries)
    postponed = question(entry_feed.postponed)
    changed_by = question(entry_feed.changed_by)

    def judged(self, ids: Sequence[str]) -> None:
        """The write guard has judged these memories, which were postponed."""
        with self._transaction():
            self._db.executemany("DELETE FROM postponed WHERE doc = ?", [(id_,) for id_ in ids])
            self._cursors.write()
        self._cursors.written()

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
            self._cursors.written()

    @reading
    def position(self) -> tuple[str, int]:
        """The incarnation of this log and its last sequence number."""
        return self._incarnation, self._journal.last_seq()

    def keep_vectors(self, vectors: Vectors) -> None:
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
