"""Protobuf and domain values: every field arrives, absence stays absence, times keep their milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import example, given
from hypothesis import strategies as st

from mnemesh import errors
from mnemesh.api.values.writes import Remembered
from mnemesh.api.wire import to_message, to_value
from mnemesh_gateway.contract import wire
from mnemesh_gateway.contract.descriptors import descriptor_of, fields_of
from mnemesh_gateway.contract.message_json import to_json
from mnemesh_gateway.operations.operation_table import OPERATIONS
from mnemesh_memory.ranking import answers
from mnemesh_memory.ranking.explanation import Share
from mnemesh_memory.values import injection, limits, model, quotas
from mnemesh_memory.values.errors import Aborted, InvalidArgument, NotFound, SecretRefused
from mnemesh_memory.values.memory_links import Linked
from mnemesh_proto.v1 import admin_pb2, memory_pb2, recall_pb2

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
TIME = st.integers(limits.TIME_MS_MIN, limits.TIME_MS_MAX)
NUMBER = st.integers(0, 2**32 - 1)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT, int: NUMBER, int | None: st.none() | TIME, float: st.floats(allow_nan=False), bool: st.booleans(),
    model.Source: st.builds(model.Source, TEXT, TEXT, st.none() | NUMBER),
}  # fmt: skip
OF_THE_NODE = {"tied", "arrived_at", "forced", "about", "asked_at", "by_match_alone", "hidden", "knowledge", "weighing",
               "active_now", "window", "trusted", "within"}  # fmt: skip
REPEATED = {model.Link: memory_pb2.Link, model.Replaced: memory_pb2.Replaced, Linked: memory_pb2.Linked}


def of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that a field has."""
    if kind in PLAIN:
        return PLAIN[kind]
    if is_dataclass(kind):
        return built(kind)
    inner = of(get_args(kind)[-1 if get_origin(kind) is Mapping else 0])
    if get_origin(kind) is tuple:
        return st.lists(inner, max_size=3).map(tuple)
    return st.dictionaries(TEXT, inner, max_size=3) if get_origin(kind) is Mapping else st.none() | inner


def built(kind: Any, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Any value of a dataclass, with each field that a caller sees. An empty text would leave a default."""
    told = {name: of(type_) for name, type_ in get_type_hints(kind).items() if name not in OF_THE_NODE}
    words = {one.name: TEXT.filter(bool) for one in fields(kind) if isinstance(one.default, str) and one.default}
    return st.builds(kind, **told | words | more)


MEMORIES = built(model.Memory, created_at=TIME, updated_at=TIME)


def fill(message: Message, value: Any, names: dict[str, str] | None = None) -> Any:
    """Set the fields of `message` from the attributes of a domain value; a test's own way round, to compare
    with."""
    for field in fields(value):
        if field.name in OF_THE_NODE:
            continue
        name, item = (names or {}).get(field.name, field.name), getattr(value, field.name)
        if item is None:
            continue
        target = getattr(message, name)
        if isinstance(target, Timestamp):
            target.FromMilliseconds(item)
        elif isinstance(item, model.Source):
            fill(target, item)
            target.SetInParent()
        elif isinstance(target, memory_pb2.StringList):
            target.SetInParent()
            target.values.extend(item)
        elif isinstance(target, memory_pb2.StringMap):
            target.SetInParent()
            target.values.update(item)
        elif isinstance(item, dict):
            target.update(item)
        elif isinstance(item, tuple):
            target.extend(fill(REPEATED[type(one)](), one) if type(one) in REPEATED else one for one in item)
        else:
            setattr(message, name, item)
    return message


@given(built(model.Draft))
def test_every_field_of_a_draft_arrives(draft: model.Draft) -> None:
    assert wire.draft(fill(memory_pb2.RememberRequest(), draft)) == draft


@given(built(model.Patch))
def test_every_field_of_a_patch_arrives_and_what_is_not_given_is_none(patch: model.Patch) -> None:
    assert wire.patch(fill(memory_pb2.UpdateRequest(), patch)) == patch


@given(built(model.Query, token_budget=st.none() | NUMBER))
def test_every_field_of_a_query_arrives(query: model.Query) -> None:
    assert wire.query(fill(recall_pb2.RecallRequest(), query, {"text": "query"})) == query


@given(built(model.ListQuery))
def test_every_field_of_a_list_query_arrives(query: model.ListQuery) -> None:
    assert wire.list_query(fill(memory_pb2.ListRequest(), query)) == query


def test_what_a_request_leaves_out_has_the_default_of_the_domain_value() -> None:
    assert wire.draft(memory_pb2.RememberRequest(content="x")) == model.Draft(content="x")
    assert wire.patch(memory_pb2.UpdateRequest()) == model.Patch()
    assert wire.query(recall_pb2.RecallRequest(query="x")) == model.Query(text="x")
    assert wire.list_query(memory_pb2.ListRequest()) == model.ListQuery()


@pytest.mark.parametrize(
    "request_type",
    [
        recall_pb2.RecallRequest, memory_pb2.ListRequest, memory_pb2.GetRequest, memory_pb2.StatsRequest,
        memory_pb2.ExportRequest,
    ],
)  # fmt: skip
def test_a_request_names_one_space_or_several_or_both(request_type: Any) -> None:
    assert wire.spaces(request_type()) == ()
    assert wire.spaces(request_type(space="a")) == ("a",)
    assert wire.spaces(request_type(spaces=["a", "b"])) == ("a", "b")
    assert wire.spaces(request_type(space="c", spaces=["a", "b"])) == ("c", "a", "b")
    assert wire.spaces(request_type(spaces=[""])) == ("",), "which the Mesh refuses"


def test_every_field_of_each_request_has_a_place_in_its_domain_value() -> None:
    pairs: list[tuple[type[Message], type, dict[str, str]]] = [
        (memory_pb2.RememberRequest, model.Draft, {}),
        (memory_pb2.UpdateRequest, model.Patch, {"id": "key"}),
        (recall_pb2.RecallRequest, model.Query, {"query": "text"}),
        (memory_pb2.ListRequest, model.ListQuery, {}),
        (memory_pb2.Memory, model.Memory, {}),
    ]
    for message, value, renamed in pairs:
        known = {field.name for field in fields(value)} | {"key", "anchor", "suspicious"}  # read from other fields
        if "spaces" in known:
            known.add("space")  # one more of them
        assert {renamed.get(f.name, f.name) for f in fields_of(descriptor_of(message))} <= known


@given(MEMORIES)
@example(
    model.Memory(
        id="1",
        space="@owner",
        kind="fact",
        title="",
        content="a hidden sign \U000e0000",
        state="active",
        by="owner",
        created_at=1,
        updated_at=2,
        heads=("1@a",),
    )
)
def test_every_field_of_a_memory_is_written(memory: model.Memory) -> None:
    found = wire.memory(memory)
    assert [(c.revision, c.content, c.title, c.by, wire.moment(c, "at")) for c in found.conflicts] == [
        (c.id, c.content, c.title, c.by, c.at) for c in memory.conflicts
    ]
    expected = fill(memory_pb2.Memory(), replace(memory, conflicts=()))
    expected.conflicts.extend(found.conflicts)
    expected.suspicious = injection.is_marked(memory)
    if memory.source == model.Source():
        expected.ClearField("source")
    assert found == expected


def hit(content: str = "the whole text") -> answers.Hit:
    memory = model.Memory(
        id="1", space="@owner", kind="fact", title="a title", content=content, state="active", by="owner",
        created_at=1, updated_at=2, heads=("1@a",), tags=("t",),
    )  # fmt: skip
    return answers.Hit(
        memory=memory, score=0.5, signals=(Share("words", None, 0.8, 0.5, 0.4),), snippet="whole", redirected_from="0"
    )


def recalled(*hits: answers.Hit, degraded: tuple[str, ...] = ()) -> answers.Recalled:
    return answers.Recalled(
        results=hits, coverage=0.7, abstain=True, answered=0.1, tokens_used=9, truncated_by_budget=2, degraded=degraded,
        spaces=("@owner",),
    )  # fmt: skip


def test_a_recalled_text_stands_once() -> None:
    [result] = wire.recall_response(recalled(hit()), snippets_only=False).results
    assert (result.content, result.memory.content) == ("the whole text", "")
    assert (result.id, result.title, result.space, result.kind, list(result.tags)) == (
        "1",
        "a title",
        "@owner",
        "fact",
        ["t"],
    )
    assert (result.score, [one.share for one in result.signals], result.snippet, result.redirected_from) == (
        0.5,
        [0.4],
        "whole",
        "0",
    )


@given(MEMORIES)
def test_a_result_has_its_memory_with_every_field_but_the_text(memory: model.Memory) -> None:
    [result] = wire.recall_response(recalled(replace(hit(), memory=memory)), snippets_only=False).results
    assert result.memory == wire.memory(replace(memory, content=""))
    assert result.content == memory.content


def test_snippets_only_gives_no_text_at_all() -> None:
    [result] = wire.recall_response(recalled(hit()), snippets_only=True).results
    assert (result.content, result.memory.content, result.snippet) == ("", "", "whole")


def test_a_degraded_recall_says_so_and_why() -> None:
    response = wire.recall_response(recalled(degraded=("shard-0: behind by 7",)), snippets_only=False)
    assert (response.degraded, list(response.degraded_reasons)) == (True, ["shard-0: behind by 7"])
    assert (response.coverage, response.abstain, response.tokens_used, response.truncated_by_budget) == (
        0.7,
        True,
        9,
        2,
    )
    assert not wire.recall_response(recalled(), snippets_only=False).degraded


def test_a_batch_keeps_order_and_gives_each_item_its_outcome() -> None:
    done = model.Written(action="ADD", memory=hit().memory, reason="new")
    secret = SecretRefused("content", "AWS key")
    response = wire.batch_response([done, secret, Aborted("changed")])
    assert [result.WhichOneof("outcome") for result in response.results] == ["ok", "error", "error"]
    assert response.results[1].error == memory_pb2.ItemError(
        code="INVALID_ARGUMENT", message=secret.message, reason="SECRET_REFUSED", field="content",
        value="(not shown)", limit="no secrets: AWS key",
    )  # fmt: skip
    assert response.results[2].error == memory_pb2.ItemError(code="ABORTED", message="changed", reason="ABORTED")


def test_what_is_not_found_is_named_by_the_field_that_asked_for_it() -> None:
    for what in ("memory", "agent", "peer", "session"):
        field = NotFound(what, "x").fields["field"]
        requests = [operation.request.DESCRIPTOR.fields_by_name for operation in OPERATIONS]
        assert any(field in fields for fields in requests), f"no request has {field}"


def test_get_shows_the_single_memory_only_when_one_was_asked_for() -> None:
    memory = hit().memory
    assert wire.get_response(["1"], [memory], []).memory.id == "1"
    several = wire.get_response(["1", "2"], [memory], ["2"])
    assert not several.HasField("memory")
    assert ([m.id for m in several.memories], list(several.missing)) == (["1"], ["2"])


def test_counts_come_most_first_and_equal_ones_by_name() -> None:
    stats = model.Stats(
        memories=6, forgotten=1, superseded=2, conflicted=3, kinds={"b": 1, "a": 1, "c": 4}, tags={}, spaces={},
        agents={}, tags_total=201, spaces_total=2, agents_total=1,
    )  # fmt: skip
    told = wire.stats_response(stats)
    assert [(c.name, c.memories) for c in told.kinds] == [("c", 4), ("a", 1), ("b", 1)]
    assert (told.tags_total, told.spaces_total, told.agents_total) == (201, 2, 1)


@pytest.mark.parametrize("nanos", [-1, 1_000_000_000])
def test_a_timestamp_that_is_none_is_refused_with_its_path(nanos: int) -> None:
    item = memory_pb2.RememberRequest(content="x", valid_to=Timestamp(seconds=1, nanos=nanos))
    with pytest.raises(InvalidArgument) as caught:
        wire.draft(item, "items[3].")
    assert caught.value.fields["field"] == "items[3].valid_to"


@pytest.mark.parametrize("seconds", [-1, -(2**62), 253_402_300_800, 2**62])
def test_a_time_outside_the_years_that_mnemesh_keeps_is_carried_for_the_mesh_to_refuse(seconds: int) -> None:
    item = memory_pb2.RememberRequest(content="x", valid_from=Timestamp(seconds=seconds))
    assert wire.draft(item).valid_from == seconds * 1000


def test_a_novelty_that_nobody_could_measure_is_absent_and_not_that_of_a_known_text() -> None:
    written = model.Written(action="ADD", memory=hit().memory, reason="new; not compared", novelty=None)
    response = wire.remember_response(written)
    assert "novelty" not in to_json(response)
    assert to_value(response, Remembered).novelty is None
    known = wire.remember_response(replace(written, action="NOOP", novelty=0.0, deduplicated=True))
    assert to_json(known)["novelty"] == 0.0
    assert to_value(known, Remembered).novelty == 0.0


@pytest.mark.parametrize("field", ["max_memories", "max_bytes"])
@pytest.mark.parametrize("value", [-1, 2**64, 10**30])
def test_a_quota_that_the_wire_can_t_carry_is_told_the_upper_limit_of_the_node(field: str, value: int) -> None:
    with pytest.raises(errors.InvalidArgument, match=f"to {quotas.MOST[field]:,}$"):
        to_message(admin_pb2.SetAgentQuotaRequest, {"name": "ann", field: value})
