"""Cached embeddings: float32 bytes by content hash and model generation. A cache: what is lost is embedded again.

A text that an update does not say any more loses its vectors, unless another write brought the same text (`shared`).
What another model made goes when its texts are embedded anew, and else a few at a time with other writes, once the
index has taken in what the log held at the start: until then it tells which texts are shared.

Some stay though no memory says their text: shared ones, what one of two updates at the same time brought and the other
replaced, and the text under a title that was cut when it was stored. They cost room and nothing else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from mnemesh_actors.ledger.commands import Vectors

HASHES_A_QUERY = 500


def cached(db: sqlite3.Connection, hashes: Sequence[str], generation: str) -> dict[str, bytes]:
    """Vectors of one generation by content hash in hex; those not cached are absent."""
    wanted, found = list(dict.fromkeys(hashes)), {}
    for start in range(0, len(wanted), HASHES_A_QUERY):
        part = [bytes.fromhex(value) for value in wanted[start : start + HASHES_A_QUERY]]
        marks = ", ".join("?" * len(part))
        for digest, data in db.execute(
            f"SELECT hash, data FROM vector WHERE hash IN ({marks}) AND generation = ?", (*part, generation)
        ):
            found[digest.hex()] = data
    return found


def keep(db: sqlite3.Connection, vectors: Vectors) -> None:
    """Add what a write brought and drop what it made stale, inside the caller's transaction."""
    db.executemany(
        "INSERT INTO vector (hash, generation, data, shared) "
        "VALUES (?1, ?2, ?3, EXISTS (SELECT 1 FROM vector WHERE hash = ?1)) "
        "ON CONFLICT (hash, generation) DO UPDATE SET shared = 1 WHERE NOT shared",
        # A text may stand in one memory twice; that does not make it shared.
        [(bytes.fromhex(digest), vectors.generation, data) for digest, data in dict(vectors.items).items()],
    )
    db.executemany(
        "DELETE FROM vector WHERE hash = ? AND NOT shared", [(bytes.fromhex(digest),) for digest in vectors.stale]
    )


def fill(db: sqlite3.Connection, vectors: Vectors) -> None:
    """Add what was made for texts that are stored already, in place of what other models made of them, inside the
    caller's transaction."""
    given = [(bytes.fromhex(digest), vectors.generation, data) for digest, data in vectors.items]
    db.executemany(
        "INSERT OR IGNORE INTO vector (hash, generation, data, shared) "
        "VALUES (?1, ?2, ?3, coalesce((SELECT max(shared) FROM vector WHERE hash = ?1), 0))",
        given,
    )
    db.executemany("DELETE FROM vector WHERE hash = ? AND generation <> ?", [row[:2] for row in given])


class OldGenerations:
    """Removes what other models made. Walks the table once, a few keys a step, and only when there is any. `head` is
    the log's last number at the start."""

    def __init__(self, db: sqlite3.Connection, head: int) -> None:
        self._db = db
        self._head = head
        self._given = self._taken = -1
        self._there = {row[0] for row in db.execute("SELECT DISTINCT generation FROM vector")}
        self._after: tuple[bytes, str] = (b"", "")

    def fed(self, taken: int, given: int) -> None:
        """The index has taken in the log up to `taken` and is given what follows up to `given`."""
        self._taken, self._given = max(self._taken, taken), given

    def filled(self) -> None:
        """What the index was given last has its vectors, all of them."""
        self._taken = max(self._taken, self._given)

    def sweep(self, generation: str, keys_max: int) -> None:
        """One step for the model in use, "" for none yet, inside the caller's transaction. What a step of a failed
        transaction would have removed goes after the next start."""
        if not generation or self._there <= {generation} or self._taken < self._head:
            return
        keys = self._db.execute(
            "SELECT hash, generation FROM vector WHERE (hash, generation) > (?, ?) ORDER BY hash, generation LIMIT ?",
            (*self._after, keys_max),
        ).fetchall()
        self._db.executemany(
            "DELETE FROM vector WHERE hash = ? AND generation = ?", [key for key in keys if key[1] != generation]
        )
        if keys:
            self._after = keys[-1]
        else:
            self._there = {generation}
