"""The one place that turns protobuf messages into domain values and domain values into messages.

Most fields go over by their names. The others are named here. This module decides nothing: the Mesh judges values. A
Timestamp out of its range is the exception, because no domain value could carry it. JSON has its own module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.timestamp_pb2 import Timestamp

from mnemesh_gateway.contract import status
from mnemesh_gateway.contract.descriptors import TIMESTAMP, descriptor_of, fields_of, inner_message, is_map, is_message
from mnemesh_gateway.contract.message_json import BARE_MESSAGES, AnyMessage
from mnemesh_memory.ranking import answers, explanation
from mnemesh_memory.values import injection, model, past
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError
from mnemesh_memory.values.spaces import space_path
from mnemesh_proto.v1 import history_pb2, hygiene_pb2, memory_pb2, recall_pb2

AnyValue = TypeVar("AnyValue")
Convert = Callable[[Any], Any]
Read = Callable[[Any, str], Any]
# A message, or values with attributes named as its fields, and dicts of other fields.
Answer: TypeAlias = object
NANOS_MAX: Final = 999_999_999
NOWHERE: Final = model.Source()


def decode(cls: type[AnyMessage], data: bytes) -> AnyMessage:
    """A message from its bytes. Raises InvalidArgument, also for text that is not UTF-8."""
    try:
        return cls.FromString(data)
    except DecodeError:
        limit = f"a well-formed {descriptor_of(cls).full_name} with text in UTF-8"
        raise InvalidArgument("request", f"{len(data)} bytes", limit) from None


def message_of(cls: type[AnyMessage], /, *values: object, **others: object) -> AnyMessage:
    """A message of type `cls`. A field comes from `others`, else from the first value with an attribute of that name.
    None leaves a field out. Raises AttributeError for a field without a source. A value names in `degraded` why it may
    be incomplete: that is `degraded_reasons` of a message, and whether there is any is `degraded`."""
    if len(values) == 1 and isinstance(values[0], cls):
        return values[0]
    return cls(**form_of(descriptor_of(cls), *values, **others))


def answer_of(cls: type[AnyMessage], answer: Answer) -> AnyMessage:
    """The message of an operation's answer."""
    parts = answer if type(answer) is tuple else (answer,)
    values = (part for part in parts if not isinstance(part, dict))
    others = {name: item for part in parts if isinstance(part, dict) for name, item in part.items()}
    return message_of(cls, *values, **others)


def form_of(descriptor: Descriptor, /, *values: object, **others: object) -> dict[str, Any]:
    """The fields of such a message, for its constructor. Inner messages are mappings, which protobuf fills in place."""
    made = {}
    for name, attribute, place, write in _writers(descriptor, tuple(map(type, values))):
        item = others[name] if name in others else getattr(values[place], attribute)
        if item is not None:
            made[name] = write(item)
    return made


@cache
def _writers(descriptor: Descriptor, sources: tuple[type, ...]) -> tuple[tuple[str, str, int, Convert], ...]:
    """Name, attribute and place of its value, and conversion of each field. Reading descriptors costs more than writing
    values."""
    lacking = "degraded_reasons" in descriptor.fields_by_name

    def written(field: FieldDescriptor) -> tuple[str, str, int, Convert]:
        name, write = field.name, bool if lacking and field.name == "degraded" else _writer(field)
        if lacking and name == "degraded_reasons" and not any(hasattr(source, name) for source in sources):
            name = "degraded"
        return field.name, name, next((at for at, source in enumerate(sources) if hasattr(source, name)), 0), write

    return tuple(map(written, fields_of(descriptor)))


def _writer(field: FieldDescriptor) -> Convert:
    if is_map(field) or not is_message(field):
        return _unchanged
    inner = inner_message(field)
    by_name = timestamp if inner.full_name == TIMESTAMP else FORMS.get(inner.name, lambda item: form_of(inner, item))

    def write(item: Any) -> Any:
        return item if isinstance(item, Message | dict) else by_name(item)

    return (lambda items: [write(item) for item in items]) if field.is_repeated else write


def _unchanged(item: Any) -> Any:
    return item


def timestamp(ms: int | None) -> dict[str, int] | None:
    """Milliseconds since the epoch as the fields of a Timestamp."""
    return None if ms is None else {"seconds": ms // 1000, "nanos": ms % 1000 * 1_000_000}


def value_of(cls: type[AnyValue], item: Message, path: str = "", /, **others: object) -> AnyValue:
    """A dataclass `cls`. A field is taken from `others`, else from the field of that name in `item`. An absent field
    and an empty text leave the default. `path` stands before the names of fields in errors, such as `items[3].`."""
    made, target = dict(others), cast(type, cls)
    for name, optional, has_default, read in _readers(target, descriptor_of(item)):
        if name in others or (optional and not item.HasField(name)):
            continue
        value = read(item, path)
        if value != "" or optional or not has_default:
            made[name] = value
    return cls(**made)


@cache
def _readers(cls: type, source: Descriptor) -> tuple[tuple[str, bool, bool, Read], ...]:
    """Name, whether it can be absent, whether there is a default, and how to read it, for each field of both sides."""
    there = source.fields_by_name
    return tuple(
        (own.name, field.has_presence, own.default is not MISSING or own.default_factory is not MISSING, _reader(field))
        for own in fields(cls)
        if (field := there.get(own.name)) is not None
    )


def _reader(field: FieldDescriptor) -> Read:
    name = field.name
    if is_map(field):
        return lambda item, path: dict(getattr(item, name))
    if field.is_repeated:
        return lambda item, path: tuple(getattr(item, name))
    if is_message(field) and inner_message(field).full_name == TIMESTAMP:
        return lambda item, path: moment(item, name, path)
    if is_message(field) and inner_message(field).full_name in BARE_MESSAGES:
        read_values = _reader(fields_of(inner_message(field))[0])
        return lambda item, path: read_values(getattr(item, name), path)
    return lambda item, path: getattr(item, name)


def moment(source: Message, field: str, path: str = "") -> int | None:
    """The Timestamp in `field` as milliseconds since the epoch, or None without one."""
    if not source.HasField(field):
        return None
    time: Timestamp = getattr(source, field)
    if not 0 <= time.nanos <= NANOS_MAX:
        raise InvalidArgument(path + field, f"{time.nanos} nanos", f"a Timestamp with nanos from 0 to {NANOS_MAX}")
    return time.seconds * 1000 + time.nanos // 1_000_000


def optional(source: Message, field: str, default: Any) -> Any:
    """The value of an optional field, or `default` when the request leaves the field out."""
    return getattr(source, field) if source.HasField(field) else default


def asked_wait(request: Any) -> str:
    """How far a write is waited for: until recall finds the memory, unless the request says otherwise."""
    return str(request.wait or "indexed")


# ---- the fields with other names ------------------------------------------------------------------------------------


def draft(item: memory_pb2.RememberRequest, path: str = "") -> model.Draft:
    """`path` is put before a field's name in errors, such as `items[3].`."""
    links = tuple(model.Link(link.type, link.id) for link in item.links)
    return value_of(model.Draft, item, path, source=value_of(model.Source, item.source), links=links)


def patch(item: memory_pb2.UpdateRequest) -> model.Patch:
    """A field that the request leaves out is None. The memory keeps such a field."""
    return value_of(model.Patch, item)


def spaces(item: Any, path: str = "") -> tuple[str, ...]:
    """The spaces that a request names, by `space`, `spaces` or both. Raises InvalidArgument for `space`. The Mesh
    judges `spaces`."""
    return (*((space_path(path + "space", item.space),) if item.space else ()), *item.spaces)


def query(item: recall_pb2.RecallRequest, path: str = "") -> model.Query:
    """A question to recall. `path` as in `draft`."""
    return value_of(model.Query, item, path, text=item.query, spaces=spaces(item, path))


def list_query(item: memory_pb2.ListRequest | memory_pb2.ExportRequest) -> model.ListQuery:
    """The memories of a page or an export."""
    return value_of(model.ListQuery, item, spaces=spaces(item))


def memory(read: model.Memory) -> memory_pb2.Memory:
    """A memory as it is read."""
    return memory_pb2.Memory(**_memory(read, read.content))


def _memory(read: model.Memory, content: str) -> dict[str, Any]:
    # Written out, because recall makes many of them.
    return {
        "id": read.id, "space": read.space, "kind": read.kind, "title": read.title, "content": content,
        "state": read.state, "tags": read.tags, "importance": read.importance, "tier": read.tier,
        "paths": read.paths, "source": _source(read.source), "valid_from": timestamp(read.valid_from),
        "valid_to": timestamp(read.valid_to), "keywords": read.keywords, "attrs": read.attrs or None,
        "links": [{"type": link.type, "id": link.id} for link in read.links], "by": read.by,
        "created_at": timestamp(read.created_at), "updated_at": timestamp(read.updated_at), "heads": read.heads,
        "version": read.version, "conflicts": [_head(head) for head in read.conflicts],
        "superseded_by": read.superseded_by, "useful": read.useful, "not_useful": read.not_useful,
        "linked": [form_of(LINKED, end) for end in read.linked], "linked_more": read.linked_more, "notes": read.notes,
        "shown": read.shown,
        "anchor": read.anchor, "stale": read.stale, "trust": read.trust,
        "replaces": [{"id": old.id, "since": timestamp(old.since)} for old in read.replaces],
        "older_than": read.older_than, "may_be_replaced_by": read.may_be_replaced_by,
        "suspicious": injection.is_marked(read),
    }  # fmt: skip


def remember_response(done: model.Written) -> memory_pb2.RememberResponse:
    """The outcome of remember."""
    return message_of(memory_pb2.RememberResponse, done, conflicts=done.memory.conflicts)


def batch_response(outcomes: Sequence[model.Written | MnemeshError]) -> memory_pb2.RememberBatchResponse:
    """One result an item, in order."""
    return memory_pb2.RememberBatchResponse(
        results=[
            memory_pb2.BatchResult(error=_item_error(outcome))
            if isinstance(outcome, MnemeshError)
            else memory_pb2.BatchResult(ok=remember_response(outcome))
            for outcome in outcomes
        ]
    )


def _item_error(error: MnemeshError) -> memory_pb2.ItemError:
    """The refusal of an item of a batch, in the words of a single call."""
    details = {name: str(error.fields.get(name, "")) for name in ("field", "value", "limit")}
    return message_of(memory_pb2.ItemError, error, reason=status.reason(error), **details)


def get_response(asked: Sequence[str], found: Sequence[model.Memory], missing: Sequence[str]) -> memory_pb2.GetResponse:
    """`memory` is set when exactly one was asked for."""
    single = found[0] if len(asked) == 1 and found else None
    return message_of(memory_pb2.GetResponse, memory=single, memories=found, missing=missing)


def list_response(page: model.Page) -> memory_pb2.ListResponse:
    """One page."""
    return message_of(memory_pb2.ListResponse, page, degraded_reasons=answers.left_out(page.lost))


def stats_response(stats: model.Stats) -> memory_pb2.StatsResponse:
    """Counts, the largest first, equal ones by name."""
    counted = {name: _counts(getattr(stats, name)) for name in ("kinds", "tags", "spaces", "agents")}
    return message_of(memory_pb2.StatsResponse, stats, **counted)


def recall_response(answer: answers.Recalled, *, snippets_only: bool) -> recall_pb2.RecallResponse:
    """Results, best first. A text stands once, at the top level of its result."""
    results = [_hit(hit, snippets_only=snippets_only) for hit in answer.results]
    return message_of(recall_pb2.RecallResponse, answer, results=results)


def _hit(hit: answers.Hit, *, snippets_only: bool) -> dict[str, Any]:
    read = hit.memory
    return {
        "id": read.id, "content": "" if snippets_only else read.content, "score": hit.score, "title": read.title,
        "snippet": hit.snippet, "space": read.space, "kind": read.kind, "tags": read.tags,
        "memory": _memory(read, ""), "signals": [share._asdict() for share in hit.signals],
        "redirected_from": hit.redirected_from, "attached": [form_of(LINKED, end) for end in hit.attached],
        "heat": None if hit.heat is None else form_of(HEAT, hit.heat), "estimate": _estimate(hit.estimate),
        "marks": [place for mark in hit.marks for place in mark],
    }  # fmt: skip


def _estimate(read: explanation.Estimate | None) -> dict[str, Any] | None:
    return None if read is None else {**read._asdict(), "parts": [part._asdict() for part in read.parts]}


def _source(read: model.Source) -> dict[str, Any] | None:
    """The origin of a memory, if there is one."""
    return None if read == NOWHERE else {"session": read.session, "dir": read.dir, "seq": read.seq}


def _head(head: model.Revision) -> dict[str, Any]:
    return form_of(descriptor_of(memory_pb2.Head), head, revision=head.id)


def _revision(read: past.Recorded) -> dict[str, Any]:
    """A revision and where it came from."""
    return form_of(descriptor_of(history_pb2.Revision), read, read.revision, paths=read.revision.refs)


def _counts(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [{"name": name, "memories": memories} for name, memories in ordered]


LINKED: Final = descriptor_of(memory_pb2.Linked)
HEAT: Final = descriptor_of(hygiene_pb2.Heat)
# The messages that are not written by names alone.
FORMS: Final[Mapping[str, Convert]] = {
    "Memory": lambda read: _memory(read, read.content),
    "Source": _source,
    "Head": _head,
    "Revision": _revision,
    "Opponent": lambda read: form_of(descriptor_of(history_pb2.Opponent), read, read.memory),
    "Conflict": lambda read: form_of(descriptor_of(history_pb2.Conflict), read, read.memory),
    "Finding": lambda finding: form_of(descriptor_of(hygiene_pb2.Finding), finding, memory=finding.subject),
    "TidyMemory": lambda item: form_of(descriptor_of(hygiene_pb2.TidyMemory), item, item.memory),
    "RelatedResult": lambda near: form_of(descriptor_of(recall_pb2.RelatedResult), near, near.memory),
}
