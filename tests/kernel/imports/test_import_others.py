"""Exports of other memories: what becomes a memory or a turn, what is kept of it, and what is reported."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh.cli.imports import sources
from mnemesh.importing.chats import branch, read_chats
from mnemesh.importing.claude_code import Malformed, Said, Skipped, Titled
from mnemesh.importing.items import ImportItem, Parsed, Problem
from mnemesh.importing.markdown import parse_markdown
from mnemesh.importing.records import FOLDED_KINDS, importance, moment, parse_json, parse_records, space_name, words
from mnemesh_memory.values.kinds import fold_kind

MEM0 = {
    "results": [
        {
            "id": "1f", "memory": "Prefers tabs", "hash": "a1", "user_id": "ann", "categories": ["style"],
            "metadata": {"project": "~/src/shop", "team": "web"}, "created_at": "2026-03-01T10:00:00-08:00",
        },
        {"id": "2f", "memory": "", "user_id": "ann"},
    ]
}  # fmt: skip
CLAUDE_MEMORY = [
    {
        "id": 7, "content": "Deploys run on Fridays", "project": "shop", "tags": "ci, deploy",
        "memory_type": "decision", "importance": 4, "session_id": "s-1",
        "created_at": "2026-04-02 09:00:00", "similarity": 0.9,
    },
    {"id": 8, "content": "Old", "deleted_at": "2026-01-01"},
    {"id": 9, "content": "Odd", "memory_type": "vibe", "nested": {"a": 1}},
]  # fmt: skip
GRAPH = (
    '{"type":"entity","name":"Billing","entityType":"service","observations":["written in Go","owned by Ann"]}',
    '{"type":"entity","name":"Ann","entityType":"person","observations":[]}',
    '{"type":"relation","from":"Billing","to":"Ann","relationType":"maintained_by"}',
    '{"type":"relation","from":"Nobody","to":"Ann","relationType":"knows"}',
)
NOTE = """---
title: Coffee Brewing
permalink: coffee/brewing
project: kitchen lab
tags: [brewing]
created: 2026-02-03
---
# Coffee Brewing

- [method] Pour over keeps the flavour #filter (tried twice)
- [ ] buy beans

## Relations
- relates_to [[Grinder]]
"""
MEMEM = """---
id: 9b
schema_version: 3
title: Ports
project: shop
keys: [port, db]
importance: 1
valid_at: 2026-01-05
source_session: s-77
status: {status}
---
The database listens on 5440.
"""
ZIKKARON_SCHEMA = """
CREATE TABLE memories(id INTEGER PRIMARY KEY, content TEXT NOT NULL, embedding BLOB, tags TEXT DEFAULT '[]',
  directory_context TEXT NOT NULL, created_at TEXT NOT NULL, heat REAL, importance REAL DEFAULT 0.5,
  original_content TEXT, is_protected INTEGER DEFAULT 0, provenance_agent TEXT DEFAULT 'default');
CREATE TABLE memory_rules(id INTEGER PRIMARY KEY, rule_type TEXT);
"""


def split(parts: Parsed) -> tuple[list[dict[str, Any]], list[Problem]]:
    whole = list(parts)
    return [dict(part.fields) for part in whole if isinstance(part, ImportItem)], [
        part for part in whole if isinstance(part, Problem)
    ]


def read(path: Path) -> tuple[list[dict[str, Any]], list[Problem]]:
    (file,) = sources.find(path).files
    return split(sources.parsed(file))


def test_an_export_of_mem0_keeps_text_time_categories_and_metadata() -> None:
    (memory,), problems = split(parse_json(json.dumps(MEM0), "mem0.json"))
    assert memory["content"] == "Prefers tabs"
    assert (memory["space"], memory["tags"]) == ("shop", ["style"])
    assert memory["created_at"] == "2026-03-01T10:00:00-08:00"
    assert memory["attrs"] == {"from.user_id": "ann", "from.team": "web"}
    assert [problem.message for problem in problems] == [
        "record 2 has no text in content, memory, text, raw_content, data"
    ]


def test_an_export_of_claude_memory_keeps_project_kind_tags_importance_and_session() -> None:
    memories, problems = split(parse_json(json.dumps({"memories": CLAUDE_MEMORY}), "export.json"))
    first, odd = memories
    assert (first["space"], first["kind"], first["tags"]) == ("shop", "decision", ["ci", "deploy"])
    assert (first["importance"], first["source"]) == (0.8, {"session": "s-1"})
    assert first["created_at"] == "2026-04-02T09:00:00Z"
    assert odd["tags"] == ["vibe"]
    assert "kind" not in odd
    assert [problem.message for problem in problems] == [
        "record 2 was deleted there, not imported",
        "fields without a place here: 'nested' (1)",
    ]


def test_a_graph_of_the_reference_server_becomes_a_memory_an_entity_with_wikilinks(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text("\n".join(GRAPH) + "\n")
    memories, problems = read(path)
    assert memories[0]["content"] == "Billing (service)\n- written in Go\n- owned by Ann\n- maintained_by [[Ann]]"
    assert [(memory["title"], memory["tags"]) for memory in memories] == [("Billing", ["service"]), ("Ann", ["person"])]
    assert [problem.line for problem in problems] == [4]


def test_a_note_of_basic_memory_stays_whole_so_that_wikilinks_find_its_title() -> None:
    (memory,), problems = split(parse_markdown(NOTE, "coffee.md"))
    assert memory["title"] == "Coffee Brewing"
    assert "relates_to [[Grinder]]" in memory["content"]
    assert (memory["tags"], memory["space"]) == (["brewing", "method", "filter"], "kitchen-lab")
    assert memory["created_at"] == "2026-02-03T00:00:00Z"
    assert problems == []


def test_a_note_of_memem_keeps_keys_validity_session_and_its_scale_of_importance() -> None:
    (memory,), _ = split(parse_markdown(MEMEM.format(status="active"), "ports.md"))
    assert (memory["keywords"], memory["importance"]) == (["port", "db"], 0.2)
    assert memory["valid_from"] == "2026-01-05T00:00:00Z"
    assert memory["space"] == "shop"
    none, problems = split(parse_markdown(MEMEM.format(status="deprecated"), "ports.md"))
    assert (none, [problem.refused for problem in problems]) == ([], [False])


def test_the_file_of_zikkaron_gives_the_original_text_and_says_what_stays_there(tmp_path: Path) -> None:
    path = tmp_path / "zikkaron.db"
    with closing(sqlite3.connect(path)) as file:
        file.executescript(ZIKKARON_SCHEMA)
        file.execute(
            "INSERT INTO memories(content, original_content, tags, directory_context, created_at, importance,"
            " is_protected, provenance_agent) VALUES ('gist', 'the whole text', '[\"db\"]', '/src/shop',"
            " '2026-03-01T10:00:00+00:00', 0.9, 1, 'codex')"
        )
        file.execute("INSERT INTO memory_rules(rule_type) VALUES ('soft')")
        file.commit()
    (memory,), problems = read(path)
    assert (memory["content"], memory["space"], memory["tags"]) == ("the whole text", "shop", ["db"])
    assert (memory["tier"], memory["importance"]) == ("pinned", 0.9)
    assert memory["source"] == {"dir": "/src/shop"}
    assert memory["attrs"] == {"from.agent": "codex"}
    assert "memory_rules" in problems[0].message
    assert path.stat().st_size > 0


@pytest.mark.parametrize("content", [b"SQLite format 3\0broken", b""])
def test_a_damaged_database_is_a_problem_and_no_crash(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "z.db"
    path.write_bytes(content or sqlite_without_memories(tmp_path))
    memories, problems = read(path)
    assert memories == []
    assert problems[0].refused


def sqlite_without_memories(folder: Path) -> bytes:
    path = folder / "other.sqlite"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE notes(x)")
        file.commit()
    return path.read_bytes()


def test_a_folder_with_json_files_of_tools_imports_none_of_these(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "note.md").write_text("hello")
    found = sources.find(tmp_path)
    assert [file.name for file in found.files] == ["note.md"]
    assert found.skipped == {"other type": 1}


def test_a_json_file_without_memories_is_refused_with_what_was_expected() -> None:
    for chats in ([{"uuid": "a", "chat_messages": []}], {"conversations": [{"id": "b", "mapping": {}}]}):
        none, (problem,) = split(parse_json(json.dumps(chats), "my conversations.json"))
        told = "holds conversations and no memories; mnemesh import-transcript 'my conversations.json' takes it"
        assert (none, problem.message) == ([], told)
    none, problems = split(parse_json('{"name": "x"}', "package.json"))
    assert none == []
    assert problems[0].message.startswith("holds no list of memories")


def test_every_kind_that_an_export_may_keep_is_known_to_the_node() -> None:
    assert {kind for kind in FOLDED_KINDS if fold_kind(kind) is None} == set()


RECORD = st.dictionaries(
    st.sampled_from(("content", "memory", "tags", "importance", "created_at", "project", "kind", "metadata", "x")),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ),
)


@given(st.lists(RECORD | st.integers() | st.none(), max_size=5))
def test_any_record_becomes_a_memory_or_a_problem_and_no_error(records: list[object]) -> None:
    memories, problems = split(parse_records(records, "x.json"))
    assert all(memory["content"].strip() for memory in memories)
    assert len(memories) + len([problem for problem in problems if problem.line]) >= len(records)


@given(st.text(max_size=40))
def test_a_space_name_never_holds_a_blank_a_slash_or_a_dot_at_its_ends(text: str) -> None:
    name = space_name(text)
    assert not set(name) & set(" /\\\n\t")
    assert name == name.strip("-.")


def test_numbers_times_and_lists_of_others_have_one_form_here() -> None:
    assert [importance(value) for value in (0.3, 4, "8", 11, "much", True, None)] == [0.3, 0.8, 0.8, *[None] * 4]
    assert moment(1_700_000_000) == moment(1_700_000_000_000) == "2023-11-14T22:13:20Z"
    assert moment("yesterday") is None
    assert words('["a", "b", "a"]') == words("a, b") == ["a", "b"]


CLAUDE_CHAT = {
    "uuid": "c/1", "name": "Ports",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "which port?", "created_at": "2026-03-01T10:00:00Z"},
        {"uuid": "m2", "sender": "assistant", "content": [{"type": "text", "text": "5440"}, {"type": "tool_use"}]},
        {"uuid": "m3", "sender": "system", "text": "hidden"},
    ],
}  # fmt: skip
CHATGPT_CHAT = {
    "conversation_id": "g1", "title": "Names", "current_node": "c",
    "mapping": {
        "root": {"message": None, "parent": None},
        "a": {"parent": "root", "message": {
            "id": "a", "author": {"role": "user"}, "content": {"parts": ["hi"]}, "create_time": 1_700_000_000.0}},
        "b": {"parent": "a", "message": {"id": "b", "author": {"role": "assistant"}, "content": {"parts": ["left"]}}},
        "c": {"parent": "a", "message": {
            "id": "c", "author": {"role": "assistant"}, "content": {"parts": ["kept", {"asset": 1}]}}},
    },
}  # fmt: skip


def test_chats_become_sessions_with_a_title_and_the_branch_that_a_person_reads() -> None:
    reads = [read for _, read in read_chats([CLAUDE_CHAT, CHATGPT_CHAT])]
    said = [(read.session, read.turn["role"], read.turn["text"]) for read in reads if isinstance(read, Said)]
    assert said == [
        ("c-1", "user", "which port?"), ("c-1", "assistant", "5440"), ("g1", "user", "hi"), ("g1", "assistant", "kept"),
    ]  # fmt: skip
    assert [read.title for read in reads if isinstance(read, Titled)] == ["Ports", "Names"]
    assert sum(isinstance(read, Skipped) for read in reads) == 1


@given(
    st.dictionaries(
        st.sampled_from("abcd"), st.fixed_dictionaries({"parent": st.sampled_from("abcde"), "message": st.just({})})
    ),
    st.sampled_from("abcde"),
)
def test_a_circle_of_messages_ends(mapping: dict[str, Any], last: str) -> None:
    assert len(branch(mapping, last)) <= len(mapping)


def test_an_export_that_is_none_says_so() -> None:
    assert [read for _, read in read_chats({"a": 1})] == [Malformed("holds no list of conversations")]
