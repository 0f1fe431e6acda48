"""The side of the ledger that everything derived follows: the index by its feed, watchers by changes; and vectors.

Mixed into Ledger, which has the connection, the journal and the transactions.
"""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager

from mnemesh_actors.disk import DiskRoom
from mnemesh_actors.ledger import changes, feed
from mnemesh_actors.ledger.commands import FeedPage, Vectors
from mnemesh_actors.ledger.faults import reading
from mnemesh_actors.ledger.journal import Journal
from mnemesh_actors.ledger.mending import Mending
from mnemesh_actors.ledger.vectors import Key, cached, fill, generations, sweep
from mnemesh_memory.watching import ChangesPage

# Keys of vectors that are looked at in one step for those of models that are in use no more.
VECTORS_A_STEP = 1024


class Feeds(Mending):
    """What a ledger gives to those who follow it."""

    _db: sqlite3.Connection
    _journal: Journal
    _room: DiskRoom
    _incarnation: str

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[None]:
        """All of what is written inside is stored, or nothing of it."""

    @reading
    def feed(self, after: int, limit: int, generation: str) -> FeedPage:
        """What the index has to take in after `after`, at most `limit` entries and FEED_BYTES_MAX."""
        page = feed.page(self._db, after, limit, generation, self._journal.last_seq())
        self._journal.fed(after, generation)
        return page

    @reading
    def feed_again(self, ids: Sequence[str], generation: str, upto: int) -> FeedPage:
        """What the index has to know of these memories; see feed.again."""
        return feed.again(self._db, ids, generation, upto)

    @reading
    def changes(self, after: int, spaces: Sequence[str], limit: int) -> ChangesPage:
        """What changed in `spaces` after `after`, for watchers; see changes.page."""
        return changes.page(self._db, after, spaces, limit, self._journal.last_seq(), self._incarnation)

    @reading
    def touched(self, after: int, limit: int) -> tuple[list[str], int]:
        """Ids of the memories that entries after `after` changed, and the last number seen; see changes.touched."""
        return changes.touched(self._db, after, limit)

    @reading
    def position(self) -> tuple[str, int]:
        """The incarnation of this log and its last sequence number."""
        return self._incarnation, self._journal.last_seq()

    @reading
    def vectors(self, hashes: Sequence[str], generation: str) -> dict[str, bytes]:
        """Cached embeddings of one generation, float32 bytes by content hash; those not cached are absent."""
        return cached(self._db, hashes, generation)

    def keep_vectors(self, vectors: Vectors) -> None:
        """Cache embeddings that were made outside a write. Raises DiskFull, Unavailable or DataLoss when the disk
        fails."""
        self._room.require()
        with self._transaction():
            fill(self._db, self._journal.still_said(vectors))

    @reading
    def vector_generations(self) -> list[str]:
        """The generations of which there are vectors."""
        return generations(self._db)

    def sweep_vectors(self, after: Key, used: Sequence[str]) -> Key | None:
        """One step in removing the vectors of models that are in use no more: where the next one begins, None when
        there is nothing more. Raises Unavailable or DataLoss when the disk fails."""
        with self._transaction():
            self._journal.fed_only(used)
            return sweep(self._db, after, used, VECTORS_A_STEP)
