"""The past of a memory in both clients and on the command line: requests, answers, and the text for people."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from client_support import Both, RecordingNode, value
from google.protobuf.message import Message
from test_cli import Run
from test_cli import bare as bare
from test_cli import cli as cli
from test_client import client as client
from test_client import make as make

from mnemesh import FailedPrecondition, InvalidArgument
from mnemesh.api import values
from mnemesh.cli.people import history as people_history
from mnemesh.cli.people import memories as people
from mnemesh_memory.values import errors
from mnemesh_proto.v1 import history_pb2, memory_pb2

ID = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
FIRST, LEFT, RIGHT = "1@" + "a" * 32, "2@" + "b" * 32, "2@" + "c" * 32
AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def revision(id: str, content: str, **fields: Any) -> history_pb2.Revision:
    made = history_pb2.Revision(
        id=id, op="put", kind="fact", content=content, by="ana/agent", node="f" * 32, tier="normal", **fields
    )
    made.at.FromDatetime(AT)
    return made


def history(request: Any) -> Message:
    forgot = revision("3@" + "d" * 32, "", parents=[LEFT, RIGHT], head=True)
    forgot.op = "forget"
    revisions = [forgot, revision(LEFT, "left\x1b[31m", parents=[FIRST], title="T"), revision(FIRST, "one\ntwo")]
    told: dict[str, Any] = {"space": "team", "state": "forgotten", "cursor": FIRST, "total": 9}
    return history_pb2.HistoryResponse(id=ID, revisions=revisions, **told)


def blame(request: Any) -> Message:
    line = history_pb2.BlamedLines(first=7, text="one\ntwo", revision=FIRST, by="ana/agent", node="f" * 32)
    field = history_pb2.BlamedField(field="title", value="", revision=LEFT, by="bob")
    return history_pb2.BlameResponse(id=ID, revision=LEFT, lines=[line], fields=[field])


def conflicts(request: Any) -> Message:
    versions = [revision(LEFT, "left", head=True, shown=True), revision(RIGHT, "right", head=True)]
    conflict = history_pb2.Conflict(id=ID, space="team", versions=versions, state="superseded")
    return history_pb2.ConflictsResponse(conflicts=[] if request.cursor else [conflict], total=1)


def rollback(request: Any) -> Message:
    return history_pb2.RollbackResponse(action="ROLLBACK", memory=memory_pb2.Memory(id=ID), reason="r")


def resolve(request: Any) -> Message:
    if request.keep == FIRST:
        raise errors.FailedPrecondition("not in conflict")
    return history_pb2.ResolveResponse(action="RESOLVE", memory=memory_pb2.Memory(id=ID), reason="r")


@pytest.fixture
def node(node: RecordingNode) -> RecordingNode:
    """A node with a history, the same in every answer."""
    told = (history, blame, conflicts, rollback, resolve)
    node.answers = {answer.__name__.capitalize(): answer for answer in told}
    return node


def asked(node: RecordingNode) -> list[Any]:
    return [call.request for call in node.calls]


def test_going_back_and_resolving_send_what_was_seen(client: Both, node: RecordingNode) -> None:
    assert client.call("rollback", ID, "1", expected_heads=[LEFT, RIGHT], wait="durable").action == "ROLLBACK"
    assert client.call("resolve", ID, keep=LEFT).action == "RESOLVE"
    assert client.call("resolve", ID, content="both", expected_heads=LEFT).memory.id == ID
    assert asked(node) == [
        history_pb2.RollbackRequest(id=ID, to="1", expected_heads=[LEFT, RIGHT], wait="durable"),
        history_pb2.ResolveRequest(id=ID, keep=LEFT),
        history_pb2.ResolveRequest(id=ID, content="both", expected_heads=[LEFT]),
    ]
    assert not asked(node)[1].HasField("content"), "no text is not an empty text"
    with pytest.raises(FailedPrecondition):
        client.call("resolve", ID, keep=FIRST)
    with pytest.raises(InvalidArgument, match="content"):
        client.call("resolve", ID, content=5)


def test_a_resolution_is_never_sent_twice_by_itself(client: Both, node: RecordingNode) -> None:
    with pytest.raises(FailedPrecondition):
        client.call("resolve", ID, keep=FIRST)
    assert len(asked(node)) == 1


def test_a_history_is_shown_newest_first_and_steers_no_terminal(cli: Run) -> None:
    out = cli("history", ID).out
    assert next(line for line in out.splitlines() if line.startswith(("3@", "2@", "1@"))).startswith("3@" + "d" * 32)
    assert "(forgotten)" in out
    assert f"on {LEFT}, {RIGHT}" in out
    assert "left\\x1b[31m" in out
    assert "    one\n    two\n" in out
    assert f"3 of 9; next page: --cursor {FIRST}" in out
    assert "node ffffffffffff" in out


def test_blame_numbers_the_lines(cli: Run) -> None:
    out = cli("blame", ID).out
    assert "   7  one\n   8  two\n" in out
    assert "title  (empty)  2@bbbbbbbbbb  bob" in out


def test_conflicts_are_shown_with_every_version(cli: Run) -> None:
    out = cli("conflicts").out
    assert f"{ID[:23]}  team  2 versions  superseded\n" in out
    assert "shown" in out
    assert "also a head" in out
    assert "        left\n" in out
    assert "        right\n" in out
    assert cli("conflicts", "--cursor", "x").out == "no memories in conflict\n"


def test_a_text_for_a_resolution_comes_from_a_file_too(cli: Run, node: RecordingNode, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("from a file")
    assert cli("resolve", ID, "--file", str(tmp_path / "text")).out.startswith("RESOLVE")
    assert asked(node)[-1].content == "from a file"
    assert cli("rollback", ID, "--to", "1", "--expected-heads", LEFT).out.startswith("ROLLBACK")
    assert asked(node)[-1] == history_pb2.RollbackRequest(id=ID, to="1", expected_heads=[LEFT])


def memory_in_conflict() -> values.Memory:
    head = values.Head(revision=RIGHT, content="right", title="", by="bob/agent", at=AT)
    return value(
        values.Memory, id=ID, space="team", kind="fact", content="left", state="active", tier="normal",
        by="ana/agent", created_at=AT, updated_at=AT, heads=(LEFT, RIGHT), version=3, conflicts=(head,),
    )  # fmt: skip


def recalled_in_conflict(memory: values.Memory) -> values.Recalled:
    """As a node answers: the text stands in the result alone, and not again in the memory."""
    short = replace(memory, content="")
    result = value(values.Result, id=ID, content="left", score=0.5, snippet="left", space="team", memory=short)
    return value(values.Recalled, results=(result,), coverage=1.0, tokens_used=1, spaces=("team",))


def test_a_list_and_a_recall_show_both_texts_of_a_conflict() -> None:
    memory = memory_in_conflict()
    (line,) = people.listed(values.Page(memories=(memory,), cursor="", total=1))
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
    whole = "\n".join(people.whole_memories(values.Found(memory=memory, memories=(memory,), missing=())))
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
