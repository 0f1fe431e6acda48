"""The items that an import has stored already. A later run goes on from there.

An append-only file of idempotency keys, one a line, each followed by the id of its memory, if any. A key is written
only after the node has acknowledged. A half-written last line is no key and does no harm, because a second storing of
its item changes nothing. A file that begins with anything else is somebody's, and is left as it is.

How far each session file was imported. The next run reads a file that grew from its former end. A file of JSON lines.
Each has a path, the inode, a hash of the file's first line, and the offset behind the last acknowledged line. The last
one of a path counts. A shorter file, one with another first line, and one with a half-written record here are read
from their beginning. Turns have ids, so nothing is stored twice. A state file that begins with anything else is
somebody's, and is left as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from mnemesh.errors import InvalidArgument, why
from mnemesh.importing.items import KEY_PREFIX

# The mark of an item once its links lead to the new ids.
DONE: Final = "links-"
ID_CHARS: Final = 36
BEGINNINGS: Final = (KEY_PREFIX, DONE + KEY_PREFIX)


class StateFile:
    """Lines in the file `path`, which is made with the first line. `beginnings` are those of each line, `writer` is the
    command. Raises InvalidArgument for a file of somebody else, and for one that can't be read or written. Without a
    path nothing is kept."""

    def __init__(self, path: Path | None, beginnings: tuple[str, ...], writer: str) -> None:
        self.path = path
        self.lines: list[str] = []
        if path is None:
            return
        try:
            text = path.read_text("utf-8") if path.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise self.unusable(error) from error
        first = text.lstrip().partition("\n")[0]
        # The first line may be a half-written one.
        if not any(first.startswith(begin) or begin.startswith(first) for begin in beginnings):
            raise InvalidArgument("--state", str(path), f"a file that an {writer} has written, or none yet")
        self.lines = [line for line in text.splitlines() if line]

    def append(self, lines: Iterable[str]) -> None:
        """Add lines at the end."""
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self.path.open("a", encoding="utf-8") as file:
                # The line break before ends a line that an earlier run left half-written.
                file.write("\n" + "".join(f"{line}\n" for line in lines))
        except OSError as error:
            raise self.unusable(error) from error

    def unusable(self, error: OSError | UnicodeDecodeError) -> InvalidArgument:
        """The error for a file that can't be used."""
        return InvalidArgument("--state", str(self.path), f"a file that can be read and written ({why(error)})")


class ImportState:
    """The keys in the file `path`. Raises as StateFile."""

    def __init__(self, path: Path | None) -> None:
        self._file = StateFile(path, BEGINNINGS, "import")
        lines = (line.partition(" ") for line in self._file.lines)
        self._keys = {key: id_ for key, _, id_ in lines if key and len(id_) in (0, ID_CHARS)}

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def id_of(self, key: str) -> str:
        """The memory that the item with this key became; "" when that was not noted."""
        return self._keys.get(key, "")

    def add(self, keys: Mapping[str, str] | Iterable[str]) -> None:
        """Note that the items with these keys are stored. Of a mapping, each as the memory with that id."""
        ids = keys if isinstance(keys, Mapping) else dict.fromkeys(keys, "")
        fresh = {key: id_ for key, id_ in ids.items() if key not in self._keys}
        if self._file.path is not None and fresh:
            self._file.append(f"{key} {id_}".rstrip() for key, id_ in fresh.items())
            self._keys.update(fresh)


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
    places = []
    for line in lines:
        try:
            name, inode, digest, offset = json.loads(line)
        except (ValueError, TypeError):  # half-written
            continue
        places.append((str(name), ((int(inode), str(digest)), int(offset))))
    return places


def _line(name: str, marks: Marks, offset: int) -> str:
    return json.dumps([name, *marks, offset])


def _marks(file: BinaryIO) -> Marks:
    before = file.tell()
    file.seek(0)
    first = file.readline(FIRST_BYTES)
    file.seek(before)
    return os.fstat(file.fileno()).st_ino, hashlib.sha256(first).hexdigest()
