"""Whose life a ledger directory is living: a new incarnation after a restore or a copy, the same one after a restart.

Sequence numbers mean something only within an incarnation. Two marks are compared at start: a token written at every
open, in the database and in a file beside it, and that file's device, inode and change time, which no copy can set. A
restored database has an older token than the file; a copied directory has another inode; a directory that was restored
in place has another change time. Each gives a new incarnation, which is always safe: cursors of others start again at 0
and duplicates are dropped by hash.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import sqlite3
import time
from pathlib import Path

from mnemesh_memory.errors import FailedPrecondition, Unavailable

LOCK_WAIT_S = 10.0


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
        """What the last holder wrote, or ""."""
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


def end_life(path: Path) -> None:
    """Let the next opening of the ledger, whose lock file this is, begin a new incarnation."""
    lock = LedgerLock(path)
    try:
        lock.write("ended")
    finally:
        lock.close()


def establish(db: sqlite3.Connection, lock: LedgerLock) -> str:
    """The incarnation of this life, kept or new, and fresh marks for the next start."""
    known = dict(db.execute("SELECT key, value FROM meta"))
    same = "incarnation" in known and lock.read() == known.get("token") and lock.place() == known.get("place")
    incarnation = known["incarnation"] if same else secrets.token_hex(16)
    token = secrets.token_hex(16)
    lock.write(token)
    db.execute("BEGIN IMMEDIATE")
    for key, value in (("incarnation", incarnation), ("token", token), ("place", lock.place())):
        db.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value)
        )
    db.execute("COMMIT")
    return incarnation
