"""The functions behind the rows of MapService in the table of operations, each one call of the Mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract.wire import message_of, moment, optional, spaces, told_degraded
from mnemesh_memory.maps import answers
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import map_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def story(gate: MeshGate, caller: Caller, request: map_pb2.StoryRequest) -> map_pb2.StoryResponse:
    """Events of some spaces."""
    mesh, limit = await gate.ready(), optional(request, "limit", answers.SENTENCES)
    since, before = moment(request, "since"), moment(request, "before")
    told = await mesh.story(caller, spaces(request), since, before, limit)
    return message_of(map_pb2.StoryResponse, told, **told_degraded(told.degraded))


async def gaps(gate: MeshGate, caller: Caller, request: map_pb2.GapsRequest) -> map_pb2.GapsResponse:
    """Open points of some spaces."""
    found = await (await gate.ready()).gaps(caller, spaces(request), optional(request, "limit", answers.GAPS))
    return message_of(map_pb2.GapsResponse, found, **told_degraded(found.degraded))


async def coverage(gate: MeshGate, caller: Caller, request: map_pb2.CoverageRequest) -> map_pb2.CoverageResponse:
    """How well memories answer a question."""
    found = await (await gate.ready()).space_coverage(caller, request.query, spaces(request))
    return message_of(map_pb2.CoverageResponse, found, **told_degraded(found.degraded))


async def recall_hierarchical(
    gate: MeshGate, caller: Caller, request: map_pb2.RecallHierarchicalRequest
) -> map_pb2.RecallHierarchicalResponse:
    """Topics that answer a question, or all."""
    level, limit = optional(request, "level", answers.LEVEL), optional(request, "limit", answers.CLUSTERS)
    found = await (await gate.ready()).recall_hierarchical(caller, request.query, spaces(request), level, limit)
    return message_of(map_pb2.RecallHierarchicalResponse, found, **told_degraded(found.degraded))


async def drill_down(gate: MeshGate, caller: Caller, request: map_pb2.DrillDownRequest) -> map_pb2.DrillDownResponse:
    """The topics and memories within a topic."""
    limit = optional(request, "limit", answers.MEMBERS)
    found = await (await gate.ready()).drill_down(caller, request.cluster, spaces(request), limit)
    return message_of(map_pb2.DrillDownResponse, found, **told_degraded(found.degraded))


async def navigate(gate: MeshGate, caller: Caller, request: map_pb2.NavigateRequest) -> map_pb2.NavigateResponse:
    """The memories that are used together with some."""
    mesh, limit = await gate.ready(), optional(request, "limit", answers.POINTS)
    found = await mesh.navigate(caller, request.query, request.id, spaces(request), limit)
    return message_of(map_pb2.NavigateResponse, found, **told_degraded(found.degraded))
