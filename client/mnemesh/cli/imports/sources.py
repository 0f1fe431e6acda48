"""The files of an import, and how to read them. Left out are files outside the named directory, hidden and binary
files, and files that tools installed or made.

A symbolic link found in a directory is never followed, so that no link in somebody's directory can reach the reader's
other files. A path that was named is read as it stands. Files left out are counted by reason.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from mnemesh.errors import InvalidArgument
from mnemesh.importing import zikkaron
from mnemesh.importing.items import Parsed, Problem, parse_jsonl, parse_text
from mnemesh.importing.records import is_graph, parse_graph, parse_json

FORMATS: Final[Mapping[str, str]] = {
    ".md": "markdown", ".markdown": "markdown", ".mdown": "markdown",
    ".txt": "text", ".text": "text",
    ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "json", ".db": "zikkaron", ".sqlite": "zikkaron", ".sqlite3": "zikkaron",
}  # fmt: skip
FILE_BYTES_MAX: Final = 16 * 1024 * 1024
LINE_BYTES_MAX: Final = 1024 * 1024
NAMED_ONLY: Final = ("json", "zikkaron")  # a folder holds many such files that are no memories
UNBOUNDED: Final = ("jsonl", "zikkaron")  # read piece by piece
SNIFFED_BYTES: Final = 8192
# Folders of files that tools installed or made, not of somebody's writing.
TOOL_FOLDERS: Final = frozenset(("node_modules", "bower_components", "venv", "__pycache__", "site-packages"))


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to import. `path` is absolute and leads over no symbolic link; `name` is its path relative to what was
    named, with slashes."""

    path: Path
    name: str
    format: str
    bytes: int


@dataclass(slots=True)
class FoundFiles:
    """The files of an import, in order of their names. How many were left out, by reason, and what could not be
    read, with the system's reason."""

    files: list[SourceFile] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    unreadable: list[tuple[str, str]] = field(default_factory=list)


def find_all(roots: Sequence[Path], format: str = "") -> FoundFiles:
    """The files at or below any of `roots`, in their order, each once; else as `find`. Raises InvalidArgument."""
    if len(roots) == 1:
        return find(roots[0], format)
    whole = FoundFiles()
    known: set[Path] = set()
    for root in roots:
        below = find(root, format, alone=False)
        whole.files += [file for file in below.files if file.path not in known]
        known |= {file.path for file in below.files}
        whole.skipped += below.skipped
        whole.unreadable += below.unreadable
    return whole


def find(root: Path, format: str = "", *, alone: bool = True) -> FoundFiles:
    """The files at or below `root`; `format` reads all of them as markdown, text or jsonl. A file that was named and is
    left out is refused when it was named `alone`. Raises InvalidArgument."""
    if format and format not in FORMATS.values():
        raise InvalidArgument("--format", format, f"one of {', '.join(dict.fromkeys(FORMATS.values()))}")
    listing = FoundFiles()
    try:
        base = root.resolve(strict=True)
    except OSError as error:
        raise InvalidArgument("path", str(root), f"a readable file or directory ({error.strerror})") from None
    if base.is_dir():
        _walk(base, "", format, listing)
    elif base.is_file():
        _take(base, base.name, format or FORMATS.get(base.suffix.lower(), "text"), listing)
        for reason in listing.skipped if alone else ():  # so that nothing would be done
            raise InvalidArgument("path", str(root), f"a file that can be read, or a directory; this is {reason}")
    else:
        raise InvalidArgument("path", str(root), "a file or a directory")
    return listing


def _walk(directory: Path, prefix: str, format: str, listing: FoundFiles) -> None:
    try:
        with os.scandir(directory) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError as error:
        listing.unreadable.append((prefix or str(directory), error.strerror or str(error)))
    else:
        for entry in entries:
            name = prefix + entry.name
            suffix = FORMATS.get(Path(entry.name).suffix.lower(), "")
            suffix = "" if suffix in NAMED_ONLY else suffix
            if entry.is_symlink():
                listing.skipped["symbolic link"] += 1
            elif entry.name.startswith("."):
                listing.skipped["hidden"] += 1
            elif entry.is_dir() and entry.name in TOOL_FOLDERS:
                listing.skipped[f"folder {entry.name}"] += 1
            elif entry.is_dir():
                _walk(Path(entry.path), name + "/", format, listing)
            elif not entry.is_file() or not (format or suffix):
                listing.skipped["other type"] += 1
            else:
                _take(Path(entry.path), name, format or suffix, listing)


def _take(path: Path, name: str, format: str, listing: FoundFiles) -> None:
    try:
        with open_no_link(path) as file:
            head, size = file.read(SNIFFED_BYTES), os.fstat(file.fileno()).st_size
    except OSError as error:
        listing.unreadable.append((name, error.strerror or str(error)))
        return
    database = head.startswith(zikkaron.MAGIC)
    if database != (format == "zikkaron") or (b"\0" in head and not database):
        listing.skipped["no Zikkaron database" if format == "zikkaron" else "binary"] += 1
    elif format not in UNBOUNDED and size > FILE_BYTES_MAX:
        listing.skipped[f"over {FILE_BYTES_MAX // 2**20} MiB"] += 1
    else:
        listing.files.append(SourceFile(path, name, format, size))


def parsed(file: SourceFile) -> Parsed:
    """The items and problems of a file."""
    if file.format == "zikkaron":
        yield from zikkaron.parse_zikkaron(file.path, file.name)
        return
    try:
        with open_no_link(file.path) as stream:
            if file.format == "jsonl":
                yield from _json_lines(stream, file)
                return
            text = stream.read(FILE_BYTES_MAX + 1).decode("utf-8")
    except OSError as error:
        yield Problem(line=0, message=f"can't be read: {error.strerror}")
    except UnicodeDecodeError as error:
        yield Problem(line=error.object.count(b"\n", 0, error.start) + 1, message="is not UTF-8")
    else:
        if file.format == "markdown":
            from mnemesh.importing.markdown import parse_markdown

            yield from parse_markdown(text, file.name, str(file.path))
        elif file.format == "json":
            yield from parse_json(text, file.name, str(file.path))
        else:
            yield from parse_text(text, file.name, str(file.path))


def _json_lines(stream: BinaryIO, file: SourceFile) -> Parsed:
    if is_graph(stream.readline(LINE_BYTES_MAX).removeprefix(b"\xef\xbb\xbf")):
        stream.seek(0)
        lines = ((number, line.decode("utf-8-sig", "replace")) for number, line in _lines(stream))
        yield from parse_graph(lines, file.name, str(file.path))
        return
    stream.seek(0)
    for number, line in _lines(stream):
        if len(line) > LINE_BYTES_MAX:
            yield Problem(line=number, message=f"line of more than {LINE_BYTES_MAX} bytes")
            continue
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            yield Problem(line=number, message="is not UTF-8")
        else:
            yield from parse_jsonl(((number, text),))


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Numbered lines. Of a line that is too long, only the beginning, and the rest is passed over."""
    number = 0
    while line := stream.readline(LINE_BYTES_MAX + 1):
        number += 1
        yield number, line
        while len(line) > LINE_BYTES_MAX and not line.endswith(b"\n") and line:
            line = stream.readline(LINE_BYTES_MAX + 1)


def open_no_link(path: Path) -> BinaryIO:
    """Open for reading; raises OSError when `path` has become a symbolic link meanwhile."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")
