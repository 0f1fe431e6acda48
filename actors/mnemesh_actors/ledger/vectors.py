"""Cached embeddings: float32 bytes by content hash and model generation. A cache: what is lost is embedded again.

A text that an update does not say any more loses its vectors, unless another write brought the same text (`shared`).
What another model made goes when its texts are embedded anew, and else a few at a time with other writes.
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
        "INSERT INTO vector (hash, generation, data) VALUES (?, ?, ?) "
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
    """Removes what other models made. Walks the table once, a few keys a step, and only when there is any."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._there = {row[0] for row in db.execute("SELECT DISTINCT generation FROM vector")}
        self._after: tuple[bytes, str] = (b"", "")

    def sweep(self, generation: str, keys_max: int) -> None:
        """One step for the model in use, "" for none yet, inside the caller's transaction. What a step of a failed
        transaction would have removed goes after the next start."""
        if not generation or self._there <= {generation}:
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
