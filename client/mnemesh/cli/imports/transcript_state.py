"""How far each session file was imported. The next run reads a file that grew from its former end.

A file of JSON lines. Each has a path, the inode, a hash of the file's first line, and the offset behind the last
acknowledged line. The last one of a path counts. A shorter file, one with another first line, and one with a
half-written record here are read from their beginning. Turns have ids, so nothing is stored twice. A state file that
begins with anything else is somebody's, and is left as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import BinaryIO, Final

from mnemesh.cli.imports.state import StateFile

FIRST_BYTES: Final = 4096  # of the first line, that its hash is of
STALE_LINES_MAX: Final = 1_000  # that say nothing any more, until the file is written anew
BEGINNING: Final = '["'
Marks = tuple[int, str]


class Offsets:
    """The offsets in the file `path`; without a path nothing is kept. Raises InvalidArgument when it can't be used."""

    def __init__(self, path: Path | None) -> None:
        self._file = StateFile(path, (BEGINNING,), "import-transcript")
        self._known: dict[str, tuple[Marks, int]] = dict(_read(self._file.lines))
        if path is not None and len(self._file.lines) > len(self._known) + STALE_LINES_MAX:
            try:
                fresh = path.with_name(path.name + ".tmp")
                fresh.write_text("\n".join(_line(name, *known) for name, known in self._known.items()), "utf-8")
                os.replace(fresh, path)
            except OSError as error:
                raise self._file.unusable(error) from error

    def of(self, path: Path, file: BinaryIO) -> int:
        """Where to go on in `file`."""
        marks, offset = self._known.get(str(path), ((0, ""), 0))
        return offset if marks == _marks(file) and offset <= os.fstat(file.fileno()).st_size else 0

    def note(self, path: Path, file: BinaryIO, offset: int) -> None:
        """All before `offset` is stored."""
        known = (_marks(file), offset)
        if self._known.get(str(path)) != known:
            self._file.append((_line(str(path), *known),))
            self._known[str(path)] = known


def _read(lines: list[str]) -> list[tuple[str, tuple[Marks, int]]]:
    found = []
    for line in lines:
        try:
            name, inode, digest, offset = json.loads(line)
        except (ValueError, TypeError):  # half-written
            continue
        found.append((str(name), ((int(inode), str(digest)), int(offset))))
    return found


def _line(name: str, marks: Marks, offset: int) -> str:
    return json.dumps([name, *marks, offset])


def _marks(file: BinaryIO) -> Marks:
    before = file.tell()
    file.seek(0)
    first = file.readline(FIRST_BYTES)
    file.seek(before)
    return os.fstat(file.fileno()).st_ino, hashlib.sha256(first).hexdigest()
