"""The one place that turns protobuf messages into domain values and domain values into messages.

Translates and decides nothing: what a field may hold is judged by the Mesh. The exception is a Timestamp that
is none by its own definition, because no domain value could carry it. Defaults of fields that a request left
out are those of mnemesh_memory.values.model. JSON has its own module; it is offered here too, so that a door needs
one import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from google.protobuf.message import DecodeError, Message
from google.protobuf.timestamp_pb2 import Timestamp

from mnemesh_gateway.contract import status
from mnemesh_gateway.contract.descriptors import descriptor_of
from mnemesh_gateway.contract.link_wire import linked
from mnemesh_gateway.contract.message_json import AnyMessage, from_json, from_query, parse_body, to_json
from mnemesh_memory.ranking import answers
from mnemesh_memory.times.window import TimeRead
from mnemesh_memory.values import model
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError
from mnemesh_memory.values.spaces import space_path
from mnemesh_proto.v1 import history_pb2, memory_pb2, recall_pb2, transcript_pb2, watch_pb2

__all__ = [
    "batch_response", "check_response", "decode", "draft", "from_json", "from_query", "get_response",
    "item_error", "list_query", "list_response", "memory", "moment", "parse_body", "patch", "query", "recall_response",
    "related_response", "remember_response", "source", "spaces", "stats_response", "supersede_response", "timestamp",
    "to_json", "update_response",
]  # fmt: skip

NANOS_MAX: Final = 999_999_999
NOWHERE: Final = model.Source()
# The requests that look at several spaces.
Reading = (
    recall_pb2.RecallRequest
    | recall_pb2.RelatedRequest
    | memory_pb2.GetRequest
    | memory_pb2.ListRequest
    | memory_pb2.TimelineRequest
    | memory_pb2.StatsRequest
    | memory_pb2.ExportRequest
    | history_pb2.ConflictsRequest
    | transcript_pb2.SearchTranscriptsRequest
    | transcript_pb2.ListTranscriptsRequest
    | watch_pb2.WatchRequest
)


def decode(cls: type[AnyMessage], data: bytes) -> AnyMessage:
    """A message from its bytes. Raises InvalidArgument, also for text that is not UTF-8."""
    try:
        return cls.FromString(data)
    except DecodeError:
        limit = f"a well-formed {descriptor_of(cls).full_name} with text in UTF-8"
        raise InvalidArgument("request", f"{len(data)} bytes", limit) from None


def moment(message: Message, field: str, path: str = "") -> int | None:
    """The Timestamp in `field` as milliseconds since the epoch, or None when it is not set."""
    if not message.HasField(field):
        return None
    value: Timestamp = getattr(message, field)
    if not 0 <= value.nanos <= NANOS_MAX:
        raise InvalidArgument(path + field, f"{value.nanos} nanos", f"a Timestamp with nanos from 0 to {NANOS_MAX}")
    return value.seconds * 1000 + value.nanos // 1_000_000


def draft(item: memory_pb2.RememberRequest, path: str = "") -> model.Draft:
    """`path` is put before a field's name in errors, such as `items[3].`."""
    given = item.source
    return model.Draft(
        content=item.content,
        kind=item.kind,
        title=item.title,
        space=item.space,
        tags=tuple(item.tags),
        importance=item.importance if item.HasField("importance") else None,
        paths=tuple(item.paths),
        source=model.Source(given.session, given.dir, given.seq if given.HasField("seq") else None),
        valid_from=moment(item, "valid_from", path),
        valid_to=moment(item, "valid_to", path),
        keywords=tuple(item.keywords),
        attrs=dict(item.attrs),
        links=tuple(model.Link(link.type, link.id) for link in item.links),
        tier=item.tier or "normal",
        supersedes=tuple(item.supersedes),
        sensitive=item.sensitive,
        force=item.force,
        idempotency_key=item.idempotency_key,
        wait=item.wait or "indexed",
        created_at=moment(item, "created_at", path),
    )


def patch(item: memory_pb2.UpdateRequest) -> model.Patch:
    """A field that the request does not carry is None, which leaves the memory's as it is."""

    def given(field: str) -> bool:
        return item.HasField(field)

    return model.Patch(
        content=item.content if given("content") else None,
        kind=item.kind if given("kind") else None,
        title=item.title if given("title") else None,
        tags=tuple(item.tags.values) if given("tags") else None,
        importance=item.importance if given("importance") else None,
        paths=tuple(item.paths.values) if given("paths") else None,
        valid_from=moment(item, "valid_from"),
        valid_to=moment(item, "valid_to"),
        keywords=tuple(item.keywords.values) if given("keywords") else None,
        attrs=dict(item.attrs.values) if given("attrs") else None,
        tier=item.tier if given("tier") else None,
        sensitive=item.sensitive,
        force=item.force,
        expected_heads=tuple(item.expected_heads),
        idempotency_key=item.idempotency_key,
        wait=item.wait or "indexed",
        clear=tuple(item.clear),
    )


def spaces(item: Reading, path: str = "") -> tuple[str, ...]:
    """The spaces that a request names, by `space`, `spaces` or both. Raises InvalidArgument for `space`; `spaces` are
    the Mesh's to judge."""
    return (*((space_path(path + "space", item.space),) if item.space else ()), *item.spaces)


def query(item: recall_pb2.RecallRequest, path: str = "") -> model.Query:
    """What recall searches for; `path` as in `draft`."""
    return model.Query(
        text=item.query,
        spaces=spaces(item, path),
        limit=item.limit if item.HasField("limit") else 10,
        mode=item.mode or "hybrid",
        kinds=tuple(item.kinds),
        tags_any=tuple(item.tags_any),
        tags_all=tuple(item.tags_all),
        tags_none=tuple(item.tags_none),
        since=moment(item, "since", path),
        before=moment(item, "before", path),
        as_of=moment(item, "as_of", path),
        valid_at=moment(item, "valid_at", path),
        min_score=item.min_score,
        min_heat=item.min_heat,
        token_budget=item.token_budget if item.HasField("token_budget") else None,
        include_superseded=item.include_superseded,
        include_archive=item.include_archive,
        sort=item.sort or "relevance",
        weights=dict(item.weights),
        paths=tuple(item.paths),
        agent=item.agent,
        session=item.session,
        source_dir=item.source_dir,
        explain=item.explain,
        snippets_only=item.snippets_only,
        time_words=item.time_words or "prefer",
        time_zone=item.time_zone,
    )


def list_query(item: memory_pb2.ListRequest) -> model.ListQuery:
    """What a page is made of."""
    return model.ListQuery(
        spaces=spaces(item),
        everywhere=item.everywhere,
        kinds=tuple(item.kinds),
        tags_any=tuple(item.tags_any),
        tags_all=tuple(item.tags_all),
        tags_none=tuple(item.tags_none),
        since=moment(item, "since"),
        before=moment(item, "before"),
        valid_at=moment(item, "valid_at"),
        agent=item.agent,
        session=item.session,
        state=item.state or "active",
        order=item.order or "newest",
        limit=item.limit if item.HasField("limit") else 20,
        cursor=item.cursor,
    )


def timestamp(ms: int | None) -> dict[str, int] | None:
    """Milliseconds since the epoch as the fields of a Timestamp, which a message takes for one."""
    return None if ms is None else {"seconds": ms // 1000, "nanos": ms % 1000 * 1_000_000}


def memory(value: model.Memory) -> memory_pb2.Memory:
    """A memory as it is read."""
    return memory_pb2.Memory(**_fields(value, value.content))


def _fields(value: model.Memory, content: str) -> dict[str, Any]:
    # A message makes what lies in it from a mapping in place; one that was made for it would be copied.
    return {
        "id": value.id, "space": value.space, "kind": value.kind, "title": value.title, "content": content,
        "state": value.state, "tags": value.tags, "importance": value.importance, "tier": value.tier,
        "paths": value.paths, "source": source(value.source), "valid_from": timestamp(value.valid_from),
        "valid_to": timestamp(value.valid_to), "keywords": value.keywords, "attrs": value.attrs or None,
        "links": [{"type": link.type, "id": link.id} for link in value.links], "by": value.by,
        "created_at": timestamp(value.created_at), "updated_at": timestamp(value.updated_at), "heads": value.heads,
        "version": value.version, "conflicts": _heads(value), "superseded_by": value.superseded_by,
        "useful": value.useful, "not_useful": value.not_useful, "linked": linked(value.linked),
        "linked_more": value.linked_more, "notes": value.notes,
    }  # fmt: skip


def remember_response(done: model.Written) -> memory_pb2.RememberResponse:
    """What remember did."""
    return memory_pb2.RememberResponse(
        action=done.action,
        memory=memory(done.memory),
        reason=done.reason,
        novelty=done.novelty,
        related=_related(done.related),
        conflicts=_heads(done.memory),
        deduplicated=done.deduplicated,
        restorable=done.restorable,
        replayed=done.replayed,
        indexed=done.indexed,
        hint=done.hint,
    )


def batch_response(outcomes: Sequence[model.Written | MnemeshError]) -> memory_pb2.RememberBatchResponse:
    """One result an item, in order."""
    return memory_pb2.RememberBatchResponse(
        results=[
            memory_pb2.BatchResult(error=item_error(outcome))
            if isinstance(outcome, MnemeshError)
            else memory_pb2.BatchResult(ok=remember_response(outcome))
            for outcome in outcomes
        ]
    )


def item_error(error: MnemeshError) -> memory_pb2.ItemError:
    """Why one item of a batch was refused, as a call of its own would say it."""
    told = {name: str(error.fields.get(name, "")) for name in ("field", "value", "limit")}
    return memory_pb2.ItemError(code=error.code, message=error.message, reason=status.reason(error), **told)


def check_response(found: model.Checked) -> memory_pb2.CheckResponse:
    """What remember would do."""
    return memory_pb2.CheckResponse(
        action=found.action,
        target_id=found.target_id,
        similarity=found.similarity,
        reason=found.reason,
        novelty=found.novelty,
        related=_related(found.related),
        hint=found.hint,
    )


def get_response(asked: Sequence[str], found: Sequence[model.Memory], missing: Sequence[str]) -> memory_pb2.GetResponse:
    """`memory` is set when exactly one was asked for."""
    memories = [memory(value) for value in found]
    single = memories[0] if len(asked) == 1 and memories else None
    return memory_pb2.GetResponse(memory=single, memories=memories, missing=missing)


def list_response(page: model.Page) -> memory_pb2.ListResponse:
    """One page."""
    return memory_pb2.ListResponse(
        memories=[memory(value) for value in page.memories],
        cursor=page.cursor,
        total=page.total,
        degraded_reasons=answers.left_out(page.lost),
    )


def update_response(done: model.Written) -> memory_pb2.UpdateResponse:
    """What update did."""
    return memory_pb2.UpdateResponse(
        action=done.action,
        memory=memory(done.memory),
        reason=done.reason,
        replayed=done.replayed,
        indexed=done.indexed,
    )


def supersede_response(done: model.Written, old: model.Memory) -> memory_pb2.SupersedeResponse:
    """The new memory and the old one as it is now."""
    return memory_pb2.SupersedeResponse(
        action=done.action,
        memory=memory(done.memory),
        reason=done.reason,
        superseded=memory(old),
        indexed=done.indexed,
        replayed=done.replayed,
    )


def stats_response(stats: model.Stats) -> memory_pb2.StatsResponse:
    """Counts, the largest first, equal ones by name."""
    return memory_pb2.StatsResponse(
        memories=stats.memories,
        forgotten=stats.forgotten,
        superseded=stats.superseded,
        conflicted=stats.conflicted,
        kinds=_counts(stats.kinds),
        tags=_counts(stats.tags),
        spaces=_counts(stats.spaces),
        agents=_counts(stats.agents),
        tags_total=stats.tags_total,
        spaces_total=stats.spaces_total,
        agents_total=stats.agents_total,
    )


def recall_response(answer: answers.Recalled, *, snippets_only: bool) -> recall_pb2.RecallResponse:
    """Results, best first. A text stands once, at the top level of its result."""
    return recall_pb2.RecallResponse(
        results=[_hit(hit, snippets_only=snippets_only) for hit in answer.results],
        coverage=answer.coverage,
        abstain=answer.abstain,
        tokens_used=answer.tokens_used,
        truncated_by_budget=answer.truncated_by_budget,
        degraded=bool(answer.degraded),
        degraded_reasons=answer.degraded,
        spaces=answer.spaces,
        notes=answer.notes,
        time=None if answer.time is None else _time_read(answer.time),
    )


def _time_read(read: TimeRead) -> recall_pb2.TimeRead:
    return recall_pb2.TimeRead(**asdict(read) | {"since": timestamp(read.since), "before": timestamp(read.before)})


def related_response(found: answers.Neighbourhood) -> recall_pb2.RelatedResponse:
    """What has to do with a memory."""
    return recall_pb2.RelatedResponse(
        id=found.id,
        results=[
            recall_pb2.RelatedResult(
                id=near.memory.id,
                title=near.memory.title,
                snippet=near.snippet,
                space=near.memory.space,
                kind=near.memory.kind,
                score=near.score,
                reasons=near.reasons,
            )
            for near in found.results
        ],
        degraded=bool(found.degraded),
        degraded_reasons=found.degraded,
    )


def _hit(hit: answers.Hit, *, snippets_only: bool) -> dict[str, Any]:
    found = hit.memory
    return {
        "id": found.id, "content": "" if snippets_only else found.content, "score": hit.score, "title": found.title,
        "snippet": hit.snippet, "space": found.space, "kind": found.kind, "tags": found.tags,
        "memory": _fields(found, ""), "signals": [share._asdict() for share in hit.signals],
        "redirected_from": hit.redirected_from, "attached": linked(hit.attached),
        "marks": [place for mark in hit.marks for place in mark],
    }  # fmt: skip


def source(value: model.Source) -> dict[str, Any] | None:
    """Where a memory came from, as the fields of a Source, if it says so."""
    if value == NOWHERE:
        return None
    return {"session": value.session, "dir": value.dir, "seq": value.seq}


def _heads(value: model.Memory) -> list[memory_pb2.Head]:
    return [
        memory_pb2.Head(revision=head.id, content=head.content, title=head.title, by=head.by, at=timestamp(head.at))
        for head in value.conflicts
    ]


def _related(neighbours: Sequence[model.Related]) -> list[memory_pb2.RelatedMemory]:
    return [
        memory_pb2.RelatedMemory(
            id=near.id, title=near.title, snippet=near.snippet, similarity=near.similarity, alike=near.alike
        )
        for near in neighbours
    ]


def _counts(counts: Mapping[str, int]) -> list[memory_pb2.Count]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [memory_pb2.Count(name=name, memories=memories) for name, memories in ordered]
