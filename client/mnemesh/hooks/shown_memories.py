"""The memories that a session has been shown: one small file a session in the data directory, an id a line.

The files are for this user alone. Old ones are removed when another session starts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

FOLDER: Final = "hosts/sessions"
IDS_MAX: Final = 1_000
FILES_MAX: Final = 200
NAME_CHARS_MAX: Final = 120
KEPT_S: Final = 14 * 86_400


class ShownMemories:
    """The file of one session. A session without an id has none, and is shown memories again."""

    def __init__(self, data_dir: Path, host: str, session: str) -> None:
        self._folder = data_dir / FOLDER
        name = quote(f"{host}-{session}", safe="", errors="replace")[:NAME_CHARS_MAX]
        self._file = self._folder / name if session else None

    def ids(self) -> frozenset[str]:
        """The memories that the session has been shown."""
        if self._file is None:
            return frozenset()
        try:
            lines = self._file.read_text("ascii", "replace").split()
        except FileNotFoundError:
            return frozenset()
        return frozenset(lines[-IDS_MAX:])

    def add(self, ids: Iterable[str]) -> None:
        """Note more."""
        if self._file is None:
            return
        for folder in (self._folder.parent, self._folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as file:
            file.write("".join(f"{memory}\n" for memory in ids))

    def clear(self) -> None:
        """The model has forgotten all of it."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove the files of sessions that have been silent for long, and the oldest beyond a number."""
        with suppress(FileNotFoundError):  # no folder, or another session sweeps as well
            files = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
            for number, path in enumerate(files):
                if number >= FILES_MAX or path.stat().st_mtime < time.time() - KEPT_S:
                    path.unlink(missing_ok=True)
