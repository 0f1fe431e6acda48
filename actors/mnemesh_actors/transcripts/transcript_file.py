"""The file of the transcripts: opening, schema, copies.

    session   one row a session of a space, with its counts
    turn      one row a turn, with its text
    words     the full-text index of the turns (FTS5), which keeps no text of its own

A file of a newer format is refused unharmed. The index of another version is made anew.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from mnemesh_actors.storage.data_directory import lost
from mnemesh_actors.storage.file_format import Migrations, format_of, migrate, refuse_newer, settled
from mnemesh_memory.transcripts.turn_ranking import ANALYSIS, words
from mnemesh_memory.values.errors import DataLoss, Unavailable

BUSY_TIMEOUT_S: Final = 5.0
INDEXED_TURNS: Final = 1_000  # anew, at a time
# Of the SQLite that Python brings; what is newer there would keep older versions from reading the file.
_TOKENS: Final = "porter unicode61 remove_diacritics 2"


def _first(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute(
        """CREATE TABLE session (
             id INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL, session TEXT NOT NULL, part_of TEXT NOT NULL,
             source TEXT NOT NULL, dir TEXT NOT NULL, title TEXT NOT NULL, by TEXT NOT NULL, turns INTEGER NOT NULL,
             bytes INTEGER NOT NULL, masked INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER,
             stored_at INTEGER NOT NULL, UNIQUE (session, space))"""
    )
    db.execute("CREATE INDEX session_part ON session (part_of) WHERE part_of <> ''")
    db.execute("CREATE INDEX session_time ON session (coalesce(ended_at, stored_at), id)")
    db.execute(
        """CREATE TABLE turn (
             id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, position INTEGER NOT NULL,
             key TEXT NOT NULL, role TEXT NOT NULL, at INTEGER, text TEXT NOT NULL,
             UNIQUE (session, position), UNIQUE (session, key))"""
    )
    db.execute(f"CREATE VIRTUAL TABLE words USING fts5(said, content='', tokenize='{_TOKENS}')")


MIGRATIONS: Final[Migrations] = (_first,)
PRAGMAS: Final = ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "temp_store=MEMORY")


def connect(path: Path) -> sqlite3.Connection:
    """Open, made when it is not there (0600), brought to this format and index. Raises FailedPrecondition for a newer
    file, DataLoss for a damaged one, Unavailable when it can not be opened."""
    with explained(path, "it can not be opened"):
        if not path.exists() and path.name != ":memory:":
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        db = sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
        try:
            settled(db, path, MIGRATIONS, PRAGMAS)
            _prepare(db)
        except BaseException:  # boundary: closed, then raised again
            db.close()
            raise
    return db


def _prepare(db: sqlite3.Connection) -> None:
    migrate(db, MIGRATIONS)
    # Of this connection: how words are cut to stems, and how many turns hold each.
    db.execute(f"CREATE VIRTUAL TABLE temp.asked USING fts5(said, tokenize='{_TOKENS}')")
    db.execute("CREATE VIRTUAL TABLE temp.stems USING fts5vocab(temp, asked, instance)")
    db.execute("CREATE VIRTUAL TABLE temp.held USING fts5vocab(main, words, row)")
    analysis = db.execute("SELECT value FROM meta WHERE key = 'analysis'").fetchone()
    if analysis is None or int(analysis[0]) != ANALYSIS:
        _index_anew(db)


def _index_anew(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO words (words) VALUES ('delete-all')")
    after = 0
    while turns := db.execute(
        "SELECT id, text FROM turn WHERE id > ? ORDER BY id LIMIT ?", (after, INDEXED_TURNS)
    ).fetchall():
        db.executemany("INSERT INTO words (rowid, said) VALUES (?, ?)", [(id_, indexed(text)) for id_, text in turns])
        after = turns[-1][0]
    db.execute("INSERT OR REPLACE INTO meta VALUES ('analysis', ?)", (str(ANALYSIS),))
    db.execute("COMMIT")


def indexed(text: str) -> str:
    """The text for the index of a turn, given again when the turn leaves."""
    return " ".join(words(text))


def check(path: Path) -> None:
    """Read every page of a file that nobody has open. Raises DataLoss, FailedPrecondition."""
    with explained(path, "it can not be read"), closing(_existing(path)) as db:
        refuse_newer(len(MIGRATIONS), format_of(db), path)
        (result,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if result != "ok":
            raise _damaged(path, result)


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A copy with place, size and SHA-256."""

    path: Path
    bytes: int
    sha256: str


def copy_file(source: Path) -> Path:
    """Where the copy lies while a backup is made of it."""
    return source.with_suffix(".copy")


def copy(source: Path, target: Path) -> FileCopy:
    """Write what `source` holds now into `target` (0600), from a snapshot that writers do not wait for, without freed
    pages."""
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with explained(source, "nothing was copied"), closing(_existing(source)) as db:
        db.execute("VACUUM INTO ?", (str(target),))
    with open(target, "rb") as file:
        return FileCopy(target, target.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _existing(path: Path) -> sqlite3.Connection:
    # Not for reading only: of a file that nobody has open, such a connection can not make the shared memory.
    return sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_S)


@contextmanager
def explained(path: Path, outcome: str) -> Iterator[None]:
    """Raise faults of the file as Unavailable or DataLoss. `outcome` names the consequence."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise Unavailable(f"the transcripts {path}: {error}; {outcome}", part="transcripts") from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, why: object) -> DataLoss:
    way_out = "restore it from a backup, or delete it and import the sessions again; no memory is in it"
    return lost(path, f"is damaged ({why}); nothing was changed. Stop the node, keep a copy of the file, and {way_out}")
