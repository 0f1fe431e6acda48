"""The commands beside recall: many queries at once, and what has to do with a memory."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from mnemesh.api import values
from mnemesh.cli.options import Number, Spaces
from mnemesh.cli.people import memories as people
from mnemesh.cli.shell import Shell, json_lines, one_line
from mnemesh.errors import InvalidArgument, MnemeshError

# How a node and the client name a query, and a field of it.
PLACE: Final = re.compile(r"queries\[(\d+)\](?:\.(.+))?$")
FILE_HELP: Final = (
    'JSON Lines: each line a query as a string, or an object such as {"query": "...", "limit": 3} with whatever recall '
    "takes. - reads standard input."
)


def recall_batch(shell: Shell, file: Annotated[Path, typer.Argument(metavar="FILE", help=FILE_HELP)]) -> None:
    """Answer up to 32 queries in one call, in their order."""
    numbered = dict(_queries(file))
    queries = list(numbered.values())
    with shell.client() as client:
        try:
            batch = client.recall_batch(queries)
        except MnemeshError as error:
            raise _of_the_file(error, list(numbered)) from None
    shell.answer(batch, lambda: _answers(queries, batch))


def related(shell: Shell, id: str, limit: Number = None, space: Spaces = None) -> None:
    """Show memories around a memory: linked, near in text, or beside it in the session."""
    shell.ask(lambda client: client.related(id, limit=limit, space=space), people.related)


def _queries(file: Path) -> Iterator[tuple[int, Any]]:
    """The queries of a file with the numbers of their lines. Raises InvalidArgument with the number of the line."""
    try:
        text = (sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()).decode("utf-8")
    except OSError as error:
        raise InvalidArgument("FILE", str(file), f"a file that can be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InvalidArgument("FILE", str(file), f"a file in UTF-8, unlike byte {error.start}") from None
    return json_lines(text)


def _of_the_file(error: MnemeshError, numbers: Sequence[int]) -> MnemeshError:
    """`error` with the line's number in the message in place of the query's. The field stays the query's place, as
    through every door.
    """
    place = PLACE.match(error.field)
    if place is None or int(place[1]) >= len(numbers):
        return error
    field = f"line {numbers[int(place[1])]}" + (f", {place[2]}" if place[2] else "")
    error.message = error.message.replace(error.field, field)
    return error


def _answers(queries: list[Any], batch: values.RecalledBatch) -> Iterator[str]:
    for place, (query, answer) in enumerate(zip(queries, batch.answers, strict=True)):
        asked = one_line(str(query if isinstance(query, str) else query.get("query", "")))
        if place:
            yield ""
        yield people.paint(f"? {asked}".rstrip(), people.CYAN)
        explain = not isinstance(query, str) and bool(query.get("explain"))
        yield from people.recalled(answer, explain=explain, asked=bool(asked))


COMMANDS: Final = (("recall-batch", recall_batch), ("related", related))
