"""The commands on whole spaces."""

from __future__ import annotations

from typing import Annotated, Final

from mnemesh.cli.options import SPACES, Number, Text, Texts, argument, each, option
from mnemesh.cli.people import maps as people
from mnemesh.cli.shell import Shell


def story(
    shell: Shell,
    space: Annotated[Texts, each("StoryRequest.spaces", *SPACES)] = None,
    since: Annotated[Text, option("StoryRequest.since", "--since", metavar="TIME")] = None,
    before: Annotated[Text, option("StoryRequest.before", "--before", metavar="TIME")] = None,
    limit: Annotated[Number, option("StoryRequest.limit", "--limit", "-n")] = None,
) -> None:
    """Tell events in order of time: every decision, and the weightiest of the rest, with their memories."""
    shell.ask(lambda client: client.story(space=space, since=since, before=before, limit=limit), people.story)


def gaps(
    shell: Shell,
    space: Annotated[Texts, each("GapsRequest.spaces", *SPACES)] = None,
    limit: Annotated[Number, option("GapsRequest.limit", "--limit", "-n")] = None,
) -> None:
    """Show names that memories use and none explains, and questions without an answer."""
    shell.ask(lambda client: client.gaps(space=space, limit=limit), people.gaps)


def coverage(
    shell: Shell,
    query: Annotated[str, argument("CoverageRequest.query", "QUERY")],
    space: Annotated[Texts, each("CoverageRequest.spaces", *SPACES)] = None,
) -> None:
    """Show how well memories answer a question, and which of its words they lack."""
    shell.ask(lambda client: client.coverage(query, space=space), people.coverage)


def recall_hierarchical(
    shell: Shell,
    query: Annotated[str, argument("RecallHierarchicalRequest.query", "QUERY")] = "",
    space: Annotated[Texts, each("RecallHierarchicalRequest.spaces", *SPACES)] = None,
    level: Annotated[Number, option("RecallHierarchicalRequest.level", "--level")] = None,
    limit: Annotated[Number, option("RecallHierarchicalRequest.limit", "--limit", "-n")] = None,
) -> None:
    """Show topics: those that answer a query, or all."""
    shell.ask(lambda client: client.recall_hierarchical(query, space=space, level=level, limit=limit), people.clusters)


def drill_down(
    shell: Shell,
    cluster: Annotated[str, argument("DrillDownRequest.cluster", "TOPIC")],
    space: Annotated[Texts, each("DrillDownRequest.spaces", *SPACES)] = None,
    limit: Annotated[Number, option("DrillDownRequest.limit", "--limit", "-n")] = None,
) -> None:
    """Show the narrower topics within a topic, and its memories."""
    shell.ask(lambda client: client.drill_down(cluster, space=space, limit=limit), people.drilled)


COMMANDS: Final = (
    ("story", story),
    ("gaps", gaps),
    ("coverage", coverage),
    ("recall-hierarchical", recall_hierarchical),
    ("drill-down", drill_down),
)
