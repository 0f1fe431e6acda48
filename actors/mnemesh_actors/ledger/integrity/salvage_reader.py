"""What can still be read of a damaged ledger file: row by row, around the pages that SQLite can not make sense of.

Opened for reading alone. Every loop is bounded by what an index tells of the log, or by READS_MAX.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mnemesh_actors.ledger.integrity.log_check import fault
from mnemesh_actors.ledger.store import schema
from mnemesh_crdt.changes.envelope import SIGNATURE_BYTES, Entry, node_id_of
from mnemesh_memory.values.errors import DataLoss

# So many numbers are looked for one by one when nothing tells which there were.
READS_MAX: Final = 2_000_000
# Of the table of entries; formats before the third have no origin and no time of receipt.
_COLUMNS: Final = ("hash", "raw", "type", "doc", "space", "agent", "node", "signature", "at")
_RECEIPT: Final = ("origin", "received")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A sound entry, which ledger brought it ("" for this one), and when (ms, 0 for this one)."""

    seq: int
    entry: Entry
    origin: str
    received: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """An entry that can not be read or is not what was written; `doc` is its memory where that is known, else ""."""

    seq: int
    doc: str
    why: str


class Wreck:
    """An opened ledger file. Raises DataLoss when not even its tables are known, FailedPrecondition for a newer one."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        # A file that was cut off, or whose schema has a row that makes no sense, is read as far as it goes.
        db.execute("PRAGMA writable_schema = ON")
        try:
            schema.refuse_newer(int(db.execute("PRAGMA user_version").fetchone()[0]), path)
            self._columns = {str(row[1]) for row in db.execute("PRAGMA table_info(entry)")}
        except sqlite3.DatabaseError as error:
            raise _nothing(path, error) from error
        if not self._columns.issuperset(_COLUMNS):
            raise _nothing(path, "it has no table of entries")

    def entries(self) -> Iterator[Row | Unread]:
        """Every entry of the log once: those that follow each other first, in order, then those around damage."""
        documents, all_known = self._documents()
        seen: set[int] = set()
        whole = False
        with suppress(sqlite3.Error):
            for values in self._db.execute(f"SELECT {self._names()} FROM entry ORDER BY seq"):
                if values[0] in seen or values[0] < 1:
                    break  # pages that lead in a circle, or a number that no entry has
                seen.add(values[0])
                yield _judged(values, documents)
            else:
                whole = True
        wanted: Sequence[int] = sorted(documents)
        if not (whole or all_known):
            wanted = range(1, min(self._last(documents, seen), READS_MAX) + 1)
        for seq in wanted:
            if seq not in seen and (found := self._one(seq, documents)):
                yield found

    def keys(self) -> dict[str, bytes]:
        """Raw public keys of nodes by id; a key proves itself."""
        found = self.rows("node_key", ("node", "key"), ("node",))[0]
        return {
            node: key
            for node, key in found
            if isinstance(node, str) and isinstance(key, bytes) and node_id_of(key) == node
        }

    def rows(self, table: str, columns: Sequence[str], key: Sequence[str]) -> tuple[list[tuple[object, ...]], bool]:
        """The rows of a table as far as they can be read from both its ends, and whether that is all."""
        found: dict[tuple[object, ...], None] = {}
        for direction in ("ASC", "DESC"):
            order = ", ".join(f"{name} {direction}" for name in key)
            try:
                for row in self._db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}"):
                    found[row] = None
                return list(found), True
            except sqlite3.Error:
                continue
        return list(found), False

    def _names(self) -> str:
        missing = ("''", "0")
        receipt = [name if name in self._columns else other for name, other in zip(_RECEIPT, missing, strict=True)]
        return ", ".join(("seq", *_COLUMNS, *receipt))

    def _one(self, seq: int, documents: dict[int, str]) -> Row | Unread | None:
        try:
            values = self._db.execute(f"SELECT {self._names()} FROM entry WHERE seq = ?", (seq,)).fetchone()
        except sqlite3.Error as error:
            return Unread(seq=seq, doc=documents.get(seq, ""), why=str(error))
        if values is not None and values[0] == seq:
            return _judged(values, documents)
        return Unread(seq=seq, doc=documents[seq], why="it is not there any more") if seq in documents else None

    def _documents(self) -> tuple[dict[int, str], bool]:
        """Which memory each number of the log is of, by the index alone, and whether that is all."""
        rows, whole = self.rows("entry INDEXED BY entry_doc", ("seq", "doc"), ("doc", "seq"))
        return {seq: doc for seq, doc in rows if isinstance(seq, int) and isinstance(doc, str)}, whole

    def _last(self, documents: dict[int, str], seen: set[int]) -> int:
        """The last number of the log, by everything that knows of it."""
        told = [0, *documents, *seen]
        for question in (
            "SELECT max(seq) FROM entry",
            "SELECT seq FROM sqlite_sequence WHERE name = 'entry'",
            "SELECT max(seq) FROM memory",
        ):
            with suppress(sqlite3.Error):
                told += [row[0] for row in self._db.execute(question) if isinstance(row[0], int)]
        return max(told)


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


def _judged(values: Sequence[object], documents: dict[int, str]) -> Row | Unread:
    seq, *stored, origin, received = values
    digest, raw, type_, doc, space, agent, node, signature, at = stored
    assert isinstance(seq, int)
    why = fault(digest, raw, type_, doc, space, agent, node)
    if not why and isinstance(signature, bytes) and len(signature) == SIGNATURE_BYTES and isinstance(at, int):
        assert isinstance(digest, bytes)
        assert isinstance(raw, bytes)
        entry = Entry(
            doc=str(doc), space=str(space), type=str(type_), hash=digest.hex(), raw=raw, agent=str(agent),
            node=str(node), signature=signature, at=at,
        )  # fmt: skip
        known = isinstance(origin, str) and isinstance(received, int) and received >= 0
        return Row(
            seq=seq, entry=entry, origin=str(origin) if known else "", received=int(str(received)) if known else 0
        )
    return Unread(seq=seq, doc=documents.get(seq, ""), why=why or "its columns are of another kind")


def _nothing(path: Path, why: object) -> DataLoss:
    return DataLoss(
        f"nothing can be read of {path} ({why}); restore it from a backup", field="data_dir", value=str(path)
    )
