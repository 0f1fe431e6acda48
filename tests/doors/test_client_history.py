"""What both clients send for a memory's past and give back of it, and what the command line shows people of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest

from mnemesh import AsyncClient, Client, FailedPrecondition, InvalidArgument
from mnemesh.api import values
from mnemesh.cli.app import run
from mnemesh.cli.people import history as people_history
from mnemesh.cli.people import memories as people
from mnemesh_proto.v1 import history_pb2, history_pb2_grpc, memory_pb2

ID = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
FIRST, LEFT, RIGHT = "1@" + "a" * 32, "2@" + "b" * 32, "2@" + "c" * 32
AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
Ask = Callable[..., Any]


def revision(id: str, content: str, **fields: Any) -> history_pb2.Revision:
    made = history_pb2.Revision(
        id=id, op="put", kind="fact", content=content, by="ana/agent", node="f" * 32, tier="normal", **fields
    )
    made.at.FromDatetime(AT)
    return made


class Recording(history_pb2_grpc.HistoryServiceServicer):
    """Answers each call alike and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def History(self, request: Any, context: Any) -> Any:
        self.asked.append(request)
        forgot = revision("3@" + "d" * 32, "", parents=[LEFT, RIGHT], head=True)
        forgot.op = "forget"
        revisions = [forgot, revision(LEFT, "left\x1b[31m", parents=[FIRST], title="T"), revision(FIRST, "one\ntwo")]
        return history_pb2.HistoryResponse(
            id=ID, space="team", state="forgotten", revisions=revisions, cursor=FIRST, total=9
        )

    def Blame(self, request: Any, context: Any) -> Any:
        self.asked.append(request)
        line = history_pb2.BlamedLines(first=7, text="one\ntwo", revision=FIRST, by="ana/agent", node="f" * 32)
        field = history_pb2.BlamedField(field="title", value="", revision=LEFT, by="bob")
        return history_pb2.BlameResponse(id=ID, revision=LEFT, lines=[line], fields=[field])

    def Conflicts(self, request: Any, context: Any) -> Any:
        self.asked.append(request)
        versions = [revision(LEFT, "left", head=True, shown=True), revision(RIGHT, "right", head=True)]
        conflict = history_pb2.Conflict(id=ID, space="team", versions=versions, state="superseded")
        return history_pb2.ConflictsResponse(conflicts=[] if request.cursor else [conflict], total=1)

    def Rollback(self, request: Any, context: Any) -> Any:
        self.asked.append(request)
        return history_pb2.RollbackResponse(action="ROLLBACK", memory=memory_pb2.Memory(id=ID), reason="r")

    def Resolve(self, request: Any, context: Any) -> Any:
        self.asked.append(request)
        if request.keep == FIRST:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not in conflict")
        return history_pb2.ResolveResponse(action="RESOLVE", memory=memory_pb2.Memory(id=ID), reason="r")


@pytest.fixture
def node() -> Iterator[tuple[Recording, str]]:
    recording = Recording()
    server = grpc.server(ThreadPoolExecutor(2), options=[("grpc.so_reuseport", 0)])
    history_pb2_grpc.add_HistoryServiceServicer_to_server(recording, server)
    endpoint = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield recording, endpoint
    server.stop(None).wait(5)


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, node: tuple[Recording, str]) -> Iterator[Ask]:
    """Calls a method of one sort of client."""
    given: dict[str, Any] = {"endpoint": node[1], "token": "t", "space": ""}
    if request.param == "sync":
        with Client(**given) as client:
            yield lambda method, *args, **kwargs: getattr(client, method)(*args, **kwargs)
        return
    with asyncio.Runner() as runner:
        other = AsyncClient(**given)
        yield lambda method, *args, **kwargs: runner.run(_awaited(other, method, args, kwargs))
        runner.run(other.close())


async def _awaited(client: AsyncClient, method: str, args: Any, kwargs: Any) -> Any:
    return await getattr(client, method)(*args, **kwargs)


def test_a_history_comes_back_whole(ask: Ask, node: tuple[Recording, str]) -> None:
    page = ask("history", ID, limit=3, cursor=LEFT)
    assert node[0].asked == [history_pb2.HistoryRequest(id=ID, limit=3, cursor=LEFT)]
    assert (page.id, page.space, page.state, page.cursor, page.total) == (ID, "team", "forgotten", FIRST, 9)
    assert [one.op for one in page.revisions] == ["forget", "put", "put"]
    last = page.revisions[-1]
    assert (last.content, last.by, last.at, last.node, last.parents) == ("one\ntwo", "ana/agent", AT, "f" * 32, ())
    assert ask("history", ID).total == 9
    assert not node[0].asked[-1].HasField("limit"), "the node's own default"


def test_blame_comes_back_whole(ask: Ask, node: tuple[Recording, str]) -> None:
    found = ask("blame", ID, revision="2")
    assert node[0].asked == [history_pb2.BlameRequest(id=ID, revision="2")]
    assert (found.revision, found.lines[0].first, found.lines[0].text) == (LEFT, 7, "one\ntwo")
    assert (found.fields[0].field, found.fields[0].by, found.fields[0].at) == ("title", "bob", None)


def test_conflicts_come_back_with_their_versions(ask: Ask, node: tuple[Recording, str]) -> None:
    page = ask("conflicts", space="a", spaces=["b"], limit=7)
    assert node[0].asked == [history_pb2.ConflictsRequest(spaces=["a", "b"], limit=7)]
    (conflict,) = page.conflicts
    assert [one.content for one in conflict.versions] == ["left", "right"]
    assert isinstance(conflict, values.Conflict)
    assert conflict.state == "superseded"


def test_going_back_and_resolving_send_what_was_seen(ask: Ask, node: tuple[Recording, str]) -> None:
    assert ask("rollback", ID, "1", expected_heads=[LEFT, RIGHT], wait="durable").action == "ROLLBACK"
    assert ask("resolve", ID, keep=LEFT).action == "RESOLVE"
    assert ask("resolve", ID, content="both", expected_heads=LEFT).memory.id == ID
    assert node[0].asked == [
        history_pb2.RollbackRequest(id=ID, to="1", expected_heads=[LEFT, RIGHT], wait="durable"),
        history_pb2.ResolveRequest(id=ID, keep=LEFT),
        history_pb2.ResolveRequest(id=ID, content="both", expected_heads=[LEFT]),
    ]
    assert not node[0].asked[1].HasField("content"), "no text is not an empty text"
    with pytest.raises(FailedPrecondition):
        ask("resolve", ID, keep=FIRST)
    with pytest.raises(InvalidArgument, match="content"):
        ask("resolve", ID, content=5)


def test_a_resolution_is_never_sent_twice_by_itself(ask: Ask, node: tuple[Recording, str]) -> None:
    with pytest.raises(FailedPrecondition):
        ask("resolve", ID, keep=FIRST)
    assert len(node[0].asked) == 1


@pytest.fixture
def cli(node: tuple[Recording, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setenv("MNEMESH_SPACE", "")

    def call(*words: str) -> str:
        code = run([words[0], "--endpoint", node[1], "--token", "t", *words[1:]])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return captured.out

    return call


def test_a_history_is_shown_newest_first_and_steers_no_terminal(cli: Ask) -> None:
    out = cli("history", ID)
    assert next(line for line in out.splitlines() if line.startswith(("3@", "2@", "1@"))).startswith("3@" + "d" * 32)
    assert "(forgotten)" in out
    assert f"on {LEFT}, {RIGHT}" in out
    assert "left\\x1b[31m" in out
    assert "    one\n    two\n" in out
    assert f"3 of 9; next page: --cursor {FIRST}" in out
    assert "node ffffffffffff" in out


def test_blame_numbers_the_lines(cli: Ask) -> None:
    out = cli("blame", ID)
    assert "   7  one\n   8  two\n" in out
    assert "title  (empty)  2@bbbbbbbbbb  bob" in out


def test_conflicts_are_shown_with_every_version(cli: Ask) -> None:
    out = cli("conflicts")
    assert f"{ID}  team  2 versions  superseded\n" in out
    assert "shown" in out
    assert "also a head" in out
    assert "        left\n" in out
    assert "        right\n" in out
    assert cli("conflicts", "--cursor", "x") == "no memories in conflict\n"


def test_a_text_for_a_resolution_comes_from_a_file_too(cli: Ask, node: tuple[Recording, str], tmp_path: Any) -> None:
    (tmp_path / "text").write_text("from a file")
    assert cli("resolve", ID, "--file", str(tmp_path / "text")).startswith("RESOLVE")
    assert node[0].asked[-1].content == "from a file"
    assert cli("rollback", ID, "--to", "1", "--expected-heads", LEFT).startswith("ROLLBACK")
    assert node[0].asked[-1] == history_pb2.RollbackRequest(id=ID, to="1", expected_heads=[LEFT])


def memory_in_conflict() -> values.Memory:
    return values.Memory(
        id=ID, space="team", kind="fact", title="", content="left", state="active", tags=(), importance=None,
        tier="normal", paths=(), source=None, valid_from=None, valid_to=None, keywords=(), attrs={}, links=(),
        by="ana/agent", created_at=AT, updated_at=AT, heads=(LEFT, RIGHT), version=3,
        conflicts=(values.Head(revision=RIGHT, content="right", title="", by="bob/agent", at=AT),), superseded_by="",
    )  # fmt: skip


def recalled_in_conflict(memory: values.Memory) -> values.Recalled:
    """As a node gives it: the text stands in the result, and not once more in its memory."""
    result = values.Result(
        id=ID, content="left", score=0.5, title="", snippet="left", space="team", kind="fact", tags=(),
        memory=replace(memory, content=""), signals=(), redirected_from="",
    )  # fmt: skip
    return values.Recalled(
        results=(result,), coverage=1.0, abstain=False, tokens_used=1, truncated_by_budget=0, degraded=False,
        degraded_reasons=(), spaces=("team",),
    )  # fmt: skip


def test_a_list_and_a_recall_show_both_texts_of_a_conflict() -> None:
    memory = memory_in_conflict()
    page = values.Page(memories=(memory,), cursor="", total=1)
    (line,) = people.listed(page)
    assert "left" in line
    assert f"in conflict with {RIGHT[:13]}: right" in line
    lines = list(people.recalled(recalled_in_conflict(memory)))
    assert f"          in conflict with {RIGHT} by bob/agent:" in lines
    assert "          right" in lines


def test_a_conflict_over_a_field_alone_says_so_and_repeats_no_text() -> None:
    memory = memory_in_conflict()
    memory = replace(memory, conflicts=(replace(memory.conflicts[0], content="left"),))
    told = "the same text; `mnemesh conflicts` shows what differs"
    (line,) = people.listed(values.Page(memories=(memory,), cursor="", total=1))
    whole = "\n".join(people.found(values.Found(memory=memory, memories=(memory,), missing=())))
    recalled = "\n".join(people.recalled(recalled_in_conflict(memory)))
    for shown in (line, whole, recalled):
        assert (told in shown, shown.count("left")) == (True, 1)


def test_a_list_shows_the_other_text_of_a_conflict_also_when_there_are_titles() -> None:
    memory = replace(memory_in_conflict(), title="Gate")
    for title, shown in (("Gate", "right"), ("Door", "Door: right"), ("", "right")):
        other = replace(memory.conflicts[0], title=title)
        (line,) = people.listed(values.Page(memories=(replace(memory, conflicts=(other,)),), cursor="", total=1))
        assert line.endswith(f"in conflict with {RIGHT[:13]}: {shown}")


def test_the_lines_of_a_page_without_a_next_say_nothing_of_one() -> None:
    page = values.History(id=ID, space="team", state="active", revisions=(), cursor="", total=0)
    assert list(people_history.history(page)) == []
