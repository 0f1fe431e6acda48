"""The functions behind the rows of HistoryService in the table of operations: each is one call of the Mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import history_wire, wire
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import history_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate

PAGE = 20


async def history(gate: MeshGate, caller: Caller, request: history_pb2.HistoryRequest) -> history_pb2.HistoryResponse:
    """Revisions of a memory."""
    limit = request.limit if request.HasField("limit") else PAGE
    page = await (await gate.ready()).history(caller, request.id, limit, request.cursor)
    return history_wire.history_response(page)


async def blame(gate: MeshGate, caller: Caller, request: history_pb2.BlameRequest) -> history_pb2.BlameResponse:
    """Who set what."""
    return history_wire.blame_response(await (await gate.ready()).blame(caller, request.id, request.revision))


async def rollback(
    gate: MeshGate, caller: Caller, request: history_pb2.RollbackRequest
) -> history_pb2.RollbackResponse:
    """Back to an older revision."""
    done = await (await gate.ready()).rollback(
        caller,
        request.id,
        request.to,
        expected_heads=tuple(request.expected_heads),
        wait=request.wait or "indexed",
    )
    return history_wire.rollback_response(done)


async def conflicts(
    gate: MeshGate, caller: Caller, request: history_pb2.ConflictsRequest
) -> history_pb2.ConflictsResponse:
    """Memories in conflict."""
    limit = request.limit if request.HasField("limit") else PAGE
    page = await (await gate.ready()).conflicts(caller, wire.spaces(request), limit, request.cursor)
    return history_wire.conflicts_response(page)


async def resolve(gate: MeshGate, caller: Caller, request: history_pb2.ResolveRequest) -> history_pb2.ResolveResponse:
    """The end of a conflict."""
    done = await (await gate.ready()).resolve(
        caller,
        request.id,
        keep=request.keep,
        content=request.content if request.HasField("content") else None,
        expected_heads=tuple(request.expected_heads),
        wait=request.wait or "indexed",
    )
    return history_wire.resolve_response(done)
