"""The functions behind the rows of SessionService in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_gateway.contract.wire import Answer
from mnemesh_memory.policy.checkpoints import Standing
from mnemesh_memory.policy.session_context import BUDGET, ContextQuery
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import session_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def checkpoint(gate: MeshGate, caller: Caller, request: session_pb2.CheckpointRequest) -> Answer:
    """Store a checkpoint."""
    standing = Standing(
        task=request.task,
        files=tuple(request.files),
        decisions=tuple(request.decisions),
        questions=tuple(request.questions),
        next_steps=tuple(request.next_steps),
        errors=tuple(request.errors),
        custom=request.custom,
    )
    stored = await (await gate.ready()).checkpoint(
        caller, standing, session=request.session, space=request.space, merge=request.merge, mask=request.mask
    )
    return {"checkpoint": stored}


async def resume(gate: MeshGate, caller: Caller, request: session_pb2.ResumeRequest) -> Answer:
    """The last checkpoint, and what belongs to it."""
    checkpoint, around = await (await gate.ready()).resume(
        caller,
        wire.spaces(request),
        session=request.session,
        agent=request.agent,
        budget=wire.optional(request, "token_budget", BUDGET),
    )
    return around, {"checkpoint": checkpoint}


async def context(gate: MeshGate, caller: Caller, request: session_pb2.ContextRequest) -> Answer:
    """Memories for the beginning of work."""
    asked = ContextQuery(
        query=request.query,
        task=request.task,
        session=request.session,
        spaces=tuple(wire.spaces(request)),
        dir=request.dir,
        paths=tuple(request.paths),
        budget=wire.optional(request, "token_budget", BUDGET),
        anew=request.anew,
    )
    return await (await gate.ready()).context(caller, asked)
