"""Views of whole spaces. Each function builds the Call of one operation."""

from __future__ import annotations

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Time, Words, places
from mnemesh_proto.v1 import map_pb2


def story(
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    since: Time | None = None,
    before: Time | None = None,
    limit: int | None = None,
) -> Call[values.Story]:
    """Events in order of time, each with the ids of its memories: every decision from `since` to `before`, and at most
    `limit` (1 to 200, default 40) other sentences.

    >>> for event in client.story(space="team/billing").sentences:
    ...     print(event.at, event.text, event.ids)
    """
    fields = {"spaces": places(space, spaces), "since": since, "before": before, "limit": limit}
    return ask(map_pb2, "Story", fields, values.Story, repeatable=True)


def gaps(*, space: Words | None = None, spaces: Words | None = None, limit: int | None = None) -> Call[values.Gaps]:
    """Names that several memories use and none explains, and questions without an answer. At most `limit` (1 to 100,
    default 20).

    >>> client.gaps(space="team/billing").gaps[0].text
    """
    return ask(map_pb2, "Gaps", {"spaces": places(space, spaces), "limit": limit}, values.Gaps, repeatable=True)


def coverage(query: str, *, space: Words | None = None, spaces: Words | None = None) -> Call[values.Coverage]:
    """The share of a question that memories answer, and its words that no good result holds.

    >>> client.coverage("which port does staging use?").missing_terms
    """
    fields = {"query": query, "spaces": places(space, spaces)}
    return ask(map_pb2, "Coverage", fields, values.Coverage, repeatable=True)


def recall_hierarchical(
    query: str = "",
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    level: int | None = None,
    limit: int | None = None,
) -> Call[values.Clusters]:
    """Topics of a `level` from 1 (broad) to 3 (narrow), default 2: those that answer `query`, or all. At most `limit`
    (1 to 100, default 12).

    >>> [topic.label for topic in client.recall_hierarchical(space="team/billing").clusters]
    """
    fields = {"query": query, "spaces": places(space, spaces), "level": level, "limit": limit}
    return ask(map_pb2, "RecallHierarchical", fields, values.Clusters, repeatable=True)


def drill_down(
    cluster: str, *, space: Words | None = None, spaces: Words | None = None, limit: int | None = None
) -> Call[values.Drilled]:
    """The narrower topics within the topic `cluster`, and at most `limit` (1 to 200, default 20) of its memories.
    Raises NotFound when the topic has gone since.

    >>> client.drill_down(topic.id, space="team/billing").memories
    """
    fields = {"cluster": cluster, "spaces": places(space, spaces), "limit": limit}
    return ask(map_pb2, "DrillDown", fields, values.Drilled, repeatable=True)


def navigate(
    query: str = "",
    *,
    id: str = "",
    space: Words | None = None,
    spaces: Words | None = None,
    limit: int | None = None,
) -> Call[values.Room]:
    """The memories that agents use together with the memory `id`, or with those that answer `query`. Without both, the
    most used ones. At most `limit` (1 to 200, default 10) besides the start.

    >>> [(point.id, point.reasons) for point in client.navigate("how do we deploy?").points]
    """
    fields = {"query": query, "id": id, "spaces": places(space, spaces), "limit": limit}
    return ask(map_pb2, "Navigate", fields, values.Room, repeatable=True)
