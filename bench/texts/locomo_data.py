"""LoCoMo's conversations as memories and questions, and how an answer is scored; units and scores are the harness's.

The harness is a file that is no part of this repository: it defines `load`, `units_of`, `fix_ev` and `score`.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from bench.texts.documents import Document, remember

from mnemesh import Client

TOP: Final = 10
DIGITS: Final = 4
UNITS: Final = ("turn", "pair")
CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
MULTI_HOP: Final = 1
# Columns of a table, in this order.
FOUND: Final = ("n", "hit@1", "hit@5", "hit@10", "coverage@10", "MRR", "multi-hop coverage@10", "session hit@1")
_THEIRS: Final = {"hit@1": "hit@1", "hit@5": "hit@5", "hit@10": "hit@10", "coverage@10": "cov@10", "MRR": "mrr"}

Unit: TypeAlias = Any  # the harness's: id, text, dia_ids, conv, session, when


class Asked(NamedTuple):
    """A question with the units and the sessions of its evidence."""

    text: str
    category: int
    wanted: frozenset[str]
    sessions: frozenset[str]


class Talk(NamedTuple):
    """A conversation."""

    name: str
    units: list[Unit]
    asked: list[Asked]


def harness_at(path: Path, data: Path) -> ModuleType:
    """The harness, looking for its data in the folder `data`."""
    os.environ["LOCOMO_DIR"] = str(data)
    spec = importlib.util.spec_from_file_location("locomo_harness", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def talks(harness: ModuleType, unit: str, names: Sequence[str] = (), *, repaired: bool = True) -> list[Talk]:
    """Every conversation in units of one turn or a pair. `repaired`: captions in the text, evidence ids repaired, and
    no question without evidence. Otherwise all as it stands, and a question without evidence counts as not found."""
    found = []
    for name, talk, questions in harness.load(None, list(names) or None):
        units = harness.units_of(name, talk, unit, repaired)
        by_turn = {turn: one for one in units for turn in one.dia_ids}
        asked = []
        for question in questions:
            evidence = question.get("evidence") or []
            evidence = [evidence] if isinstance(evidence, str) else evidence
            turns = harness.fix_ev(evidence) if repaired else [str(one) for one in evidence]
            holding = [by_turn[turn] for turn in turns if turn in by_turn]
            if holding or not repaired:
                wanted, sessions = frozenset(one.id for one in holding), frozenset(one.session for one in holding)
                asked.append(Asked(question["question"], question["category"], wanted, sessions))
        found.append(Talk(name, units, asked))
    return found


def remember_units(client: Client, units: Sequence[Unit], space: str, *, tagged: bool = False) -> dict[str, Unit]:
    """Write the units into a space; each by the id of its memory. `tagged`: with the session as a tag, so that a
    session can be left out. Other measurements have no tags, because the words of a tag count. Raises ValueError when
    the node refuses one."""
    documents = []
    for number, unit in enumerate(units):
        when = moment(unit.when) if unit.when else None
        tags = (session_tag(unit.conv, unit.session),) if tagged else ()
        documents.append(Document(unit.id, unit.text, f"{unit.conv}/{unit.session}", number, when, tags))
    stored, refused = remember(client, documents, space)
    if refused:
        raise ValueError(f"the node refused {refused}")
    by_id = {unit.id: unit for unit in units}
    return {key: by_id[id_] for key, id_ in stored.items()}


def moment(when: str) -> datetime:
    """When a unit was said; the harness names no zone, so UTC."""
    return datetime.fromisoformat(when).replace(tzinfo=UTC)


def session_tag(conversation: str, session: str) -> str:
    """The tag of a session."""
    return f"{conversation}/{session}".lower()


class Tally:
    """Sums the scores of many questions."""

    def __init__(self, harness: ModuleType) -> None:
        self._harness = harness
        self._sums: dict[str, list[float]] = defaultdict(list)

    def add(self, conversation: str, asked: Asked, got: Sequence[Unit]) -> None:
        """Count the result for a question, best first."""
        scores = self._harness.score([one.id for one in got], set(asked.wanted))
        for ours, theirs in _THEIRS.items():
            self.note(ours, scores[theirs])
        if asked.category == MULTI_HOP:
            self.note("multi-hop coverage@10", scores["cov@10"])
        first = got[0] if got else None
        right = first is not None and first.conv == conversation and first.session in asked.sessions
        self.note("session hit@1", float(right))

    def note(self, name: str, value: float) -> None:
        """A value of one more question."""
        self._sums[name].append(value)

    def means(self) -> dict[str, float]:
        """The mean of everything, rounded, and how many questions there were."""
        rounded = {name: round(float(np.mean(values)), DIGITS) for name, values in self._sums.items()}
        return {"n": float(len(self._sums["MRR"])), **rounded}


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """The share of pairs that stand the right way round, a tie being half of one."""
    low = np.sort(np.asarray(lower))
    below, up_to = np.searchsorted(low, higher, "left"), np.searchsorted(low, higher, "right")
    return float(np.mean((below + up_to) / 2) / len(low))
