"""The pairs with a question from which the reader of asked pairs learns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bench.training import asked_pairs, pair_judge

from mnemesh_memory.policy.judge.reading import asked_text

HISTORIES = Path(__file__).resolve().parents[2] / "data" / "histories"
MEMORIES = [
    {"id": "m1", "content": "first value", "supersedes": None},
    {"id": "m2", "content": "near fact", "supersedes": None},
    {"id": "m3", "content": "second value", "supersedes": "m1"},
    {"id": "m4", "content": "later fact", "supersedes": None},
    {"id": "m5", "content": "far fact", "supersedes": None},
    {"id": "m6", "content": "third value", "supersedes": "m3"},
]


def embedded(texts: list[str]) -> dict[str, np.ndarray]:
    """Far facts are far from all else, and everything else is near."""
    return {text: np.array([0.0, 1.0] if text.startswith("far") else [1.0, 0.0]) for text in texts}


def test_an_answer_takes_the_place_of_what_it_replaced_and_later_facts_take_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_judge, "embedded", embedded)
    (tmp_path / "k_1.json").write_text(json.dumps({"memories": MEMORIES}))
    rows = [{"space": "k_1", "q": "which value", "answers": ["m6"]}, {"space": "k_1", "q": "why", "would": "because"}]
    (tmp_path / "questions_k.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = {(pair.older, pair.newer): pair.answers for pair in asked_pairs.asked_pairs(tmp_path)}
    text = {memory["id"]: memory["content"] for memory in MEMORIES}
    assert found == {
        (asked_text("which value", text[older]), text[newer]): answers
        for older, newer, answers in (
            ("m3", "m6", True), ("m1", "m6", True), ("m4", "m6", True),
            ("m1", "m4", False), ("m1", "m2", False), ("m3", "m4", False),
        )
    }  # fmt: skip


def test_a_tempting_memory_is_read_before_nearer_ones_and_takes_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_judge, "embedded", embedded)
    monkeypatch.setattr(asked_pairs, "WRONG", 1)
    (tmp_path / "k_1.json").write_text(json.dumps({"memories": MEMORIES}))
    row = {"space": "k_1", "q": "which fact", "answers": ["m2"], "tempting": ["m5", "m1"], "contested": False}
    (tmp_path / "contested_k.jsonl").write_text(json.dumps(row))
    found = [pair for pair in asked_pairs.asked_pairs(tmp_path) if not pair.answers]
    assert [(pair.older, pair.newer, pair.hand) for pair in found] == [
        (asked_text("which fact", "near fact"), "far fact", "contested_k")
    ]


@pytest.mark.parametrize("path", sorted(HISTORIES.glob("contested_*.jsonl")), ids=lambda path: path.stem)
def test_each_question_names_answers_that_hold_older_stale_ones_and_later_tempting_ones(path: Path) -> None:
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        memories = json.loads((HISTORIES / f"{row['space']}.json").read_text("utf-8"))["memories"]
        place = {memory["id"]: at for at, memory in enumerate(memories)}
        gone = {memory["supersedes"] for memory in memories}
        answers, stale, tempting = (
            [place[id_] for id_ in row.get(name, ())] for name in ("answers", "stale", "tempting")
        )
        assert answers, line
        assert not gone & set(row["answers"]), line
        assert row["contested"] == bool(stale), line
        assert max(stale, default=-1) < max(answers), line
        assert min(tempting, default=len(memories)) > min(answers), line
        assert not set(tempting) & set(answers), line
