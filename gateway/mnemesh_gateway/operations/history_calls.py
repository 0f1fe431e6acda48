"""The functions behind the rows of HistoryService and LinkService in the table of operations, each one call of the
Mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract.wire import Answer, asked_wait, optional
from mnemesh_memory.values.model import Caller, Written
from mnemesh_proto.v1 import history_pb2, link_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate

PAGE = 20


async def history(gate: MeshGate, caller: Caller, request: history_pb2.HistoryRequest) -> Answer:
    """Revisions of a memory."""
    page = await (await gate.ready()).history(caller, request.id, optional(request, "limit", PAGE), request.cursor)
    return page, page.memory


async def blame(gate: MeshGate, caller: Caller, request: history_pb2.BlameRequest) -> Answer:
    """The last writer of each line and field."""
    blamed = await (await gate.ready()).blame(caller, request.id, request.revision)
    return blamed, blamed.memory


async def rollback(gate: MeshGate, caller: Caller, request: history_pb2.RollbackRequest) -> Written:
    """Back to an older revision."""
    mesh, heads = await gate.ready(), tuple(request.expected_heads)
    return await mesh.rollback(caller, request.id, request.to, expected_heads=heads, wait=asked_wait(request))


async def link(gate: MeshGate, caller: Caller, request: link_pb2.LinkRequest) -> Written:
    """A link more."""
    return await (await gate.ready()).link(caller, request.id, request.type, request.to, asked_wait(request))


async def unlink(gate: MeshGate, caller: Caller, request: link_pb2.UnlinkRequest) -> Written:
    """A link less."""
    return await (await gate.ready()).unlink(caller, request.id, request.type, request.to, asked_wait(request))


async def rate(gate: MeshGate, caller: Caller, request: link_pb2.RateRequest) -> Answer:
    """Whether memories were useful."""
    useful = optional(request, "useful", None)
    rated = await (await gate.ready()).rate(caller, request.id, useful, request.answer)
    return {"rated": rated}
