"""The commands that change no memory: get, list, timeline, stats, whoami, space, status, down, version."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from mnemesh.api.values.reads import Found
from mnemesh.cli.filters import Filters
from mnemesh.cli.given import given
from mnemesh.cli.options import CountedSpaces, Forgotten, Id, Space, Spaces, contract, option
from mnemesh.cli.people import identity as people_identity
from mnemesh.cli.people import memories as people
from mnemesh.cli.shell import Shell, one_line, print_json
from mnemesh.errors import FailedPrecondition, NotFound, NotReachable
from mnemesh.exit_status import EXIT_REFUSED
from mnemesh.transport.connection import default_project, local_data_dir
from mnemesh.transport.local_node import NodeNotStopped, check_directory, stop_node


def get(
    shell: Shell,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help=contract("GetRequest.ids"))],
    include_forgotten: Forgotten = False,
    as_of: Annotated[str | None, option("GetRequest.as_of", "--as-of", metavar="TIME")] = None,
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


def list_memories(
    shell: Shell,
    filters: Filters,
    limit: Annotated[int | None, option("ListRequest.limit", "--limit", "-n")] = None,
    state: Annotated[str | None, option("ListRequest.state", "--state")] = None,
    order: Annotated[str | None, option("ListRequest.order", "--order")] = None,
    cursor: Annotated[str | None, option("ListRequest.cursor", "--cursor")] = None,
    everywhere: Annotated[bool, option("ListRequest.everywhere", "--everywhere")] = False,
) -> None:
    """Page through memories with filters."""
    options = given(limit=limit, state=state, order=order, cursor=cursor, everywhere=everywhere)
    with shell.client() as client:
        page = client.list(**filters.fields(), **options)
    shell.answer(page, lambda: people.listed(page))


def timeline(
    shell: Shell,
    id: Id,
    before: Annotated[int | None, option("TimelineRequest.before", "--before")] = None,
    after: Annotated[int | None, option("TimelineRequest.after", "--after")] = None,
    space: Spaces = None,
) -> None:
    """Show the memories written just before and after one, in the same session or space."""
    with shell.client() as client:
        line = client.timeline(id, before=before, after=after, space=space)
    shell.answer(line, lambda: people.timeline(line))


def stats(shell: Shell, space: CountedSpaces = None) -> None:
    """Count memories by state, kind, tag, space and agent."""
    with shell.client() as client:
        counted = client.stats(space=space)
    shell.answer(counted, lambda: people.counted(counted))


def whoami(shell: Shell, space: Space = None) -> None:
    """Say for whom this token and these options speak. Changes nothing."""
    with shell.client(space) as client:
        identity = client.whoami()
    shell.answer(identity, lambda: people_identity.identity(identity))


def status(shell: Shell) -> None:
    """Say what the node is doing: addresses, actors, ledger, index, model."""
    with shell.client() as client:
        facts = client.status()
    shell.answer(facts, lambda: people.status(facts))


def down(
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="The local node's data. [MNEMESH_DATA_DIR]")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON object.")] = False,
) -> None:
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
        print_json(asdict(project))
        return
    print(project.space or "(your private space)")
    if project.alias:
        print(f"Recall also reads {project.alias}, the name of earlier versions.", file=sys.stderr)
    if project.taken:
        told = f"{project.taken} belongs to {project.taken_by}. `space` in a .mnemesh.toml chooses another name here."
        print(told, file=sys.stderr)


def version(json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON object.")] = False) -> None:
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
