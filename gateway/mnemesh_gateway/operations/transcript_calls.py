"""The functions behind the rows of TranscriptService in the table of operations, and how their messages look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_gateway.contract.wire import Answer
from mnemesh_gateway.operations import admin_calls
from mnemesh_memory.transcripts import sessions
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import transcript_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def add(gate: MeshGate, caller: Caller, request: transcript_pb2.AddTranscriptRequest) -> sessions.Added:
    """Turns for a session."""
    turns = tuple(wire.value_of(sessions.TurnDraft, one, f"turns[{i}].") for i, one in enumerate(request.turns))
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
