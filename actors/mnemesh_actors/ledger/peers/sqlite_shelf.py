"""The shelf of the intake in the ledger's SQLite file.

Stores and finds. Runs inside the transaction of its caller and decides nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from mnemesh_actors.ledger.store.entry_rows import COLUMNS, PLACES, aside_row, count, entry_of
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_actors.ledger.store.rows import marks
from mnemesh_crdt.changes.envelope import Key
from mnemesh_crdt.intake.arrivals import Brought, Loaded
from mnemesh_crdt.intake.shelf import QUARANTINE, Unstorable

_ERASURES: Final = "type <> 'change'"
_NAMED: Final = "doc = ? AND space = ?"


class SqliteShelf:
    """The intake's Shelf. `db` is the ledger's connection."""

    def __init__(self, db: sqlite3.Connection, journal: Journal) -> None:
        self._db = db
        self._journal = journal

    # ---- the log

    def logged(self, ids: Collection[str]) -> Iterator[tuple[Key, str, str]]:
        for doc, space, hash, actor in self._rows("doc, space, hash, actor FROM entry", ids):
            yield Key(space, doc), hash.hex(), actor.hex() if actor is not None else ""

    def homes(self, ids: Collection[str]) -> Iterator[tuple[Key, bool]]:
        for doc, space, erased in self._rows("doc, space, erased FROM document", ids):
            yield Key(space, doc), bool(erased)

    def _rows(self, what: str, ids: Collection[str]) -> sqlite3.Cursor:
        return self._db.execute(f"SELECT {what} WHERE doc IN ({marks(ids)})", tuple(ids))

    def changes(self, id: str) -> dict[str, bytes]:
        return self._journal.log(id)

    def append(self, loaded: Loaded, brought: Sequence[tuple[Brought, str]], *, new: bool) -> int:
        mark = self._journal.digest.mark()
        self._db.execute("SAVEPOINT document")
        try:
            last = self._journal.take(*loaded, brought, new=new)
        except (sqlite3.IntegrityError, OverflowError, UnicodeError) as error:
            self._db.execute("ROLLBACK TO document")
            self._db.execute("RELEASE document")
            self._journal.digest.undo(mark)
            raise Unstorable(str(error)) from error
        self._db.execute("RELEASE document")
        return last

    def erase(self, erasure: Brought) -> int:
        return self._journal.erase(erasure.entry, None, erasure.origin, erasure.received)[0]

    # ---- waiting and refused entries

    def waiting(self, ids: Collection[str]) -> Iterator[tuple[Key, str]]:
        for space, doc, hash in self._rows("space, doc, hash FROM pending", ids):
            yield Key(space, doc), hash.hex()

    def put(self, table: str, brought: Brought, awaited: str, reason: str = "", rules: int = 0) -> None:
        columns, places, more = COLUMNS, PLACES, tuple[object, ...]()
        if table == QUARANTINE:
            columns, places = f"{COLUMNS}, reason, key, rules", f"{PLACES}, ?, ?, ?"
            more = (reason, brought.key, rules)
        self._db.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", (*aside_row(brought, awaited), *more))

    def take(self, table: str, key: Key, awaited: str) -> list[Brought]:
        named = (bytes.fromhex(awaited), key.id, key.space)
        where = f"FROM {table} WHERE awaited = ? AND {_NAMED}"
        rows = self._db.execute(f"SELECT {COLUMNS} {where} ORDER BY id", named).fetchall()
        if rows:
            self._db.execute(f"DELETE {where}", named)
        return [Brought(entry_of(row), row[9], row[10], row[12]) for row in rows]

    def is_refused(self, key: Key, hash: str, fell_as: bytes | None = None) -> bool:
        where, values = f"{_NAMED} AND hash = ?", [key.id, key.space, bytes.fromhex(hash)]
        if fell_as is not None:
            where, values = f"{where} AND signature = ? AND awaited IS NOT NULL", [*values, fell_as]
        return self._db.execute(f"SELECT 1 FROM quarantine WHERE {where}", values).fetchone() is not None

    def drop_refused(self, key: Key, hash: str, signature: bytes | None = None) -> list[str]:
        where, values = f"{_NAMED} AND hash = ?", [key.id, key.space, bytes.fromhex(hash)]
        if signature is not None:
            where, values = f"{where} AND signature = ?", [*values, signature]
        gone = self._db.execute(f"DELETE FROM quarantine WHERE {where} RETURNING sender", values)
        return [sender for (sender,) in gone.fetchall()]

    def drop_oldest(self, table: str, sender: str, *, erasures: bool = False) -> None:
        more = f"AND {_ERASURES}" if erasures else ""
        oldest = f"SELECT min(id) FROM {table} WHERE sender = ? {more}"
        self._db.execute(f"DELETE FROM {table} WHERE id = ({oldest})", (sender,))

    def greediest(self, table: str, *, erasures: bool = False) -> str:
        where = f"WHERE {_ERASURES}" if erasures else ""
        most = f"SELECT sender FROM {table} {where} GROUP BY sender ORDER BY count(*) DESC, sender LIMIT 1"
        return str(self._db.execute(most).fetchone()[0])

    def count(self, table: str, sender: str | None = None, *, erasures: bool | None = None) -> int:
        parts = [] if sender is None else ["sender = ?"]
        if erasures is not None:
            parts.append(_ERASURES if erasures else "type = 'change'")
        where = f"{table} WHERE {' AND '.join(parts)}" if parts else table
        return count(self._db, where, *([] if sender is None else [sender]))

    # ---- keys of nodes

    def node_keys(self, nodes: Collection[str]) -> dict[str, bytes]:
        return dict(self._db.execute(f"SELECT node, key FROM node_key WHERE node IN ({marks(nodes)})", tuple(nodes)))

    def keep_key(self, node: str, key: bytes, sender: str) -> None:
        self._db.execute("INSERT INTO node_key VALUES (?, ?, ?)", (node, key, sender))
