"""Cached embeddings: float32 bytes by content hash and model generation. A cache: a lost or damaged vector is made
again. Only the embedder recognises damage (Embedder.stored).

A text that an update does not say any more loses its vectors, unless another write brought the same text (`shared`).
Those of several generations stand beside each other while one takes over from another. Vectors of a model out of use go
when the index of the model in use is complete. Until then they tell which texts are shared.

Some vectors stay though no memory says their text. These are shared ones, the losers of two updates at the same time,
and texts under a title that was cut when stored. They cost room and nothing else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from mnemesh_actors.ledger.commands import KeptVectors
from mnemesh_actors.ledger.store.rows import marks

HASHES_A_QUERY = 500
Key = tuple[bytes, str]  # content hash and generation
FIRST: Key = (b"", "")


def cached(db: sqlite3.Connection, hashes: Sequence[str], generation: str) -> dict[str, bytes]:
    """Vectors of one generation by content hash in hex. Those not cached are absent."""
    wanted, vectors = list(dict.fromkeys(hashes)), {}
    for start in range(0, len(wanted), HASHES_A_QUERY):
        part = [bytes.fromhex(value) for value in wanted[start : start + HASHES_A_QUERY]]
        for digest, data in db.execute(
            f"SELECT hash, data FROM vector WHERE hash IN ({marks(part)}) AND generation = ?", (*part, generation)
        ):
            vectors[digest.hex()] = data
    return vectors


def keep(db: sqlite3.Connection, vectors: KeptVectors) -> None:
    """Add the vectors of a write and drop the stale ones, inside the caller's transaction."""
    # A text may stand in one memory twice, which does not make it shared.
    given = [(bytes.fromhex(digest), vectors.generation, data) for digest, data in dict(vectors.items).items()]
    db.executemany("UPDATE vector SET shared = 1 WHERE hash = ? AND NOT shared", [row[:1] for row in given])
    db.executemany(
        "INSERT OR IGNORE INTO vector (hash, generation, data, shared) "
        "VALUES (?1, ?2, ?3, EXISTS (SELECT 1 FROM vector WHERE hash = ?1))",
        given,
    )
    db.executemany(
        "DELETE FROM vector WHERE hash = ? AND NOT shared", [(bytes.fromhex(digest),) for digest in vectors.stale]
    )


def fill(db: sqlite3.Connection, vectors: KeptVectors) -> None:
    """Add what was made for texts that are stored already, inside the caller's transaction. It takes the place of what
    is there and was of no use."""
    db.executemany(
        "INSERT INTO vector (hash, generation, data, shared) "
        "VALUES (?1, ?2, ?3, coalesce((SELECT max(shared) FROM vector WHERE hash = ?1), 0)) "
        "ON CONFLICT (hash, generation) DO UPDATE SET data = excluded.data WHERE data <> excluded.data",
        [(bytes.fromhex(digest), vectors.generation, data) for digest, data in vectors.items],
    )


def generations(db: sqlite3.Connection) -> list[str]:
    """The generations of which there are vectors."""
    return [row[0] for row in db.execute("SELECT DISTINCT generation FROM vector ORDER BY generation")]


def sweep(db: sqlite3.Connection, after: Key, used: Sequence[str], keys_max: int) -> Key | None:
    """One step through the table, inside the caller's transaction. Of the `keys_max` keys after `after`, those of no
    `used` generation go. Where the next step begins, None at the end."""
    keys = db.execute(
        "SELECT hash, generation FROM vector WHERE (hash, generation) > (?, ?) ORDER BY hash, generation LIMIT ?",
        (*after, keys_max),
    ).fetchall()
    db.executemany("DELETE FROM vector WHERE hash = ? AND generation = ?", [key for key in keys if key[1] not in used])
    return keys[-1] if len(keys) == keys_max else None
