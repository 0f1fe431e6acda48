"""The messages of HistoryService from domain values: wire's other half, by the same rules."""

from __future__ import annotations

from mnemesh_gateway.contract import wire
from mnemesh_memory.values import model, past
from mnemesh_proto.v1 import history_pb2


def revision(value: past.Recorded) -> history_pb2.Revision:
    """A revision and where it came from."""
    said = value.revision
    return history_pb2.Revision(
        id=said.id,
        op=said.op,
        kind=said.kind,
        title=said.title,
        content=said.content,
        by=said.by,
        at=wire.timestamp(said.at),
        parents=said.parents,
        node=value.node,
        head=value.head,
        shown=value.shown,
        importance=said.importance,
        tier=said.tier,
        paths=said.refs,
        source=wire.source(said.source),
        valid_from=wire.timestamp(said.valid_from),
        valid_to=wire.timestamp(said.valid_to),
        keywords=said.keywords,
        attrs=said.attrs,
    )


def history_response(page: past.HistoryPage) -> history_pb2.HistoryResponse:
    """One page, newest first."""
    return history_pb2.HistoryResponse(
        id=page.memory.id,
        space=page.memory.space,
        state=page.memory.state,
        revisions=[revision(one) for one in page.revisions],
        cursor=page.cursor,
        total=page.total,
        notes=page.memory.notes,
    )


def blame_response(found: past.Blame) -> history_pb2.BlameResponse:
    """Lines in order, fields by name."""
    return history_pb2.BlameResponse(
        id=found.memory.id,
        revision=found.revision,
        lines=[
            history_pb2.BlamedLines(
                first=run.first,
                text=run.text,
                revision=run.revision,
                by=run.by,
                at=wire.timestamp(run.at),
                node=run.node,
            )
            for run in found.lines
        ],
        fields=[
            history_pb2.BlamedField(
                field=one.field,
                value=one.value,
                revision=one.revision,
                by=one.by,
                at=wire.timestamp(one.at),
                node=one.node,
            )
            for one in found.fields
        ],
    )


def conflicts_response(page: past.ConflictPage) -> history_pb2.ConflictsResponse:
    """One page, oldest memory first."""
    return history_pb2.ConflictsResponse(
        conflicts=[
            history_pb2.Conflict(
                id=one.memory.id,
                space=one.memory.space,
                versions=[revision(version) for version in one.versions],
                state=one.memory.state,
                notes=one.memory.notes,
            )
            for one in page.conflicts
        ],
        cursor=page.cursor,
        total=page.total,
    )


def rollback_response(done: model.Written) -> history_pb2.RollbackResponse:
    """What rollback did."""
    return history_pb2.RollbackResponse(
        action=done.action, memory=wire.memory(done.memory), reason=done.reason, indexed=done.indexed
    )


def resolve_response(done: model.Written) -> history_pb2.ResolveResponse:
    """What resolve did."""
    return history_pb2.ResolveResponse(
        action=done.action, memory=wire.memory(done.memory), reason=done.reason, indexed=done.indexed
    )
