"""A SQLite file of derived data: opened, versioned, and made anew when it is damaged, of another version or of another
log.

    derived = DerivedFile(home / "derived" / "graph.sqlite", version=1, tables=["CREATE TABLE ..."])
    with derived.changing() as db: ...     one transaction
    with derived.reading() as db: ...

The file holds its own cursor, so a consumer with a `DerivedFile` is a `CursorStore`. Rules.

1. Nothing in the file is worth a repair: a damaged file is deleted, and the consumer reads the log from its beginning.
2. A new file takes no change before `reset`. A page from the middle of the log can't land in it.
3. Erased rows leave no bytes: `secure_delete` overwrites them, and `fold` empties the write-ahead log.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from mnemesh_memory.values.errors import DataLoss, Unavailable

BUSY_TIMEOUT_S: Final = 5.0
# Codes of SQLite for a file that is not what it was.
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
ABSENT: Final = "it was not there"
_META: Final = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
log = structlog.get_logger("mnemesh.knowledge")


class DerivedFile:
    """The file at `path`, with `tables` of `version`. To be used by one thread at a time."""

    def __init__(self, path: Path, version: int, tables: Sequence[str]) -> None:
        self.path = path
        self.made = ""  # why this object made the file anew, "" when it was there and sound
        self._version = version
        self._tables = tuple(tables)
        self._db: sqlite3.Connection | None = None

    # ---- use ------------------------------------------------------------------------------------------------

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction. Raises DataLoss when the file is new: the consumer has to begin the log."""
        with self._guarded() as db:
            if not self._meta(db, "begun"):
                raise DataLoss(
                    f"{self.path.name} is new ({self.made or 'nothing is in it'}) and is filled from the log",
                    field="data_dir",
                    value=str(self.path),
                )
            with _transaction(db):
                yield db

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A look. Raises DataLoss when the file turned out to be damaged: by then a new one lies there."""
        with self._guarded() as db:
            yield db

    def fold(self) -> None:
        """Empty the write-ahead log, after an erasure."""
        with self._guarded() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # ---- the cursor -----------------------------------------------------------------------------------------

    def cursor(self) -> tuple[str, int]:
        """The incarnation and the last entry that the file knows; ("", 0) for a new file."""
        with self._guarded() as db:
            return self._meta(db, "incarnation"), int(self._meta(db, "seq") or 0)

    def keep_cursor(self, incarnation: str, seq: int) -> None:
        """Note how far the consumer has come."""
        with self.changing() as db:
            _keep(db, incarnation=incarnation, seq=str(seq))

    def reset(self) -> None:
        """Drop everything: the log is read from its beginning."""
        with self._guarded() as db:
            begun = self._meta(db, "begun")
        if begun:
            self.drop("another log goes on, or somebody asked for it")
        with self._guarded() as db, _transaction(db):
            _keep(db, begun="yes")

    def close(self) -> None:
        """Nothing more is asked."""
        if self._db is not None:
            self._db.close()
            self._db = None

    # ---- opening --------------------------------------------------------------------------------------------

    @contextmanager
    def _guarded(self) -> Iterator[sqlite3.Connection]:
        """The open file. Its faults come as errors of ours."""
        try:
            yield self._opened()
        except sqlite3.DatabaseError as error:
            if _damages(error):
                why = f"it was damaged: {error}"
                self.drop(why)
                raise DataLoss(
                    f"{self.path.name} is made anew, because {why}", field="data_dir", value=str(self.path)
                ) from error
            raise Unavailable(f"{self.path.name}: {error}", part="knowledge") from error

    def _opened(self) -> sqlite3.Connection:
        if self._db is not None and self.path.exists():
            return self._db
        if self._db is not None:
            self.drop("it was deleted")
            raise DataLoss(f"{self.path.name} was deleted and is made anew", field="data_dir", value=str(self.path))
        if not self.path.exists():
            return self.drop(ABSENT)
        try:
            self._db = self._connect()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            (sound,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.DatabaseError as error:
            if not _damages(error):
                raise
            return self.drop(f"it was damaged: {error}")
        if sound != "ok":
            return self.drop(f"it was damaged: {sound}")
        return self._db if version == self._version else self.drop(f"its format was {version}")

    def drop(self, why: str) -> sqlite3.Connection:
        """Make the file anew, empty in the place of the former one. It takes nothing before `reset`."""
        self.close()
        self.made = why
        self.path.parent.mkdir(exist_ok=True, mode=0o700)
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                self.path.with_name(self.path.name + suffix).unlink()
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
        self._db = self._connect()
        with _transaction(self._db):
            for statement in (_META, *self._tables):
                self._db.execute(statement)
            _keep(self._db, made=why)
            self._db.execute(f"PRAGMA user_version = {self._version:d}")
        tell = log.info if why == ABSENT else log.warning
        tell("derived_file_made", file=self.path.name, reason=why)
        return self._db

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
        try:
            # A crash may lose the last transactions, never their order: the cursor is among them.
            for pragma in ("secure_delete=ON", "journal_mode=WAL", "synchronous=NORMAL", "temp_store=MEMORY"):
                db.execute(f"PRAGMA {pragma}")
        except sqlite3.DatabaseError:
            db.close()
            raise
        return db

    def _meta(self, db: sqlite3.Connection, key: str) -> str:
        row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""


def _damages(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def _keep(db: sqlite3.Connection, **values: str) -> None:
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:  # boundary: undone, then raised again
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


class DerivedStore:
    """A store over a derived file: what a consumer with its cursor there asks of each. Every method is called by one
    thread at a time."""

    def __init__(self, file: DerivedFile) -> None:
        self._file = file

    def close(self) -> None:
        """Nothing more is asked."""
        self._file.close()

    def cursor(self) -> tuple[str, int]:
        """The place up to which the log is in the file."""
        return self._file.cursor()

    def keep_cursor(self, incarnation: str, seq: int) -> None:
        """Note the place."""
        self._file.keep_cursor(incarnation, seq)

    def made(self) -> str:
        """Why the file was made anew since the start, or "". The first one of a node is no news."""
        return "" if self._file.made == ABSENT else self._file.made
