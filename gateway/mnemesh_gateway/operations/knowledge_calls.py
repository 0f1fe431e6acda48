"""The functions behind the rows of KnowledgeService in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_gateway.contract.wire import Answer
from mnemesh_memory.graph.answers import LIMIT
from mnemesh_memory.graph.causes import WINDOW_H
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import knowledge_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def graph(gate: MeshGate, caller: Caller, request: knowledge_pb2.GraphRequest) -> Answer:
    """The neighbourhood of an entity or a memory."""
    mesh, limit = await gate.ready(), wire.optional(request, "limit", LIMIT)
    as_of = wire.moment(request, "as_of")
    return await mesh.graph(caller, request.name, wire.spaces(request), limit, as_of, community=request.community)


async def graph_audit(gate: MeshGate, caller: Caller, request: knowledge_pb2.GraphAuditRequest) -> Answer:
    """Faults of the graph of some spaces."""
    mesh, limit = await gate.ready(), wire.optional(request, "limit", LIMIT)
    return await mesh.graph_audit(caller, wire.spaces(request), limit)


async def causal_chain(gate: MeshGate, caller: Caller, request: knowledge_pb2.CausalChainRequest) -> Answer:
    """The causes and effects of an entity."""
    mesh, window = await gate.ready(), wire.optional(request, "window_hours", WINDOW_H)
    return await mesh.causal_chain(caller, request.name, wire.spaces(request), window)


async def graph_rebuild(gate: MeshGate, caller: Caller, request: knowledge_pb2.GraphRebuildRequest) -> Answer:
    """Make the graph anew."""
    return await (await gate.ready()).graph_rebuild(caller)
