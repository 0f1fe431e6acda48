"""`mnemesh consolidate`: what sleep makes of the memories of a space, the runs, and the way back."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from mnemesh.cli.options import Number, Space, Text, option
from mnemesh.cli.people import sleep as people
from mnemesh.cli.shell import Shell


def consolidate(
    shell: Shell,
    space: Space = None,
    dry_run: bool = False,
    runs: Annotated[bool, typer.Option("--runs", help="List runs of consolidation, newest first.")] = False,
    undo: Annotated[Text, option("UndoRunRequest.run", "--undo", metavar="RUN")] = None,
    limit: Annotated[Number, option("ListRunsRequest.limit", "--limit", "-n")] = None,
) -> None:
    """Merge duplicates, promote repeated episodes to a fact, and link related memories of a space. With --runs list
    what was done, with --undo take a run back."""
    if dry_run and (runs or undo is not None):
        raise typer.BadParameter("--dry-run tells of a new run: leave it out beside --runs and --undo")
    if undo is not None:
        shell.ask(lambda client: client.undo_run(undo), people.undone)
    elif runs:
        shell.ask(lambda client: client.list_runs(space=space, limit=limit), people.runs)
    else:
        shell.ask(lambda client: client.consolidate(space=space or "", dry_run=dry_run), people.consolidated)


COMMANDS: Final = (("consolidate", consolidate),)
