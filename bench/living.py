"""`python -m bench.living`: what each dynamic of memory changes, against the same without it.

- Temporal neighbours: engram slots against time windows, on simulated days of agents who share a space. The truth is
  the task of a memory. Precision is the share of neighbours that belong to the task. Recall is the share of the
  task's memories, five at most, among the neighbours.
- Reconsolidation: verdicts on the labelled pairs of tests/data/guard with and without an open window. A second
  sentence in the older memory leaves only a part contested.
- Surprisal: mean bits and the share of surprising texts in the team histories, for updates and for the rest. Each
  memory is compared with earlier ones. "Gone on" applies the discount for a task going on.
- Forgetting: tokens shown and answers kept on the team histories, at three heats. An answer is kept when a form holds
  every expected word of the question.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from bisect import bisect_left, insort
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_memory.policy.dynamics.engram import (
    MEMORIES_MAX,
    NEIGHBOURS_MAX,
    REACH_MS,
    EngramTable,
    Neighbour,
    nearest,
)
from mnemesh_memory.policy.dynamics.forgetting import shown
from mnemesh_memory.policy.dynamics.reconsolidation import Labile, reconsolidated
from mnemesh_memory.policy.dynamics.surprisal import SURPRISING_BITS, continuity, surprise
from mnemesh_memory.policy.judge.guard import OlderText, judge
from mnemesh_memory.text.text import estimate_tokens

DATA: Final = Path(__file__).resolve().parent.parent / "tests" / "data"
MINUTE_MS: Final = 60_000
BATCH: Final = 32
SEEDS: Final = 20
DAYS: Final = 10
ASIDE: Final = " Petra answers questions about invoices."
HEATS: Final = (0.5, 0.2, 0.03)


class WindowTable:
    """A plain time window: the nearest in time of a space, within REACH_MS."""

    def __init__(self) -> None:
        self.position = ("", 0)
        self._times: dict[str, list[tuple[int, str]]] = {}
        self._place: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def take(self, id_: str, space: str, agent: str, at: int) -> None:
        if id_ in self._place:
            return
        insort(self._times.setdefault(space, []), (at, id_))
        self._place[id_] = space, at
        if len(self._place) > MEMORIES_MAX:
            self.end(next(iter(self._place)))

    def end(self, id_: str) -> None:
        space, at = self._place.pop(id_, ("", 0))
        if space:
            times = self._times[space]
            del times[bisect_left(times, (at, id_))]

    def clear(self) -> None:
        self.position = ("", 0)
        self._times.clear()
        self._place.clear()

    def neighbours(self, id_: str) -> list[Neighbour]:
        space, at = self._place.get(id_, ("", 0))
        if not space:
            return []
        times = self._times[space]
        here = bisect_left(times, (at, id_))
        around = times[max(0, here - NEIGHBOURS_MAX) : here + NEIGHBOURS_MAX + 1]
        return nearest(id_, {other: then for then, other in around if abs(then - at) <= REACH_MS})


class AgentWindow(WindowTable):
    """A time window of one agent."""

    def take(self, id_: str, space: str, agent: str, at: int) -> None:
        super().take(id_, f"{space} {agent}", agent, at)


RIVALS: Final[dict[str, type[EngramTable] | type[WindowTable]]] = {
    "engram slots": EngramTable,
    "time window": WindowTable,
    "window of the agent": AgentWindow,
}


class Made(NamedTuple):
    """A simulated memory with the task that it was written for."""

    at: int
    agent: str
    task: str


def days_of(seed: int, agents: int) -> list[Made]:
    """The memories of some agents in one space. Each works on tasks one after the other, sometimes on a task of another
    agent, with minutes between the memories of a task and longer between tasks."""
    chance = random.Random(seed)
    made: list[Made] = []
    for number in range(agents):
        for day in range(DAYS):
            at = (day * 24 + 9) * 60 * MINUTE_MS + int(chance.expovariate(1 / 30) * MINUTE_MS)
            end = (day * 24 + 18) * 60 * MINUTE_MS
            task = 0
            while at < end:
                owner = chance.randrange(agents) if chance.random() < 0.2 else number
                for _ in range(1 + int(chance.expovariate(1 / 4))):
                    made.append(Made(at, f"a{number}", f"{owner}/{day}/{task}"))
                    at += int(chance.expovariate(1 / 5) * MINUTE_MS) + 1
                at += int(chance.expovariate(1 / 40) * MINUTE_MS)
                task += 1
    return sorted(made)


def temporal(table: EngramTable | WindowTable, made: Sequence[Made]) -> tuple[float, float]:
    """Precision and recall of a table's neighbours."""
    for number, one in enumerate(made):
        table.take(str(number), "s", one.agent, one.at)
    sizes = Counter(one.task for one in made)
    right = named = wanted = 0
    for number, one in enumerate(made):
        found = table.neighbours(str(number))
        right += sum(made[int(near.id)].task == one.task for near in found)
        named += len(found)
        wanted += min(NEIGHBOURS_MAX, sizes[one.task] - 1)
    return right / max(1, named), right / max(1, wanted)


def temporal_rows() -> Iterator[tuple[str, ...]]:
    """A row for each number of agents and table."""
    for agents in (1, 2, 4):
        for name, make in RIVALS.items():
            both = [temporal(make(), days_of(seed, agents)) for seed in range(SEEDS)]
            precision, recall = (sum(one[at] for one in both) / SEEDS for at in (0, 1))
            yield str(agents), name, f"{precision:.3f}", f"{recall:.3f}", f"{_f1(precision, recall):.3f}"


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def window_rows() -> Iterator[tuple[str, ...]]:
    """For each half and label, the outcomes of the guard alone and in an open window."""
    for half in ("given", "held_out", "tuned"):
        rows = [json.loads(line) for line in (DATA / "guard" / f"{half}.jsonl").read_text("utf-8").splitlines()]
        for label in ("update", "contradiction", "distinct", "elaboration"):
            counted: Counter[str] = Counter()
            for row in rows:
                if row["label"] == label:
                    for aside in ("", ASIDE):
                        counted.update(_verdicts(row["older"], row["newer"], aside))
            columns = ("SUPERSEDE alone", "SUPERSEDE in window", "UPDATE alone", "UPDATE in window", "pairs")
            yield half, label, *(str(counted[name]) for name in columns)


def _verdicts(older: str, newer: str, aside: str) -> Iterator[str]:
    text = older.rstrip(". ") + "." + aside if aside else older
    old = OlderText(id="old", text=text, kind="fact", cosine=0.75, replaceable=True, heads=("1@a",))
    alone = judge(newer, "fact", [old])
    yield "pairs"
    yield f"{alone.action} alone"
    yield f"{reconsolidated(newer, 'fact', alone, [Labile(old, 0)]).verdict.action} in window"


def surprisal_rows() -> Iterator[tuple[str, ...]]:
    """A row for updates, for the rest, and for each of them with the discount."""
    bits: dict[tuple[str, str], list[float]] = {}
    for path in sorted((DATA / "team").glob("*.json")):
        memories = json.loads(path.read_text("utf-8"))["memories"]
        vectors = unit_vectors([one["content"] for one in memories])
        at = [int(datetime.fromisoformat(one["at"]).timestamp() * 1000) for one in memories]
        samples: list[float] = []
        for number in range(1, len(memories)):
            cosines = (vectors[:number] @ vectors[number]).tolist()
            novelty = min(1.0, max(0.0, 1.0 - max(cosines)))
            author = memories[number]["author"]
            own = [(cosines[place], at[place]) for place in range(number) if memories[place]["author"] == author]
            kind = "updates" if memories[number]["supersedes"] else "the rest"
            for name, going_on in (("alone", 0.0), ("gone on", continuity(own, at[number]))):
                if (found := surprise(novelty, samples, going_on)) is not None:
                    bits.setdefault((kind, name), []).append(found.bits)
            samples.append(novelty)
    for (kind, name), values in sorted(bits.items()):
        surprising = sum(value >= SURPRISING_BITS for value in values) / len(values)
        yield kind, name, str(len(values)), f"{sum(values) / len(values):.2f}", f"{surprising:.3f}"


def unit_vectors(texts: Sequence[str]) -> NDArray[np.float64]:
    """The embeddings of texts, of length 1."""
    with closing(EmbeddingWorker(ModelConfig(download=False))) as worker:
        worker.load()
        parts = [worker.embed(list(texts[at : at + BATCH])) for at in range(0, len(texts), BATCH)]
    vectors = np.concatenate(parts).astype(np.float64)
    made: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return made


def forgetting_rows() -> Iterator[tuple[str, ...]]:
    """For each heat, the shown share of the tokens and the answers that stay, with and without the question."""
    for heat in HEATS:
        whole = short = kept = blind = answers = 0
        for question, answer, text in answered():
            whole += estimate_tokens(text)
            form = shown(text, heat, question)
            short += estimate_tokens(form.text)
            answers += 1
            kept += _holds(form.text, answer)
            blind += _holds(shown(text, heat).text, answer)
        yield f"{heat}", f"{short / whole:.2f}", f"{kept / answers:.3f}", f"{blind / answers:.3f}"


def answered() -> Iterator[tuple[str, str, str]]:
    """Questions of the team histories with the sentence that answers, inside a page of ten memories of its history."""
    for path in sorted((DATA / "team").glob("*.json")):
        history = json.loads(path.read_text("utf-8"))
        texts = [one["content"] for one in history["memories"]]
        for question in history["questions"]:
            place = _place(history, question)
            if place is not None:
                start = max(0, min(place - 5, len(texts) - 10))
                yield question["text"], texts[place], "\n".join(texts[start : start + 10])


def _place(history: dict[str, Any], question: dict[str, Any]) -> int | None:
    """The place of the memory that answers alone."""
    ids = [one["id"] for one in history["memories"]]
    right = question["answers"]
    return ids.index(right[0]) if len(right) == 1 else None


def _holds(text: str, sentence: str) -> bool:
    return sentence.strip() in text


TABLES_SHOWN: Final[dict[str, tuple[tuple[str, ...], Callable[[], Iterator[tuple[str, ...]]]]]] = {
    "temporal": (("agents", "table", "precision", "recall", "F1"), temporal_rows),
    "window": (
        ("half", "label", "SUPERSEDE alone", "in window", "UPDATE alone", "in window", "pairs"),
        window_rows,
    ),
    "surprisal": (("memories", "discount", "number", "mean bits", "surprising"), surprisal_rows),
    "forgetting": (("heat", "tokens shown", "answers kept", "without the question"), forgetting_rows),
}


def main(argv: Sequence[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="bench.living", description=__doc__)
    parser.add_argument("--only", choices=TABLES_SHOWN, action="append")
    console = Console(width=120)
    for name in parser.parse_args(argv).only or TABLES_SHOWN:
        columns, rows = TABLES_SHOWN[name]
        table = Table(*columns, title=name)
        for row in rows():
            table.add_row(*row)
        console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
