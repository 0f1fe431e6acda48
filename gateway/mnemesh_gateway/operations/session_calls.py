"""The functions behind the rows of SessionService in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_memory.policy.checkpoints import Standing
from mnemesh_memory.policy.session_context import BUDGET, ContextQuery
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import session_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def checkpoint(
    gate: MeshGate, caller: Caller, request: session_pb2.CheckpointRequest
) -> session_pb2.CheckpointResponse:
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
    return wire.message_of(session_pb2.CheckpointResponse, checkpoint=stored)


async def resume(gate: MeshGate, caller: Caller, request: session_pb2.ResumeRequest) -> session_pb2.ResumeResponse:
    """The last checkpoint, and what belongs to it."""
    checkpoint, around = await (await gate.ready()).resume(
        caller,
        wire.spaces(request),
        session=request.session,
        agent=request.agent,
        budget=wire.optional(request, "token_budget", BUDGET),
    )
    return wire.message_of(session_pb2.ResumeResponse, around, checkpoint=checkpoint)


async def context(gate: MeshGate, caller: Caller, request: session_pb2.ContextRequest) -> session_pb2.ContextResponse:
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
    found = await (await gate.ready()).context(caller, asked)
    return wire.message_of(session_pb2.ContextResponse, found)
