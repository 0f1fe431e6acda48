"""The functions behind the rows of HygieneService in the table of operations, each one call of the Mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract.wire import Answer, optional, spaces
from mnemesh_memory.policy.hygiene import LIMIT, STALE_DAYS, THRESHOLD
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import hygiene_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def duplicates(gate: MeshGate, caller: Caller, request: hygiene_pb2.DuplicatesRequest) -> Answer:
    """Pairs of memories that say nearly the same."""
    mesh = await gate.ready()
    threshold, limit = optional(request, "threshold", THRESHOLD), optional(request, "limit", LIMIT)
    return await mesh.duplicates(caller, spaces(request), threshold, limit)


async def hygiene(gate: MeshGate, caller: Caller, request: hygiene_pb2.HygieneRequest) -> Answer:
    """Findings for a person who tidies up."""
    mesh = await gate.ready()
    stale_days, limit = optional(request, "stale_days", STALE_DAYS), optional(request, "limit", LIMIT)
    return await mesh.hygiene(caller, spaces(request), stale_days, limit)
