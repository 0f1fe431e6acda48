"""The commands beside recall: many queries at once, and what has to do with a memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from mnemesh import recall_values
from mnemesh.cli import people
from mnemesh.cli.options import Id, Spaces, contract
from mnemesh.cli.shell import Shell, one_line
from mnemesh.errors import InvalidArgument

FILE_HELP: Final = (
    'JSON Lines: each line a query as a string, or an object such as {"query": "...", "limit": 3} with whatever recall '
    "takes. - reads standard input."
)


def recall_batch(shell: Shell, file: Annotated[Path, typer.Argument(metavar="FILE", help=FILE_HELP)]) -> None:
    """Answer many queries in one call, in their order; at most 32."""
    queries = list(_queries(file))
    with shell.client() as client:
        found = client.recall_batch(queries)
    shell.answer(found, lambda: _answers(queries, found))


def related(
    shell: Shell,
    id: Id,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help=contract("RelatedRequest.limit"))] = None,
    space: Spaces = None,
) -> None:
    """Show what has to do with a memory: linked, near in its text, or beside it in its session."""
    with shell.client() as client:
        found = client.related(id, limit=limit, space=space)
    shell.answer(found, lambda: people.related(found))


def _queries(file: Path) -> Iterator[Any]:
    """The queries of a file. Raises InvalidArgument with the number of the line."""
    try:
        text = (sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()).decode("utf-8")
    except OSError as error:
        raise InvalidArgument("FILE", str(file), f"a file that can be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InvalidArgument("FILE", str(file), f"a file in UTF-8, unlike byte {error.start}") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InvalidArgument(f"line {number}", line, f"JSON: {error}") from None


def _answers(queries: list[Any], found: recall_values.RecalledBatch) -> Iterator[str]:
    for place, (query, answer) in enumerate(zip(queries, found.answers, strict=True)):
        asked = one_line(str(query if isinstance(query, str) else query.get("query", "")))
        if place:
            yield ""
        yield people.paint(f"? {asked}".rstrip(), people.CYAN)
        explain = not isinstance(query, str) and bool(query.get("explain"))
        yield from people.recalled(answer, explain=explain, asked=bool(asked))


COMMANDS: Final = (("recall-batch", recall_batch), ("related", related))
