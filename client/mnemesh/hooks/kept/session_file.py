"""A small file a session in the data directory, a line an item, for this user alone.

Old files are removed when another session starts.
"""

from __future__ import annotations

import os
import time

from mnemesh.transport.percent import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from mnemesh.transport.space import StrPath

FILES_MAX: Final = 200
FILE_BYTES_MAX: Final = 256 * 1024
NAME_CHARS_MAX: Final = 120
KEPT_S: Final = 14 * 86_400


def session_name(*parts: str) -> str:
    """The name of the file of a session: one segment of a path, whatever the host calls the session."""
    return quoted("-".join(filter(None, parts)), errors="replace")[:NAME_CHARS_MAX]


def made_private(folder: StrPath) -> None:
    """`folder` and the one above it are there, for this user alone."""
    if not os.path.isdir(folder):
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)


class SessionFile:
    """The file of one session. A session without an id has none, and keeps nothing."""

    folder: str  # In the data directory.

    def __init__(self, data_dir: StrPath, host: str, session: str) -> None:
        self._folder = os.path.join(data_dir, self.folder)
        self._file = os.path.join(self._folder, session_name(host, session)) if session else None

    def lines(self) -> list[str]:
        """All items, the oldest first."""
        if self._file is None:
            return []
        try:
            with open(self._file, encoding="utf-8", errors="replace") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def append(self, items: Iterable[str]) -> None:
        """Note more items without line breaks. A full file takes no more."""
        if self._file is None:
            return
        made_private(self._folder)
        with open(os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as file:
            if os.fstat(file.fileno()).st_size < FILE_BYTES_MAX:
                file.write("".join(f"{item}\n" for item in items).encode("utf-8", "replace"))

    def clear(self) -> None:
        """Forget all items."""
        if self._file is not None:
            _remove(self._file)

    def sweep(self) -> None:
        """Remove the files of sessions that have been silent for long, and the oldest beyond a number."""
        try:
            written = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(self._folder)]
        except FileNotFoundError:  # no folder, or another session sweeps as well
            return
        for number, (at, path) in enumerate(sorted(written, reverse=True)):
            if number >= FILES_MAX or at < time.time() - KEPT_S:
                _remove(path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
