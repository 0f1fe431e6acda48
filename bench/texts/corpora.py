"""Five corpora in one form: units as memories, and questions with the units that answer them.

LoCoMo (Maharana et al., ACL 2024), RealMem (arXiv:2601.06966), FriendsQA (Yang and Choi, SIGDIAL 2019), the
histories of software teams in tests/data/team, and the software project in tests/data/project. The first three are no
part of this repository.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from bench.texts import locomo_data
from bench.texts.documents import Document
from bench.texts.locomo_data import MULTI_HOP, harness_at, moment

Label: TypeAlias = Literal["answerable", "unanswerable", "same_topic"]
LABELS: Final[tuple[Label, ...]] = ("answerable", "unanswerable", "same_topic")
DATA: Final = Path(__file__).resolve().parents[2] / "tests" / "data"
TEAM: Final = DATA / "team"
PROJECT: Final = DATA / "project"
# Below the limit of a memory: one turn of RealMem is longer.
TEXT_CHARS_MAX: Final = 30_000
QUESTION_CHARS_MAX: Final = 8_000


@dataclass(frozen=True, slots=True)
class Question:
    """`wanted`: the units that answer, none for the two other labels. `replaced`: units that answered before.
    `before`: the first so many units are known when the question comes, all when None. `several`: the answer has
    pieces in several units (multi-hop)."""

    text: str
    label: Label
    wanted: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()
    before: int | None = None
    several: bool = False


@dataclass(frozen=True, slots=True)
class Collection:
    """The units of one space, in order of time, with its questions."""

    name: str
    units: list[Document]
    questions: list[Question]

    @property
    def space(self) -> str:
        """A space of its own."""
        return "corpus/" + "".join(sign if sign.isalnum() else "-" for sign in self.name.lower())

    def sessions_of(self, question: Question) -> frozenset[str]:
        """The sessions with something that answers."""
        return frozenset(unit.session for unit in self.units if unit.id in question.wanted)


def locomo(harness: Path, data: Path) -> list[Collection]:
    """The conversations in units of one turn."""
    found = []
    for talk in locomo_data.talks(harness_at(harness, data), "turn"):
        units = [
            Document(
                unit.id, unit.text, f"{unit.conv}/{unit.session}", number, moment(unit.when) if unit.when else None
            )
            for number, unit in enumerate(talk.units)
        ]
        asked = [
            Question(asked.text, "answerable", asked.wanted, several=asked.category == MULTI_HOP)
            for asked in talk.asked
            if asked.wanted
        ]
        found.append(Collection(talk.name, units, asked))
    return found


def turns(path: Path) -> Collection:
    """A file of RealMem or FriendsQA: turns in order, and questions with the turns of their evidence."""
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    name = str(data.get("id") or path.stem)
    units = [
        Document(
            f"{name}/{turn['id']}",
            f"[{turn['speaker']}] {turn['text']}"[:TEXT_CHARS_MAX],
            f"{name}/{turn['session']}",
            number,
            moment(turn["time"][:10]) if turn["time"] else None,
        )
        for number, turn in enumerate(data["turns"])
    ]
    known = {unit.id for unit in units}
    asked = [
        Question(
            one["question"][:QUESTION_CHARS_MAX],
            "answerable",
            frozenset(f"{name}/{turn}" for turn in one["evidence"]) & known,
            before=one.get("before"),
        )
        for one in data["questions"]
    ]
    asked = [replace(question, several=len(question.wanted) > 1) for question in asked if question.wanted]
    return Collection(name, units, asked)


def team(half: str) -> list[Collection]:
    """The histories of the `given` or the `held_out` half."""
    found = []
    for path in sorted(TEAM.glob(f"{half}_*.json")):
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        name = path.stem
        units = [
            Document(
                f"{name}/{memory['id']}",
                memory["content"],
                f"{name}/{memory['id']}",
                when=moment(memory["at"][:19]),
                kind=memory["kind"],
            )
            for memory in data["memories"]
        ]
        asked = [
            Question(
                one["text"],
                one["label"],
                frozenset(f"{name}/{id_}" for id_ in one["answers"]),
                frozenset(f"{name}/{id_}" for id_ in one["stale"]),
                several=len(one["answers"]) > 1,
            )
            for one in data["questions"]
        ]
        found.append(Collection(name, units, asked))
    return found


def project(half: str) -> Collection:
    """The software project with the questions of the `given` or the `held_out` half."""
    units = [
        Document(row["id"], row["content"], row["id"], when=moment(row["at"][:19]), kind=row["kind"])
        for row in rows_of(PROJECT / "memories.jsonl")
    ]
    asked = [
        Question(
            row["question"],
            row["label"],
            frozenset(row["answers"]),
            frozenset(row["stale"]),
            several=len(row["answers"]) > 1,
        )
        for row in project_questions(half)
    ]
    return Collection("project", units, asked)


def project_questions(half: str) -> list[dict[str, Any]]:
    """The questions of the `given` half (odd numbers) or of the `held_out` one (even numbers)."""
    return [row for row in rows_of(PROJECT / "questions.jsonl") if int(row["id"][-3:]) % 2 == (half == "given")]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def with_absent(collections: Sequence[Collection]) -> Iterator[tuple[Collection, Question, frozenset[str]]]:
    """Every question with the collection that it is put to, and the sessions that are left out.

    An answerable question of a corpus without labels of its own comes three times: as it is, put to the next
    collection (unanswerable), and without the sessions of its evidence (same topic).
    """
    for number, collection in enumerate(collections):
        labelled = any(question.label != "answerable" for question in collection.questions)
        for question in collection.questions:
            yield collection, question, frozenset()
            if labelled:
                continue
            absent = replace(question, wanted=frozenset(), before=None)
            yield collections[number - 1], replace(absent, label="unanswerable"), frozenset()
            without = replace(absent, label="same_topic", before=question.before)
            yield collection, without, collection.sessions_of(question)
