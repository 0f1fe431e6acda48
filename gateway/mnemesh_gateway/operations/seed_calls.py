"""The function behind the row of SeedService in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract.wire import Answer
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import seed_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def seed_project(gate: MeshGate, caller: Caller, request: seed_pb2.SeedProjectRequest) -> Answer:
    """Store the first memories of a project."""
    mesh = await gate.ready()
    return await mesh.seed_project(caller, request.dir, space=request.space, dry_run=request.dry_run)
