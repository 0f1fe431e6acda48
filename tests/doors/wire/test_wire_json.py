"""JSON and protobuf: what is written is read back, strictly, and agrees with protobuf's own JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from mnemesh.api.json_form import as_json
from mnemesh.api.values.recall import Recalled
from mnemesh.api.wire import to_value
from mnemesh_gateway.contract import wire
from mnemesh_gateway.contract.descriptors import descriptor_of, fields_of, inner_message, is_map, is_message, map_value
from mnemesh_gateway.contract.message_json import BARE_MESSAGES, from_json, parse_body, query_object, to_json
from mnemesh_gateway.operations.operation_table import OPERATIONS, by_name
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_proto.v1 import admin_pb2, memory_pb2, recall_pb2

MESSAGES = [cls for operation in OPERATIONS for cls in (operation.request, operation.response)]
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
MS_MAX = limits.TIME_MS_MAX


def _time() -> st.SearchStrategy[Timestamp]:
    return st.integers(0, MS_MAX).map(lambda ms: Timestamp(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000))


def _scalar(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if is_message(field):
        message = inner_message(field)
        return _time() if message.full_name == "google.protobuf.Timestamp" else messages(message)
    return {
        FieldDescriptor.TYPE_STRING: TEXT,
        FieldDescriptor.TYPE_BOOL: st.booleans(),
        FieldDescriptor.TYPE_DOUBLE: st.floats(allow_nan=False),
        FieldDescriptor.TYPE_UINT32: st.integers(0, 2**32 - 1),
        FieldDescriptor.TYPE_UINT64: st.integers(0, 2**64 - 1),
    }[field.type]


def messages(descriptor: Descriptor) -> st.SearchStrategy[Message]:
    """Any message of a type, with any subset of its fields set and at most one of each oneof."""

    @st.composite
    def build(draw: st.DrawFn) -> Message:
        message: Message = descriptor._concrete_class()
        for field in fields_of(descriptor):
            if not draw(st.booleans()):
                continue
            if is_map(field):
                values = draw(st.dictionaries(TEXT, _scalar(map_value(field)), max_size=3))
                getattr(message, field.name).update(values)
            elif field.is_repeated:
                getattr(message, field.name).extend(draw(st.lists(_scalar(field), max_size=3)))
            elif is_message(field):
                getattr(message, field.name).CopyFrom(draw(_scalar(field)))
            else:
                setattr(message, field.name, draw(_scalar(field)))
        return message

    return build()


any_message = st.sampled_from(MESSAGES).flatmap(lambda cls: messages(descriptor_of(cls)))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def refusal(read: Callable[[], object]) -> InvalidArgument | None:
    """The refusal of `read`, which must be sendable; None when it succeeds. Anything else fails the test."""
    try:
        read()
    except InvalidArgument as error:
        error.message.encode()
        return error
    return None


def _with_64_bits(message: Descriptor) -> bool:
    values = [map_value(field) if is_map(field) else field for field in fields_of(message)]
    return any(
        _with_64_bits(inner_message(value)) if is_message(value) else value.type == FieldDescriptor.TYPE_UINT64
        for value in values
    )


WITH_64_BITS = [cls for cls in MESSAGES if _with_64_bits(descriptor_of(cls))]


def uses_bare_messages(cls: type[Message]) -> bool:
    return any(is_message(f) and inner_message(f).full_name in BARE_MESSAGES for f in fields_of(descriptor_of(cls)))


def recalled(message: Message) -> list[Any]:
    """The results of recall in a message, whose memories come without their content."""
    if isinstance(message, recall_pb2.RecallBatchResponse):
        return [result for answer in message.answers for result in answer.results]
    return list(message.results) if isinstance(message, recall_pb2.RecallResponse) else []


@given(any_message)
def test_a_message_written_as_json_is_read_back_as_the_same_message(message: Message) -> None:
    for result in recalled(message):
        result.memory.content = ""
    text = json.dumps(to_json(message), allow_nan=False)
    value = parse_body(text.encode())
    if type(message) not in WITH_64_BITS:
        assert from_json(type(message), value) == message


@given(any_message)
def test_our_json_is_protobufs_json_but_for_bare_lists_and_exact_64_bit_numbers(message: Message) -> None:
    if uses_bare_messages(type(message)) or type(message) in WITH_64_BITS:
        return
    theirs = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    for answer in theirs.get("answers", [theirs]) if recalled(message) else []:
        for result in answer["results"]:
            result.get("memory", {}).pop("content", None)
    assert to_json(message) == theirs


def test_the_content_of_a_result_stands_once_in_it_in_every_json_and_its_schema() -> None:
    memory = memory_pb2.Memory(id="m", space="team")
    answer = recall_pb2.RecallResponse(results=[recall_pb2.RecallResult(id="m", content="once", memory=memory)])
    ours = to_json(answer)["results"][0]
    theirs = as_json(to_value(answer, Recalled))["results"][0]
    for result in (ours, theirs):
        assert result["content"] == "once"
        assert "content" not in result["memory"]
        assert result["memory"]["space"] == "team"
    batch = recall_pb2.RecallBatchResponse(answers=[answer])
    for name, message in (("recall", answer), ("recall_batch", batch)):
        jsonschema.validate(to_json(message), by_name(name).response_schema())
    assert "content" in to_json(memory)


def test_a_64_bit_number_is_a_json_number_while_that_is_exact_and_text_beyond() -> None:
    def seq(value: int) -> object:
        return to_json(admin_pb2.LedgerStatus(seq=value))["seq"]

    assert seq(2**53 - 1) == 2**53 - 1
    assert seq(2**53) == str(2**53)


def test_lists_and_maps_of_an_update_are_plain_and_an_empty_one_is_not_an_absent_one() -> None:
    update = by_name("update").read_json({"id": "x", "tags": [], "attrs": {"a": "b"}})
    assert update == memory_pb2.UpdateRequest(
        id="x", tags=memory_pb2.StringList(), attrs=memory_pb2.StringMap(values={"a": "b"})
    )
    patch = wire.patch(update)
    assert (patch.tags, patch.attrs, patch.paths) == ((), {"a": "b"}, None)
    assert to_json(update)["tags"] == []


@given(st.sampled_from(OPERATIONS), json_values)
def test_any_json_object_is_read_or_refused_with_a_field(operation: Any, value: Any) -> None:
    given_value = (
        value if isinstance(value, dict) else {f.name: value for f in fields_of(descriptor_of(operation.request))}
    )
    error = refusal(lambda: operation.read_json(given_value))
    assert error is None or error.fields["field"]


@given(st.binary(max_size=200))
def test_any_bytes_are_a_json_object_or_refused(body: bytes) -> None:
    error = refusal(lambda: parse_body(body))
    assert error is not None or isinstance(parse_body(body), dict)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    error = refusal(lambda: wire.decode(memory_pb2.RememberRequest, data))
    assert error is None or error.fields["field"] == "request"


BAD_BODIES = [
    (b"[]", "body", "a JSON object"),
    (b"3", "body", "a JSON object"),
    (b"null", "body", "a JSON object"),
    (b"{", "body", "JSON"),
    (b'{"content": }', "body", "JSON: a value is missing"),
    (b"\xff\xfe{}", "body", "UTF-8"),
    (b'{"content": "caf\xe9"}', "body", "UTF-8"),
    (b'{"content": "a", "content": "b"}', "content", "each field once"),
    (b'{"source": {"session": "a", "session": "b"}}', "session", "each field once"),
    (b"[" * 200_000, "body", "deep"),
    (b'{"content":' * 100_000, "body", "deep"),
    (b'{"version": ' + b"9" * 5000 + b"}", "body", "a number has too many digits"),
    (b'{"content": "' + b"x" * limits.HTTP_BODY_BYTES_MAX + b'"}', "body", str(limits.HTTP_BODY_BYTES_MAX)),
]


@pytest.mark.parametrize(("body", "field", "limit"), BAD_BODIES, ids=[str(i) for i in range(len(BAD_BODIES))])
def test_a_body_that_is_no_clean_json_object_is_refused(body: bytes, field: str, limit: str) -> None:
    error = refusal(lambda: parse_body(body))
    assert error.fields["field"] == field
    assert limit in error.fields["limit"]


@pytest.mark.parametrize("word", ["null", "true", "false"])
def test_a_word_of_json_is_shown_as_json_writes_it(word: str) -> None:
    error = refusal(lambda: parse_body(word.encode()))
    assert error.message == f"body: {word} is not allowed; a JSON object"
    quoted = refusal(lambda: parse_body(f'"{word}"'.encode()))
    assert quoted.message == f"body: '{word}' is not allowed; a JSON object"


BAD_FIELDS = [
    ("remember", {"contnt": "x"}, "contnt", "did you mean content?"),
    ("remember", {"memory": "x"}, "memory", "fields are content, kind"),
    ("remember", {"idempotencyKey": "x"}, "idempotencyKey", "did you mean idempotency_key?"),
    ("remember", {"\ud800": 1}, "\\ud800", "fields are"),
    ("remember", {"content": 5}, "content", "a string"),
    ("remember", {"content": ["x"]}, "content", "a string"),
    ("remember", {"content": "\ud800"}, "content", "lone surrogates"),
    ("remember", {"tags": "x"}, "tags", "a list"),
    ("remember", {"tags": ["x", None]}, "tags[1]", "a string"),
    ("remember", {"tags": [{"a": 1}]}, "tags[0]", "a string"),
    ("remember", {"importance": "0.5"}, "importance", "a number"),
    ("remember", {"importance": True}, "importance", "a number"),
    ("remember", {"importance": 10**400}, "importance", "a number"),
    ("remember", {"sensitive": 1}, "sensitive", "true or false"),
    ("remember", {"source": "x"}, "source", "a JSON object"),
    ("remember", {"source": {"seq": -1}}, "source.seq", "a whole number"),
    ("remember", {"source": {"seq": 1.5}}, "source.seq", "a whole number"),
    ("remember", {"source": {"seq": float("nan")}}, "source.seq", "a whole number"),
    ("remember", {"source": {"sesion": "x"}}, "source.sesion", "did you mean session?"),
    ("remember", {"attrs": {"a": 1}}, "attrs.a", "a string"),
    ("remember", {"attrs": {"\ud800": "x"}}, "attrs", "lone surrogates"),
    ("remember", {"attrs": ["a"]}, "attrs", "a JSON object"),
    ("remember", {"links": [{"type": "supports", "id": 3}]}, "links[0].id", "a string"),
    ("remember", {"links": [{"typ": "supports"}]}, "links[0].typ", "did you mean type?"),
    ("remember", {"valid_from": "yesterday"}, "valid_from", "RFC 3339"),
    ("remember", {"valid_from": "2026-05"}, "valid_from", "RFC 3339"),
    ("remember", {"valid_from": "2026-05-01T12:00:00"}, "valid_from", "RFC 3339"),
    ("remember", {"valid_from": "2026-13-01T12:00:00Z"}, "valid_from", "RFC 3339"),
    ("remember", {"valid_from": "0000-01-01T00:00:00Z"}, "valid_from", "RFC 3339"),
    ("remember", {"valid_from": "9999-12-31T23:59:59-23:00"}, "valid_from", "RFC 3339"),
    ("remember", {"valid_from": 1_700_000_000}, "valid_from", "RFC 3339"),
    ("remember", {"valid_from": {"seconds": 1}}, "valid_from", "RFC 3339"),
    ("remember_batch", {"items": [{"content": "x"}, {"content": "y", "tag": "z"}]}, "items[1].tag", "tags"),
    ("remember_batch", {"items": [1]}, "items[0]", "a JSON object"),
    ("recall", {"limit": "ten"}, "limit", "a whole number from 1 to 200"),
    ("recall", {"limit": 1.5}, "limit", "a whole number from 1 to 200"),
    ("timeline", {"id": "x", "before": -1}, "before", "a whole number from 0 to 50"),
    ("recall", {"limit": 2**32}, "limit", "a whole number"),
    ("recall", {"weights": {"dense": "1"}}, "weights.dense", "a number"),
    ("update", {"id": "x", "tags": {"values": ["a"]}}, "tags", "a list"),
    ("update", {"id": "x", "attrs": {"values": {"a": "b"}}}, "attrs.values", "a string"),
    ("supersede", {"id": "x", "contnt": "y"}, "contnt", "did you mean content?"),
    ("supersede", {"id": "x", "item": {"content": "y"}}, "item", "did you mean title?"),
    ("supersede", {"id": "x", "memory": {"content": "y"}}, "memory", "fields are id, content"),
    ("whoami", {"a": 1}, "a", "fields are none"),
]


@pytest.mark.parametrize("name", ["recall", "related", "get", "list", "timeline", "stats", "export", "watch"])
def test_space_may_be_a_list_where_there_are_spaces(name: str) -> None:
    read = by_name(name).read_json
    assert list(read({"space": ["team/a", "team/b"], "spaces": ["team/c"]}).spaces) == ["team/a", "team/b", "team/c"]
    assert (read({"space": "team/a"}).space, list(read({"space": "team/a"}).spaces)) == ("team/a", [])
    error = refusal(lambda: read({"space": ["team/a", 5]}))
    assert (error.fields["field"], error.fields["limit"]) == ("space[1]", "a string")


def test_each_query_of_a_batch_may_have_a_list_as_its_space() -> None:
    request = by_name("recall_batch").read_json({"queries": [{"query": "x", "space": ["team/a", "team/b"]}]})
    assert list(request.queries[0].spaces) == ["team/a", "team/b"]


def test_a_query_of_a_batch_may_be_its_text_alone_as_in_python_and_on_the_command_line() -> None:
    read = by_name("recall_batch").read_json
    request = read({"queries": ["who is on call?", {"query": "x", "limit": 3}]})
    assert [query.query for query in request.queries] == ["who is on call?", "x"]
    for wrong in (5, None, ["x"]):
        error = refusal(lambda wrong=wrong: read({"queries": ["x", wrong]}))
        assert error.fields["field"] == "queries[1]"
        assert error.fields["limit"] == "a string, or a JSON object"


def test_a_query_string_may_name_several_spaces_by_space() -> None:
    pairs = [("space", "team/a"), ("space", "team/b"), ("space", "team/c"), ("spaces", "team/d")]
    request = from_json(memory_pb2.ListRequest, query_object(memory_pb2.ListRequest, pairs))
    assert list(request.spaces) == ["team/a", "team/b", "team/c", "team/d"]
    assert from_json(memory_pb2.ListRequest, query_object(memory_pb2.ListRequest, pairs[:1])).space == "team/a"


def test_where_there_is_one_space_a_list_is_refused_as_a_list() -> None:
    error = refusal(lambda: by_name("remember").read_json({"content": "x", "space": ["team/a"]}))
    assert error.message == "space: a list is not allowed; a string"


@pytest.mark.parametrize(("name", "value", "field", "limit"), BAD_FIELDS)
def test_a_field_that_the_message_does_not_have_or_hold_is_named(
    name: str, value: dict[str, Any], field: str, limit: str
) -> None:
    error = refusal(lambda: by_name(name).read_json(value))
    assert error.fields["field"] == field
    assert limit in error.fields["limit"]
    error.message.encode()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("y", "'y'"), ("y" * 500, "'" + "y" * 76 + "..."), (["a"], "a list"), ({"a": 1}, "an object"), (5, "5"),
        (True, "true"), (None, "null"), ("AKIA" + "QX7Z2LM4N6PT5RVW", "(not shown)"),
    ],
)  # fmt: skip
def test_a_field_that_does_not_exist_is_told_with_its_value_and_the_nearest_that_does(value: Any, shown: str) -> None:
    for name, sent in (("remember", {"contnt": value}), ("supersede", {"id": "x", "contnt": value})):
        with pytest.raises(InvalidArgument) as caught:
            by_name(name).read_json(sent)
        expected = {"field": "contnt", "value": shown, "limit": "no such field, did you mean content?"}
        assert caught.value.fields == expected
    error = refusal(
        lambda: from_json(
            recall_pb2.RecallRequest, query_object(recall_pb2.RecallRequest, [("querry", "how do we deploy")])
        )
    )
    assert error.message == ("querry: 'how do we deploy' is not allowed; no such field, did you mean query?")


def test_a_value_that_only_the_name_of_its_field_makes_a_secret_is_not_repeated() -> None:
    error = refusal(lambda: by_name("remember").read_json({"content": "x", "password": "kJ8#mQ2!vX9pL4"}))
    assert "kJ8" not in error.message
    assert error.fields["field"] == "password"


@pytest.mark.parametrize(
    "written", ["2026-5-1", "20260501", "2026-W18-5", "2026-02-30", "0000-01-01", "202\u0666-05-01", 0]
)
def test_what_only_looks_like_a_date_is_refused_with_the_forms(written: object) -> None:
    with pytest.raises(InvalidArgument, match=r"RFC 3339 time with zone.*or a date") as caught:
        from_json(memory_pb2.UpdateRequest, {"valid_to": written})
    assert caught.value.fields["field"] == "valid_to"


def test_null_means_not_given_and_a_whole_number_may_be_written_with_a_point() -> None:
    request = from_json(recall_pb2.RecallRequest, {"query": "x", "limit": 5.0, "mode": None, "since": None})
    assert request == recall_pb2.RecallRequest(query="x", limit=5)


@pytest.mark.parametrize(
    ("written", "seconds", "nanos"),
    [
        ("2026-05-01T12:00:00Z", 1777636800, 0),
        ("2026-05-01T12:00:00.123456789Z", 1777636800, 123456789),
        ("2026-05-01T14:00:00+02:00", 1777636800, 0),
        ("1970-01-01T00:00:00Z", 0, 0),
        ("2026-05-01t12:00:00z", 1777636800, 0),
        ("2026-05-01", 1777593600, 0),
        ("1921-05-01", -1535932800, 0),
        ("0001-01-01", -62135596800, 0),
        ("9999-12-31T23:59:59.999Z", 253402300799, 999_000_000),
    ],
)
def test_an_rfc_3339_time_is_read_to_the_nanosecond_and_a_date_is_its_start_in_utc(
    written: str, seconds: int, nanos: int
) -> None:
    request = from_json(memory_pb2.RememberRequest, {"valid_from": written})
    assert request.valid_from == Timestamp(seconds=seconds, nanos=nanos)


def test_a_number_that_is_none_is_carried_so_that_the_mesh_can_refuse_it() -> None:
    for written in (float("nan"), "NaN"):
        request = from_json(memory_pb2.RememberRequest, {"importance": written})
        assert str(wire.draft(request).importance) == "nan"


def test_check_and_supersede_take_the_fields_of_their_item_at_the_top() -> None:
    item = memory_pb2.RememberRequest(content="x", tags=["a"])
    assert by_name("check").read_json({"content": "x", "tags": ["a"]}) == memory_pb2.CheckRequest(item=item)
    assert by_name("supersede").read_json({"id": "7", "content": "x", "tags": ["a"]}) == memory_pb2.SupersedeRequest(
        id="7", item=item
    )


def test_a_query_string_repeats_a_list_and_types_what_is_no_text() -> None:
    pairs = [("tags_any", "a"), ("tags_any", "b"), ("limit", "5"), ("since", "2026-05-01T12:00:00Z"), ("agent", "5")]
    request = from_json(memory_pb2.ListRequest, query_object(memory_pb2.ListRequest, pairs))
    assert request == memory_pb2.ListRequest(
        tags_any=["a", "b"], limit=5, since=Timestamp(seconds=1777636800), agent="5"
    )
    assert query_object(recall_pb2.RecallRequest, [("explain", "true"), ("min_score", "0.5")]) == {
        "explain": True, "min_score": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pairs", "field"),
    [
        ([("limit", "5"), ("limit", "6")], "limit"),
        ([("limit", "five")], "limit"),
        ([("limit", "[" * 100_000)], "limit"),
        ([("limt", "5")], "limt"),
        ([("weights", "dense")], "weights"),
        ([("explain", "yes")], "explain"),
    ],
)
def test_a_query_string_that_does_not_fit_is_refused(pairs: list[tuple[str, str]], field: str) -> None:
    error = refusal(lambda: from_json(recall_pb2.RecallRequest, query_object(recall_pb2.RecallRequest, pairs)))
    assert error.fields["field"] == field


@pytest.mark.parametrize(
    "name", ["gh" + "p_" + "a8Fk29ZqLmP0xT7vW3bRc5Yd1Ne4Gh6Uj2Ks", "a8Fk29ZqLmP0xT7vW3bRc5Yd1Ne4Gh6Uj2Ks", "x" * 500]
)
def test_the_name_of_an_unknown_field_is_not_told_when_it_may_be_a_credential(name: str) -> None:
    error = refusal(lambda: by_name("remember").read_json({"content": "x", name: "y"}))
    assert name[:12] not in f"{error.message} {error.fields}"
    assert error.fields["field"] == "(not shown)"
