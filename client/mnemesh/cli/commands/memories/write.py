"""The commands that write memories, their links and ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from mnemesh.api import values
from mnemesh.cli.filters import MemoryFilters
from mnemesh.cli.given import given, new_text
from mnemesh.cli.options import (
    Changed,
    Described,
    Id,
    OriginOptions,
    Space,
    Text,
    TextFile,
    TextOptions,
    Texts,
    Wait,
    Yes,
    argument,
    each,
    option,
)  # fmt: skip
from mnemesh.cli.people import links as people_links
from mnemesh.cli.people import memories as people
from mnemesh.cli.shell import Shell, count_of, one_line
from mnemesh.errors import InvalidArgument, NotFound
from mnemesh.exit_status import EXIT_REFUSED

if TYPE_CHECKING:
    from mnemesh.api.client import Client

ID_CHARS: Final = 36  # of a whole id
BULK_PAGE: Final = 200
FILTERS_NEEDED: Final = (
    "at least one of --space, --kind, --tag, --tags-any, --tags-none, --trust, --since, --before, --valid-at, --by, "
    "--session; or --all for every space that the token may write"
)
CONTENT_HELP: Final = "New text; - reads standard input."
EVERYTHING_HELP: Final = "In every space that the token may write, unless --space is there; needs no filter."
Type = Annotated[str, argument("LinkRequest.type", "TYPE")]
USEFUL: Final = {"useful": True, "not": False}


def remember(shell: Shell, described: Described, origin: OriginOptions, new: TextOptions, space: Space = None) -> None:
    """Store a memory. An exact duplicate in the same space is not stored again."""
    fields, lines = described.fields() | origin.fields(), people.remembered
    shell.ask(lambda client: client.remember(new.read(), **given(space=space), **fields), lines)


def check(shell: Shell, described: Described, origin: OriginOptions, new: TextOptions, space: Space = None) -> None:
    """Say the effect and reason of remember with the same arguments. Writes nothing."""
    fields, lines = described.fields() | origin.fields(), people.checked
    shell.ask(lambda client: client.check(new.read(), **given(space=space), **fields), lines)


def update(
    shell: Shell,
    described: Changed,
    id: Id,
    content: Annotated[Text, typer.Option("--content", metavar="TEXT", help=CONTENT_HELP)] = None,
    file: TextFile = None,
    clear: Annotated[Texts, each("UpdateRequest.clear", "--clear", metavar="FIELD")] = None,
    heads: Annotated[Texts, option("UpdateRequest.expected_heads", "--expected-heads", metavar="REVISION")] = None,
    space: Space = None,
) -> None:
    """Change a memory: what is given replaces what was there. The old revision stays in its history."""
    changes = described.fields() | given(content=new_text(content, file), clear=clear, expected_heads=heads)
    shell.ask(lambda client: client.update(id, **changes), people.written, space)


def supersede(
    shell: Shell,
    described: Described,
    origin: OriginOptions,
    id: Id,
    new: TextOptions,
    space: Space = None,
) -> None:
    """Replace a memory by a new one: the old is closed and linked, and leaves every read surface. The new memory takes
    the old one's space, and also title, kind and tags unless given.
    """
    fields = described.fields() | origin.fields()
    shell.ask(lambda client: client.supersede(id, new.read(), **fields), people.superseded, space)


def forget(shell: Shell, id: Id, wait: Wait = "", space: Space = None) -> None:
    """Forget a memory. restore brings it back."""
    shell.ask(lambda client: client.forget(id, wait=wait), people.written, space)


def restore(shell: Shell, id: Id, wait: Wait = "", space: Space = None) -> None:
    """Bring a forgotten memory back, or a superseded one, beside the successor if that is there."""
    shell.ask(lambda client: client.restore(id, wait=wait), people.written, space)


def link(shell: Shell, id: Id, type: str, to: str, wait: Wait = "", space: Space = None) -> None:
    """Link a memory to another one: mnemesh link "The build hangs" resolved-by "Raise the limit"."""
    shell.ask(lambda client: client.link(id, type, to, wait=wait), people.written, space)


def unlink(shell: Shell, id: Id, type: Type, to: str, wait: Wait = "", space: Space = None) -> None:
    """Take a link away."""
    shell.ask(lambda client: client.unlink(id, type, to, wait=wait), people.written, space)


def rate(
    shell: Shell,
    id: Annotated[str, argument("RateRequest.id", "ID")] = "",
    useful: Annotated[Text, typer.Argument(metavar="USEFUL", help="useful or not: your one vote.")] = None,
    answer: Annotated[Text, option("RateRequest.answer", "--answer", metavar="TEXT")] = None,
    space: Space = None,
) -> None:
    """Say whether a memory was useful, or hand in an answer that cites ids."""
    if useful is None and id and answer is None:
        raise InvalidArgument("useful", "nothing", " or ".join(USEFUL), missing=True)
    if useful is not None and useful not in USEFUL:
        raise InvalidArgument("useful", useful, " or ".join(USEFUL))
    vote = USEFUL[useful] if useful is not None else None
    shell.ask(lambda client: client.rate(id, vote, answer=answer or ""), people_links.rated, space)


def bulk_forget(
    shell: Shell,
    filters: MemoryFilters,
    purge: bool = False,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without, only tell what would go.")] = False,
    everything: Annotated[bool, typer.Option("--all", help=EVERYTHING_HELP)] = False,
    state: Annotated[Text, option("ListRequest.state", "--state")] = None,
    yes: Yes = False,
) -> None:
    """Forget, or erase, all memories that filters name. Only tells which unless --apply is there, and asks before it
    erases."""
    named = filters.fields()
    if not (named or everything):
        raise InvalidArgument("filters", "nothing", FILTERS_NEEDED, missing=True)
    which = named | given(state=state, everywhere=everything and not filters.space)
    asks = apply and purge and not yes
    memories: Sequence[values.Memory] = ()
    if asks:
        shell.check_can_ask()
    with shell.client() as client:
        if asks or not apply:
            whole = _removed(client, purge, which, dry_run=True)
            if whole.ids and not shell.json:
                memories = client.get_many(whole.ids, include_forgotten=True).memories
        if asks and whole.ids:
            for line in people.bulk(whole, memories, purge, hint=""):
                print(line)
            if not typer.confirm("Erase them for good, at every peer?"):
                raise typer.Exit(EXIT_REFUSED)
        if apply:
            whole = _removed(client, purge, which, dry_run=False)
    idle = not purge and state in ("all", "forgotten")
    shell.answer(whole, lambda: people.bulk(whole, memories, purge, idle=idle))
    if apply and whole.refused and not whole.ids:
        raise typer.Exit(EXIT_REFUSED)


def _removed(client: Client, purge: bool, which: Mapping[str, Any], *, dry_run: bool) -> values.Bulk:
    """The removal page after page, past pages of which nothing may go. A dry run ends with the first match."""
    whole = client.bulk_forget(purge=purge, dry_run=dry_run, limit=BULK_PAGE, **which)
    while whole.cursor and not (dry_run and whole.ids):
        later = client.bulk_forget(purge=purge, dry_run=dry_run, limit=BULK_PAGE, cursor=whole.cursor, **which)
        lists: dict[str, Any] = {
            name: tuple(dict.fromkeys((*getattr(whole, name), *getattr(later, name))))
            for name in ("ids", "refused", "pending", "backups", "not_told", "behind")
        }
        lists["behind"] = tuple(id_ for id_ in lists["behind"] if id_ not in lists["ids"])
        whole = replace(whole, cursor=later.cursor, **lists)
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
            shell.check_can_ask()
            print(shown)
            if not typer.confirm("Erase it for good, at every peer?"):
                raise typer.Exit(EXIT_REFUSED)
        gone = client.purge(named)
    later = f"; {one_line(gone.pending)}" if gone.pending else ""
    line = f"PURGE  {gone.id}  {count_of(gone.changes, 'change')} erased from {one_line(gone.space)}{later}"
    shell.answer(gone, lambda: [line, *people.held(gone), *people.kept_behind(gone)])


COMMANDS: Final = tuple(
    (command.__name__.replace("_", "-"), command)
    for command in (remember, check, update, supersede, forget, bulk_forget, restore, purge, link, unlink, rate)
)
