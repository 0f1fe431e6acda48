"""`mnemesh reconcile` against a stub of an endpoint: one that answers, fails, stalls and lies."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from model_stub import ModelStub
from node_process import NodeUnderTest

import mnemesh
from mnemesh.entry import main
from mnemesh.reconciling.proposals import DESTRUCTIVE_MAX, AskedPair, ShownMemory, proposals

KEY = "not-a-real-key"


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with closing(ModelStub()) as made:
        yield made


@pytest.fixture
def client(shared_node: NodeUnderTest) -> Iterator[mnemesh.Client]:
    space = f"test/{uuid.uuid4().hex}"
    with mnemesh.Client(shared_node.grpc, shared_node.token, space=space) as made:
        for text in ("The lift is checked in May.", "Ports are closed at night."):
            for _ in range(2):
                made.remember(text, force=True)
        yield made


@pytest.fixture
def run(
    shared_node: NodeUnderTest,
    stub: ModelStub,
    client: mnemesh.Client,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., dict[str, Any]]:
    monkeypatch.setenv("STUB_KEY", KEY)

    def call(*words: str, status: int = 0) -> dict[str, Any]:
        where = ["--endpoint", shared_node.grpc, "--token", shared_node.token, "--space", space_of(client)]
        given = ["--url", stub.url, "--model", "m", "--key-env", "STUB_KEY", *words]
        assert main(["reconcile", "--json", *where, *given]) == status
        return dict(json.loads(capsys.readouterr().out))

    return call


def space_of(client: mnemesh.Client) -> str:
    return client.whoami().default_space


def texts(client: mnemesh.Client) -> list[str]:
    return sorted(memory.content for memory in client.list(space=space_of(client)).memories if memory.kind != "run")


def forgetting(pairs: list[dict[str, Any]]) -> object:
    return {
        "operations": [
            {"op": "forget", "id": pair["newer"]["id"], "other": pair["older"]["id"], "reason": "It is said twice."}
            for pair in pairs
        ]
    }


def test_a_run_only_tells_unless_it_is_told_to_act_and_restore_takes_it_back(
    stub: ModelStub, client: mnemesh.Client, run: Callable[..., dict[str, Any]]
) -> None:
    stub.reply = forgetting
    before = texts(client)
    told = run()
    assert [one["state"] for one in told["operations"]] == ["proposed"] * 2
    assert (told["applied"], texts(client)) == (False, before)
    assert (stub.asked[0]["model"], stub.keys[0]) == ("m", f"Bearer {KEY}")
    done = run("--apply")
    assert [one["state"] for one in done["operations"]] == ["done"] * 2
    assert texts(client) == sorted(set(before))
    gone = done["operations"][0]["id"]
    assert client.history(gone).revisions[0].by == "owner/reconcile"
    record = client.get(done["record"])
    assert f"mnemesh restore {gone}" in record.content
    assert KEY not in str(told) + str(done) + record.content
    client.forget(done["operations"][0]["other"])  # else its twin says the same already
    client.restore(gone)
    assert texts(client) == sorted(set(before))


def test_a_merge_replaces_both_and_a_supersede_the_older(
    stub: ModelStub, client: mnemesh.Client, run: Callable[..., dict[str, Any]]
) -> None:
    def reply(pairs: list[dict[str, Any]]) -> object:
        one, two = ({"id": pair["older"]["id"], "other": pair["newer"]["id"], "reason": "So."} for pair in pairs)
        operations = [{**one, "op": "merge", "content": "One text."}, {**two, "op": "supersede"}]
        return f"```json\n{json.dumps({'operations': operations})}\n```"

    stub.reply = reply
    merged, superseded = run("--apply")["operations"]
    assert (merged["state"], superseded["state"]) == ("done", "done")
    for id_ in (merged["id"], merged["other"], superseded["id"]):
        assert client.get(id_).state == "superseded"
    assert client.get(superseded["other"]).state == "active"
    assert "One text." in texts(client)


@pytest.mark.parametrize(
    ("status", "raw", "reply"),
    [
        (500, None, "{}"), (302, None, "{}"), (200, b"<html>", "{}"), (200, b'{"choices": []}', "{}"),
        (200, b"[" * 100_000, "{}"),
        (200, b"x" * (1024 * 1024 + 1), "{}"),
    ],
)  # fmt: skip
def test_an_endpoint_that_fails_changes_nothing(
    stub: ModelStub,
    client: mnemesh.Client,
    run: Callable[..., dict[str, Any]],
    status: int,
    raw: bytes | None,
    reply: str,
) -> None:
    before = texts(client)
    stub.status, stub.raw = status, raw
    stub.reply = lambda pairs: reply
    assert "nothing was changed" in run("--apply", status=3)["error"]["message"]
    assert texts(client) == before


def test_an_endpoint_that_stalls_is_left_in_time(
    stub: ModelStub, client: mnemesh.Client, run: Callable[..., dict[str, Any]]
) -> None:
    before = texts(client)
    stub.stalls = True
    assert "within 0.3 s" in str(run("--apply", "--timeout", "0.3", status=3)["error"])
    assert texts(client) == before


@pytest.mark.parametrize("reply", ["no JSON", "[]", '{"operations": 3}', "[" * 100_000])
def test_an_answer_that_is_none_changes_nothing(
    stub: ModelStub, client: mnemesh.Client, run: Callable[..., dict[str, Any]], reply: str
) -> None:
    before = texts(client)
    stub.reply = lambda pairs: reply
    done = run("--apply")
    assert done["fault"]
    assert (done["operations"], done["record"], texts(client)) == ([], "", before)


def test_nothing_is_asked_without_an_endpoint_and_no_text_leaves_in_the_open(
    run: Callable[..., dict[str, Any]], stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stub, "url", "")
    assert run(status=2)["error"]["field"] == "url"
    for url in ("http://example.org/v1", "ftp://127.0.0.1/v1", "http://a@127.0.0.1/v1", "nonsense"):
        monkeypatch.setattr(stub, "url", url)
        assert run(status=2)["error"]["field"] == "url"
    assert stub.asked == []


# ---- the rails -------------------------------------------------------------------------------------------------------


def pair(number: int, **more: Any) -> AskedPair:
    older = ShownMemory(f"old{number}", f"text {number}", "2026-01-01", **more)
    return AskedPair(older, ShownMemory(f"new{number}", f"text {number}!", "2026-01-02"), "near")


def judged(*operations: object, pairs: int = 12) -> list[str]:
    return [one.state for one in proposals(json.dumps({"operations": operations}), [pair(n) for n in range(pairs)])]


def forget(number: int, **more: object) -> dict[str, object]:
    return {"op": "forget", "id": f"new{number}", "other": f"old{number}", "reason": "twice", **more}


def test_at_most_five_proposals_are_carried_out() -> None:
    states = judged(*(forget(n) for n in range(12)))
    assert states == ["proposed"] * DESTRUCTIVE_MAX + ["not done: at most 5 a run"] * 7


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (forget(0, id="other"), "no pair"), (forget(0, other="new1"), "no pair"), (forget(0, other="new0"), "no pair"),
        (forget(0, op="purge"), "none of"), (forget(0, reason=""), "no reason"), ("nonsense", "none of"),
        (forget(0, op="merge"), "the one text"), (forget(0, op="merge", content="x" * 40_000), "the one text"),
        (forget(0, op="supersede"), "only the older"), (forget(0, id=["new0"]), "no pair"),
    ],
)  # fmt: skip
def test_a_lie_leads_to_nothing(operation: object, reason: str) -> None:
    (state,) = judged(operation)
    assert state.startswith("not done:")
    assert reason in state


def test_two_proposals_for_one_memory_are_ambiguous_and_lead_to_nothing() -> None:
    other = {"op": "supersede", "id": "old0", "other": "new0", "reason": "later"}
    assert judged(forget(0), other, forget(1))[:2] == ["not done: several proposals concern the same memory"] * 2
    assert judged(forget(0), other, forget(1))[2] == "proposed"


def test_a_pinned_memory_stays_and_a_text_that_was_cut_is_not_lost() -> None:
    reply = json.dumps({"operations": [{**forget(0), "id": "old0", "other": "new0"}]})
    assert proposals(reply, [pair(0, pinned=True)])[0].state == "not done: a pinned memory stays"
    long = AskedPair(ShownMemory("old0", "x" * 2_000, ""), ShownMemory("new0", "y", ""), "near")
    assert "only the beginning" in proposals(reply, [long])[0].state
