"""The requests and answers of Client and AsyncClient. Every sentence holds for both."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import importlib
import inspect
import itertools
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args, get_type_hints

import pytest
from client_support import ID, SECRET, TOKEN, Both, Failure, RecordingNode
from google.protobuf import symbol_database

import mnemesh
from mnemesh import AsyncClient, Client, errors
from mnemesh.api import calls, values
from mnemesh.api.batch import BATCH_BYTES_MAX, BATCH_ITEMS_MAX, CONTENT_BYTES_MAX
from mnemesh.api.calls.node import add_agent
from mnemesh.transport import connection
from mnemesh_memory.values import limits
from mnemesh_proto.v1 import admin_pb2

Make = Callable[..., Both]


@pytest.fixture(params=["sync", "async"])
def make(request: pytest.FixtureRequest, node: RecordingNode) -> Iterator[Make]:
    """Makes clients of the node, all of one sort."""
    made: list[Both] = []
    with asyncio.Runner() as runner:

        def new(**options: Any) -> Both:
            given = {"endpoint": node.endpoint, "token": TOKEN, "space": "", **options}
            if request.param == "sync":
                made.append(Both(Client(**given)))
            else:
                made.append(Both(AsyncClient(**given), runner.run))
            return made[-1]

        yield new
        for client in made:
            client.call("close")


@pytest.fixture
def client(make: Make) -> Both:
    return make()


def test_a_memory_is_remembered_recalled_read_changed_forgotten_and_restored(make: Make) -> None:
    client = make(space="team/x")
    done = client.call("remember", "Deploys run from CI only", kind="decision", tags=["deploy"])
    assert (done.action, done.memory.kind, done.memory.tags, done.indexed) == ("ADD", "decision", ("deploy",), True)
    id_ = done.memory.id
    answer = client.call("recall", "deploys", limit=3)
    assert [(r.id, r.content, r.memory.content) for r in answer.results] == [(id_,) + ("Deploys run from CI only",) * 2]
    assert client.call("get", id_).content == "Deploys run from CI only"
    assert client.call("get_many", [id_, "nope"]).missing == ("nope",)
    assert client.call("update", id_, content="Deploys run at night", tags=[]).memory.version == 2
    assert client.call("get", id_).tags == ()
    assert client.call("forget", id_).memory.state == "forgotten"
    assert client.call("restore", id_).memory.state == "active"
    assert client.call("list", limit=1).total == 1
    assert client.call("timeline", id_).position == 0
    both = client.call("recall_batch", ["deploys", {"query": "zebra", "space": "team/x", "limit": 1}])
    assert [[r.memory.content for r in one.results] for one in both.answers] == [["Deploys run at night"], []]
    assert client.call("related", id_, limit=3).id == id_
    with pytest.raises(errors.InvalidArgument, match=r"queries\[1\]\.limt"):
        client.call("recall_batch", ["deploys", {"query": "x", "limt": 1}])
    assert client.call("check", "anything").action == "ADD"
    new = client.call("supersede", id_, "Deploys run by day")
    assert (new.superseded.id, new.superseded.superseded_by) == (id_, new.memory.id)
    assert client.call("stats").kinds == (values.Count(name="decision", memories=1),)
    assert client.call("status").ledger.seq == 2
    assert len(client.export(include_superseded=True)) == 2


def test_every_field_of_a_memory_arrives_as_it_was_given(client: Both, node: RecordingNode) -> None:
    noon = datetime(2026, 5, 1, 14, 0, tzinfo=timezone(timedelta(hours=2)))
    client.call(
        "remember", "text", kind="fact", title="t", space="s", tags="one", importance=0.0, paths=["a", "b"],
        source=values.Source(session="s1", seq=0), valid_from=noon, valid_to="2026-05-02T12:00:00+02:00",
        links=[f"see-also:{ID}", {"type": "supports", "id": ID}, values.Link(type="part-of", id=ID)],
        keywords=["k"], attrs={"a": "1"},
        tier="pinned", supersedes=["old"], sensitive=False, force=True, idempotency_key="mine", wait="durable",
    )  # fmt: skip
    (sent,) = node.requests("Remember")
    assert sent.valid_from.ToJsonString() == "2026-05-01T12:00:00Z"
    assert sent.valid_to.ToJsonString() == "2026-05-02T10:00:00Z"
    assert [(link.type, link.id) for link in sent.links] == [
        (type_, ID) for type_ in ("see-also", "supports", "part-of")
    ]
    assert (sent.source.session, sent.source.HasField("seq"), sent.source.seq) == ("s1", True, 0)
    assert (sent.HasField("importance"), list(sent.tags), list(sent.paths)) == (True, ["one"], ["a", "b"])
    assert (sent.tier, sent.force, sent.idempotency_key, sent.wait) == ("pinned", True, "mine", "durable")
    (memory,) = client.export()
    assert memory.valid_from == datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
    assert memory.importance == 0.0
    assert memory.source == values.Source(session="s1", seq=0)


def test_a_date_means_its_midnight_in_utc(client: Both, node: RecordingNode) -> None:
    client.call("recall", "x", since="2026-05-01", before=datetime(2026, 5, 2, tzinfo=UTC))
    (sent,) = node.requests("Recall")
    assert (sent.since.ToJsonString(), sent.before.ToJsonString()) == ("2026-05-01T00:00:00Z", "2026-05-02T00:00:00Z")


@pytest.mark.parametrize("method", ["recall", "get", "get_many", "list", "stats", "timeline"])
def test_space_and_spaces_mean_the_same_wherever_one_reads(client: Both, node: RecordingNode, method: str) -> None:
    id_ = client.call("remember", "x").memory.id
    first = {"recall": ["x"], "get": [id_], "get_many": [[id_]], "timeline": [id_]}.get(method, [])
    for given, sent in (
        ({"space": "a"}, ["a"]),
        ({"spaces": ["a", "b"]}, ["a", "b"]),
        ({"spaces": "a"}, ["a"]),
        ({"space": "a", "spaces": ["b"]}, ["a", "b"]),
        ({}, []),
    ):
        client.call(method, *first, **given)
        assert list(node.calls[-1].request.spaces) == sent


def test_an_export_names_spaces_as_the_reading_calls_do(client: Both, node: RecordingNode) -> None:
    assert client.export(space="a", spaces=["b", "c"]) == []
    assert list(node.calls[-1].request.spaces) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("method", "field", "range_"),
    [
        ("recall", "limit", f"1 to {limits.RECALL_LIMIT_MAX}"),
        ("recall", "token_budget", f"1 to {limits.TOKEN_BUDGET_MAX}"),
        ("timeline", "before", f"0 to {limits.TIMELINE_MAX}"),
    ],
)
def test_a_number_that_the_wire_can_not_carry_is_refused_with_the_range_of_the_node(
    client: Both, method: str, field: str, range_: str
) -> None:
    with pytest.raises(errors.InvalidArgument, match=f"a whole number from {range_}$"):
        client.call(method, "x", **{field: -1})


@pytest.mark.parametrize(
    ("method", "fields", "field"),
    [
        ("remember", {"content": 3}, "content"),
        ("remember", {"content": b"x"}, "content"),
        ("remember", {"content": "\ud800"}, "content"),
        ("remember", {"content": "x", "tag": "y"}, "tag"),
        ("remember", {"content": "x", "valid_from": datetime(2026, 5, 1)}, "valid_from"),
        ("remember", {"content": "x", "valid_to": "soon"}, "valid_to"),
        ("remember", {"content": "x", "importance": "high"}, "importance"),
        ("remember", {"content": "x", "force": 1}, "force"),
        ("remember", {"content": "x", "tags": ["a", 3]}, "tags[1]"),
        ("remember", {"content": "x", "attrs": ["a"]}, "attrs"),
        ("remember", {"content": "x", "attrs": {"a": 1}}, "attrs.a"),
        ("remember", {"content": "x", "links": ["nowhere"]}, "links[0]"),
        ("remember", {"content": "x", "source": {"seq": -1}}, "source.seq"),
        ("remember", {"content": "x", "source": "here"}, "source"),
        ("recall", {"query": "x", "limit": -1}, "limit"),
        ("recall", {"query": "x", "weights": {"dense": "much"}}, "weights.dense"),
    ],
)
def test_what_the_wire_can_not_carry_is_refused_with_its_field_and_nothing_is_sent(
    client: Both, node: RecordingNode, method: str, fields: dict[str, Any], field: str
) -> None:
    error = client.refused(errors.InvalidArgument, method, **fields)
    assert (error.field, error.refused) == (field, False)
    assert error.limit
    assert node.calls == []


def test_an_argument_that_does_not_exist_is_told_with_its_value_and_the_nearest_that_does(client: Both) -> None:
    error = client.refused(errors.InvalidArgument, "remember", "x", tag="deploy")
    assert str(error) == "tag: 'deploy' is not allowed; no such field, did you mean tags?"
    assert (error.field, error.value) == ("tag", "'deploy'")


WRONG: tuple[Any, ...] = (
    5, 1.5, True, b"x", "\ud800", [5], [None], [b"x"], [["a"]], {5: 6}, {"a": object()}, object(), datetime(2026, 1, 1),
    -1, 2**70, float("nan"), iter([1]), len,
)  # fmt: skip

BUILDERS = {
    name: function
    for part in pkgutil.iter_modules(calls.__path__)
    for name, function in vars(importlib.import_module(f"{calls.__name__}.{part.name}")).items()
    if inspect.isfunction(function)
    and function.__module__ == f"{calls.__name__}.{part.name}"
    and function.__annotations__.get("return", "").startswith("Call[")
}


def refusal_of(build: Callable[..., Any], arguments: dict[str, Any]) -> errors.InvalidArgument | None:
    try:
        build(**arguments)
    except errors.InvalidArgument as error:
        return error
    return None


@pytest.mark.parametrize("name", BUILDERS)
def test_an_argument_of_a_wrong_type_is_a_refusal_of_ours_that_names_it(name: str) -> None:
    build = BUILDERS[name]
    wanted, others = [], []
    for parameter in inspect.signature(build, eval_str=True).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            (fields,) = get_args(parameter.annotation)
            others += get_type_hints(fields)
        else:
            (wanted if parameter.default is inspect.Parameter.empty else others).append(parameter.name)
    sound: dict[str, Any] = {one: () if one == "turns" else "x" for one in wanted}
    for argument, value in itertools.product((*wanted, *others), WRONG):
        refused = refusal_of(build, sound | {argument: value})
        if refused is not None:
            assert refused.field.removeprefix("which.").startswith(argument)
            assert "" not in (refused.value, refused.limit)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda client: client.call("recall", "x", limit="x"), "limit"),
        (lambda client: client.call("recall", "x", space=5), "space"),
        (lambda client: client.call("list", spaces=b"team"), "spaces"),
        (lambda client: client.call("recall_batch", 5), "queries"),
        (lambda client: client.call("recall_batch", ["x", {"query": "x", "space": 5}]), "queries[1].space"),
        (lambda client: client.call("remember_batch", 5), "items"),
        (lambda client: client.call("remember_batch", b"five"), "items"),
        (lambda client: client.call("add_transcript", "s", 5), "turns"),
        (lambda client: client.call("add_transcript", "s", ["hello"]), "turns[0]"),
        (lambda client: client.export(space=5), "space"),
    ],
)
def test_no_list_at_all_and_an_item_that_is_none_are_refused_by_name_and_nothing_is_sent(
    client: Both, node: RecordingNode, call: Callable[[Both], Any], field: str
) -> None:
    with pytest.raises(errors.InvalidArgument) as refused:
        call(client)
    assert (refused.value.field, node.calls) == (field, [])


def test_an_id_of_another_type_is_called_what_it_is_not(client: Both, node: RecordingNode) -> None:
    with pytest.raises(errors.InvalidArgument, match=r"ids\[0\]: \[\] is not allowed; a text$"):
        client.call("get", [])
    with pytest.raises(errors.InvalidArgument, match=r"; well-formed text$"):
        client.call("get", "\ud800")
    assert node.calls == []


def test_one_query_alone_is_a_batch_of_one(client: Both, node: RecordingNode) -> None:
    client.call("recall_batch", "how do we deploy?")
    (sent,) = node.requests("RecallBatch")
    assert [query.query for query in sent.queries] == ["how do we deploy?"]


def test_the_spaces_of_a_query_in_a_batch_are_given_as_to_recall(client: Both, node: RecordingNode) -> None:
    queries = [{"query": "x", "space": ["team/a", "team/b"], "spaces": "team/c"}, {"query": "x", "space": "team/a"}]
    client.call("recall_batch", queries)
    (sent,) = node.requests("RecallBatch")
    assert [list(query.spaces) for query in sent.queries] == [["team/a", "team/b", "team/c"], ["team/a"]]


@pytest.mark.parametrize("name", ["endpoint", "token", "agent", "space", "timeout_s", "data_dir"])
@pytest.mark.parametrize("cls", [Client, AsyncClient])
def test_what_a_client_is_made_with_is_refused_by_name(cls: Any, name: str) -> None:
    with pytest.raises(errors.InvalidArgument) as refused:
        cls(**{name: ["x"]})
    assert refused.value.field == name


@pytest.mark.parametrize(("code", "leaf"), errors.LEAVES.items())
def test_each_status_has_its_leaf_with_the_details_of_the_node(
    client: Both, node: RecordingNode, code: str, leaf: type[errors.MnemeshError]
) -> None:
    fields = {"field": "kind", "value": "'x'", "limit": "one of fact"}
    node.fail["Recall"].extend([Failure(code, "said so", fields, retry_after_s=0.25)] * connection.ATTEMPTS_MAX)
    with pytest.raises(leaf) as raised:
        client.call("recall", "x")
    error = raised.value
    assert (error.code, error.message, error.refused) == (code, "said so", True)
    assert (error.field, error.value, error.limit) == ("kind", "'x'", "one of fact")
    if isinstance(error, errors.Overloaded):
        assert error.retry_after_s == 0.25


def test_a_status_without_a_leaf_is_the_base_class_with_its_code(client: Both, node: RecordingNode) -> None:
    node.fail["Recall"].append(Failure("UNIMPLEMENTED", "not here"))
    error = client.refused(errors.MnemeshError, "recall", "x")
    assert (type(error), error.code) == (errors.MnemeshError, "UNIMPLEMENTED")


def test_a_write_whose_answer_was_lost_is_asked_for_again_and_stored_once(client: Both, node: RecordingNode) -> None:
    node.fail["Remember"].append(Failure("UNAVAILABLE", after=True))
    done = client.call("remember", "once")
    first, second = node.requests("Remember")
    assert first.idempotency_key == second.idempotency_key != ""
    assert done.replayed is True
    assert len(node.memories) == 1


def test_reads_are_tried_a_bounded_number_of_times(client: Both, node: RecordingNode) -> None:
    node.fail["Recall"].extend([Failure("UNAVAILABLE")] * 99)
    with pytest.raises(errors.NotReachable, match="mnemesh up"):
        client.call("recall", "x")
    assert len(node.requests("Recall")) == connection.ATTEMPTS_MAX


@pytest.mark.parametrize("method", ["forget", "restore"])
def test_a_write_without_a_key_is_not_sent_twice(client: Both, node: RecordingNode, method: str) -> None:
    id_ = client.call("remember", "x").memory.id
    node.fail[method.capitalize()].append(Failure("UNAVAILABLE"))
    with pytest.raises(errors.NotReachable):
        client.call(method, id_)
    assert len(node.requests(method.capitalize())) == 1


def test_a_refusal_is_not_tried_again(client: Both, node: RecordingNode) -> None:
    node.fail["Remember"].append(Failure("RESOURCE_EXHAUSTED", fields={}))
    with pytest.raises(errors.Overloaded):
        client.call("remember", "x")
    assert len(node.requests("Remember")) == 1


def test_a_call_gives_up_at_its_deadline(make: Make, node: RecordingNode) -> None:
    node.fail["Recall"].append(Failure("DEADLINE_EXCEEDED"))
    with pytest.raises(errors.DeadlineExceeded, match="within"):
        make(timeout_s=5).call("recall", "x")


def test_agent_space_and_token_travel_as_headers_whatever_letters_they_have(make: Make, node: RecordingNode) -> None:
    make(agent="claude-code", space="équipe/a b%").call("recall", "x")
    headers = node.calls[-1].headers
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["x-mnemesh-agent"] == "claude-code"
    assert headers["x-mnemesh-space"] == "%C3%A9quipe/a b%25"


def test_a_batch_of_any_length_goes_in_calls_of_256_and_gives_one_outcome_an_item(
    client: Both, node: RecordingNode
) -> None:
    items: list[Any] = [f"item {i}" for i in range(600)]
    items[3] = {"content": SECRET}
    items[300] = {"content": "x", "contnt": 1}
    items[599] = {"content": "y" * (CONTENT_BYTES_MAX + 1)}
    outcomes = client.call("remember_batch", items, wait="durable")
    assert [len(request.items) for request in node.requests("RememberBatch")] == [256, 256, 86]
    assert len(outcomes) == 600
    bad = {i: outcome for i, outcome in enumerate(outcomes) if isinstance(outcome, errors.MnemeshError)}
    assert {i: (type(error), error.field) for i, error in bad.items()} == {
        3: (errors.InvalidArgument, "content"),
        300: (errors.InvalidArgument, "contnt"),
        599: (errors.InvalidArgument, "content"),
    }
    assert outcomes[599].refused is False
    told = (bad[3].value, bad[3].limit, bad[3].details["reason"])
    assert told == ("(not shown)", "no secrets: password", "SECRET_REFUSED")
    assert outcomes[4].memory.content == "item 4"
    sent = [item for request in node.requests("RememberBatch") for item in request.items]
    assert len({item.idempotency_key for item in sent}) == 598
    assert {item.wait for item in sent} == {"durable"}


def test_a_batch_stays_below_one_mebibyte_a_call(client: Both, node: RecordingNode) -> None:
    client.call("remember_batch", [f"{i}" + "z" * 30_000 for i in range(80)])
    sizes = [sum(len(item.content) for item in request.items) for request in node.requests("RememberBatch")]
    assert max(sizes) <= BATCH_BYTES_MAX
    assert len(sizes) == 3


def test_a_batch_that_breaks_half_way_says_what_was_stored(client: Both, node: RecordingNode) -> None:
    node.fail["RememberBatch"].extend([None, *[Failure("UNAVAILABLE")] * connection.ATTEMPTS_MAX])
    outcomes = client.call("remember_batch", (f"item {i}" for i in range(600)))
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [values.Remembered] * 256 + [errors.NotReachable] * 344
    assert len(node.requests("RememberBatch")) == 1 + connection.ATTEMPTS_MAX


def test_a_batch_that_never_began_raises(client: Both, node: RecordingNode) -> None:
    node.fail["RememberBatch"].append(Failure("PERMISSION_DENIED", fields={}))
    with pytest.raises(errors.PermissionDenied):
        client.call("remember_batch", ["a", "b"])
    assert client.call("remember_batch", []) == ()


def test_an_export_that_breaks_off_raises(client: Both, node: RecordingNode) -> None:
    client.call("remember", "x")
    node.fail["Export"].append(Failure("UNAVAILABLE", after=True))
    with pytest.raises(errors.NotReachable):
        client.export()


def test_a_page_of_200_large_memories_arrives(client: Both) -> None:
    client.call("remember_batch", [f"{i:03}" + "w" * (CONTENT_BYTES_MAX - 3) for i in range(200)])
    assert len(client.call("list", limit=200).memories) == 200


def test_a_closed_client_says_so(client: Both) -> None:
    client.call("status")
    client.call("close")
    with pytest.raises(errors.FailedPrecondition, match="closed"):
        client.call("status")


def test_what_is_missing_is_named_also_when_it_is_all(client: Both) -> None:
    assert client.call("get_many", ["nope"]).missing == ("nope",)
    assert client.call("get_many", "nope").missing == ("nope",)
    with pytest.raises(errors.NotFound):
        client.call("get", "nope")


def test_a_bare_text_is_a_batch_of_one(client: Both, node: RecordingNode) -> None:
    (outcome,) = client.call("remember_batch", "abc")
    assert outcome.memory.content == "abc"
    (outcome,) = client.call("remember_batch", {"content": "def"})
    assert outcome.memory.content == "def"


def test_a_link_may_be_a_pair_and_another_shape_is_refused_with_the_form(client: Both, node: RecordingNode) -> None:
    client.call("remember", "x", links=[("see-also", ID)])
    (sent,) = node.requests("Remember")
    assert [(link.type, link.id) for link in sent.links] == [("see-also", ID)]
    with pytest.raises(errors.InvalidArgument, match="TYPE:ID"):
        client.call("remember", "x", links=[("a", "b", "c")])


def test_a_client_shows_where_it_goes_and_never_its_token(client: Both, node: RecordingNode) -> None:
    assert node.endpoint in repr(client.client)
    assert TOKEN not in repr(client.client)


def test_a_space_that_the_node_refuses_is_named_as_the_argument_that_it_was(client: Both, node: RecordingNode) -> None:
    fields = {"field": "x-mnemesh-space", "value": "'../x'", "limit": "no .."}
    node.fail["Status"].append(Failure("INVALID_ARGUMENT", "x-mnemesh-space: '../x' is not allowed; no ..", fields))
    with pytest.raises(errors.InvalidArgument, match=r"^space: ") as refused:
        client.call("status")
    assert refused.value.field == "space"


def test_both_clients_have_the_same_methods_with_the_same_arguments_and_help() -> None:
    def methods(cls: type) -> dict[str, tuple[Any, ...]]:
        public = {name: getattr(cls, name) for name in dir(cls) if not name.startswith("_")}
        return {name: tuple(inspect.signature(method).parameters) for name, method in public.items()}

    assert methods(Client) == methods(AsyncClient)
    for name in methods(Client):
        assert ">>>" in (getattr(Client, name).__doc__ or "") or name == "close"
        assert getattr(AsyncClient, name).__doc__


@pytest.mark.parametrize("name", BUILDERS)
def test_the_value_of_a_call_has_the_fields_of_its_answer(name: str) -> None:
    parameters = inspect.signature(BUILDERS[name]).parameters.values()
    wanted = {one.name for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD}
    call = BUILDERS[name](**{one: () if one == "turns" else "x" for one in wanted})
    if isinstance(call.read, functools.partial):  # else a function reads a part of the answer
        told = {field.name for field in dataclasses.fields(call.read.keywords["cls"])}
        assert told == set(call.response.DESCRIPTOR.fields_by_name)


@pytest.mark.parametrize(("message", "name"), values.MESSAGES.items())
def test_a_value_has_the_fields_of_its_message(message: str, name: str) -> None:
    known = symbol_database.Default().pool.FindMessageTypeByName(message).fields_by_name
    # A Change leaves out the fields of a stream.
    assert {field.name for field in dataclasses.fields(getattr(values, name))} == set(known) or name == "Change"


def test_the_limits_of_a_batch_are_those_of_the_node() -> None:
    assert (CONTENT_BYTES_MAX, BATCH_ITEMS_MAX, BATCH_BYTES_MAX) == (
        limits.CONTENT_BYTES_MAX, limits.BATCH_ITEMS_MAX, limits.BATCH_BYTES_MAX,
    )  # fmt: skip


def test_a_token_lasts_until_an_aware_moment_for_a_duration_or_as_a_text_says() -> None:
    ends = datetime(2026, 5, 1, 14, 0, tzinfo=timezone(timedelta(hours=2)))
    for given, text in ((ends, "2026-05-01T12:00:00Z"), (timedelta(days=1), "86400s"), ("30d", "30d"), (None, "")):
        call = add_agent("ana", role="writer", expires=given)
        assert isinstance(call.request, admin_pb2.AddAgentRequest)
        assert call.request.expires == text
    with pytest.raises(errors.InvalidArgument, match="expires"):
        add_agent("ana", role="writer", expires=ends.replace(tzinfo=None))


def test_every_public_name_is_there_and_only_a_client_loads_grpc() -> None:
    script = (
        "import sys, mnemesh; from mnemesh import MnemeshError, Memory, detect_space\n"
        "assert not [name for name in ('grpc', 'google.protobuf', 'typer', 'rich') if name in sys.modules]\n"
        "from mnemesh import Client; assert 'grpc' in sys.modules and 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    for name in mnemesh.__all__:
        assert getattr(mnemesh, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        mnemesh.nonsense  # noqa: B018  # the access itself is what is tested


def test_errors_survive_pickle() -> None:
    import pickle

    for error in (errors.InvalidArgument("f", "v", "l"), errors.from_node("ABORTED", "m", {"field": "x"})):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), copy.code, copy.message, copy.refused, copy.details) == (
            type(error), error.code, error.message, error.refused, error.details,
        )  # fmt: skip
