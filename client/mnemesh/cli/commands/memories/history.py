"""The commands on a memory's past: history, blame, rollback, conflicts, resolve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from mnemesh.cli.given import given, new_text
from mnemesh.cli.options import Id, Number, PageOptions, Space, Text, Texts, Wait, each, option
from mnemesh.cli.people import conflicts as people_conflicts
from mnemesh.cli.people import history as people_history
from mnemesh.cli.people import memories as people
from mnemesh.cli.shell import Shell


def history(shell: Shell, id: Id, limit: Number = None, cursor: str = "", space: Space = None) -> None:
    """Show every revision of a memory, newest first, with text, author, time and node."""
    shell.ask(lambda client: client.history(id, limit=limit, cursor=cursor), people_history.history, space)


def blame(
    shell: Shell,
    id: Id,
    revision: Annotated[str, option("BlameRequest.revision", "--revision", metavar="REVISION")] = "",
    space: Space = None,
) -> None:
    """Say who last set each line of a memory's text, each field, tag and link."""
    shell.ask(lambda client: client.blame(id, revision=revision), people_history.blame, space)


def rollback(
    shell: Shell,
    id: Id,
    to: Annotated[str, option("RollbackRequest.to", "--to", metavar="REVISION")],
    heads: Annotated[Texts, each("RollbackRequest.expected_heads", "--expected-heads", metavar="REVISION")] = None,
    wait: Wait = "",
    space: Space = None,
) -> None:
    """Make a memory say again what an older revision said. Later revisions stay in its history."""
    shell.ask(lambda client: client.rollback(id, to, expected_heads=heads, wait=wait), people.written, space)


def conflicts(shell: Shell, page: PageOptions) -> None:
    """Show memories that two writers changed at the same time, with all their versions, and pairs of memories that
    contradict each other while both stand."""
    shell.ask(lambda client: client.conflicts(**page.fields()), people_conflicts.conflicts)


def resolve(
    shell: Shell,
    id: Id,
    keep: Annotated[str, option("ResolveRequest.keep", "--keep", metavar="REVISION")] = "",
    other: Annotated[str, option("ResolveRequest.other", "--other", metavar="ID")] = "",
    content: Annotated[
        Text, option("ResolveRequest.content", "--content", metavar="TEXT", more=" - reads standard input.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Take that text from a file.")
    ] = None,
    heads: Annotated[Texts, each("ResolveRequest.expected_heads", "--expected-heads", metavar="REVISION")] = None,
    wait: Wait = "",
    space: Space = None,
) -> None:
    """End a conflict: keep one version, or give another text. The other versions stay in the history. With --other,
    decide between two memories that contradict each other."""
    wanted = given(keep=keep, content=new_text(content, file), expected_heads=heads, other=other, wait=wait)
    shell.ask(lambda client: client.resolve(id, **wanted), people.written, space)


COMMANDS: Final = tuple((command.__name__, command) for command in (history, blame, rollback, conflicts, resolve))
