"""The functions behind the rows of conflicts in the table of operations: the page of memories in conflict, and their
end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract.wire import asked_wait, optional, spaces
from mnemesh_memory.values.model import Caller, Written
from mnemesh_memory.values.past import ConflictPage
from mnemesh_proto.v1 import history_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def conflicts(gate: MeshGate, caller: Caller, request: history_pb2.ConflictsRequest) -> ConflictPage:
    """Memories in conflict."""
    mesh, limit = await gate.ready(), optional(request, "limit", None)
    return await mesh.conflicts(caller, spaces(request), limit, request.cursor)


async def resolve(gate: MeshGate, caller: Caller, request: history_pb2.ResolveRequest) -> Written:
    """The end of a conflict."""
    return await (await gate.ready()).resolve(
        caller,
        request.id,
        keep=request.keep,
        content=optional(request, "content", None),
        expected_heads=tuple(request.expected_heads),
        other=request.other,
        wait=asked_wait(request),
    )
