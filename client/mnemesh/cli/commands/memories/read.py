"""The commands that look at memories: get, list, timeline, stats."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from mnemesh.api.values.reads import Found
from mnemesh.cli.filters import MemoryFilters
from mnemesh.cli.given import given
from mnemesh.cli.options import Id, Number, Spaces, Text, Texts, argument, asks, option
from mnemesh.cli.people import memories as people
from mnemesh.cli.shell import Shell
from mnemesh.errors import NotFound
from mnemesh.exit_status import EXIT_REFUSED


def get(
    shell: Shell,
    ids: Annotated[list[str], argument("GetRequest.ids", "ID")],
    include_forgotten: bool = False,
    as_of: Text = None,
    space: Spaces = None,
) -> None:
    """Read memories by id, unique id prefix or title. Exit status 4 when one is not found."""
    with shell.client() as client:
        if len(ids) == 1:  # a single refusal says more, such as "forgotten"
            memory = client.get(ids[0], include_forgotten=include_forgotten, space=space, as_of=as_of)
            answer = Found(memory=memory, memories=(memory,), missing=())
        else:
            answer = client.get_many(ids, include_forgotten=include_forgotten, space=space, as_of=as_of)
    if not answer.memories:
        raise NotFound(f"none of the {len(ids)} was found: {', '.join(map(repr, answer.missing))}", refused=True)
    shell.answer(answer, lambda: people.whole_memories(answer))
    if answer.missing:
        raise typer.Exit(EXIT_REFUSED)


@asks("ListRequest")
def list_memories(
    shell: Shell,
    filters: MemoryFilters,
    limit: Number = None,
    state: Text = None,
    order: Text = None,
    cursor: Text = None,
    everywhere: bool = False,
) -> None:
    """Page through memories with filters."""
    page = given(limit=limit, state=state, order=order, cursor=cursor, everywhere=everywhere)
    shell.ask(lambda client: client.list(**filters.fields(), **page), people.listed)


def timeline(
    shell: Shell,
    id: Id,
    before: Annotated[Number, option("TimelineRequest.before", "--before")] = None,
    after: Number = None,
    space: Spaces = None,
) -> None:
    """Show the memories written just before and after one, in the same session or space."""
    shell.ask(lambda client: client.timeline(id, before=before, after=after, space=space), people.timeline)


def stats(shell: Shell, space: Texts = None) -> None:
    """Count memories by state, kind, tag, space and agent."""
    shell.ask(lambda client: client.stats(space=space), people.counted)


COMMANDS: Final = (("get", get), ("list", list_memories), ("timeline", timeline), ("stats", stats))
