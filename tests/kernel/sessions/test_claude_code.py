"""Session files of Claude Code, and their import."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh.api.batch import BATCH_ITEMS_MAX, CONTENT_BYTES_MAX
from mnemesh.api.values.transcripts import AddedTurns, MaskedTurn
from mnemesh.cli.imports import import_state, sources
from mnemesh.cli.imports import transcripts as transcript_import
from mnemesh.cli.imports.import_report import Bar
from mnemesh.cli.imports.import_state import Offsets
from mnemesh.cli.imports.transcripts import TranscriptReport, _File
from mnemesh.errors import FailedPrecondition, InvalidArgument
from mnemesh.importing.claude_code import (
    OWN_LEFT_OUT,
    TOOL_CHARS_MAX,
    Malformed,
    Read,
    Said,
    Skipped,
    Titled,
    read_line,
)

AT = "2026-06-06T16:42:54.872Z"


def read(*, stem: str = "file", **record: Any) -> list[Read]:
    return list(read_line(json.dumps(record).encode() + b"\n", stem))


def user(content: Any, **fields: Any) -> list[Read]:
    base = {"type": "user", "uuid": "u1", "sessionId": "S", "timestamp": AT, "cwd": "/w/app"}
    return read(**{**base, **fields, "message": {"role": "user", "content": content}})


def assistant(*content: Any, **fields: Any) -> list[Read]:
    base = {"type": "assistant", "uuid": "a1", "sessionId": "S", "requestId": "req_1"}
    return read(**{**base, **fields, "message": {"id": "msg_1", "role": "assistant", "content": list(content)}})


def said(items: list[Read]) -> list[tuple[str, str]]:
    return [(item.turn["role"], item.turn["text"]) for item in items if isinstance(item, Said)]


def test_what_a_person_typed_is_a_turn_with_its_id_time_session_and_directory() -> None:
    (item,) = user("use pnpm, not npm", parentUuid=None, isSidechain=False, promptId="p1", version="2.1.167")
    assert item == Said(
        session="S",
        part_of="",
        dir="/w/app",
        turn={
            "id": "u1", "role": "user", "text": "use pnpm, not npm",
            "at": datetime(2026, 6, 6, 16, 42, 54, 872_000, tzinfo=UTC),
        },
    )  # fmt: skip


def test_thoughts_are_left_out_and_what_the_model_said_is_kept() -> None:
    items = assistant({"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "Tests pass."})
    assert items[0] == Skipped("thinking")
    assert isinstance(items[1], Said)
    assert (items[1].turn["id"], said(items)) == ("a1#1", [("assistant", "Tests pass.")])


def test_tools_are_turns_of_their_own_and_long_answers_are_shortened_and_said_so() -> None:
    asked = assistant({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "pnpm test"}})
    assert said(asked) == [("tool", 'Bash {"command": "pnpm test"}')]
    answered = user([{"type": "tool_result", "tool_use_id": "t", "content": "ok"}], toolUseResult={"stdout": "ok"})
    assert said(answered) == [("tool", "ok")]
    blocks = [{"type": "text", "text": "x" * (TOOL_CHARS_MAX + 7)}, {"type": "image", "source": {}}]
    (long,) = user([{"type": "tool_result", "tool_use_id": "t", "content": blocks}])
    assert isinstance(long, Said)
    assert long.clipped
    assert long.turn["text"] == "x" * TOOL_CHARS_MAX + "\n[7 more characters were not imported]"


@pytest.mark.parametrize(
    ("fields", "content", "kind"),
    [
        ({"isMeta": True}, "Stop hook feedback: ...", "meta"),
        ({"isVisibleInTranscriptOnly": True}, "shown only", "meta"),
        ({}, "<command-name>/clear</command-name>", "command"),
        ({}, "<local-command-stdout>x</local-command-stdout>", "command"),
        ({}, "<bash-input>ls</bash-input>", "command"),
        ({}, "<task-notification>done</task-notification>", "command"),
        ({}, "[Request interrupted by user]", "command"),
        ({}, [{"type": "image", "source": {}}], "image"),
    ],
)
def test_what_the_program_said_to_itself_is_passed_over(fields: dict[str, Any], content: Any, kind: str) -> None:
    assert user(content, **fields) == [Skipped(kind)]


def test_the_summary_after_a_compaction_is_a_summary_and_not_the_persons_word() -> None:
    items = user("This session is being continued ...", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    assert said(items) == [("summary", "This session is being continued ...")]


def test_a_subagent_speaks_in_a_session_of_its_own_that_is_part_of_the_whole() -> None:
    (item,) = assistant({"type": "text", "text": "explored"}, isSidechain=True, agentId="agent-1")
    assert isinstance(item, Said)
    assert (item.session, item.part_of) == ("S:agent-1", "S")
    (item,) = assistant({"type": "text", "text": "explored"}, isSidechain=True)
    assert isinstance(item, Said)
    assert item.session == "S:sidechain"
    (item,) = assistant({"type": "text", "text": "x"}, isSidechain=True, agentId="a/1", sessionId="s/1")
    assert isinstance(item, Said)
    assert (item.session, item.part_of) == ("s-1:a-1", "s-1")


def test_memories_and_reminders_that_were_put_there_are_taken_out() -> None:
    block = '<memories note="Stored earlier">\n<memory id="1">\nold\n</memory>\n</memories>'
    assert said(user(f"before <system-reminder>be nice</system-reminder>after {block}")) == [
        ("user", f"before after {OWN_LEFT_OUT}")
    ]
    long = block.replace("old", "old " * TOOL_CHARS_MAX)
    assert said(user([{"type": "tool_result", "content": long}])) == [("tool", OWN_LEFT_OUT)]
    assert said(user("<system-reminder>nothing else")) == []


@pytest.mark.parametrize(
    "record",
    [
        {"type": "system", "subtype": "compact_boundary", "parentUuid": None, "content": "Conversation compacted"},
        {"type": "system", "subtype": "local_command", "content": "<command-name>/remember</command-name>"},
        {"type": "system", "subtype": "turn_duration", "durationMs": 88947},
        {"type": "attachment", "attachment": {"type": "hook_success", "stdout": "{}"}},
        {"type": "queue-operation", "operation": "enqueue", "content": "next prompt"},
        {"type": "last-prompt", "lastPrompt": "use pnpm", "leafUuid": "u2"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False},
        {"type": "summary"},
        {"type": "agent-name"},
        {"type": "mode"},
        {"type": "progress"},
        {"type": "pr-link"},
        {"type": "custom-title"},
    ],
)
def test_known_records_that_hold_no_turn_are_counted_by_their_type(record: dict[str, Any]) -> None:
    assert read(**record, sessionId="S") == [Skipped(record["type"])]


def test_titles_are_those_of_the_session_or_of_the_file() -> None:
    assert read(type="ai-title", aiTitle="Switch to pnpm", sessionId="S") == [Titled("S", "Switch to pnpm")]
    assert read(type="summary", summary="Switch\nto pnpm", leafUuid="a3") == [Titled("file", "Switch to pnpm")]


def test_a_record_of_a_kind_that_is_not_known_is_passed_over_as_such() -> None:
    assert read(type="hologram", sessionId="S") == [Skipped("hologram", known=False)]
    assert user([{"type": "hologram"}, "text"]) == [Skipped("hologram"), Skipped("unknown block")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"type": "user", "uuid"', "is no JSON: a colon is missing (column 24)"),
        (b'"text"', "is no JSON object"),
        (b"[" * 100_000, "is no JSON: it is nested too deeply"),
        (b'{"type": "user", "x": "\xff"}', "is not UTF-8"),
        (b'{"uuid": "u"}', "has no type"),
        (b'{"type": "user"}', "is a record of type user without content"),
        (b'{"type": "assistant", "message": {"content": 3}}', "is a record of type assistant without content"),
    ],
)
def test_a_line_that_is_no_record_is_named_and_why(line: bytes, reason: str) -> None:
    assert list(read_line(line, "file")) == [Malformed(reason)]


def test_a_turn_that_is_too_long_comes_in_parts_and_one_without_an_id_gets_the_same_one_again() -> None:
    items = user("word " * 10_000, uuid=None)
    assert [len(text.encode()) <= CONTENT_BYTES_MAX for _, text in said(items)] == [True, True]
    ids = [item.turn["id"] for item in items if isinstance(item, Said)]
    assert ids[1] == ids[0] + "~2"
    assert [item.turn["id"] for item in user("word " * 10_000, uuid=None) if isinstance(item, Said)] == ids


def test_a_time_without_its_zone_or_of_no_sense_is_not_known() -> None:
    for text in ("2026-06-06T16:42:54", "yesterday", 5, None):
        (item,) = user("x", timestamp=text)
        assert isinstance(item, Said)
        assert item.turn["at"] is None


def test_what_json_can_spell_and_no_message_can_carry_is_replaced() -> None:
    (item,) = user("a\ud800b", uuid="\ud800", cwd="/\ud800")
    assert isinstance(item, Said)
    for text in (item.turn["text"], item.turn["id"], item.dir):
        text.encode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("uuid", "sessionId", "timestamp", "cwd", "isMeta", "isSidechain", "agentId", "isCompactSummary")


@given(
    st.sampled_from(["user", "assistant", "summary", "ai-title"]),
    st.dictionaries(st.sampled_from(FIELDS), JSON),
    JSON
    | st.lists(st.fixed_dictionaries({"type": st.sampled_from(["text", "tool_use", "tool_result"]), "text": JSON})),
)
def test_no_record_ends_the_reading(kind: str, fields: dict[str, Any], content: Any) -> None:
    for item in read(type=kind, **fields, message={"content": content}):
        assert isinstance(item, Said | Titled | Skipped | Malformed)
        if isinstance(item, Said):
            assert item.turn["text"].strip()
            assert item.session


# ---- transcript import -----------------------------------------------------------------------------------------------
# Session files are read from where they ended, whole lines only, and what is refused or malformed is named.


def record(n: int, text: str = "", **fields: Any) -> str:
    base = {"type": "user", "uuid": f"u{n}", "sessionId": "S", "cwd": "/w", "message": {"content": text or f"say {n}"}}
    return json.dumps({**base, **fields}) + "\n"


class Node:
    """Keeps what it is given, once an id; refuses sessions called `refused`."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.turns: dict[str, dict[str, str]] = {}
        self.given: dict[str, Any] = {}

    def add_transcript(self, session: str, turns: list[Any], **given: Any) -> AddedTurns:
        if session == "refused":
            raise FailedPrecondition("session: stored by ana", refused=True)
        held = self.turns.setdefault(session, {})
        fresh = [one for one in turns if one["id"] not in held]
        held.update((one["id"], one["text"]) for one in fresh)
        self.calls.append([one["id"] for one in turns])
        self.given[session] = given
        masked = tuple(MaskedTurn(id=one["id"], types=("password",)) for one in turns if "hunter" in one["text"])
        return AddedTurns(
            session=session, space="@owner", stored=len(fresh), known=len(turns) - len(fresh), turns=len(held),
            masked=masked,
        )  # fmt: skip


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "S.jsonl"


def imported(node: Node, path: Path, state: Path | None = None, space: str = "") -> TranscriptReport:
    report = TranscriptReport()
    with Bar(0, shown=False) as bar:
        for one in sources.find(path).files:
            _File(node, Offsets(state), report, bar, one, space).run()  # type: ignore[arg-type]
    return report


def test_a_file_that_grew_is_read_from_where_it_ended(node: Node, file: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    file.write_text(record(1) + record(2) + record(3)[:20])
    first = imported(node, file, state)
    assert (first.stored, first.skipped["unfinished last line"], first.malformed) == (2, 1, [])
    file.write_text(record(1) + record(2) + record(3) + "no json\n")
    second = imported(node, file, state)
    assert (second.turns, second.stored, second.known) == (1, 1, 0)
    assert [(place["line"], place["message"]) for place in second.malformed] == [
        (4, "is no JSON: a value is missing (column 1)")
    ]
    assert node.calls == [["u1", "u2"], ["u3"]]


def test_a_file_that_became_another_is_read_from_its_beginning(node: Node, file: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    file.write_text(record(1) + record(2))
    imported(node, file, state)
    file.write_text(record(7) + record(8) + record(9))
    assert imported(node, file, state).stored == 3
    file.write_text(record(7))
    assert imported(node, file, state).known == 1


def test_without_a_state_all_is_sent_again_and_nothing_is_stored_twice(node: Node, file: Path) -> None:
    file.write_text(record(1) + record(2) + record(1))
    assert (imported(node, file).stored, imported(node, file).known) == (2, 2)


def test_a_session_travels_with_its_title_directory_and_space_in_bounded_calls(node: Node, file: Path) -> None:
    lines = [record(n) for n in range(BATCH_ITEMS_MAX + 1)]
    title = json.dumps({"type": "ai-title", "aiTitle": "Switch to pnpm", "sessionId": "S"}) + "\n"
    file.write_text("".join(lines) + title + record(1, isSidechain=True, agentId="a"))
    report = imported(node, file, space="team/app")
    assert (report.stored, len(report.sessions)) == (BATCH_ITEMS_MAX + 2, 2)
    assert [len(call) for call in node.calls] == [BATCH_ITEMS_MAX, 1, 1]
    assert node.given["S"] == {
        "space": "team/app", "part_of": "", "source": "claude-code", "dir": "/w", "title": "Switch to pnpm",
    }  # fmt: skip
    assert node.given["S:a"]["part_of"] == "S"


def test_what_was_acknowledged_is_noted_before_a_file_is_read_to_its_end(
    node: Node, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_import, "PENDING_BYTES_MAX", 5)
    state = tmp_path / "state.json"
    file.write_text(record(1) + record(2) + record(3, sessionId="refused"))
    assert [place["message"] for place in imported(node, file, state).refused] == ["session: stored by ana"]
    again = imported(node, file, state)
    assert (again.turns, again.stored, again.known) == (1, 0, 0)


def test_a_refused_file_and_one_of_another_kind_are_named_and_the_rest_goes_on(node: Node, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(record(1, sessionId="refused"))
    (tmp_path / "b.jsonl").write_text('{"content": "an exported memory", "type": "memory"}\n')
    (tmp_path / "c.jsonl").write_text(record(1, "the password is hunter2!x"))
    (tmp_path / "d.jsonl").write_text("")
    report = imported(node, tmp_path)
    assert [(place["file"], place["message"]) for place in report.refused] == [
        ("a.jsonl", "session: stored by ana"), ("b.jsonl", "holds no record of a Claude Code session"),
    ]  # fmt: skip
    assert (report.stored, dict(report.masked), report.files) == (1, {"password": 1}, 4)
    assert "masked  1 password" in list(report.lines(dry_run=False))


def test_a_dry_run_sends_nothing_and_counts(file: Path) -> None:
    file.write_text(record(1) + "x\n")
    report = TranscriptReport()
    with Bar(0, shown=False) as bar:
        (found,) = sources.find(file).files
        _File(None, Offsets(None), report, bar, found, "").run()
    assert list(report.lines(dry_run=True))[-1] == (
        "1 file: 1 session, 1 turn would be sent; 0 shortened, 1 malformed line, 0 refused"
    )


def test_a_second_run_over_what_is_stored_says_that_nothing_is_new(node: Node, file: Path, tmp_path: Path) -> None:
    file.write_text(record(1))
    said = [list(imported(node, file, tmp_path / "state.json").lines(dry_run=False))[-1] for _ in range(2)]
    assert said == [
        "1 file: 1 session, 1 turn stored, 0 were there already; 0 shortened, 0 malformed lines, 0 refused",
        "1 file: no turn that is new; 0 shortened, 0 malformed lines, 0 refused",
    ]


def test_a_state_file_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with pytest.raises(InvalidArgument, match="--state"):
        Offsets(tmp_path / "state")
    notes = tmp_path / "notes.txt"
    notes.write_text("a shopping list\n")
    with pytest.raises(InvalidArgument, match=r"--state.*has written"):
        Offsets(notes)
    assert notes.read_text() == "a shopping list\n"


@pytest.mark.parametrize("text", ["", "\n", "\n[", '\n["half'])
def test_a_state_that_is_new_or_half_written_is_gone_on_with(node: Node, file: Path, tmp_path: Path, text: str) -> None:
    state = tmp_path / "state"
    state.write_text(text)
    file.write_text(record(1))
    assert imported(node, file, state).turns == 1
    assert imported(node, file, state).turns == 0


def test_a_state_stays_small_and_survives_a_half_written_line(
    node: Node, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_state, "STALE_LINES_MAX", 3)
    state = tmp_path / "state"
    for n in range(6):
        with file.open("a") as grown:
            grown.write(record(n))
        assert imported(node, file, state).turns == 1
    assert len(state.read_text().split()) < 6 * 4
    before = state.read_text()
    assert imported(node, file, state).turns == 0
    assert state.read_text() == before
    state.write_text(before + '\n["half')
    assert imported(node, file, state).turns == 0
