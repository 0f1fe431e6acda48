"""The functions behind the rows of MapService in the table of operations, each one call of the Mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract.wire import Answer, moment, optional, spaces
from mnemesh_memory.maps import answers
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import map_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def story(gate: MeshGate, caller: Caller, request: map_pb2.StoryRequest) -> Answer:
    """Events of some spaces."""
    mesh, limit = await gate.ready(), optional(request, "limit", answers.SENTENCES)
    since, before = moment(request, "since"), moment(request, "before")
    return await mesh.story(caller, spaces(request), since, before, limit)


async def gaps(gate: MeshGate, caller: Caller, request: map_pb2.GapsRequest) -> Answer:
    """Open points of some spaces."""
    return await (await gate.ready()).gaps(caller, spaces(request), optional(request, "limit", answers.GAPS))


async def coverage(gate: MeshGate, caller: Caller, request: map_pb2.CoverageRequest) -> Answer:
    """How well memories answer a question."""
    return await (await gate.ready()).space_coverage(caller, request.query, spaces(request))


async def recall_hierarchical(gate: MeshGate, caller: Caller, request: map_pb2.RecallHierarchicalRequest) -> Answer:
    """Topics that answer a question, or all."""
    level, limit = optional(request, "level", answers.LEVEL), optional(request, "limit", answers.CLUSTERS)
    return await (await gate.ready()).recall_hierarchical(caller, request.query, spaces(request), level, limit)


async def drill_down(gate: MeshGate, caller: Caller, request: map_pb2.DrillDownRequest) -> Answer:
    """The topics and memories within a topic."""
    limit = optional(request, "limit", answers.MEMBERS)
    return await (await gate.ready()).drill_down(caller, request.cluster, spaces(request), limit)


async def navigate(gate: MeshGate, caller: Caller, request: map_pb2.NavigateRequest) -> Answer:
    """The memories that are used together with some."""
    mesh, limit = await gate.ready(), optional(request, "limit", answers.POINTS)
    return await mesh.navigate(caller, request.query, request.id, spaces(request), limit)
