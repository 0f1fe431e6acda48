"""Cached embeddings: float32 bytes by content hash and model generation. A cache: what is lost is embedded again."""

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
    """Add vectors, inside the caller's transaction."""
    db.executemany(
        "INSERT OR IGNORE INTO vector VALUES (?, ?, ?)",
        [(bytes.fromhex(digest), vectors.generation, data) for digest, data in vectors.items],
    )
