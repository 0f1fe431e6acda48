"""Notes that wait for a node: damage to a note blocks no other, and neither does a node that refuses the note."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from mnemesh.hooks.kept import spool as spools
from mnemesh.hooks.kept.notes import NOTES_MAX, SPOOL, Notes
from mnemesh.hooks.kept.spool import Spool
from mnemesh.hooks.node_http import NodeHttp, Unanswered

HEADERS = (("x-mnemesh-space", "team"),)


class FakeNode:
    """Takes checkpoints and votes of all sessions but the refused one."""

    def __init__(self, refused: str = "") -> None:
        self.sessions: list[str] = []
        self.votes: list[str] = []
        self._refused = refused

    def ask(self, question: tuple[str, dict[str, Any]], headers: Any) -> dict[str, Any]:
        asked, body = question
        if body.get("session", "-") == self._refused:
            raise Unanswered("HTTP/1.1 403 Forbidden")
        if asked == spools.CHECKPOINT:
            self.sessions.append(body["session"])
        if asked == spools.RATE:
            self.votes += body["answer"].split()
        return {}


def handed(data_dir: Path, node: FakeNode) -> list[str]:
    """The sessions of the checkpoints that one hook delivers."""
    before = len(node.sessions)
    Spool(data_dir, "claude-code", "s9", HEADERS).hand_over(cast(NodeHttp, node))
    return node.sessions[before:]


def noted(data_dir: Path, session: str) -> None:
    transcript = data_dir / f"{session}.jsonl"
    transcript.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": "Paint the old crane"}}))
    spool = Spool(data_dir, "claude-code", session, HEADERS)
    spool.add_checkpoint(str(transcript), transcript.stat().st_size, "/p")


@pytest.mark.parametrize(
    "damage",
    [
        {"bytes": 1e999}, {"bytes": "x"}, {"at": 1e30}, {"at": None}, {"headers": [["a"]]}, {"headers": 7},
        {"headers": [["x-mnemesh-space", "\ud800"]]}, {"transcript": "/dev/null/t.jsonl"}, {"transcript": "/dev/full"},
        {"transcript": 7}, {"transcript": "\0"}, {"votes": 7},
    ],
)  # fmt: skip
def test_a_note_that_nobody_can_deliver_goes_and_the_next_is_delivered(tmp_path: Path, damage: dict[str, Any]) -> None:
    noted(tmp_path, "s1")
    notes = Notes(tmp_path, SPOOL)
    ((name, note),) = notes.oldest(1)
    notes.put(name, {**note, **damage})
    noted(tmp_path, "s2")
    assert handed(tmp_path, FakeNode()) == ["s2"]
    assert not list((tmp_path / SPOOL).iterdir())


def test_a_note_that_is_no_file_is_passed_over(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / SPOOL / f"folder{number}.json").mkdir(parents=True)
    noted(tmp_path, "s2")
    assert handed(tmp_path, FakeNode()) == ["s2"]


def test_a_note_that_the_node_does_not_take_now_waits_behind_the_others(tmp_path: Path) -> None:
    for session in ("s1", "s2", "s3"):
        noted(tmp_path, session)
    node = FakeNode(refused="s1")
    assert handed(tmp_path, node) == []
    assert handed(tmp_path, node) == ["s2", "s3"]
    assert [note["session"] for _, note in Notes(tmp_path, SPOOL).oldest(NOTES_MAX)] == ["s1"]


def test_votes_of_one_session_wait_in_one_note_and_each_is_told_once(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "claude-code", "s1", HEADERS)
    spool.add_votes(["m1", "m2"])
    spool.add_votes(["m2", "m3"])
    node = FakeNode()
    handed(tmp_path, node)
    spool.add_votes(["m3", "m4"])
    handed(tmp_path, node)
    assert node.votes == ["m1", "m2", "m3", "m4"]
    spool.add_votes(f"{number:036}" for number in range(500))
    ((_, note),) = Notes(tmp_path, SPOOL).oldest(1)
    assert len(note["votes"]) == spools.VOTES_MAX
