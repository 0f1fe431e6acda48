"""Entries that may not enter a document yet, or not at all: the tables `pending` and `quarantine`, both bounded.

Each sender has a share of each table, so that nobody fills one for all. Waiting changes and waiting erasures have
separate limits, so that neither crowds out the other. A change that waits is never given up: its sender has to wait. A
refused entry gives way, and so does an erasure, which comes again once its memory is here.

Both tables hold entries as they came. `awaited` is the hash of a change that stops an entry. A pending entry waits for
that change. A quarantined entry fell with it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from mnemesh_actors.ledger.store.rows import marks
from mnemesh_crdt.changes.envelope import CHANGE, Entry, Key
from mnemesh_memory.values import limits

PENDING: Final = "pending"
QUARANTINE: Final = "quarantine"
COLUMNS: Final = "doc, space, type, hash, raw, agent, node, signature, at, origin, received, awaited, sender"
_FIELDS: Final = tuple(field.name for field in fields(Entry))
_PLACES: Final = ", ".join("?" * 13)


@dataclass(frozen=True, slots=True)
class Brought:
    """An entry, the ledger (its incarnation) that brought it, the time (ms, our clock), and the sender. `key` is the
    raw public key of the node of a refused entry, when that key is not kept elsewhere."""

    entry: Entry
    origin: str
    received: int
    sender: str = ""
    key: bytes = b""


class Shelves:
    """Both tables while one batch of `sender` is taken in. At most `pending_max` changes wait. `whole`: the sender,
    another ledger of this node, may have all of both. Runs inside the transaction of its caller."""

    def __init__(self, db: sqlite3.Connection, pending_max: int, sender: str = "", *, whole: bool = False) -> None:
        self._db = db
        self._pending_max = pending_max
        self._sender = sender
        self._whole = whole
        self._aside: dict[str, int] = {}  # refused entries by sender, as far as they were counted
        self.recount()

    @property
    def full(self) -> bool:
        """No more changes of this sender may wait."""
        own = 0 if self._whole else self._own_changes
        return self._changes >= self._pending_max or own >= limits.PENDING_SHARE_MAX

    def waiting(self, ids: Sequence[str]) -> list[tuple[Key, str]]:
        """Document and hash (hex) of each entry that waits, of the documents with these ids."""
        if not self._pending:
            return []
        rows = self._db.execute(f"SELECT space, doc, hash FROM pending WHERE doc IN ({marks(ids)})", tuple(ids))
        return [(Key(space, doc), hash.hex()) for space, doc, hash in rows]

    def wait(self, one: Brought, awaited: str) -> None:
        """Keep an entry until the change `awaited` is taken in. Of more erasures than may wait, the oldest gives
        way."""
        if one.entry.type == CHANGE:
            self._changes += 1
            self._own_changes += one.sender == self._sender
        else:
            self._room_for_erasure(one.sender)
        self._db.execute(f"INSERT INTO pending ({COLUMNS}) VALUES ({_PLACES})", _row(one, awaited))
        self._pending += 1

    def _room_for_erasure(self, sender: str) -> None:
        own = self._count("pending WHERE sender = ? AND type <> 'change'", sender)
        if own >= limits.PENDING_ERASURES_SHARE_MAX and not self._whole:
            self._drop_oldest("pending", sender, "AND type <> 'change'")
            self._pending -= 1
        elif self._pending - self._changes >= limits.PENDING_ERASURES_MAX:
            self._drop_oldest("pending", self._greediest("pending WHERE type <> 'change'"), "AND type <> 'change'")
            self._pending -= 1

    def _greediest(self, table: str) -> str:
        """The sender with the largest part of a table."""
        found = self._db.execute(f"SELECT sender FROM {table} GROUP BY sender ORDER BY count(*) DESC, sender LIMIT 1")
        return str(found.fetchone()[0])

    def _drop_oldest(self, table: str, sender: str, more: str = "") -> None:
        self._db.execute(
            f"DELETE FROM {table} WHERE id = (SELECT min(id) FROM {table} WHERE sender = ? {more})", (sender,)
        )

    def _count(self, what: str, *values: str) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM {what}", values).fetchone()[0])

    def put_aside(self, one: Brought, reason: str, awaited: str = "", rules: int = 0) -> None:
        """Keep a refused entry with its reason, in the place of the same one. Beyond the share of a sender, or of all,
        the oldest gives way. `rules` is the version of the rules by which its change was refused, 0 when something else
        was wrong."""
        entry = one.entry
        same = self._db.execute(
            "DELETE FROM quarantine WHERE doc = ? AND space = ? AND hash = ? AND signature = ? RETURNING sender",
            (entry.doc, entry.space, bytes.fromhex(entry.hash), entry.signature),
        ).fetchall()
        for (sender,) in same:
            self._noted(sender, -1)
        if self._of(one.sender) >= limits.QUARANTINE_SHARE_MAX and not self._whole:
            self._drop_oldest(QUARANTINE, one.sender)
            self._noted(one.sender, -1)
        elif self._quarantined >= limits.QUARANTINE_ENTRIES_MAX:
            greediest = self._greediest(QUARANTINE)
            self._drop_oldest(QUARANTINE, greediest)
            self._noted(greediest, -1)
        self._noted(one.sender, 1)
        self._db.execute(
            f"INSERT INTO quarantine ({COLUMNS}, reason, key, rules) VALUES ({_PLACES}, ?, ?, ?)",
            (*_row(one, awaited), reason, one.key, rules),
        )

    def _of(self, sender: str) -> int:
        """How many refused entries of a sender are kept."""
        if sender not in self._aside:
            self._aside[sender] = self._count("quarantine WHERE sender = ?", sender)
        return self._aside[sender]

    def _noted(self, sender: str, more: int) -> None:
        self._quarantined += more
        if sender in self._aside:
            self._aside[sender] += more

    def take(self, table: str, key: Key, awaited: str) -> list[Brought]:
        """Take out what a table keeps of a document because of the change `awaited`."""
        if not (self._pending if table == PENDING else self._quarantined):
            return []
        named = (bytes.fromhex(awaited), key.id, key.space)
        where = f"FROM {table} WHERE awaited = ? AND doc = ? AND space = ?"
        rows = self._db.execute(f"SELECT {COLUMNS} {where} ORDER BY id", named).fetchall()
        if rows:
            self._db.execute(f"DELETE {where}", named)
            self._taken(table, rows)
        return [Brought(entry_of(row), row[9], row[10], row[12]) for row in rows]

    def _taken(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Count down without a look at the whole table: a peer may have many taken, one after the other."""
        if table == PENDING:
            changes = [row for row in rows if row[2] == CHANGE]
            self._pending -= len(rows)
            self._changes -= len(changes)
            self._own_changes -= sum(row[12] == self._sender for row in changes)
        else:
            self._quarantined -= len(rows)
            for row in rows:
                if str(row[12]) in self._aside:
                    self._aside[str(row[12])] -= 1

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
        """These changes are taken in, or wait: refused copies of them say nothing more."""
        if self._quarantined:
            gone = self._db.executemany(
                "DELETE FROM quarantine WHERE doc = ? AND space = ? AND hash = ?",
                [(key.id, key.space, bytes.fromhex(hash)) for hash in hashes],
            ).rowcount
            if gone > 0:
                self._quarantined -= gone
                self._aside.clear()

    def recount(self) -> None:
        """Some of what was kept is gone."""
        self._pending, self._quarantined = count(self._db, PENDING), count(self._db, QUARANTINE)
        self._changes = self._pending and self._count("pending WHERE type = 'change'")
        self._own_changes = self._changes and self._count("pending WHERE sender = ? AND type = 'change'", self._sender)
        self._aside.clear()


def entry_of(row: Sequence[Any]) -> Entry:
    """The entry of a row that begins as COLUMNS does."""
    return Entry(**dict(zip(_FIELDS, row, strict=False)) | {"hash": row[3].hex()})


def count(db: sqlite3.Connection, table: str) -> int:
    """Rows of a table."""
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def values_of(entry: Entry) -> tuple[Any, ...]:
    """The first columns of COLUMNS."""
    return tuple(bytes.fromhex(entry.hash) if name == "hash" else getattr(entry, name) for name in _FIELDS)


def _row(one: Brought, awaited: str) -> tuple[Any, ...]:
    waits_for = bytes.fromhex(awaited) if awaited else None
    return (*values_of(one.entry), one.origin, one.received, waits_for, one.sender)
