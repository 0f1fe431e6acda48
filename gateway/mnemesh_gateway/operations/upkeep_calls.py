"""The functions behind the rows of UpkeepService in the table of operations, each one call of the Mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract.wire import Answer, asked_wait, optional, spaces
from mnemesh_memory.policy.hygiene import LIMIT, STALE_DAYS
from mnemesh_memory.values.model import Caller, Written
from mnemesh_proto.v1 import upkeep_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def anchor(gate: MeshGate, caller: Caller, request: upkeep_pb2.AnchorRequest) -> Written:
    """A memory pinned for a reason, or let go."""
    mesh = await gate.ready()
    return await mesh.anchor(caller, request.id, request.reason, release=request.release, wait=asked_wait(request))


async def validate(gate: MeshGate, caller: Caller, request: upkeep_pb2.ValidateRequest) -> Answer:
    """The files that memories name, compared."""
    mesh, limit = await gate.ready(), optional(request, "limit", 50)
    return await mesh.validate(caller, request.id, spaces(request), limit=limit, cursor=request.cursor)


async def tidy(gate: MeshGate, caller: Caller, request: upkeep_pb2.TidyRequest) -> Answer:
    """The memories of a finding, forgotten or archived."""
    done = await (await gate.ready()).tidy(
        caller,
        request.finding,
        request.action or "forget",
        spaces(request),
        stale_days=optional(request, "stale_days", STALE_DAYS),
        limit=optional(request, "limit", LIMIT),
        dry_run=optional(request, "dry_run", True),
    )
    refused = [{"id": id_, "reason": reason} for id_, reason in done.refused]
    return done, {"refused": refused}
