"""The commands on whole spaces, and on the knowledge that a node derives from memories."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Annotated, Final

from mnemesh.cli.options import Number, Text, Texts, argument, option
from mnemesh.cli.people import knowledge as people
from mnemesh.cli.shell import NODE_OPTIONS, Shell


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


def story(
    shell: Shell,
    space: Texts = None,
    since: Text = None,
    before: Text = None,
    limit: Number = None,
) -> None:
    """Tell events in order of time: every decision, and the weightiest of the rest, with their memories."""
    shell.ask(lambda client: client.story(space=space, since=since, before=before, limit=limit), people.story)


def gaps(shell: Shell, space: Texts = None, limit: Number = None) -> None:
    """Show names that memories use and none explains, and questions without an answer."""
    shell.ask(lambda client: client.gaps(space=space, limit=limit), people.gaps)


def coverage(shell: Shell, query: str, space: Texts = None) -> None:
    """Show how well memories answer a question, and which of its words they lack."""
    shell.ask(lambda client: client.coverage(query, space=space), people.coverage)


def recall_hierarchical(
    shell: Shell,
    query: Annotated[str, argument("RecallHierarchicalRequest.query", "QUERY")] = "",
    space: Texts = None,
    level: Number = None,
    limit: Number = None,
) -> None:
    """Show topics: those that answer a query, or all."""
    where = NODE_OPTIONS + "".join(f" --space {shlex.quote(name)}" for name in space or ())
    lines = partial(people.clusters, where=where)
    shell.ask(lambda client: client.recall_hierarchical(query, space=space, level=level, limit=limit), lines)


def drill_down(
    shell: Shell,
    cluster: Annotated[str, argument("DrillDownRequest.cluster", "TOPIC")],
    space: Texts = None,
    limit: Number = None,
) -> None:
    """Show the narrower topics within a topic, and its memories."""
    shell.ask(lambda client: client.drill_down(cluster, space=space, limit=limit), people.drilled)


def navigate(
    shell: Shell,
    query: Annotated[str, argument("NavigateRequest.query", "QUERY")] = "",
    id_: Annotated[str, option("NavigateRequest.id", "--id", metavar="ID")] = "",
    space: Texts = None,
    limit: Number = None,
) -> None:
    """Show the memories that agents use together with a memory, or with those that answer a query."""
    shell.ask(lambda client: client.navigate(query, id=id_, space=space, limit=limit), people.room)


COMMANDS: Final = tuple(
    (command.__name__.replace("_", "-"), command)
    for command in (
        graph, graph_audit, graph_rebuild, causal_chain, story, gaps, coverage, recall_hierarchical, drill_down,
        navigate,
    )
)  # fmt: skip
