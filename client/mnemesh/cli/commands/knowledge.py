"""The commands on the knowledge that a node derives from memories."""

from __future__ import annotations

from typing import Final

from mnemesh.cli.options import Number, Text, Texts
from mnemesh.cli.people import knowledge as people
from mnemesh.cli.shell import Shell


def graph(
    shell: Shell, name: str, space: Texts = None, limit: Number = None, as_of: Text = None, community: bool = False
) -> None:
    """Show the neighbourhood of an entity or a memory: relations with their sources, near entities, near memories."""
    shell.ask(
        lambda client: client.graph(name, space=space, limit=limit, as_of=as_of, community=community), people.graph
    )


def causal_chain(shell: Shell, name: str, space: Texts = None, window_hours: Number = None) -> None:
    """Show what an entity is caused by and what it causes, out of errors, decisions and deployments in time."""
    shell.ask(lambda client: client.causal_chain(name, space=space, window_hours=window_hours), people.causal_chain)


def graph_audit(shell: Shell, space: Texts = None, limit: Number = None) -> None:
    """Show memories without connection, dead links, hubs and titles that lead nowhere."""
    shell.ask(lambda client: client.graph_audit(space=space, limit=limit), people.graph_audit)


def graph_rebuild(shell: Shell) -> None:
    """Make the graph of the node anew from the log. Memories stay as they are."""
    shell.ask(lambda client: client.graph_rebuild(), people.graph_rebuilt)


COMMANDS: Final = (
    ("graph", graph),
    ("graph-audit", graph_audit),
    ("graph-rebuild", graph_rebuild),
    ("causal-chain", causal_chain),
)
