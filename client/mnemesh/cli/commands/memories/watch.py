"""The command `watch`: a line a change, as it happens, until Ctrl-C. With --json an object a line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from mnemesh.api.json_form import as_json
from mnemesh.api.values.watch import Change
from mnemesh.cli.given import given
from mnemesh.cli.options import Number, Texts, option
from mnemesh.cli.people.memories import NODE_ID_CHARS, clip, shown_time
from mnemesh.cli.shell import Shell, one_line, print_json
from mnemesh.short_id import short_id

if TYPE_CHECKING:
    from mnemesh.api.watch import Watch

TYPE_CHARS: Final = 10


def watch(
    shell: Shell,
    space: Texts = None,
    kind: Texts = None,
    not_agent: Annotated[str, option("WatchRequest.not_agent", "--not-agent", metavar="NAME")] = "",
    cursor: str = "",
    from_start: bool = False,
    include_content: bool = False,
    limit: Annotated[Number, typer.Option("--limit", "-n", help="End after so many changes.")] = None,
) -> None:
    """Show changes of memories as they happen, a line each (with --json an object a line), until Ctrl-C. A broken
    connection and a restarted node are waited for."""
    with shell.client() as client:
        wanted = given(cursor=cursor, from_start=from_start, include_content=include_content)
        changes = client.watch(space=space, kinds=kind, not_agent=not_agent, **wanted)
        try:
            with changes:
                _show(changes, shell.json, limit)
        except KeyboardInterrupt:
            if changes.cursor and not shell.json:
                print(f"mnemesh: go on later with --cursor {changes.cursor}", file=sys.stderr)
            raise


def _show(changes: Watch, as_objects: bool, limit: int | None) -> None:
    said = ""
    shown = 0
    while True:
        if changes.reason != said:
            said = changes.reason
            print(f"mnemesh: {one_line(said)}", file=sys.stderr)
        if limit is not None and shown >= limit:
            return
        change = next(changes)
        if as_objects:
            print_json(as_json(change))
        else:
            print(line_of(change))
        sys.stdout.flush()
        shown += 1


def line_of(change: Change) -> str:
    """When, what, which memory, by whom."""
    text = one_line(change.title or change.content)
    who = one_line(change.agent) + (f" via {change.node_id[:NODE_ID_CHARS]}" if change.merged else "")
    where = f"{short_id(change.id)}  {one_line(change.space)}  {change.kind}".rstrip()
    return f"{shown_time(change.at)}  {change.type:<{TYPE_CHARS}}  {where}  by {who}" + (
        f"  {clip(text)}" if text else ""
    )


COMMANDS: Final = (("watch", watch),)
