"""The knowledge that a node derives from memories. Each function builds the Call of one operation."""

from __future__ import annotations

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Time, Words, places
from mnemesh_proto.v1 import knowledge_pb2


def graph(
    name: str,
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    limit: int | None = None,
    as_of: Time | None = None,
    community: bool = False,
) -> Call[values.Graph]:
    """The neighbourhood of an entity, named as texts write it, or of a memory: id, unique id prefix or title. At most
    `limit` relations (1 to 200, default 20), with `as_of` those that held then. `community` adds what belongs
    together with it. Raises NotFound, and FailedPrecondition for a community when the node lacks the extra `sleep`.

    >>> for relation in client.graph("billing").relations:
    ...     print(relation.subject, relation.type, relation.object, relation.memories)
    """
    fields = {"name": name, "spaces": places(space, spaces), "limit": limit, "as_of": as_of}
    fields |= {"community": community}
    return ask(knowledge_pb2, "Graph", fields, values.Graph, repeatable=True)


def graph_audit(
    *, space: Words | None = None, spaces: Words | None = None, limit: int | None = None
) -> Call[values.GraphAudit]:
    """Memories without connection, dead links, hubs and titles that lead nowhere. At most `limit` (1 to 200, default
    20) of each type.

    >>> client.graph_audit(space="team/billing").counts["orphan"]
    """
    fields = {"spaces": places(space, spaces), "limit": limit}
    return ask(knowledge_pb2, "GraphAudit", fields, values.GraphAudit, repeatable=True)


def graph_rebuild() -> Call[values.GraphRebuilt]:
    """Make the graph of the node anew from the log. Needs an admin token.

    >>> client.graph_rebuild().memories
    """
    return ask(knowledge_pb2, "GraphRebuild", {}, values.GraphRebuilt, repeatable=True)


def causal_chain(
    name: str, *, space: Words | None = None, spaces: Words | None = None, window_hours: int | None = None
) -> Call[values.CausalChain]:
    """The causes and effects of an entity, out of errors, decisions and deployments within `window_hours` (1 to 744,
    default 24) of each other. Raises NotFound, and FailedPrecondition with what is missing when the data are too few.

    >>> for link in client.causal_chain("TimeoutError").causes:
    ...     print(link.distance, link.cause, link.effect, link.p_value)
    """
    fields = {"name": name, "spaces": places(space, spaces), "window_hours": window_hours}
    return ask(knowledge_pb2, "CausalChain", fields, values.CausalChain, repeatable=True)
