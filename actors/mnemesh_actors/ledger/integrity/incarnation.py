"""Whose life a ledger directory is living: a new incarnation after a restore or a copy, the same one after a restart.

Sequence numbers mean something only within an incarnation. Two marks are compared at start. One is a token written at
every open, in the database and in a file beside it. The other is that file's device, inode and change time, which no
copy can set. A restored database has an older token than the file. A copied directory has another inode. A directory
restored in place has another change time. Each gives a new incarnation, which is always safe: cursors of others start
again at 0 and duplicates are dropped by hash.

The file beside the database also tells a lost or emptied ledger from a new one: the token holds the last number of the
log at that opening. The furthest known number outlives a log that lost its end.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from mnemesh_actors.ledger.integrity.alarms import acknowledging
from mnemesh_actors.ledger.store import schema
from mnemesh_actors.storage import data_directory
from mnemesh_actors.storage.index_state import read_meta
from mnemesh_memory.values.errors import FailedPrecondition, Unavailable

LOCK_WAIT_S = 10.0
_TOKEN = re.compile(r"[0-9a-f]{32}:([0-9]{1,18})")
_MARK = re.compile(rb"([0-9a-f]{32}):([0-9]{18})\n")
INDEXES = "index/*/meta.json"


class LedgerLock:
    """An exclusive lock on the ledger's files, held for the life of the actor. A restarted actor may find its
    predecessor still dying, so taking it waits a bounded time."""

    def __init__(self, path: Path, wait_s: float = LOCK_WAIT_S) -> None:
        self._file = open(path, "a+", encoding="utf-8", errors="replace")  # noqa: SIM115  held until close()
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    self._file.close()
                    raise FailedPrecondition(
                        f"{path} is locked by another process; only one ledger may write it",
                        field="data_dir",
                        value=str(path),
                    ) from None
                time.sleep(0.05)

    def read(self) -> str:
        """The words of the last holder, or ""."""
        self._file.seek(0)
        return self._file.read()

    def write(self, value: str) -> None:
        """Replace the content, durably. Raises Unavailable when the disk does not take it."""
        try:
            self._file.seek(0)
            self._file.truncate()
            self._file.write(value)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise Unavailable(f"the ledger could not write {self._file.name}: {error}", part="ledger") from error

    def place(self) -> str:
        """Device, inode and change time (ns) of the lock file."""
        status = os.fstat(self._file.fileno())
        return f"{status.st_dev}:{status.st_ino}:{status.st_ctime_ns}"

    def close(self) -> None:
        """Release."""
        self._file.close()


def lost(path: Path, marks: str) -> str:
    """The fault of the ledger file `path`, "" without one. `marks`, the content of its lock file, says that a ledger
    lived there. Reads the file's first page only, because opening an empty one would delete its write-ahead log."""
    if not marks or schema.version_of(path):
        return ""
    if not path.exists():
        return "is missing"
    return "holds no ledger" if path.stat().st_size else "is empty"


def emptied(db: sqlite3.Connection, marks: str) -> str:
    """The same for the open ledger `db`, which can't be empty when `marks` knows of entries."""
    had = _TOKEN.fullmatch(marks)
    if had is None or not int(had[1]) or db.execute("SELECT 1 FROM entry LIMIT 1").fetchone():
        return ""
    return f"holds no entry, and {had[1]} were written"


def refuse(path: Path, problem: str) -> None:
    """Raise DataLoss when there is a problem of `lost` or `emptied`."""
    if problem:
        way_out = "Restore it from a backup, or start with another data directory"
        raise data_directory.lost(path, f"{problem}, though a ledger lived here; nothing was changed. {way_out}")


def end_life(path: Path) -> None:
    """Let the next opening of the ledger, whose lock file this is, begin a new incarnation."""
    lock = LedgerLock(path)
    try:
        lock.write("ended")
    finally:
        lock.close()


def known_as(db: sqlite3.Connection) -> str:
    """The incarnation of the last life, "" for a ledger that is new."""
    row = db.execute("SELECT value FROM meta WHERE key = 'incarnation'").fetchone()
    return str(row[0]) if row else ""


def establish(db: sqlite3.Connection, lock: LedgerLock, *, lost_entries: bool = False) -> str:
    """The incarnation of this life, kept or new, and fresh marks for the next start. With `lost_entries` a new
    incarnation begins, and the feeds of peers are read from the beginning: peers bring back entries of this node."""
    known = dict(db.execute("SELECT key, value FROM meta"))
    kept = lock.read() == known.get("token") and lock.place() == known.get("place")
    same = "incarnation" in known and kept and not lost_entries
    incarnation = known["incarnation"] if same else secrets.token_hex(16)
    (last,) = db.execute("SELECT coalesce(max(seq), 0) FROM entry").fetchone()
    token = f"{secrets.token_hex(16)}:{last}"
    lock.write(token)
    db.execute("BEGIN IMMEDIATE")
    if lost_entries:
        db.execute("DELETE FROM peer_cursor")
    for key, value in (("incarnation", incarnation), ("token", token), ("place", lock.place())):
        db.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value)
        )
    db.execute("COMMIT")
    return incarnation


class HighWater:
    """The file with incarnation and number of the last commit. It is written after each commit and never synced: an
    older mark only shows less.

    SQLite drops the frames after a damaged one of the write-ahead log, and says nothing. Therefore the number of the
    last commit stands beside the ledger, and each index knows its last entry. A ledger that ends earlier has lost
    entries, or is an older copy: it begins a new incarnation, and a person is told.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._written: tuple[str, int] | None = None

    def read(self) -> tuple[str, int]:
        """Incarnation and number that were written last. ("", 0) of a file that is new or damaged."""
        return mark_of(os.pread(self._file, 64, 0))

    def write(self, incarnation: str, seq: int) -> None:
        """The log of `incarnation` is durable up to `seq`."""
        if self._written != (incarnation, seq):
            # The entries are on disk already, so a disk that fails here must not fail their commit.
            with suppress(OSError):
                os.pwrite(self._file, f"{incarnation}:{seq:018d}\n".encode(), 0)
            self._written = (incarnation, seq)

    def close(self) -> None:
        """Release the file."""
        os.close(self._file)


def mark_of(content: bytes) -> tuple[str, int]:
    """The content of a mark's file. ("", 0) for anything else."""
    mark = _MARK.fullmatch(content)
    return (mark[1].decode(), int(mark[2])) if mark else ("", 0)


def furthest(ledger: Path, incarnation: str, mark: tuple[str, int]) -> int:
    """The highest number that the life `incarnation` of the ledger at this path is known to have reached."""
    numbers = [mark[1]] if mark[0] == incarnation else []
    for file in ledger.parent.parent.glob(INDEXES):
        meta, _ = read_meta(file)
        if meta is not None and meta.incarnation == incarnation:
            numbers.append(meta.seq)
    return max(numbers, default=0)


def loss(ledger: Path, last: int, reached: int) -> str:
    """The alarm for a ledger that ends at `last` and had reached `reached`."""
    return (
        f"{reached - last} entries of the ledger are lost: {ledger} had {reached} and ends at {last}. Its write-ahead "
        "log was damaged or removed, or an older copy was put in its place. The node began a new incarnation and made "
        "the index new; peers send back what they hold of this node's entries. Compare with `mnemesh sync now`, or "
        f"restore a backup; `{acknowledging(ledger)}` ends this notice"
    )
