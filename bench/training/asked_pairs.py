"""Pairs with a question, for the reader of asked pairs: does the newer text answer in the place of the older one?

The questions on histories (tests/data/histories: questions_*.jsonl, contested_*.jsonl) name the memories that answer.
Such a memory takes the place of those that it replaced, and of older near ones that don't answer. A near memory that
came later and does not answer takes the place of none, first of all the `tempting` ones that the hand named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from bench.training import pair_judge
from numpy.typing import NDArray

from mnemesh_memory.policy.judge.reading import asked_text

ON_HISTORIES: Final = ("questions_", "contested_")  # files of questions on histories begin so
# Their questions came after the reader of pairs. They teach the reader of asked pairs alone (`asked_training`).
OF_ASKED_READER: Final = tuple(f"contested_{hand}" for hand in "ijkmnopqrstuvwx")
# Beside a text stand so many later ones that don't answer, the nearest to the text and the question.
WRONG: Final = 3
OTHERS: Final = 1  # older texts that don't answer, beside an answer
COSINE_MIN: Final = 0.2


class AskedPair(NamedTuple):
    """A question with an older text, and a newer text that `answers` in its place or not. `hand` asked."""

    older: str
    newer: str
    answers: bool
    hand: str


def asked_pairs(folder: Path) -> list[AskedPair]:
    """The pairs of all questions of a folder of histories that a memory answers."""
    asked = [
        (path.stem, json.loads(line))
        for path in sorted(path for beginning in ON_HISTORIES for path in folder.glob(f"{beginning}*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    answered = [(hand, row) for hand, row in asked if "answers" in row]
    spaces = sorted({row["space"] for _, row in answered})
    histories = {space: json.loads((folder / f"{space}.json").read_text("utf-8"))["memories"] for space in spaces}
    texts = {memory["content"] for memories in histories.values() for memory in memories}
    vectors = pair_judge.embedded(sorted(texts | {row["q"] for _, row in answered}))
    return [pair for hand, row in answered for pair in _of_question(hand, row, histories[row["space"]], vectors)]


def _of_question(
    hand: str, row: Mapping[str, Any], memories: Sequence[Mapping[str, Any]], vectors: Mapping[str, NDArray[np.float64]]
) -> Iterator[AskedPair]:
    place = {memory["id"]: at for at, memory in enumerate(memories)}
    texts = [memory["content"] for memory in memories]
    table = np.array([vectors[text] for text in texts])
    like_question = table @ vectors[row["q"]]
    answers = [place[id_] for id_ in row["answers"]]
    replaced = {at: _replaced(at, memories, place) for at in answers}
    known = {*answers, *(at for elders in replaced.values() for at in elders)}

    def pair(older: int, newer: int, *, answers: bool) -> AskedPair:
        return AskedPair(asked_text(row["q"], texts[older]), texts[newer], answers, hand)

    def nearest(at: int, others: range, likeness: NDArray[np.float64], number: int) -> list[int]:
        near = [other for other in others if other not in known and table[at] @ table[other] >= COSINE_MIN]
        return sorted(near, key=lambda other: (-likeness[other], -other))[:number]

    for newer, elders in replaced.items():
        yield from (pair(older, newer, answers=True) for older in elders)
        yield from (pair(older, newer, answers=True) for older in nearest(newer, range(newer), like_question, OTHERS))
    tempting = [place[id_] for id_ in row.get("tempting", ())]
    for at in sorted(known):
        named = [other for other in tempting if other > at]
        later = nearest(at, range(at + 1, len(memories)), table @ table[at] + like_question, WRONG)
        yield from (pair(at, other, answers=False) for other in dict.fromkeys([*named, *later][:WRONG]))


def _replaced(at: int, memories: Sequence[Mapping[str, Any]], place: Mapping[str, int]) -> list[int]:
    """The places of the memories that one replaced, in all steps."""
    found: list[int] = []
    while memories[at]["supersedes"]:
        at = place[memories[at]["supersedes"]]
        found.append(at)
    return found
