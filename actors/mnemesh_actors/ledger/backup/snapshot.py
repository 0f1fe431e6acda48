"""A copy of the ledger as it is at one moment, made while writes go on.

A second connection reads in one transaction. The write-ahead log shows that connection one state until the end
(isolation of WAL readers, https://www.sqlite.org/isolation.html), so neither side waits for the other. Vectors are left
out, because these can be made again. Freed pages are not copied, so nothing of an erased memory is in a copy that was
begun after its erasure. The copy lies beside the ledger until it has been read. A start deletes a copy that a crash
left.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from mnemesh_actors.ledger.ledger_side import LedgerSide
from mnemesh_actors.ledger.store.faults import explained, reading
from mnemesh_memory.values.errors import Aborted, FailedPrecondition

# Made again from the texts. Half of a ledger's bytes.
NOT_COPIED = frozenset({"vector"})
# The marks of this directory's life: without them whoever starts from the copy begins a new one.
MARKS = ("token", "place")


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The contents of a ledger. `memories` counts the active ones. `digest` is a hash of the digests of all spaces:
    equal hashes mean equal documents."""

    incarnation: str
    seq: int
    memories: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A finished copy: size, hash and contents."""

    bytes: int
    sha256: str
    held: Held


class Copying:
    """One copy, from beginning to end."""

    def __init__(self, source: Path, target: Path) -> None:
        self._source = source
        self._target = target
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        self._db = sqlite3.connect(
            f"file:{quote(str(target))}", uri=True, isolation_level=None, check_same_thread=False
        )
        worker = ThreadPoolExecutor(1, "ledger-copy")
        self._done = worker.submit(self._run)
        worker.shutdown(wait=False)

    @property
    def running(self) -> bool:
        """The copy is not finished yet."""
        return not self._done.done()

    def result(self) -> Copied | None:
        """The finished copy, None before. Raises why it failed."""
        return None if self.running else self._done.result()

    def read(self, offset: int, size: int) -> bytes:
        """Bytes of the finished copy."""
        with open(self._target, "rb") as file:
            file.seek(offset)
            return file.read(size)

    def end(self) -> None:
        """Stop an unfinished copy, and delete the file."""
        while self.running:
            with suppress(sqlite3.ProgrammingError):  # just finished, and closed
                self._db.interrupt()
            wait((self._done,), 0.05)
        self._db.close()
        self._target.unlink(missing_ok=True)

    def _run(self) -> Copied:
        with explained(self._source, "nothing was copied"):
            copy(self._db, self._source)
            held = held_by(self._db)
        self._db.close()
        with open(self._target, "rb") as file:
            hashed = hashlib.file_digest(file, "sha256").hexdigest()
        return Copied(bytes=self._target.stat().st_size, sha256=hashed, held=held)


class Copies(LedgerSide):
    """The part of a ledger for backups. Mixed into Ledger, which has the file."""

    _copying: Copying | None = None

    @reading
    def copy_start(self) -> None:
        """Begin a copy. `copied` tells when it is done. Raises Aborted while another one is made."""
        if self._copying is not None and self._copying.running:
            raise Aborted("another copy of this ledger is being made; try again when it is done", part="ledger")
        self.copy_end()
        self._copying = Copying(self.path, copy_file(self.path))

    def copied(self) -> Copied | None:
        """The copy that was begun, None while it is not done. Raises Unavailable or DataLoss when it failed."""
        return self._known().result()

    def copy_read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes of the finished copy from `offset` on."""
        return self._known().read(offset, size)

    def copy_end(self) -> None:
        """The copy is not needed any more."""
        if self._copying is not None:
            self._copying.end()
            self._copying = None
        copy_file(self.path).unlink(missing_ok=True)

    def _known(self) -> Copying:
        if self._copying is None:
            raise FailedPrecondition("no copy of this ledger was begun, or the ledger has restarted since; begin anew")
        return self._copying


def copy_file(ledger: Path) -> Path:
    """Where the copy of a ledger lies while it is read."""
    return ledger.with_suffix(".copy")


def copy(db: sqlite3.Connection, source: Path) -> None:
    """Fill the empty database `db` with what the ledger `source` holds now."""
    db.execute("PRAGMA journal_mode=OFF")
    db.execute("PRAGMA synchronous=OFF")
    db.execute("ATTACH ? AS node", (f"file:{quote(str(source))}?mode=ro",))
    db.execute("BEGIN")
    made = db.execute("SELECT type, name, sql FROM node.sqlite_master WHERE sql IS NOT NULL").fetchall()
    ours = [(type_, name, sql) for type_, name, sql in made if not name.startswith("sqlite_")]
    for type_, name, sql in ours:
        if type_ == "table":
            db.execute(sql)
            if name not in NOT_COPIED:
                # Without generated columns, which no row can be given.
                columns = ", ".join(f'"{row[1]}"' for row in db.execute(f'PRAGMA node.table_info("{name}")'))
                db.execute(f'INSERT INTO main."{name}" ({columns}) SELECT {columns} FROM node."{name}"')
    for type_, _, sql in ours:
        if type_ != "table":
            db.execute(sql)
    db.execute("DELETE FROM main.sqlite_sequence")
    db.execute("INSERT INTO main.sqlite_sequence SELECT * FROM node.sqlite_sequence")
    db.execute(f"DELETE FROM main.meta WHERE key IN ({', '.join('?' * len(MARKS))})", MARKS)
    version = int(db.execute("PRAGMA node.user_version").fetchone()[0])
    db.execute(f"PRAGMA main.user_version = {version}")
    db.execute("COMMIT")
    db.execute("DETACH node")


def held_by(db: sqlite3.Connection) -> Held:
    """The contents of the ledger that `db` has open."""
    incarnation = db.execute("SELECT value FROM meta WHERE key = 'incarnation'").fetchone()
    (memories,) = db.execute("SELECT count(*) FROM memory WHERE state = 'active'").fetchone()
    (seq,) = db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'entry'").fetchone()
    state = hashlib.sha256()
    for space, bucket, value in db.execute("SELECT space, bucket, value FROM digest ORDER BY space, bucket"):
        if any(value):
            state.update(f"{space}\0{bucket}\0{value.hex()}\n".encode())
    return Held(incarnation=incarnation[0] if incarnation else "", seq=seq, memories=memories, digest=state.hexdigest())
