"""The readable part of a damaged ledger file: row by row, around pages that make no sense to SQLite.

The file is opened for reading alone. Every loop is bounded by an index of the log, or by READS_MAX.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mnemesh_actors.ledger.integrity.log_check import fault
from mnemesh_actors.ledger.store import schema
from mnemesh_actors.ledger.store.entry_rows import entry_of
from mnemesh_actors.storage.file_format import format_of, refuse_newer
from mnemesh_crdt.changes.envelope import SIGNATURE_BYTES, Entry, node_id_of
from mnemesh_memory.values.errors import DataLoss

# So many numbers are looked for one by one when no index lists the numbers.
READS_MAX: Final = 2_000_000
_COLUMNS: Final = "seq, doc, space, type, hash, raw, agent, node, signature, at, origin, received"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A sound entry."""

    seq: int
    entry: Entry
    origin: str  # the ledger that brought the entry, "" for this one
    received: int  # ms, 0 for this ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadEntry:
    """An entry that can not be read, or differs from what was written."""

    seq: int
    doc: str  # the memory, "" when unknown
    why: str


class Wreck:
    """An opened ledger file. Raises DataLoss when not even its tables are known, FailedPrecondition for a newer one."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        # A file that was cut off, or has a senseless row in its schema, is read as far as possible.
        db.execute("PRAGMA writable_schema = ON")
        try:
            refuse_newer(len(schema.MIGRATIONS), format_of(db), path)
            columns = {row[1] for row in db.execute("PRAGMA table_info(entry)")}
        except sqlite3.DatabaseError as error:
            raise _nothing(path, error) from error
        if not columns.issuperset(_COLUMNS.split(", ")):
            raise _nothing(path, "it has no table of entries")

    def entries(self) -> Iterator[Row | UnreadEntry]:
        """Every entry of the log once: first in order up to the damage, then those around it."""
        rows, all_known = self.rows("entry INDEXED BY entry_doc", ("seq", "doc"), ("doc", "seq"))
        documents = {seq: doc for seq, doc in rows if isinstance(seq, int) and isinstance(doc, str)}
        seen: set[int] = set()
        whole = False
        with suppress(sqlite3.Error):
            for values in self._db.execute(f"SELECT {_COLUMNS} FROM entry ORDER BY seq"):
                if values[0] in seen or values[0] < 1:
                    break  # pages that lead in a circle, or a number that no entry has
                seen.add(values[0])
                yield _judged(values, documents)
            else:
                whole = True
        wanted: Sequence[int] = sorted(documents)
        if not (whole or all_known):
            wanted = range(1, min(max(self._last(), *documents, *seen, 0), READS_MAX) + 1)
        for seq in wanted:
            if seq not in seen and (row := self._entry_at(seq, documents)):
                yield row

    def keys(self) -> dict[str, bytes]:
        """Raw public keys of nodes by id. A key proves itself."""
        rows, _ = self.rows("node_key", ("node", "key"), ("node",))
        return {node: key for node, key in rows if isinstance(key, bytes) and node_id_of(key) == node}

    def rows(self, table: str, columns: Sequence[str], key: Sequence[str]) -> tuple[list[tuple[Any, ...]], bool]:
        """The rows of a table, read from both ends, and whether these are all."""
        rows: dict[tuple[Any, ...], None] = {}
        for direction in ("ASC", "DESC"):
            order = ", ".join(f"{name} {direction}" for name in key)
            with suppress(sqlite3.Error):
                for row in self._db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}"):
                    rows[row] = None
                return list(rows), True
        return list(rows), False

    def _entry_at(self, seq: int, documents: dict[int, str]) -> Row | UnreadEntry | None:
        try:
            values = self._db.execute(f"SELECT {_COLUMNS} FROM entry WHERE seq = ?", (seq,)).fetchone()
        except sqlite3.Error as error:
            return UnreadEntry(seq=seq, doc=documents.get(seq, ""), why=str(error))
        if values is not None and values[0] == seq:
            return _judged(values, documents)
        return UnreadEntry(seq=seq, doc=documents[seq], why="it is not there any more") if seq in documents else None

    def _last(self) -> int:
        """The last number of the log, as far as its tables know."""
        numbers = [0]
        for question in ("max(seq) FROM entry", "seq FROM sqlite_sequence WHERE name = 'entry'"):
            with suppress(sqlite3.Error):
                numbers += [row[0] for row in self._db.execute(f"SELECT {question}") if isinstance(row[0], int)]
        return max(numbers)


@contextmanager
def opened(path: Path) -> Iterator[Wreck]:
    """The ledger file `path`, for reading. Raises as Wreck does, and DataLoss for a file that is missing or empty."""
    # SQLite deletes the write-ahead log beside an empty file, even of a reader.
    if not path.is_file() or not path.stat().st_size:
        raise _nothing(path, "it is missing or empty")
    try:
        db = schema.read_only(path)
    except sqlite3.Error as error:
        raise _nothing(path, error) from error
    with closing(db):
        yield Wreck(db, path)


def _judged(values: Sequence[Any], documents: dict[int, str]) -> Row | UnreadEntry:
    seq, *stored, origin, received = values
    doc, space, type_, digest, raw, agent, node, signature, at = stored
    signed = isinstance(signature, bytes) and len(signature) == SIGNATURE_BYTES and isinstance(at, int)
    why = fault(digest, raw, type_, doc, space, agent, node) or ("" if signed else "its columns are of another kind")
    if why:
        return UnreadEntry(seq=seq, doc=documents.get(seq, ""), why=why)
    known = isinstance(origin, str) and isinstance(received, int) and received >= 0
    return Row(seq=seq, entry=entry_of(stored), origin=origin if known else "", received=received if known else 0)


def _nothing(path: Path, why: object) -> DataLoss:
    return DataLoss(
        f"nothing can be read of {path} ({why}); restore it from a backup", field="data_dir", value=str(path)
    )
