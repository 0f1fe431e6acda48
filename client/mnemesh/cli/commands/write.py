"""The commands that write memories: remember, check, update, supersede, forget, restore, purge."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from mnemesh.api import values
from mnemesh.api.calls.removals import joined
from mnemesh.cli.filters import Filters
from mnemesh.cli.given import given
from mnemesh.cli.options import REPEAT, Changed, Described, Id, Origin, Space, Wait, Words, contract
from mnemesh.cli.people import memories as people
from mnemesh.cli.shell import Shell, count_of, one_line, text_of
from mnemesh.errors import InvalidArgument, NotFound
from mnemesh.exit_status import EXIT_REFUSED

if TYPE_CHECKING:
    from mnemesh.api.client import Client

ID_CHARS: Final = 36  # of a whole id
BULK_PAGE: Final = 200
FILTERS_NEEDED: Final = (
    "at least one of --space, --kind, --tag, --tags-any, --tags-none, --since, --before, --valid-at, --by, "
    "--session; or --all for every space that the token may write"
)
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")]
TextFile = Annotated[Path | None, typer.Option("--file", "-f", metavar="FILE", help="Take the text from a file.")]


def remember(
    shell: Shell,
    described: Described,
    origin: Origin,
    text: Words = None,
    file: TextFile = None,
    space: Space = None,
) -> None:
    """Store a memory. An exact duplicate in the same space is not stored again."""
    with shell.client() as client:
        done = client.remember(text_of(text, file), **given(space=space), **described.fields(), **origin.fields())
    shell.answer(done, lambda: people.remembered(done, shell.where))


def check(
    shell: Shell,
    described: Described,
    origin: Origin,
    text: Words = None,
    file: TextFile = None,
    space: Space = None,
) -> None:
    """Say the effect and reason of remember with the same arguments. Writes nothing."""
    with shell.client() as client:
        done = client.check(text_of(text, file), **given(space=space), **described.fields(), **origin.fields())
    shell.answer(done, lambda: people.checked(done, shell.where))


def update(
    shell: Shell,
    described: Changed,
    id: Id,
    content: Annotated[
        str | None, typer.Option("--content", metavar="TEXT", help="New text; - reads standard input.")
    ] = None,
    file: TextFile = None,
    clear: Annotated[
        list[str] | None,
        typer.Option("--clear", metavar="FIELD", help=contract("UpdateRequest.clear") + REPEAT),
    ] = None,
    expected_head: Annotated[
        list[str] | None,
        typer.Option("--expected-heads", metavar="REVISION", help=contract("UpdateRequest.expected_heads")),
    ] = None,
    space: Space = None,
) -> None:
    """Change a memory: what is given replaces what was there. The old revision stays in its history."""
    changes = described.fields()
    if content is not None or file is not None:
        changes["content"] = text_of(None if content is None else [content], file)
    with shell.client(space) as client:
        done = client.update(id, **changes, clear=clear or [], expected_heads=expected_head or [])
    shell.answer(done, lambda: people.written(done))


def supersede(
    shell: Shell,
    described: Described,
    origin: Origin,
    id: Id,
    text: Words = None,
    file: TextFile = None,
    space: Space = None,
) -> None:
    """Replace a memory by a new one: the old is closed and linked, and leaves every read surface. The new memory takes
    the old one's space, and also title, kind and tags unless given.
    """
    with shell.client(space) as client:
        done = client.supersede(id, text_of(text, file), **described.fields(), **origin.fields())
    shell.answer(done, lambda: people.superseded(done))


def forget(shell: Shell, id: Id, wait: Wait = None, space: Space = None) -> None:
    """Forget a memory. restore brings it back."""
    with shell.client(space) as client:
        done = client.forget(id, wait=wait or "")
    shell.answer(done, lambda: people.written(done))


def restore(shell: Shell, id: Id, wait: Wait = None, space: Space = None) -> None:
    """Bring a forgotten memory back, or a superseded one whose successor is forgotten or erased."""
    with shell.client(space) as client:
        done = client.restore(id, wait=wait or "")
    shell.answer(done, lambda: people.written(done))


def bulk_forget(
    shell: Shell,
    filters: Filters,
    purge: Annotated[bool, typer.Option("--purge", help=contract("BulkForgetRequest.purge"))] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without, only tell what would go.")] = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="In every space that the token may write, unless --space is there; needs no filter."
        ),
    ] = False,
    state: Annotated[str | None, typer.Option("--state", help=contract("ListRequest.state"))] = None,
    yes: Yes = False,
) -> None:
    """Forget, or erase, all memories that filters name. Only tells which unless --apply is there, and asks before it
    erases."""
    named = filters.fields()
    if not (named or everything):
        raise InvalidArgument("filters", "nothing", FILTERS_NEEDED, missing=True)
    which = named | given(state=state, everywhere=everything and not filters.space)
    if apply and purge and not yes:
        _can_be_asked(shell)
    with shell.client() as client:
        memories: Sequence[values.Memory] = ()
        if not apply:
            whole, memories = _told(shell, client, purge, which)
        else:
            if purge and not yes:
                told, memories = _told(shell, client, purge, which)
                if told.ids:
                    for line in people.bulk(told, memories, purge, hint=""):
                        print(line)
                    if not typer.confirm("Erase them for good, at every peer?"):
                        raise typer.Exit(EXIT_REFUSED)
            whole = _done(client, purge, which)
    idle = not purge and state in ("all", "forgotten")
    shell.answer(whole, lambda: people.bulk(whole, memories, purge, idle=idle))
    if apply and whole.refused and not whole.ids:
        raise typer.Exit(EXIT_REFUSED)


def _told(
    shell: Shell, client: Client, purge: bool, which: Mapping[str, Any]
) -> tuple[values.Bulk, Sequence[values.Memory]]:
    """The removal up to the first page with a match, and the memories on that page, to show them."""
    told = client.bulk_forget(purge=purge, dry_run=True, limit=BULK_PAGE, **which)
    while told.cursor and not told.ids:
        later = client.bulk_forget(purge=purge, dry_run=True, limit=BULK_PAGE, cursor=told.cursor, **which)
        told = joined(told, later)
    if shell.json or not told.ids:
        return told, ()
    return told, client.get_many(told.ids, include_forgotten=True).memories


def _done(client: Client, purge: bool, which: Mapping[str, Any]) -> values.Bulk:
    """Forget or erase page after page, past those of which nothing may go."""
    whole = done = client.bulk_forget(purge=purge, dry_run=False, limit=BULK_PAGE, **which)
    while done.cursor:
        done = client.bulk_forget(purge=purge, dry_run=False, limit=BULK_PAGE, cursor=done.cursor, **which)
        whole = joined(whole, done)
    return whole


def purge(shell: Shell, id: Id, yes: Yes = False, space: Space = None) -> None:
    """Erase a memory for good, here and, after sync, at every peer. Asks first. `forget` can be undone."""
    with shell.client(space) as client:
        try:
            found = client.get(id, include_forgotten=True)
            named = found.id
            shown = f"{one_line(found.id)}  {one_line(found.title or found.content[:80])}  in {one_line(found.space)}"
        except NotFound:
            if len(id.strip()) != ID_CHARS:
                raise
            # An erased, waiting or refused memory can be purged but not shown.
            named, shown = id, f"{one_line(id)}  no memory that can be shown"
        if not yes:
            _can_be_asked(shell)
            print(shown)
            if not typer.confirm("Erase it for good, at every peer?"):
                raise typer.Exit(EXIT_REFUSED)
        gone = client.purge(named)
    later = f"; {one_line(gone.pending)}" if gone.pending else ""
    told = f"PURGE  {gone.id}  {count_of(gone.changes, 'change')} erased from {one_line(gone.space)}{later}"
    shell.answer(gone, lambda: [told, *people.held(gone)])


def _can_be_asked(shell: Shell) -> None:
    """Raises InvalidArgument where nobody can be."""
    if shell.json or not sys.stdin.isatty():
        raise InvalidArgument("yes", "not given", "--yes where nobody can be asked", missing=True)


COMMANDS: Final = tuple(
    (command.__name__.replace("_", "-"), command)
    for command in (remember, check, update, supersede, forget, bulk_forget, restore, purge)
)
