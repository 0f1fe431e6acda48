"""The functions behind the rows of KnowledgeService in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_memory.graph.answers import LIMIT
from mnemesh_memory.graph.causes import WINDOW_H
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import knowledge_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def graph(gate: MeshGate, caller: Caller, request: knowledge_pb2.GraphRequest) -> knowledge_pb2.GraphResponse:
    """The neighbourhood of an entity or a memory."""
    mesh, limit = await gate.ready(), wire.optional(request, "limit", LIMIT)
    as_of = wire.moment(request, "as_of")
    found = await mesh.graph(caller, request.name, wire.spaces(request), limit, as_of)
    return wire.message_of(knowledge_pb2.GraphResponse, found, **wire.told_degraded(found.degraded))


async def graph_audit(
    gate: MeshGate, caller: Caller, request: knowledge_pb2.GraphAuditRequest
) -> knowledge_pb2.GraphAuditResponse:
    """Faults of the graph of some spaces."""
    mesh, limit = await gate.ready(), wire.optional(request, "limit", LIMIT)
    found = await mesh.graph_audit(caller, wire.spaces(request), limit)
    return wire.message_of(knowledge_pb2.GraphAuditResponse, found, **wire.told_degraded(found.degraded))


async def causal_chain(
    gate: MeshGate, caller: Caller, request: knowledge_pb2.CausalChainRequest
) -> knowledge_pb2.CausalChainResponse:
    """The causes and effects of an entity."""
    mesh, window = await gate.ready(), wire.optional(request, "window_hours", WINDOW_H)
    found = await mesh.causal_chain(caller, request.name, wire.spaces(request), window)
    return wire.message_of(knowledge_pb2.CausalChainResponse, found, **wire.told_degraded(found.degraded))


async def graph_rebuild(
    gate: MeshGate, caller: Caller, request: knowledge_pb2.GraphRebuildRequest
) -> knowledge_pb2.GraphRebuildResponse:
    """Make the graph anew."""
    found = await (await gate.ready()).graph_rebuild(caller)
    return wire.message_of(knowledge_pb2.GraphRebuildResponse, found, **wire.told_degraded(found.degraded))
