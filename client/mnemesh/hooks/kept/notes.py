"""Work that a hook leaves in a folder of the data directory: a JSON object a file, for this user alone, bounded.

A note names a transcript and says how far it had been written, or names memories. It holds no text of a session, so no
credential of one lies here.
"""

from __future__ import annotations

import json
import os
import time

from mnemesh.hooks.kept.session_file import made_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Final

    from mnemesh.transport.space import StrPath

# Checkpoints and votes that no node took, to be handed over by a later hook.
SPOOL: Final = "hosts/spool"
# Transcripts to be mined.
MINING: Final = "hosts/mining"
# There while mining is on.
MINING_ON: Final = "mining/on"
NOTES_MAX: Final = 500
NOTE_BYTES_MAX: Final = 8 * 1024
SUFFIX: Final = ".json"
VERSION: Final = 1  # Of the form of a note.


class Notes:
    """The notes of one folder by name. A second note of a name replaces the first."""

    def __init__(self, data_dir: StrPath, folder: str) -> None:
        self._folder = os.path.join(data_dir, folder)

    def put(self, name: str, note: Mapping[str, Any]) -> None:
        """Write a note. The oldest gives way to one too many, and one too large is dropped."""
        data = json.dumps(note).encode()
        if len(data) > NOTE_BYTES_MAX:
            return
        made_private(self._folder)
        names = self._names()
        if name + SUFFIX not in names:
            for old in names[: max(0, len(names) + 1 - NOTES_MAX)]:
                self.remove(old.removesuffix(SUFFIX))
        temporary = os.path.join(self._folder, f".{os.getpid()}.tmp")
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        os.replace(temporary, self._path(name))

    def oldest(self, most: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Up to `most` names with their notes. A damaged one is removed, and an unreadable one passed over."""
        for file in self._names():
            for note in self.named(file.removesuffix(SUFFIX)):
                if most <= 0:
                    return
                most -= 1
                yield note

    def named(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The note of a name with it, nothing without one. A damaged one is removed."""
        try:
            with open(self._path(name), "rb") as stream:
                note = json.loads(stream.read(NOTE_BYTES_MAX + 1))
        except OSError:  # another hook took it, or its file is not for this user
            return
        except (ValueError, RecursionError):
            note = None
        if isinstance(note, dict):
            yield name, note
        else:
            self.remove(name)

    def defer(self, name: str) -> None:
        """Put a note behind all others."""
        now = time.time_ns()  # the clock of files may stand still between two notes
        try:
            os.utime(self._path(name), ns=(now, now))
        except FileNotFoundError:  # another hook took it
            return

    def remove(self, name: str) -> None:
        """The work is done."""
        try:
            os.unlink(self._path(name))
        except FileNotFoundError:  # another hook did it
            return

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name + SUFFIX)

    def _names(self) -> list[str]:
        """The files, the one written first coming first."""
        try:
            entries = [entry for entry in os.scandir(self._folder) if entry.name.endswith(SUFFIX)]
            return [entry.name for entry in sorted(entries, key=lambda entry: (entry.stat().st_mtime_ns, entry.name))]
        except FileNotFoundError:
            return []
