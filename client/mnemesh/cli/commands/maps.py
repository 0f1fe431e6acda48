"""The commands on whole spaces."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from mnemesh.cli.options import REPEAT, SPACES, Number, Text, Texts, argument, contract, option
from mnemesh.cli.people import maps as people
from mnemesh.cli.people.identity import covers
from mnemesh.cli.shell import Shell

if TYPE_CHECKING:
    from mnemesh.api.client import Client


def _where(field: str) -> Any:
    """The option for spaces of a command that looks where recall looks."""
    told = contract(field).partition("Default:")[0]
    help_ = f"{told}Default: the spaces of a recall, and without a default space all that you may read.{REPEAT}"
    return typer.Option(*SPACES, help=help_)


def _spaces(client: Client, named: Texts) -> Texts:
    """The named spaces, else the spaces of a recall: the default space, the private one, an older name of the default.
    None means all readable spaces: there is no default space."""
    if named:
        return named
    who = client.whoami()
    if who.default_space in ("", who.private_space):
        return None
    older = who.alias_space if any(covers(pattern, who.alias_space) for pattern in who.spaces) else ""
    return [space for space in (who.default_space, who.private_space, older) if space]


def story(
    shell: Shell,
    space: Annotated[Texts, _where("StoryRequest.spaces")] = None,
    since: Text = None,
    before: Text = None,
    limit: Number = None,
) -> None:
    """Tell events in order of time: every decision, and the weightiest of the rest, with their memories."""
    shell.ask(
        lambda client: client.story(space=_spaces(client, space), since=since, before=before, limit=limit), people.story
    )


def gaps(shell: Shell, space: Annotated[Texts, _where("GapsRequest.spaces")] = None, limit: Number = None) -> None:
    """Show names that memories use and none explains, and questions without an answer."""
    shell.ask(lambda client: client.gaps(space=_spaces(client, space), limit=limit), people.gaps)


def coverage(shell: Shell, query: str, space: Texts = None) -> None:
    """Show how well memories answer a question, and which of its words they lack."""
    shell.ask(lambda client: client.coverage(query, space=space), people.coverage)


def recall_hierarchical(
    shell: Shell,
    query: Annotated[str, argument("RecallHierarchicalRequest.query", "QUERY")] = "",
    space: Annotated[Texts, _where("RecallHierarchicalRequest.spaces")] = None,
    level: Number = None,
    limit: Number = None,
) -> None:
    """Show topics: those that answer a query, or all."""
    where = shell.where + "".join(f" --space {shlex.quote(one)}" for one in space or ())
    lines = partial(people.clusters, where=where)
    shell.ask(
        lambda client: client.recall_hierarchical(query, space=_spaces(client, space), level=level, limit=limit), lines
    )


def drill_down(
    shell: Shell,
    cluster: Annotated[str, argument("DrillDownRequest.cluster", "TOPIC")],
    space: Annotated[Texts, _where("DrillDownRequest.spaces")] = None,
    limit: Number = None,
) -> None:
    """Show the narrower topics within a topic, and its memories."""
    shell.ask(lambda client: client.drill_down(cluster, space=_spaces(client, space), limit=limit), people.drilled)


def navigate(
    shell: Shell,
    query: Annotated[str, argument("NavigateRequest.query", "QUERY")] = "",
    id_: Annotated[str, option("NavigateRequest.id", "--id", metavar="ID")] = "",
    space: Annotated[Texts, _where("NavigateRequest.spaces")] = None,
    limit: Number = None,
) -> None:
    """Show the memories that agents use together with a memory, or with those that answer a query."""
    shell.ask(lambda client: client.navigate(query, id=id_, space=_spaces(client, space), limit=limit), people.room)


COMMANDS: Final = (
    ("story", story),
    ("gaps", gaps),
    ("coverage", coverage),
    ("recall-hierarchical", recall_hierarchical),
    ("drill-down", drill_down),
    ("navigate", navigate),
)
