"""Session files of Claude Code: the kept part of each kind of record, the skipped kinds, and lines that are no
record."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh.api.batch import CONTENT_BYTES_MAX
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
