"""The functions behind the rows of LinkService in the table of operations: each is one call of the Mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import link_wire, wire
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import link_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def link(gate: MeshGate, caller: Caller, request: link_pb2.LinkRequest) -> link_pb2.LinkResponse:
    """A link more."""
    mesh = await gate.ready()
    done = await mesh.link(caller, request.id, request.type, request.to, request.wait or "indexed")
    return link_pb2.LinkResponse(
        action=done.action, memory=wire.memory(done.memory), reason=done.reason, indexed=done.indexed
    )


async def unlink(gate: MeshGate, caller: Caller, request: link_pb2.UnlinkRequest) -> link_pb2.UnlinkResponse:
    """A link less."""
    mesh = await gate.ready()
    done = await mesh.unlink(caller, request.id, request.type, request.to, request.wait or "indexed")
    return link_pb2.UnlinkResponse(
        action=done.action, memory=wire.memory(done.memory), reason=done.reason, indexed=done.indexed
    )


async def rate(gate: MeshGate, caller: Caller, request: link_pb2.RateRequest) -> link_pb2.RateResponse:
    """Whether memories were useful."""
    useful = request.useful if request.HasField("useful") else None
    return link_wire.rate_response(await (await gate.ready()).rate(caller, request.id, useful, request.answer))
