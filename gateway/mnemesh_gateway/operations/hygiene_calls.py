"""The functions behind the rows of HygieneService in the table of operations, each one call of the Mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract.wire import message_of, optional, spaces, told_degraded
from mnemesh_memory.policy.hygiene import LIMIT, STALE_DAYS, THRESHOLD
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import hygiene_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def duplicates(
    gate: MeshGate, caller: Caller, request: hygiene_pb2.DuplicatesRequest
) -> hygiene_pb2.DuplicatesResponse:
    """Pairs of memories that say nearly the same."""
    mesh = await gate.ready()
    threshold, limit = optional(request, "threshold", THRESHOLD), optional(request, "limit", LIMIT)
    found = await mesh.duplicates(caller, spaces(request), threshold, limit)
    return message_of(hygiene_pb2.DuplicatesResponse, found, **told_degraded(found.degraded))


async def hygiene(gate: MeshGate, caller: Caller, request: hygiene_pb2.HygieneRequest) -> hygiene_pb2.HygieneResponse:
    """Findings for a person who tidies up."""
    mesh = await gate.ready()
    stale_days, limit = optional(request, "stale_days", STALE_DAYS), optional(request, "limit", LIMIT)
    found = await mesh.hygiene(caller, spaces(request), stale_days, limit)
    return message_of(hygiene_pb2.HygieneResponse, found, **told_degraded(found.degraded))
