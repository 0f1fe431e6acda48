"""A ledger's shelf in a database in memory, and everything that it keeps, to be compared with a MemoryShelf."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mnemesh_actors.ledger.peers.sqlite_shelf import SqliteShelf
from mnemesh_actors.ledger.store import schema
from mnemesh_actors.ledger.store.entry_rows import COLUMNS, entry_of
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_crdt.intake.arrivals import Brought

_KEY: Final = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"shelf").digest())


class OpenShelf:
    """`shelf` with its database, which is of the node `node_id`."""

    def __init__(self, node_id: str, db: sqlite3.Connection | None = None) -> None:
        self.node_id = node_id
        self.db = db or schema.connect(Path(":memory:"))
        self.journal = Journal(self.db, _KEY, node_id)
        self.shelf = SqliteShelf(self.db, self.journal)

    def copy(self) -> OpenShelf:
        db = sqlite3.connect(":memory:", isolation_level=None)
        self.db.backup(db)
        return OpenShelf(self.node_id, db)

    def holdings(self) -> dict[str, Any]:
        """In the form of MemoryShelf.holdings, and read from the tables."""
        log = self.db.execute(
            "SELECT doc, space, type, hash, raw, agent, node, signature, at, seq, origin, actor FROM entry"
        )
        spaces = self.db.execute("SELECT DISTINCT space FROM document").fetchall()
        return {
            "log": [(row[9], entry_of(row), row[10], row[11].hex() if row[11] else "") for row in log],
            "documents": {
                (doc, space, bool(gone)) for doc, space, gone in self._all("doc, space, erased FROM document")
            },
            "pending": [(brought, awaited) for brought, awaited, *_ in self._aside("pending", "x'', '', 0")],
            "quarantine": self._aside("quarantine", "key, reason, rules"),
            "keys": set(self._all("node, key, sender FROM node_key")),
            "digests": {space: self.journal.digest.of(space) for (space,) in spaces},
        }

    def _aside(self, table: str, more: str) -> list[tuple[Any, ...]]:
        rows = self._all(f"awaited, {COLUMNS}, {more} FROM {table} ORDER BY id")
        return [
            (Brought(entry_of(row), *row[9:11], *row[12:14]), awaited.hex() if awaited else "", *row[14:])
            for awaited, *row in rows
        ]

    def _all(self, what: str) -> list[tuple[Any, ...]]:
        return self.db.execute(f"SELECT {what}").fetchall()
