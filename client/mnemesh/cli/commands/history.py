"""The commands on a memory's past: history, blame, rollback, conflicts, resolve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from mnemesh.cli.options import REPEAT, ConflictSpaces, Id, Space, Wait, contract
from mnemesh.cli.people import history as people_history
from mnemesh.cli.people import memories as people
from mnemesh.cli.shell import Shell, text_of

Cursor = Annotated[str | None, typer.Option("--cursor", help=contract("HistoryRequest.cursor"))]


def _heads(field: str) -> Any:
    return typer.Option("--expected-heads", metavar="REVISION", help=contract(field) + REPEAT)


def history(
    shell: Shell,
    id: Id,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help=contract("HistoryRequest.limit"))] = None,
    cursor: Cursor = None,
    space: Space = None,
) -> None:
    """Show every revision of a memory, newest first, with text, author, time and node."""
    with shell.client(space) as client:
        page = client.history(id, limit=limit, cursor=cursor or "")
    shell.answer(page, lambda: people_history.history(page))


def blame(
    shell: Shell,
    id: Id,
    revision: Annotated[
        str | None, typer.Option("--revision", metavar="REVISION", help=contract("BlameRequest.revision"))
    ] = None,
    space: Space = None,
) -> None:
    """Say who last set each line of a memory's text, each field, tag and link."""
    with shell.client(space) as client:
        found = client.blame(id, revision=revision or "")
    shell.answer(found, lambda: people_history.blame(found))


def rollback(
    shell: Shell,
    id: Id,
    to: Annotated[str, typer.Option("--to", metavar="REVISION", help=contract("RollbackRequest.to"))],
    expected_head: Annotated[list[str] | None, _heads("RollbackRequest.expected_heads")] = None,
    wait: Wait = None,
    space: Space = None,
) -> None:
    """Make a memory say again what an older revision said. Later revisions stay in its history."""
    with shell.client(space) as client:
        done = client.rollback(id, to, expected_heads=expected_head or [], wait=wait or "")
    shell.answer(done, lambda: people.written(done))


def conflicts(
    shell: Shell,
    space: ConflictSpaces = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help=contract("ConflictsRequest.limit"))] = None,
    cursor: Cursor = None,
) -> None:
    """Show memories that two writers changed at the same time, with all their versions."""
    with shell.client() as client:
        page = client.conflicts(space=space, limit=limit, cursor=cursor or "")
    shell.answer(page, lambda: people_history.conflicts(page))


def resolve(
    shell: Shell,
    id: Id,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="REVISION", help=contract("ResolveRequest.keep"))
    ] = None,
    content: Annotated[
        str | None,
        typer.Option("--content", metavar="TEXT", help=contract("ResolveRequest.content") + " - reads standard input."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Take that text from a file.")
    ] = None,
    expected_head: Annotated[list[str] | None, _heads("ResolveRequest.expected_heads")] = None,
    wait: Wait = None,
    space: Space = None,
) -> None:
    """End a conflict: keep one version, or give another text. The other versions stay in the history."""
    text = None if content is None and file is None else text_of(None if content is None else [content], file)
    with shell.client(space) as client:
        done = client.resolve(id, keep=keep or "", content=text, expected_heads=expected_head or [], wait=wait or "")
    shell.answer(done, lambda: people.written(done))


COMMANDS: Final = tuple((command.__name__, command) for command in (history, blame, rollback, conflicts, resolve))
