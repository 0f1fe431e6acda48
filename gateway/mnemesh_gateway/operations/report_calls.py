"""The functions behind the rows of KnowledgeService, MapService and HygieneService: reports on memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract.wire import Answer, moment, optional, spaces
from mnemesh_memory.graph import answers as graph_answers
from mnemesh_memory.graph.causes import WINDOW_H
from mnemesh_memory.maps import answers as map_answers
from mnemesh_memory.policy import hygiene as findings
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import hygiene_pb2, knowledge_pb2, map_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def graph(gate: MeshGate, caller: Caller, request: knowledge_pb2.GraphRequest) -> Answer:
    """The neighbourhood of an entity or a memory."""
    mesh, limit = await gate.ready(), optional(request, "limit", graph_answers.LIMIT)
    as_of = moment(request, "as_of")
    return await mesh.graph(caller, request.name, spaces(request), limit, as_of, community=request.community)


async def graph_audit(gate: MeshGate, caller: Caller, request: knowledge_pb2.GraphAuditRequest) -> Answer:
    """Faults of the graph of some spaces."""
    mesh, limit = await gate.ready(), optional(request, "limit", graph_answers.LIMIT)
    return await mesh.graph_audit(caller, spaces(request), limit)


async def causal_chain(gate: MeshGate, caller: Caller, request: knowledge_pb2.CausalChainRequest) -> Answer:
    """The causes and effects of an entity."""
    mesh, window = await gate.ready(), optional(request, "window_hours", WINDOW_H)
    return await mesh.causal_chain(caller, request.name, spaces(request), window)


async def graph_rebuild(gate: MeshGate, caller: Caller, request: knowledge_pb2.GraphRebuildRequest) -> Answer:
    """Make the graph anew."""
    return await (await gate.ready()).graph_rebuild(caller)


async def story(gate: MeshGate, caller: Caller, request: map_pb2.StoryRequest) -> Answer:
    """Events of some spaces."""
    mesh, limit = await gate.ready(), optional(request, "limit", map_answers.SENTENCES)
    since, before = moment(request, "since"), moment(request, "before")
    return await mesh.story(caller, spaces(request), since, before, limit)


async def gaps(gate: MeshGate, caller: Caller, request: map_pb2.GapsRequest) -> Answer:
    """Open points of some spaces."""
    return await (await gate.ready()).gaps(caller, spaces(request), optional(request, "limit", map_answers.GAPS))


async def coverage(gate: MeshGate, caller: Caller, request: map_pb2.CoverageRequest) -> Answer:
    """How well memories answer a question."""
    return await (await gate.ready()).space_coverage(caller, request.query, spaces(request))


async def recall_hierarchical(gate: MeshGate, caller: Caller, request: map_pb2.RecallHierarchicalRequest) -> Answer:
    """Topics that answer a question, or all."""
    level, limit = optional(request, "level", map_answers.LEVEL), optional(request, "limit", map_answers.CLUSTERS)
    return await (await gate.ready()).recall_hierarchical(caller, request.query, spaces(request), level, limit)


async def drill_down(gate: MeshGate, caller: Caller, request: map_pb2.DrillDownRequest) -> Answer:
    """The topics and memories within a topic."""
    limit = optional(request, "limit", map_answers.MEMBERS)
    return await (await gate.ready()).drill_down(caller, request.cluster, spaces(request), limit)


async def navigate(gate: MeshGate, caller: Caller, request: map_pb2.NavigateRequest) -> Answer:
    """The memories that are used together with some."""
    mesh, limit = await gate.ready(), optional(request, "limit", map_answers.POINTS)
    return await mesh.navigate(caller, request.query, request.id, spaces(request), limit)


async def duplicates(gate: MeshGate, caller: Caller, request: hygiene_pb2.DuplicatesRequest) -> Answer:
    """Pairs of memories that say nearly the same."""
    mesh = await gate.ready()
    threshold, limit = optional(request, "threshold", findings.THRESHOLD), optional(request, "limit", findings.LIMIT)
    return await mesh.duplicates(caller, spaces(request), threshold, limit)


async def hygiene(gate: MeshGate, caller: Caller, request: hygiene_pb2.HygieneRequest) -> Answer:
    """Findings for a person who tidies up."""
    mesh = await gate.ready()
    stale_days, limit = optional(request, "stale_days", findings.STALE_DAYS), optional(request, "limit", findings.LIMIT)
    return await mesh.hygiene(caller, spaces(request), stale_days, limit)
