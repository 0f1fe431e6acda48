"""The command line: requests, output, exit status. Commands run in this process against a recording node."""

from __future__ import annotations

import io
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer
from client_support import ID, TOKEN, WAIT_S, Failure, RecordingNode, value

from mnemesh import entry, exit_status
from mnemesh.api import values
from mnemesh.api.values.embedding import ModelStatus, Reembedding, ReembedStatus
from mnemesh.api.wire import to_value
from mnemesh.cli import app
from mnemesh.cli.commands.node.embedding import lines
from mnemesh.cli.people import memories as people
from mnemesh.cli.plain import ALIASES
from mnemesh.cli.shell import NODE_OPTIONS, one_line, printable
from mnemesh.transport import connection
from mnemesh_proto.v1 import memory_pb2


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        (line,) = self.out.splitlines()
        return json.loads(line)


Run = Callable[..., Ended]


@pytest.fixture
def bare(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `mnemesh` with exactly these words, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(connection, "PAUSE_FIRST_S", 0.001)
    for name in ("MNEMESH_ENDPOINT", "MNEMESH_TOKEN", "MNEMESH_SPACE", "MNEMESH_AGENT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MNEMESH_DATA_DIR", str(tmp_path / "data"))

    def run(*words: str) -> Ended:
        return Ended(entry.main(words), *capsys.readouterr())

    return run


@pytest.fixture
def cli(bare: Run, node: RecordingNode) -> Run:
    """Runs `mnemesh` with these words against the node."""

    def run(command: str, *words: str) -> Ended:
        return bare(command, "--endpoint", node.endpoint, "--token", TOKEN, *words)

    return run


def test_words_are_one_text_and_spaces_of_both_names_are_one_list(cli: Run, node: RecordingNode) -> None:
    id_ = cli("remember", "--json", "Deploys run from CI only").json["memory"]["id"]
    found = cli("recall", "--json", "how", "deploys").json
    assert [(result["id"], result["content"]) for result in found["results"]] == [(id_, "Deploys run from CI only")]
    assert {"coverage", "abstain", "degraded", "tokens_used"} <= found.keys()
    assert cli("timeline", "--json", id_, "--space", "a", "--spaces", "b").json["position"] == 0
    assert list(node.requests("Timeline")[-1].spaces) == ["a", "b"]
    assert cli("supersede", "--json", id_, "By", "day").json["memory"]["content"] == "By day"
    assert cli("stats", "--json").json["kinds"] == [{"name": "fact", "memories": 1}]
    assert cli("whoami", "--json", "--agent", "tester").json["agent"] == "owner/tester"
    assert cli("status", "--json").json["state"] == "ready"


def test_every_option_of_remember_arrives(cli: Run, node: RecordingNode) -> None:
    ended = cli(
        "remember", "the", "text", "--kind", "fact", "--title", "T", "--space", "s/x", "--tag", "a,b",
        "--importance", "0", "--path", "a.py", "--path", "b.py", "--session", "s1", "--dir", "/d", "--seq", "0",
        "--valid-from", "2026-05-01", "--valid-to", "2026-05-02T00:00:00Z", "--keyword", "k", "--attr", "a=b=c",
        "--link", f"see-also:{ID}", "--tier", "archive", "--supersedes", "old", "--force",
        "--idempotency-key", "mine", "--wait", "durable",
    )  # fmt: skip
    assert ended.status == 0
    (sent,) = node.requests("Remember")
    assert (sent.content, sent.title, sent.space, list(sent.tags)) == ("the text", "T", "s/x", ["a,b"])
    assert (sent.HasField("importance"), sent.source.HasField("seq"), dict(sent.attrs)) == (True, True, {"a": "b=c"})
    assert (list(sent.paths), sent.source.session, sent.source.dir) == (["a.py", "b.py"], "s1", "/d")
    assert (sent.valid_from.seconds, sent.valid_to.seconds) == (1777593600, 1777680000)
    assert ([link.type for link in sent.links], list(sent.supersedes)) == (["see-also"], ["old"])
    assert (sent.tier, sent.force, sent.sensitive, sent.wait) == ("archive", True, False, "durable")
    assert (list(sent.keywords), sent.idempotency_key) == (["k"], "mine")
    refused = cli("remember", "a key", "--sensitive")
    assert (refused.status, "marked as sensitive" in refused.err) == (4, True)
    assert node.requests("Remember")[-1].sensitive


def test_what_is_not_there_is_not_found_be_it_one_or_several(cli: Run) -> None:
    for ids in (("nosuch1",), ("nosuch1", "nosuch2")):
        ended = cli("get", "--json", *ids)
        assert (ended.status, ended.json["error"]["code"]) == (4, "NOT_FOUND")
    id_ = cli("remember", "--json", "there").json["memory"]["id"]
    found = cli("get", "--json", id_, "nosuch2")
    assert (found.status, found.json["missing"]) == (4, ["nosuch2"])


def test_the_version_is_printed_the_way_every_command_does(bare: Run) -> None:
    assert bare("--version") == bare("version")
    assert (bare("version").status, bare("version").out[:8]) == (0, "mnemesh ")
    assert set(bare("version", "--json").json) == {"version"}


def test_closed_is_said_only_of_what_was_closed(cli: Run, node: RecordingNode) -> None:
    id_ = cli("remember", "--json", "old").json["memory"]["id"]
    assert "closed" in cli("supersede", id_, "new").out
    memory = to_value(memory_pb2.Memory(id="id"), values.Memory)
    noop = value(values.Superseded, action="NOOP", memory=memory, reason="same text", superseded=memory)
    assert not any("closed" in line for line in people.superseded(noop))


def test_at_most_three_neighbours_are_shown() -> None:
    near = [
        values.Related(id=f"id-{n}", title="t", snippet="", similarity=s) for n, s in enumerate((0.9, 0.8, 0.7, 0.6))
    ]
    shown = list(people._near(near))
    assert [line.split()[1] for line in shown] == ["0.90", "0.80", "0.70"]


def test_a_person_is_told_the_command_that_replaces_or_forgets() -> None:
    memory = to_value(memory_pb2.Memory(id="018f6f0e-0001-7000-8000-1", content="It's port 9090"), values.Memory)
    near = values.Related(id="018f6f0e-0000-7000-8000-1", title="t", snippet="", similarity=0.8)

    def last(content: str, **more: object) -> str:
        said, related = replace(memory, content=content), (replace(near, **more),)
        done = value(values.Remembered, action="ADD", memory=said, novelty=0.2, related=related, hint="something")
        return list(people.remembered(done))[-1].replace(NODE_OPTIONS, "")

    asked = "if this replaces 018f6f0e-0000-7000-8000: mnemesh supersede 018f6f0e-0000-7000-8000 "
    assert last("It's port 9090") == asked + shlex.quote("It's port 9090")
    assert last("It\nis long") == last("x" * 100) == asked + "--file FILE, with the same text"
    assert last("-5 is the offset") == asked + "-- '-5 is the offset'"
    assert last("x", alike=True) == "if one of the two is enough: mnemesh forget 018f6f0e-0001-7000-8000"


def test_people_see_which_model_is_in_use_and_how_far_another_one_is() -> None:
    used = ModelStatus(generation="aa", name="small", dimensions=384, source="packaged")
    other = ModelStatus(generation="bb", name="large\x1b[0m", dimensions=1024, source="configured")
    idle = ReembedStatus(state="idle", model=None, done=0, total=0, fault="")
    assert list(lines(Reembedding(model=used, reembed=idle))) == [
        "the memories are embedded with small, 384 dimensions, generation aa"
    ]
    (small,) = lines(Reembedding(model=replace(used, precision="int8"), reembed=idle))
    assert small == "the memories are embedded with small in int8, 384 dimensions, generation aa"
    stalled = ReembedStatus(state="stalled", model=other, done=3, total=9, fault="no room")
    _, line, fault = lines(Reembedding(model=used, reembed=stalled))
    assert line.startswith("stalled: large")
    assert line.endswith("1024 dimensions, generation bb, 3 of 9 entries")
    assert ("\x1b" in line, fault) == (False, "  no room")
    wanting = replace(used, query_prefix="query: ", passage_prefix="passage:\x1b ")
    (line,) = lines(Reembedding(model=wanting, reembed=idle))
    assert line.endswith(', generation aa, "query: " before questions and "passage:\\u001b " before texts')


def test_stats_say_how_many_more_there_are_than_the_node_lists() -> None:
    tags = tuple(values.Count(name=f"t{n}", memories=1) for n in range(200))
    agents = tuple(values.Count(name=f"a{n}", memories=1) for n in range(3))
    stats = value(values.Stats, memories=1, tags=tags, agents=agents, tags_total=1234, agents_total=3)
    lines = list(people.counted(stats))
    assert next(line for line in lines if line.startswith("tags")).endswith("t19 1, and 1214 more")
    assert next(line for line in lines if line.startswith("agents")) == "agents  a0 1, a1 1, a2 1"


@pytest.mark.parametrize("time", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
def test_the_first_and_the_last_time_can_be_shown_anywhere(time: datetime) -> None:
    assert people.shown_time(time)[:4] == f"{time.year:04}"


def test_fields_are_cleared_by_name(cli: Run, node: RecordingNode) -> None:
    id_ = cli("remember", "--json", "x").json["memory"]["id"]
    cli("update", id_, "--clear", "importance", "--clear", "tags")
    assert list(node.requests("Update")[-1].clear) == ["importance", "tags"]


def test_every_option_of_recall_arrives(cli: Run, node: RecordingNode) -> None:
    ended = cli(
        "recall", "a", "b", "--space", "s1", "--space", "s2", "--limit", "3", "--mode", "keyword", "--kind", "fact",
        "--tags-any", "a", "--tag", "b", "--tags-all", "c", "--tags-none", "d", "--since", "2026-05-01", "--before",
        "2026-06-01", "--as-of", "2026-05-15", "--min-score", "0.1", "--min-heat", "0.2", "--token-budget", "100",
        "--valid-at", "2026-05-14", "--include-superseded", "--include-archive", "--sort", "recency", "--weight",
        "dense=0.5", "--weight", "bm25=1", "--path", "*.py", "--by", "owner/x", "--session", "s", "--source-dir", "/d",
        "--explain", "--snippets-only", "--trust", "own", "--time-words", "only", "--time-zone", "Asia/Tokyo",
        "--current-session", "s", "--probe", "--verify",
    )  # fmt: skip
    assert ended.status == 0
    (sent,) = node.requests("Recall")
    unset = {field.name for field in sent.DESCRIPTOR.fields} - {field.name for field, _ in sent.ListFields()}
    assert unset == {"space"}, "all are in spaces"
    assert (sent.query, list(sent.spaces), sent.limit, dict(sent.weights)) == (
        "a b", ["s1", "s2"], 3, {"dense": 0.5, "bm25": 1.0},
    )  # fmt: skip
    assert (list(sent.tags_any), list(sent.tags_all), list(sent.tags_none)) == (["a"], ["b", "c"], ["d"])


def test_what_was_not_given_is_not_sent(cli: Run, node: RecordingNode) -> None:
    cli("recall", "x")
    cli("list")
    cli("update", "some-id", "--clear", "tags", "--importance", "0", "--json")
    assert [field.name for field, _ in node.requests("Recall")[0].ListFields()] == ["query"]
    assert node.requests("List")[0].ListFields() == []
    names = [field.name for field, _ in node.requests("Update")[0].ListFields()]
    assert names == ["id", "importance", "idempotency_key", "clear"]


@pytest.mark.parametrize(("alias", "name"), [one for one in ALIASES.items() if one[1] in ("remember", "recall")])
def test_other_words_do_the_same_and_are_not_listed(
    cli: Run, bare: Run, node: RecordingNode, alias: str, name: str
) -> None:
    assert cli(alias, "--json", "words").status == 0
    assert [call.rpc for call in node.calls] == [name.capitalize()]
    assert f" {alias} " not in bare("--help").out


@pytest.mark.parametrize(("alias", "name"), [("map", "navigate"), ("topics", "recall-hierarchical")])
def test_the_words_of_the_pages_lead_to_the_commands_of_maps(bare: Run, alias: str, name: str) -> None:
    helped, meant = bare(alias, "--help"), bare(name, "--help")
    assert (helped.status, helped.out.split()[3:]) == (0, meant.out.split()[3:])


def test_text_comes_from_standard_input_or_a_file(
    cli: Run, node: RecordingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("from stdin é\n".encode())))
    assert cli("remember", "-").status == 0
    (tmp_path / "note.txt").write_text("from a file\n")
    assert cli("remember", "--file", "note.txt").status == 0
    assert cli("remember", "--", "--dashes").status == 0
    assert [sent.content for sent in node.requests("Remember")] == ["from stdin é\n", "from a file\n", "--dashes"]


@pytest.mark.parametrize(
    "words",
    [
        ("remember",),
        ("remember", "x", "--file", "y"),
        ("remember", "--file", "not-there"),
        ("remember", "x", "--attr", "no-equals"),
        ("remember", "x", "--attr", "a=1", "--attr", "a=2"),
        ("remember", "x", "--importance", "high"),
        ("remember", "x", "--valid-from", "tomorrow"),
        ("remember", "x", "--link", "nowhere"),
        ("remember", "x", "--nonsense"),
        ("remember", "x", "--space", ""),
        ("update", "x", "--space", ""),
        ("recall", "x", "--space", ""),
        ("recall", "x", "-s", "a", "-s", ""),
        ("agent", "add", "bob", "--spaces", ""),
        ("peer", "add", "grpc://hub:7433", "--token", "-", "--spaces", ""),
        ("remember", "x", "--endpoint", "nowhere"),
        ("remember", "bad \udcff bytes"),
        ("recall", "x", "--limit", "many"),
        ("recall", "x", "--limit", "-1"),
        ("recall", "x", "--weight", "dense=much"),
        ("get",),
        ("consolidate", "--dry-run", "--undo", "first"),
        ("consolidate", "--dry-run", "--runs"),
        ("export", "--format", "docx"),
        ("export", "--format", "markdown"),
        ("export",),
        ("import",),
        ("import", "not-there"),
        ("nonsense",),
    ],
)
def test_bad_usage_ends_with_2_says_what_is_wrong_and_sends_nothing(
    bare: Run, node: RecordingNode, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMESH_ENDPOINT", node.endpoint)
    monkeypatch.setenv("MNEMESH_TOKEN", TOKEN)
    told = bare(*words, "--json")
    assert told.status == 2
    assert told.json["error"]["code"] == "INVALID_ARGUMENT"
    assert told.json["error"]["message"]
    if words != ("export",):
        shown = bare(*words)
        assert (shown.status, shown.out) == (2, "")
        assert shown.err.startswith("mnemesh: ")
        assert node.calls == []


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("agent", "add", "bob", "--role", "reader"), "leave the option out for the default"),
        (("peer", "add", "grpc://hub:7433", "--token", "-"), "give a pattern such as team/*"),
    ],
)
def test_an_option_that_is_required_is_not_to_be_left_out(bare: Run, words: tuple[str, ...], rule: str) -> None:
    told = bare(*words, "--spaces", "")
    assert (told.status, f"'' is no space; {rule}" in told.err) == (2, True)


@pytest.mark.parametrize("words", [("remember", "- a point"), ("recall", "-v flag"), ("transcript", "search", "-v")])
def test_a_text_taken_for_an_option_is_told_where_it_belongs(bare: Run, words: tuple[str, ...]) -> None:
    told = bare(*words)
    assert told.status == 2
    command = " ".join(words[:-1])
    assert f'A text that begins with - comes after --, as in: mnemesh {command} -- "- a text"' in told.err
    assert "comes after --" in bare(*words, "--json").json["error"]["message"]
    assert "after -- when it begins with -" in " ".join(bare(*words[:-1], "--help").out.replace("│", " ").split())
    assert "comes after --" not in bare("status", "-v").err, "no text belongs there"


def test_where_no_node_answers_it_ends_with_3_and_says_how_to_start_one(bare: Run) -> None:
    for words in (("status",), ("recall", "x", "--endpoint", "127.0.0.1:1"), ("import", ".")):
        ended = bare(*words, "--json")
        assert (ended.status, ended.json["error"]["code"]) == (3, "UNAVAILABLE")
        shown = bare(*words)
        assert (shown.status, shown.out) == (3, "")
        assert "mnemesh up" in shown.err
    assert "--start" in bare("status").err


def test_what_the_node_says_no_to_ends_with_its_own_words_and_2_for_a_value_that_is_not_allowed_else_4(
    cli: Run, node: RecordingNode
) -> None:
    fields = {"field": "kind", "value": "'x'", "limit": "one of fact, decision"}
    node.fail["Remember"].extend([Failure("INVALID_ARGUMENT", "kind: 'x' is not allowed", fields)] * 2)
    refused = cli("remember", "x", "--json")
    error = {"code": "INVALID_ARGUMENT", "message": "kind: 'x' is not allowed", "reason": "INVALID_ARGUMENT", **fields}
    assert (refused.status, refused.json) == (2, {"error": error})
    assert cli("remember", "x").err == "mnemesh: kind: 'x' is not allowed\n"
    node.fail["Remember"].append(Failure("INVALID_ARGUMENT", "content: holds a secret", {}, reason="SECRET_REFUSED"))
    assert cli("remember", "x").status == 4
    assert cli("get", "unknown-id").status == 4
    node.fail["Recall"].append(Failure("DEADLINE_EXCEEDED"))
    assert cli("recall", "x").status == 3


def test_what_a_node_can_not_have_is_refused_and_a_node_that_does_not_answer_refuses_nothing(
    cli: Run, node: RecordingNode
) -> None:
    node.fail["Recall"].extend([Failure("UNAVAILABLE", "x could not be downloaded", {"field": "model"})] * 9)
    refused = cli("recall", "x")
    assert (refused.status, refused.err) == (4, "mnemesh: x could not be downloaded\n")
    node.fail["Recall"].clear()
    node.fail["Recall"].extend([Failure("UNAVAILABLE", "the index is busy")] * 9)
    assert cli("recall", "x").status == 3


def test_a_wrong_token_is_refused(bare: Run, node: RecordingNode) -> None:
    ended = bare("status", "--json", "--endpoint", node.endpoint, "--token", "wrong")
    assert (ended.status, ended.json["error"]["code"]) == (4, "UNAUTHENTICATED")


def test_the_space_of_the_working_directory_is_sent(cli: Run, node: RecordingNode, tmp_path: Path) -> None:
    (tmp_path / ".mnemesh.toml").write_text('space = "team/payments"')
    cli("remember", "x")
    assert node.calls[-1].headers["x-mnemesh-space"] == "team/payments"
    cli("forget", node.memories[0].id, "--space", "other")
    assert node.calls[-1].headers["x-mnemesh-space"] == "other"
    (tmp_path / ".mnemesh.toml").write_text("space =")
    ended = cli("remember", "x")
    assert ended.status == 2
    assert ".mnemesh.toml" in ended.err


def test_a_file_of_queries_is_answered_in_one_call(
    cli: Run, node: RecordingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("remember", "Deploys run from CI only")
    lines = '"how deploys"\n\n{"query": "zebra", "limit": 3, "kinds": ["fact"], "explain": true}\n'
    (tmp_path / "asked.jsonl").write_text(lines)
    found = cli("recall-batch", "--json", "asked.jsonl").json
    assert [len(answer["results"]) for answer in found["answers"]] == [1, 0]
    (sent,) = node.requests("RecallBatch")
    assert [(one.query, one.limit, list(one.kinds)) for one in sent.queries] == [
        ("how deploys", 0, []), ("zebra", 3, ["fact"]),
    ]  # fmt: skip
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    shown = cli("recall-batch", "-").out
    for expected in ("? how deploys", "Deploys run from CI only", "? zebra", "nothing found"):
        assert expected in shown
    (tmp_path / "bad.jsonl").write_text('"fine"\n{"query": \n')
    ended = cli("recall-batch", "bad.jsonl")
    assert (ended.status, "line 2" in ended.err) == (2, True)
    (tmp_path / "odd.jsonl").write_text('"fine"\n{"query": "x", "limt": 1}\n')
    ended = cli("recall-batch", "odd.jsonl")
    assert (ended.status, "line 2, limt: " in ended.err) == (2, True)
    (tmp_path / "gap.jsonl").write_text('"fine"\n\n\n{"query": "x", "limit": 9999}\n7\n')
    assert "line 5: 7 is not allowed" in cli("recall-batch", "gap.jsonl").err
    (tmp_path / "gap.jsonl").write_text('"fine"\n\n\n{"query": "x", "limit": 9999}\n')
    refused = "queries[1].limit: 9999 is not allowed; at most 50"
    node.fail["RecallBatch"].append(Failure("INVALID_ARGUMENT", refused, {"field": "queries[1].limit"}))
    error = cli("recall-batch", "gap.jsonl", "--json").json["error"]
    assert error["message"] == "line 4, limit: 9999 is not allowed; at most 50"
    assert error["field"] == "queries[1].limit"
    assert cli("recall-batch", "nowhere.jsonl").status == 2


def test_what_has_to_do_with_a_memory_is_shown_with_its_reasons(cli: Run, node: RecordingNode) -> None:
    id_, reasons = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11", ("links to it: see-also",)
    near = value(values.Nearby, id=id_, title="Rota", snippet="The rota", score=0.5, reasons=reasons)
    found = values.Neighbourhood(id="1", results=(near,), degraded=True, degraded_reasons=("index: away",))
    shown = "\n".join(people.related(found))
    for expected in ("0.50", "Rota", "links to it: see-also", near.id[:13], "incomplete: index: away"):
        assert expected in shown
    id_ = cli("remember", "--json", "Deploys run from CI only").json["memory"]["id"]
    assert cli("related", "--json", id_, "--limit", "3").json["results"] == []
    assert node.requests("Related")[-1].limit == 3
    assert "nothing has to do with it" in cli("related", id_).out


def test_the_words_of_the_query_are_bold_in_a_snippet_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "_coloured", lambda: True)
    shown = people.marked("Deploys run at night", (0, 7, 15, 20))
    assert shown == "\x1b[1mDeploys\x1b[0m run at \x1b[1mnight\x1b[0m"


def test_people_see_titles_scores_places_and_short_ids(cli: Run) -> None:
    options = ("--title", "Deploys", "--tag", "ci", "--space", "s")
    id_ = cli("remember", "--json", "Deploys run from CI", *options).json["memory"]["id"]
    shown = cli("recall", "deploys", "today", "--explain", "--space", "s").out
    for expected in ("0.50", "Deploys", "Deploys run from CI", id_[:13], "s", "#ci", "words", "1.000", "share"):
        assert expected in shown
    estimate = r"share 0\.500 x (\S+) \+ alone (\S+) - (\S+) = (\S+), a probability of (0\.\d{3}); 0\.500 is the mean"
    (told,) = re.findall(estimate, shown)
    weight, alone, constant, logit, probability = map(float, told)
    assert logit == pytest.approx(weight / 2 + alone - constant, abs=0.01)
    assert probability == pytest.approx(1 / (1 + math.exp(-logit)), abs=0.002)
    assert "\x1b" not in shown
    assert "nothing found" in cli("recall", "zebra", "--space", "s").out
    assert id_ in cli("get", id_).out
    assert "Deploys" in cli("list", "--space", "s").out
    assert "ADD" in cli("remember", "new one").out
    assert "ready" in cli("status").out
    assert "fact 2" in cli("stats").out
    assert "owner" in cli("whoami").out
    assert "would ADD" in cli("check", "x").out
    assert "FORGET" in cli("forget", id_).out
    assert ">" in cli("timeline", id_).out
    assert "closed" in cli("supersede", id_, "better").out


def test_what_others_wrote_can_not_steer_the_terminal(cli: Run, node: RecordingNode) -> None:
    evil = "\x1b[2J\x1b]0;title\x07red \u202egnp.exe\r\x9b31m"
    id_ = node.keep(evil, title="t\x1b[31m", tags=("\x1b[0m",)).id
    for ended in (cli("get", id_), cli("list"), cli("recall", "red"), cli("timeline", id_)):
        assert not set(ended.out) & set("\x1b\x07\r\x9b\u202e")
    assert printable("a\x1b\nb\tc\u202e") == "a\\x1b\nb\tc\\u202e"
    assert one_line(" a \n b\x00 ") == "a b\\x00"


def test_help_names_every_exit_status(bare: Run) -> None:
    shown = bare("--help")
    assert shown.status == 0
    for status in ("0 done", "2 bad usage", "3 no node", "4 refused"):
        assert status in " ".join(shown.out.split())
    assert bare().status == 2


def test_help_breaks_no_line_where_the_source_does(bare: Run) -> None:
    for words in (("--help",), ("supersede", "--help")):
        lines = [line.strip(" │") for line in bare(*words).out.splitlines()]
        assert not any(line in ("its", "linked, and leaves every read surface. The new one has its") for line in lines)


@pytest.mark.parametrize("command", ["record-run", "checkpoint"])
def test_help_shows_words_in_brackets(bare: Run, command: str) -> None:
    assert 'Put "[masked: TYPE]" in place' in " ".join(bare(command, "--help").out.split())


def commands_of(group: Any, *before: str) -> Iterator[tuple[str, ...]]:
    """The words of every command that is no program of its own."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, *before, name)
        elif name not in app.PROGRAMS and name not in app.GROUP_PROGRAMS.get(before[0] if before else "", {}):
            yield (*before, name)


@pytest.mark.parametrize("words", tuple(commands_of(typer.main.get_command(app._app()))), ids=" ".join)
def test_help_calls_every_value_by_a_word_that_people_know(bare: Run, words: tuple[str, ...]) -> None:
    shown = bare(*words, "--help")
    assert shown.status == 0
    assert re.findall(r"<[a-z[\]]+>|\.\.\.\}", shown.out) == []


@pytest.mark.parametrize("words", tuple(commands_of(typer.main.get_command(app._app()))), ids=" ".join)
def test_every_command_that_asks_a_node_can_answer_in_json(bare: Run, words: tuple[str, ...]) -> None:
    assert "--json" in bare(*words, "--help").out


def test_help_leads_with_the_four_commands_that_everyone_needs(bare: Run) -> None:
    names = re.findall(r"^│ ([a-z][a-z-]+) ", bare("--help").out, re.M)
    assert names[:4] == ["up", "mcp", "remember", "recall"]
    assert set(names) == set(typer.main.get_command(app._app()).commands)  # type: ignore[attr-defined]


def test_help_names_what_a_list_is_a_list_of(bare: Run) -> None:
    shown = [" ".join(line.strip("│ ").split()) for line in bare("recall", "--help").out.splitlines()]
    for option in ("--space,--spaces -s SPACE", "--kind -k KIND", "--tags-any TAG", "--limit -n NUMBER", "QUERY Words"):
        assert any(line.startswith(option) for line in shown)


@pytest.mark.parametrize("words", [("list",), ("status", "--start"), ("down",), ("list", "--endpoint", "127.0.0.1:1")])
def test_a_data_directory_that_is_a_file_or_out_of_sight_is_said_in_a_line(
    bare: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("not a directory")
    ended = bare(*words, "--data", str(tmp_path / "file"))
    assert ended.status == 2
    assert f"{tmp_path / 'file'}" in ended.err
    assert "a directory" in ended.err
    hidden = bare(*words, "--data", str(tmp_path / ("x" * 300)))
    assert (hidden.status, hidden.err.count("\n")) == (3, 1)
    assert hidden.err.endswith("can't be looked at: File name too long\n")


def test_a_local_node_is_started_only_when_asked(
    bare: Run, node: RecordingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mnemesh_proto.rendezvous import TOKEN_FILE, NodeAddress

    asked: list[Path] = []

    def ensure_node(data_dir: Path, timeout_s: float) -> NodeAddress:
        asked.append(data_dir)
        data_dir.mkdir()
        (data_dir / TOKEN_FILE).write_text(TOKEN)
        return NodeAddress(1, node.endpoint, "127.0.0.1:1", "test")

    monkeypatch.setattr(connection, "ensure_node", ensure_node)
    assert bare("status").status == 3
    assert bare("status", "--start").status == 0
    assert asked == [tmp_path / "data"]


def test_up_and_doctor_become_the_node_and_mcp_its_proxy(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda path, words: ran.append(words[1:]) or 0)
    monkeypatch.setattr("mnemesh.stdio.program.main", lambda argv: ran.append(["mcp", *argv]) or 0)
    entry.main(["up", "--data", "x"])
    entry.main(["doctor"])
    entry.main(["mcp", "--no-start"])
    assert ran == [
        ["-P", "-m", "mnemesh_gateway", "up", "--data", "x"],
        ["-P", "-m", "mnemesh_gateway", "doctor"],
        ["mcp", "--no-start"],
    ]  # fmt: skip
    monkeypatch.setattr("mnemesh.transport.local_node.missing_node_modules", lambda: ("automerge",))
    assert entry.main(["up"]) == 2
    assert "pip install 'mnemesh[node]'" in capsys.readouterr().err


def test_bench_becomes_the_programs_of_the_source_tree_and_says_so_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    ran: list[tuple[list[str], str]] = []
    monkeypatch.setattr(os, "execve", lambda path, words, env: ran.append((words[1:], env["PYTHONPATH"])) or 0)
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    entry.main(["bench", "--memories", "100"])
    root = str(Path(__file__).resolve().parents[3])
    assert ran == [(["-P", "-m", "bench", "--memories", "100"], f"{root}{os.pathsep}elsewhere")]
    monkeypatch.setattr("mnemesh.programs.SOURCE_TREE", tmp_path)
    assert entry.main(["bench"]) == 2
    assert "needs the source tree" in capsys.readouterr().err


def test_a_command_loads_only_what_it_needs(node: RecordingNode) -> None:
    script = (
        "import sys; from mnemesh.entry import main\n"
        f"assert main(['recall', 'x', '--json', '--endpoint', '{node.endpoint}', '--token', '{TOKEN}']) == 0\n"
        "heavy = ('pydantic', 'rich', 'typer', 'yaml', 'markdown_it', 'mnemesh.api.async_client')\n"
        "assert not [name for name in heavy if name in sys.modules]"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, stdout=subprocess.DEVNULL)


def test_a_terminal_that_can_not_show_a_text_gets_it_escaped_and_json_stays_whole(node: RecordingNode) -> None:
    memory = node.keep("naïve 数据库")
    words = [sys.executable, "-m", "mnemesh", "get", memory.id, "--endpoint", node.endpoint, "--token", TOKEN]
    latin = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    shown = subprocess.run(words, env=latin, capture_output=True, timeout=60, check=True).stdout
    assert "naïve \\u6570".encode("latin-1") in shown
    out = subprocess.run([*words, "--json"], env=latin, capture_output=True, timeout=60, check=True).stdout
    assert json.loads(out)["memory"]["content"] == memory.content
    export = [*words[:3], "export", *words[5:]]
    lines = subprocess.run(export, env=latin, capture_output=True, timeout=60, check=True).stdout
    assert json.loads(lines.decode("utf-8"))["content"] == memory.content


def test_a_closed_pipe_ends_it_quietly(node: RecordingNode) -> None:
    for number in range(5000):
        node.keep(f"{number}" + "x" * 200)
    words = [sys.executable, "-m", "mnemesh", "export", "--endpoint", node.endpoint, "--token", TOKEN]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == exit_status.EXIT_PIPE_CLOSED
        assert process.stderr.read() == b""


def test_ctrl_c_ends_it_with_130_and_no_traceback(node: RecordingNode) -> None:
    node.hold("Recall")
    words = [sys.executable, "-m", "mnemesh", "recall", "x", "--json", "--endpoint", node.endpoint, "--token", TOKEN]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert node.arrived.wait(WAIT_S)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT_S)
        assert (process.returncode, err) == (exit_status.EXIT_INTERRUPTED, b"")
        assert json.loads(out)["error"]["code"] == "CANCELLED"
    node.release.set()
