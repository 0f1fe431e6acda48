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

from mnemesh.errors import InvalidArgument, why

FIRST_BYTES: Final = 4096  # of the first line, that its hash is of
STALE_LINES_MAX: Final = 1_000  # that say nothing any more, until the file is written anew
BEGINNING: Final = '["'
Marks = tuple[int, str]


class Offsets:
    """The offsets in the file `path`; without a path nothing is kept. Raises InvalidArgument when it can't be used."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, tuple[Marks, int]] = {}
        if path is None:
            return
        try:
            text = path.read_text("utf-8").lstrip() if path.exists() else ""
            first = text.partition("\n")[0]
            if not first.startswith(BEGINNING[: len(first)]):  # of a half-written line
                raise InvalidArgument("--state", str(path), "a file that an import-transcript has written, or none yet")
            lines = text.splitlines()
            self._known = dict(_read(lines))
            if len(lines) > len(self._known) + STALE_LINES_MAX:
                fresh = path.with_name(path.name + ".tmp")
                fresh.write_text("".join(_line(name, *known) for name, known in self._known.items()), "utf-8")
                os.replace(fresh, path)
        except (OSError, UnicodeDecodeError) as error:
            raise _unusable(path, error) from error

    def of(self, path: Path, file: BinaryIO) -> int:
        """Where to go on in `file`."""
        marks, offset = self._known.get(str(path), ((0, ""), 0))
        return offset if marks == _marks(file) and offset <= os.fstat(file.fileno()).st_size else 0

    def note(self, path: Path, file: BinaryIO, offset: int) -> None:
        """All before `offset` is stored."""
        known = (_marks(file), offset)
        if self._path is None or self._known.get(str(path)) == known:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._path.open("a", encoding="utf-8") as state:
                state.write(_line(str(path), *known))
        except OSError as error:
            raise _unusable(self._path, error) from error
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
    # The line break before ends one that was half-written.
    return "\n" + json.dumps([name, *marks, offset])


def _marks(file: BinaryIO) -> Marks:
    before = file.tell()
    file.seek(0)
    first = file.readline(FIRST_BYTES)
    file.seek(before)
    return os.fstat(file.fileno()).st_ino, hashlib.sha256(first).hexdigest()


def _unusable(path: Path, error: OSError | UnicodeDecodeError) -> InvalidArgument:
    return InvalidArgument("--state", str(path), f"a file that can be read and written ({why(error)})")
