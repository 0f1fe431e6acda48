"""A node's presence in its data directory: the lock of the one node, the owner's token, the published address.

Writes nothing into a directory of a newer format.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from pathlib import Path

from mnemesh_actors.storage.data_directory import MANIFEST, check_format
from mnemesh_gateway.security.access import refuse_open
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument
from mnemesh_proto.rendezvous import LOCK_FILE, NODE_FILE, TOKEN_FILE, read_token

TOKEN_BYTES = 32
PID_CHARS = 10


def is_there(data_dir: Path) -> bool:
    """Whether the directory exists. Raises InvalidArgument for something else, FailedPrecondition for what nobody can
    look at."""
    try:
        mode = data_dir.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise _unusable(data_dir, f"cannot use {data_dir}: {said}") from error
    if not stat.S_ISDIR(mode):
        raise InvalidArgument("data_dir", str(data_dir), "a directory, not a file")
    return True


def refuse_uninhabited(data_dir: Path) -> None:
    """Raise FailedPrecondition where no node ever lived, and what `is_there` raises."""
    if not (is_there(data_dir) and (data_dir / MANIFEST).is_file()):
        raise _unusable(data_dir, f"no node lived in {data_dir}; name one with --data")


def _unusable(data_dir: Path, why: str, **fields: str) -> FailedPrecondition:
    return FailedPrecondition(f"data_dir: {why}", field="data_dir", value=str(data_dir), **fields)


class NodeLock:
    """Held from before anything in the directory is opened until the process ends. Contains the pid."""

    def __init__(self, data_dir: Path) -> None:
        is_there(data_dir)
        try:
            check_format(data_dir)
            data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(data_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
            self._file = open(descriptor, "r+", encoding="utf-8")  # noqa: SIM115  held until close()
        except OSError as error:
            raise _unusable(data_dir, f"cannot use {data_dir}: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            pid = self._file.read().strip() or "unknown"
            self._file.close()
            why = f"a node with pid {pid} already runs on {data_dir}; stop it, or give another --data"
            raise _unusable(data_dir, why, limit="one node a directory", pid=pid) from None
        # In place: what is cut off first may not be had again on a full disk.
        os.pwrite(self._file.fileno(), f"{os.getpid():<{PID_CHARS}}".encode(), 0)
        self._file.truncate(PID_CHARS)

    def close(self) -> None:
        """Release."""
        self._file.close()


def owner_token(data_dir: Path) -> str:
    """The owner's token, made at the first start, readable by the owner only. Refuses one that others can read."""
    path = data_dir / TOKEN_FILE
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
    refuse_open(path)
    token = read_token(data_dir)
    if token is None:
        raise FailedPrecondition(
            f"{path} is empty; delete it and start again to get a new one", field="owner.token", value=str(path)
        )
    return token


def withdraw(data_dir: Path) -> None:
    """Take the published address back."""
    (data_dir / NODE_FILE).unlink(missing_ok=True)
