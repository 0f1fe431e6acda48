"""The command `export`: memories as JSON lines, or as Markdown files, one each.

A file appears whole or not at all: it is written beside its place and moved there. Nothing is written outside the
directory that was named, whatever a memory is called.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, TextIO

import typer

from mnemesh.api.values.memories import Memory
from mnemesh.cli.options import Text, Texts, each
from mnemesh.cli.shell import Shell, count_of, one_line
from mnemesh.errors import InvalidArgument, why
from mnemesh.importing.export import jsonl_line, markdown_path, markdown_text

FORMATS: Final = ("jsonl", "markdown")
OUTPUT_HELP: Final = "File of JSON lines, or directory of Markdown files."
OVERWRITE_HELP: Final = "Replace a file, or write into a directory, that is not empty."


def export(
    shell: Shell,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="PATH", help=OUTPUT_HELP)] = None,
    format: Annotated[str, typer.Option("--format", help="jsonl or markdown.")] = "jsonl",
    space: Texts = None,
    tags_any: Annotated[Texts, each("ExportRequest.tags_any", "--tags-any", metavar="TAG")] = None,
    kind: Annotated[Texts, each("ExportRequest.kinds", "--kind", "-k", metavar="KIND")] = None,
    since: Text = None,
    before: Text = None,
    include_forgotten: bool = False,
    include_superseded: bool = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help=OVERWRITE_HELP)] = False,
) -> None:
    """Write memories with all their fields: JSON lines on standard output or in a file, or Markdown files."""
    form = {"md": "markdown"}.get(format, format)
    if form not in FORMATS:
        raise InvalidArgument("--format", format, f"one of {', '.join(FORMATS)}")
    if output is None and (form == "markdown" or shell.json):
        allowed = "a path; Markdown and --json don't go to standard output"
        raise InvalidArgument("--output", "nothing", allowed, missing=True)
    with shell.client() as client:
        memories = client.export(
            space=space,
            tags_any=tags_any,
            kinds=kind,
            since=since,
            before=before,
            include_forgotten=include_forgotten,
            include_superseded=include_superseded,
        )
        if output is None:
            if isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # what the format is, on any terminal
            count = 0
            for memory in memories:
                sys.stdout.write(jsonl_line(memory))
                count += 1
            if not count:
                print(f"mnemesh: no memory to export{_where(space)}", file=sys.stderr)
            return
        try:
            write = _to_directory if form == "markdown" else _to_file
            count = write(memories, output, overwrite)
        except OSError as error:
            raise InvalidArgument("--output", str(output), f"a place that can be written ({why(error)})") from None
    done = {"exported": count, "format": form, "output": str(output)}
    shell.answer(done, lambda: [f"{count_of(count, 'memory')}{_where(space)} exported to {one_line(str(output))}"])


def _where(spaces: list[str] | None) -> str:
    return f" in {', '.join(map(one_line, spaces))}" if spaces else ""


def _to_file(memories: Iterator[Memory], path: Path, overwrite: bool) -> int:
    if not overwrite and path.is_file() and path.stat().st_size:
        raise InvalidArgument("--output", str(path), "a new or empty file, or --overwrite")
    count = 0
    with _replacing(path) as file:
        for memory in memories:
            file.write(jsonl_line(memory))
            count += 1
    return count


def _to_directory(memories: Iterator[Memory], directory: Path, overwrite: bool) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    if not overwrite and any(directory.iterdir()):
        raise InvalidArgument("--output", str(directory), "an empty directory, or --overwrite")
    count = 0
    for memory in memories:
        path = directory / markdown_path(memory)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _replacing(path) as file:
            file.write(markdown_text(memory))
        count += 1
    return count


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    """A new file that takes the place of `path` when the block ends without an error. A pipe or a device stays."""
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            yield file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


COMMANDS: Final = (("export", export),)
