"""The functions behind the rows of SessionService and TranscriptService in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_gateway.contract.wire import Answer
from mnemesh_gateway.operations import admin_calls
from mnemesh_memory.policy.sessions.checkpoints import WorkState
from mnemesh_memory.policy.sessions.session_context import BUDGET, ContextQuery
from mnemesh_memory.policy.sessions.session_runs import SessionReport
from mnemesh_memory.transcripts import sessions
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import session_pb2, transcript_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def checkpoint(gate: MeshGate, caller: Caller, request: session_pb2.CheckpointRequest) -> Answer:
    """Store a checkpoint."""
    state = wire.value_of(WorkState, request)
    stored = await (await gate.ready()).checkpoint(
        caller, state, session=request.session, space=request.space, merge=request.merge, mask=request.mask
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
    budget = wire.optional(request, "token_budget", BUDGET)
    asked = wire.value_of(ContextQuery, request, spaces=wire.spaces(request), budget=budget)
    return await (await gate.ready()).context(caller, asked)


async def record_run(gate: MeshGate, caller: Caller, request: session_pb2.RecordRunRequest) -> Answer:
    """Store the record of a session."""
    run = wire.value_of(SessionReport, request)
    return {"run": await (await gate.ready()).record_run(caller, run, space=request.space, mask=request.mask)}


async def runs(gate: MeshGate, caller: Caller, request: session_pb2.RunsRequest) -> Answer:
    """One page of records of sessions."""
    limit = wire.optional(request, "limit", 20)
    rows, cursor, total = await (await gate.ready()).runs(
        caller, wire.spaces(request), session=request.session, limit=limit, cursor=request.cursor
    )
    return {"runs": rows, "cursor": cursor, "total": total}


async def settle(gate: MeshGate, caller: Caller, request: session_pb2.SettleRequest) -> Answer:
    """Give a requirement a status."""
    return {"requirement": await (await gate.ready()).settle(caller, request.id, request.status, request.note)}


async def requirements(gate: MeshGate, caller: Caller, request: session_pb2.RequirementsRequest) -> Answer:
    """One page of requirements."""
    limit = wire.optional(request, "limit", 20)
    rows, cursor, total = await (await gate.ready()).requirements(
        caller, wire.spaces(request), status=request.status, limit=limit, cursor=request.cursor
    )
    return {"requirements": rows, "cursor": cursor, "total": total}


async def add(gate: MeshGate, caller: Caller, request: transcript_pb2.AddTranscriptRequest) -> sessions.Added:
    """Turns for a session."""
    turns = tuple(wire.value_of(sessions.TurnDraft, turn, f"turns[{i}].") for i, turn in enumerate(request.turns))
    draft = wire.value_of(sessions.TranscriptDraft, request, turns=turns)
    return await (await gate.ready()).transcripts.add(caller, draft)


async def search(gate: MeshGate, caller: Caller, request: transcript_pb2.SearchTranscriptsRequest) -> Answer:
    """Turns that fit, best first."""
    query = wire.value_of(sessions.TranscriptQuery, request, text=request.query, spaces=wire.spaces(request))
    hits, spaces = await (await gate.ready()).transcripts.search(caller, query)
    return {"results": hits, "spaces": spaces}


async def read(gate: MeshGate, caller: Caller, request: transcript_pb2.ReadTranscriptRequest) -> Answer:
    """Turns of a session in order."""
    first, count = wire.optional(request, "first", 1), wire.optional(request, "count", 20)
    transcripts = (await gate.ready()).transcripts
    session, turns = await transcripts.read(caller, request.session, request.space, first=first, count=count)
    return {"session": session, "turns": turns}


async def page(gate: MeshGate, caller: Caller, request: transcript_pb2.ListTranscriptsRequest) -> sessions.SessionPage:
    """One page of sessions."""
    query = wire.value_of(sessions.SessionQuery, request, spaces=wire.spaces(request))
    return await (await gate.ready()).transcripts.page(caller, query)


async def erase(gate: MeshGate, caller: Caller, request: transcript_pb2.EraseTranscriptRequest) -> Answer:
    """Erase a session, and name the backups that may still hold it."""
    gone = await (await gate.ready()).transcripts.erase(caller, request.session, request.space)
    backups = await admin_calls.may_hold(gate, caller, gone.stored_at)
    return gone, {"backups": backups}
