"""What may not enter a document yet, or not at all: the tables `pending` and `quarantine`, both bounded.

Both hold entries as they came. `awaited` is the hash of a change without which an entry can not go on: a pending one
waits for it, a quarantined one is there because that one is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mnemesh_crdt.envelope import Entry
from mnemesh_crdt.replica_events import Key
from mnemesh_memory import limits

PENDING: Final = "pending"
QUARANTINE: Final = "quarantine"
COLUMNS: Final = "doc, space, type, hash, raw, agent, node, signature, at, origin, received, awaited"
_PLACES: Final = ", ".join("?" * 12)


@dataclass(frozen=True, slots=True)
class Brought:
    """An entry, the ledger (its incarnation) that brought it, and when (ms, our clock)."""

    entry: Entry
    origin: str
    received: int


class Shelves:
    """Both tables while one batch is taken in; at most `pending_max` entries wait. Runs inside the transaction of its
    caller."""

    def __init__(self, db: sqlite3.Connection, pending_max: int) -> None:
        self._db = db
        self._pending_max = pending_max
        self._pending = count(db, PENDING)
        self._quarantined = count(db, QUARANTINE)  # at least: one that is replaced counts twice

    @property
    def full(self) -> bool:
        """Nothing more may wait."""
        return self._pending >= self._pending_max

    def waiting(self, ids: Sequence[str]) -> list[tuple[Key, str]]:
        """Document and hash (hex) of each entry that waits, of the documents with these ids."""
        if not self._pending:
            return []
        marks = ", ".join("?" * len(ids))
        rows = self._db.execute(f"SELECT space, doc, hash FROM pending WHERE doc IN ({marks})", tuple(ids))
        return [(Key(space, doc), hash.hex()) for space, doc, hash in rows]

    def wait(self, one: Brought, awaited: str) -> None:
        """Keep an entry until the change `awaited` is taken in."""
        self._db.execute(f"INSERT INTO pending ({COLUMNS}) VALUES ({_PLACES})", _row(one, awaited))
        self._pending += 1

    def put_aside(self, one: Brought, reason: str, awaited: str = "") -> None:
        """Keep a refused entry with its reason; further ones than QUARANTINE_ENTRIES_MAX are not kept."""
        if self._quarantined < limits.QUARANTINE_ENTRIES_MAX:
            self._db.execute(
                f"INSERT OR REPLACE INTO quarantine ({COLUMNS}, reason) VALUES ({_PLACES}, ?)",
                (*_row(one, awaited), reason),
            )
            self._quarantined += 1

    def take(self, table: str, key: Key, awaited: str) -> list[Brought]:
        """Take out what a table keeps of a document because of the change `awaited`."""
        if not (self._pending if table == PENDING else self._quarantined):
            return []
        named = (bytes.fromhex(awaited), key.id, key.space)
        where = f"FROM {table} WHERE awaited = ? AND doc = ? AND space = ?"
        rows = self._db.execute(f"SELECT {COLUMNS} {where} ORDER BY id", named).fetchall()
        if rows:
            self._db.execute(f"DELETE {where}", named)
            if table == PENDING:
                self._pending -= len(rows)
        return [Brought(entry_of(row), str(row[9]), int(row[10])) for row in rows]

    def culprit(self, key: Key, hashes: Iterable[str]) -> str:
        """The first of these changes of a document that is quarantined, or ""."""
        if not self._quarantined:
            return ""
        for hash in hashes:
            if self._db.execute(
                "SELECT 1 FROM quarantine WHERE doc = ? AND space = ? AND hash = ?",
                (key.id, key.space, bytes.fromhex(hash)),
            ).fetchone():
                return hash
        return ""

    def acquit(self, key: Key, hashes: Iterable[str]) -> None:
        """These changes are taken in: refused copies of them say nothing more."""
        if self._quarantined:
            self._db.executemany(
                "DELETE FROM quarantine WHERE doc = ? AND space = ? AND hash = ?",
                [(key.id, key.space, bytes.fromhex(hash)) for hash in hashes],
            )

    def recount(self) -> None:
        """A document and what was kept of it were erased."""
        self._pending = count(self._db, PENDING)


def entry_of(row: Sequence[object]) -> Entry:
    """The entry of a row that begins as COLUMNS does."""
    doc, space, type_, hash_, raw, agent, node, signature, at = row[:9]
    assert isinstance(hash_, bytes)
    assert isinstance(raw, bytes)
    assert isinstance(signature, bytes)
    assert isinstance(at, int)
    return Entry(
        doc=str(doc),
        space=str(space),
        type=str(type_),
        hash=hash_.hex(),
        raw=raw,
        agent=str(agent),
        node=str(node),
        signature=signature,
        at=at,
    )


def count(db: sqlite3.Connection, table: str) -> int:
    """Rows of a table."""
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _row(one: Brought, awaited: str) -> tuple[object, ...]:
    entry = one.entry
    return (
        *(entry.doc, entry.space, entry.type, bytes.fromhex(entry.hash), entry.raw, entry.agent, entry.node),
        *(entry.signature, entry.at, one.origin, one.received, bytes.fromhex(awaited) if awaited else None),
    )
