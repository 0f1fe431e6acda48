"""A small file a session in the data directory, a line an item, for this user alone.

Old files are removed when another session starts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

FILES_MAX: Final = 200
FILE_BYTES_MAX: Final = 256 * 1024
NAME_CHARS_MAX: Final = 120
KEPT_S: Final = 14 * 86_400


def session_name(*parts: str) -> str:
    """The name of the file of a session: one segment of a path, whatever the host calls the session."""
    return quote("-".join(filter(None, parts)), safe="", errors="replace")[:NAME_CHARS_MAX]


def made_private(folder: Path) -> None:
    """`folder` and the one above it are there, for this user alone."""
    for place in (folder.parent, folder):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)


class SessionFile:
    """The file of one session. A session without an id has none, and keeps nothing."""

    def __init__(self, folder: Path, host: str, session: str) -> None:
        self._folder = folder
        self._file = folder / session_name(host, session) if session else None

    def lines(self) -> list[str]:
        """All items, the oldest first."""
        if self._file is None:
            return []
        try:
            return self._file.read_text("utf-8", "replace").splitlines()
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
            self._file.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove the files of sessions that have been silent for long, and the oldest beyond a number."""
        with suppress(FileNotFoundError):  # no folder, or another session sweeps as well
            files = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
            for number, path in enumerate(files):
                if number >= FILES_MAX or path.stat().st_mtime < time.time() - KEPT_S:
                    path.unlink(missing_ok=True)
