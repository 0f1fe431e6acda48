"""The functions behind the rows of TranscriptService in the table of operations, and how their messages look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_gateway.operations import backup_calls
from mnemesh_memory.transcripts import sessions
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import transcript_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def add(
    gate: MeshGate, caller: Caller, request: transcript_pb2.AddTranscriptRequest
) -> transcript_pb2.AddTranscriptResponse:
    """Turns for a session."""
    draft = sessions.TranscriptDraft(
        session=request.session,
        turns=tuple(
            sessions.TurnDraft(id=one.id, role=one.role, text=one.text, at=wire.moment(one, "at", f"turns[{i}]."))
            for i, one in enumerate(request.turns)
        ),
        space=request.space,
        part_of=request.part_of,
        source=request.source,
        dir=request.dir,
        title=request.title,
    )
    done = await (await gate.ready()).transcripts.add(caller, draft)
    return transcript_pb2.AddTranscriptResponse(
        session=done.session,
        space=done.space,
        stored=done.stored,
        known=done.known,
        turns=done.turns,
        masked=[transcript_pb2.MaskedTurn(id=one.id, types=one.types) for one in done.masked],
    )


async def search(
    gate: MeshGate, caller: Caller, request: transcript_pb2.SearchTranscriptsRequest
) -> transcript_pb2.SearchTranscriptsResponse:
    """Turns that fit, best first."""
    query = sessions.TranscriptQuery(
        text=request.query,
        spaces=wire.spaces(request),
        session=request.session,
        agent=request.agent,
        roles=tuple(request.roles),
        since=wire.moment(request, "since"),
        before=wire.moment(request, "before"),
        limit=request.limit if request.HasField("limit") else 10,
        context=request.context if request.HasField("context") else 1,
    )
    hits, spaces = await (await gate.ready()).transcripts.search(caller, query)
    return transcript_pb2.SearchTranscriptsResponse(
        results=[
            transcript_pb2.TranscriptHit(
                turn=_turn(hit.turn),
                score=hit.score,
                before=[_turn(one) for one in hit.before],
                after=[_turn(one) for one in hit.after],
            )
            for hit in hits
        ],
        spaces=spaces,
    )


async def read(
    gate: MeshGate, caller: Caller, request: transcript_pb2.ReadTranscriptRequest
) -> transcript_pb2.ReadTranscriptResponse:
    """Turns of a session in order."""
    session, turns = await (await gate.ready()).transcripts.read(
        caller,
        request.session,
        request.space,
        first=request.first if request.HasField("first") else 1,
        count=request.count if request.HasField("count") else 20,
    )
    return transcript_pb2.ReadTranscriptResponse(session=_session(session), turns=[_turn(one) for one in turns])


async def page(
    gate: MeshGate, caller: Caller, request: transcript_pb2.ListTranscriptsRequest
) -> transcript_pb2.ListTranscriptsResponse:
    """One page of sessions."""
    query = sessions.SessionQuery(
        spaces=wire.spaces(request),
        agent=request.agent,
        since=wire.moment(request, "since"),
        before=wire.moment(request, "before"),
        limit=request.limit if request.HasField("limit") else 20,
        cursor=request.cursor,
    )
    found = await (await gate.ready()).transcripts.page(caller, query)
    return transcript_pb2.ListTranscriptsResponse(
        sessions=[_session(one) for one in found.sessions], cursor=found.cursor, total=found.total
    )


async def erase(
    gate: MeshGate, caller: Caller, request: transcript_pb2.EraseTranscriptRequest
) -> transcript_pb2.EraseTranscriptResponse:
    """Erase a session, and tell which backups may still hold it."""
    gone = await (await gate.ready()).transcripts.erase(caller, request.session, request.space)
    return transcript_pb2.EraseTranscriptResponse(
        sessions=[_session(one) for one in gone.sessions],
        turns=gone.turns,
        pending=gone.pending,
        backups=await backup_calls.may_hold(gate, caller, gone.stored_at),
    )


def _turn(value: sessions.Turn) -> transcript_pb2.TranscriptTurn:
    return transcript_pb2.TranscriptTurn(
        session=value.session,
        space=value.space,
        position=value.position,
        id=value.id,
        role=value.role,
        text=value.text,
        at=wire.timestamp(value.at),
    )


def _session(value: sessions.Session) -> transcript_pb2.TranscriptSession:
    return transcript_pb2.TranscriptSession(
        session=value.session,
        space=value.space,
        part_of=value.part_of,
        source=value.source,
        dir=value.dir,
        title=value.title,
        by=value.by,
        turns=value.turns,
        bytes=value.bytes,
        masked=value.masked,
        started_at=wire.timestamp(value.started_at),
        ended_at=wire.timestamp(value.ended_at),
        stored_at=wire.timestamp(value.stored_at),
    )
