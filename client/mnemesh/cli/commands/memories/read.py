"""The commands that change no memory: get, list, timeline, stats, whoami, space, status, down, version."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Final

import typer

from mnemesh.api.values.reads import Found
from mnemesh.cli.filters import Filters
from mnemesh.cli.given import given
from mnemesh.cli.options import (
    Data,
    Id,
    Json,
    Number,
    Space,
    Spaces,
    Text,
    Texts,
    argument,
    asks,
    option,
)
from mnemesh.cli.people import memories as people
from mnemesh.cli.people import node as people_node
from mnemesh.cli.shell import Shell, one_line, print_json
from mnemesh.errors import FailedPrecondition, NotFound, NotReachable
from mnemesh.exit_status import EXIT_REFUSED
from mnemesh.hooks.injection import fault_here
from mnemesh.transport.connection import default_project, local_data_dir
from mnemesh.transport.local_node import NodeNotStopped, check_directory, stop_node


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
            found = Found(memory=memory, memories=(memory,), missing=())
        else:
            found = client.get_many(ids, include_forgotten=include_forgotten, space=space, as_of=as_of)
    if not found.memories:
        raise NotFound(f"none of the {len(ids)} was found: {', '.join(map(repr, found.missing))}", refused=True)
    shell.answer(found, lambda: people.found(found))
    if found.missing:
        raise typer.Exit(EXIT_REFUSED)


@asks("ListRequest")
def list_memories(
    shell: Shell,
    filters: Filters,
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


def whoami(shell: Shell, space: Space = None) -> None:
    """Say for whom this token and these options speak. Changes nothing."""
    shell.ask(lambda client: client.whoami(), people_node.identity, space)


def status(shell: Shell) -> None:
    """Say what the node is doing: addresses, actors, ledger, index, model."""
    shell.ask(lambda client: client.status(), people_node.status)


def down(data: Data = None, json: Json = False) -> None:
    """Stop the node of this machine and wait until it is gone. Exit status 3 when none runs."""
    directory = local_data_dir(data)
    check_directory(directory)
    try:
        pid = stop_node(directory)
    except (OSError, NodeNotStopped) as error:
        raise FailedPrecondition(str(error), refused=True) from error
    if pid is None:
        raise NotReachable(f"no node runs on {directory}")
    if json:
        print_json({"stopped": True, "pid": pid, "data_dir": str(directory)})
    else:
        print(f"stopped the node on {one_line(str(directory))} (pid {pid})")


def space(shell: Shell) -> None:
    """Print the space of this directory, and on standard error what else is to be known of its name. Asks no node."""
    project = default_project(local_data_dir(shell.data))
    if shell.json:
        print_json(project.members())
        return
    print(project.space or "(your private space)")
    if fault := fault_here("", os.environ):
        print(one_line(f"Hooks: {fault}"), file=sys.stderr)
    if project.alias:
        print(f"Recall also reads {project.alias}, the name of earlier versions.", file=sys.stderr)
    if project.taken:
        told = f"{project.taken} belongs to {project.taken_by}. `space` in a .mnemesh.toml chooses another name here."
        print(told, file=sys.stderr)


def version(json: Json = False) -> None:
    """Print the version of this installation."""
    from mnemesh import __version__

    if json:
        print_json({"version": __version__})
    else:
        print(f"mnemesh {__version__}")


COMMANDS: Final = (
    ("get", get), ("list", list_memories), ("timeline", timeline), ("stats", stats),
    ("whoami", whoami), ("space", space), ("status", status), ("down", down), ("version", version),
)  # fmt: skip
