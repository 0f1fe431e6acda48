"""The commands about the node that answers and this place: whoami, space, status, down, version."""

from __future__ import annotations

import os
import sys
from typing import Final

from mnemesh.cli.options import Data, Json, Space
from mnemesh.cli.people import node as people
from mnemesh.cli.shell import Shell, one_line, print_json
from mnemesh.errors import FailedPrecondition, NotReachable
from mnemesh.hooks.injection import fault_here
from mnemesh.transport.connection import default_project, local_data_dir
from mnemesh.transport.local_node import NodeNotStopped, check_directory, stop_node


def whoami(shell: Shell, space: Space = None) -> None:
    """Say for whom this token and these options speak. Changes nothing."""
    shell.ask(lambda client: client.whoami(), people.identity, space)


def status(shell: Shell) -> None:
    """Say what the node is doing: addresses, actors, ledger, index, model."""
    shell.ask(lambda client: client.status(), people.status)


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
        print(f"Recall also reads {project.alias}, the bare name of the folder.", file=sys.stderr)
    if project.taken:
        note = f"{project.taken} belongs to {project.taken_by}. `space` in a .mnemesh.toml chooses another name here."
        print(note, file=sys.stderr)


def version(json: Json = False) -> None:
    """Print the version of this installation."""
    from mnemesh import __version__

    if json:
        print_json({"version": __version__})
    else:
        print(f"mnemesh {__version__}")


COMMANDS: Final = (("whoami", whoami), ("space", space), ("status", status), ("down", down), ("version", version))
