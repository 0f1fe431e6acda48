"""`python -m bench.calibration [NODES]`: is the score of recall the probability that a memory answers?

Each corpus is stored in a node of its own, and every question is put to its index as recall puts it. The order is that
of recall's fusion. The table has, for each corpus, the expected calibration error of the top result (ten bins of equal
count), the area under the ROC curve of the top score for answerable against other questions, and the share of questions
below the threshold of `abstain`. Two rows stand for each corpus: by the coefficients of ranking/relevance.py, and by
coefficients that were fitted on the other corpora alone. Nodes in the folder NODES are used again.

A replaced memory of a team is left out of its answers, because the write guard takes it out of recall.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from bench import corpora
from bench.corpora import LABELS, Collection, Question, with_absent
from bench.documents import remember
from bench.locomo_data import auroc
from bench.node import NodeProcess
from bench.report import machine
from bench.stored import open_shard
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from mnemesh import Client
from mnemesh_actors.index.shard import RetrievalShard
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.recall.search_calls import search_of
from mnemesh_gateway.node.settings import Settings
from mnemesh_memory.ranking.coverage import terms
from mnemesh_memory.ranking.fusion import fuse
from mnemesh_memory.ranking.relevance import BOTH, Coefficients, falling
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values.model import Query

RESULT: Final = Path(__file__).resolve().parent / "results" / "calibration.json"
STORED: Final = "bench-units.json"
BINS: Final = 10
LOOKED_AT: Final = 10
# The model is fitted to the best three of an answer, so that results behind the first count too.
FITTED_ON: Final = 3
# Statements of a team are what the product is for, and chats have evidence of a single turn.
WEIGHT_OF_TEAM: Final = 5.0
TEAM: Final = "teams, given"
KEPT_BACK: Final = "teams, kept back"
RIDGE: Final = 1.0
STEPS: Final = 50
DIGITS: Final = 3

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answer:
    """The best results of one question: cosine and share of each, (n, 2), and whether each answers, (n,)."""

    label: str
    evidence: Column
    right: Column


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.calibration", description="Is the score a probability?")
    parser.add_argument("nodes", nargs="?", type=Path, help="where the nodes stay for the next run")
    parser.add_argument("--locomo", nargs=2, type=Path, metavar=("HARNESS", "DATA"), help="locomo_eval.py and its data")
    parser.add_argument("--realmem", type=Path, help="folder of RealMem's files")
    parser.add_argument("--friendsqa", type=Path, help="a file of FriendsQA")
    given = parser.parse_args(argv)
    talks = corpora.locomo(*given.locomo) if given.locomo else []
    sources = {"LoCoMo": talks}
    if given.realmem:
        sources["RealMem"] = [corpora.turns(path) for path in sorted(given.realmem.glob("*.json"))]
    if given.friendsqa:
        # Its questions are also put to another conversation, where one is given.
        others = [replace(talks[0], questions=[])] if talks else []
        sources["FriendsQA"] = [corpora.turns(given.friendsqa), *others]
    sources |= {TEAM: corpora.team("given"), KEPT_BACK: corpora.team("held_out")}
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder:
        nodes = given.nodes or Path(folder)
        asked = {name: list(answers(nodes / _slug(name), source)) for name, source in sources.items() if source}
    rows, bins = measured(asked)
    _show(rows)
    facts = {"machine": machine(), "coefficients": BOTH._asdict(), "abstain_below": Settings().abstain_below}
    RESULT.write_text(json.dumps(facts | {"rows": rows, "bins": bins}, indent=1) + "\n", "utf-8")
    return 0


def answers(node: Path, collections: Sequence[Collection]) -> Iterator[Answer]:
    """Every question of a corpus, with the evidence of its best results."""
    keys = stored(node, collections)
    texts = {unit.id: unit.text for collection in collections for unit in collection.units}
    unit_of = {key: unit for unit, key in keys.items()}
    shard = open_shard(node)
    with closing(shard), closing(EmbeddingWorker(ModelConfig(download=False))) as worker:
        worker.load()
        for collection, question, without in with_absent(collections):
            among = None
            if without or question.before is not None:
                units = collection.units[: question.before]
                among = tuple(keys[unit.id] for unit in units if unit.session not in without and unit.id in keys)
            vector = worker.embed([question.text])[0]
            yield _answer(shard, collection.space, question, vector, among, unit_of, texts)


def _answer(
    shard: RetrievalShard,
    space: str,
    question: Question,
    vector: NDArray[np.float32],
    among: tuple[str, ...] | None,
    unit_of: Mapping[str, str],
    texts: Mapping[str, str],
) -> Answer:
    query = Query(text=question.text, spaces=(space,), limit=LOOKED_AT)
    search = replace(search_of(query, shard.generation, among, late=False), vector=vector)
    asked = terms(question.text)
    evidence, right = [], []
    for item in fuse(shard.search(search), {}, question_of(question.text)) if among != () else ():
        unit = unit_of[item.id]
        if unit not in question.replaced:
            share = len(asked & terms(texts[unit])) / len(asked) if asked else 0.0
            evidence.append((item.cosine or 0.0, share))
            right.append(float(unit in question.wanted))
        if len(right) == LOOKED_AT:
            break
    return Answer(question.label, np.clip(np.reshape(evidence, (-1, 2)), 0.0, 1.0), np.array(right))


def stored(node: Path, collections: Sequence[Collection]) -> dict[str, str]:
    """The memory of each unit; stores what is not stored yet."""
    kept = node / STORED
    if not kept.exists():
        found: dict[str, str] = {}
        with NodeProcess(node) as process, Client(process.address.grpc, process.token) as client:
            for collection in collections:
                stored, _ = remember(client, collection.units, collection.space)
                found |= {unit: key for key, unit in stored.items()}
        kept.write_text(json.dumps(found), "utf-8")
    units: dict[str, str] = json.loads(kept.read_text("utf-8"))
    return units


def measured(asked: Mapping[str, Sequence[Answer]]) -> tuple[dict[str, dict[str, float]], dict[str, list[list[float]]]]:
    """The rows of the table, and the bins of each corpus by recall's own coefficients: mean score and share right."""
    rows, bins = {}, {}
    learned = [name for name in asked if name != KEPT_BACK]
    for name, theirs in asked.items():
        rows[name] = judged(theirs, BOTH)
        bins[name] = [[round(float(value), DIGITS) for value in pair] for pair in binned(theirs, BOTH)]
        others = {other: asked[other] for other in learned if other != name}
        if others and name != KEPT_BACK:
            rows[f"{name}, fitted on the others"] = judged(theirs, fitted(others))
    if learned:
        everything = fitted({name: asked[name] for name in learned})
        rows["fitted on all"] = {key: round(value, 2) for key, value in everything._asdict().items()}
    return rows, bins


def judged(asked: Sequence[Answer], by: Coefficients) -> dict[str, float]:
    """Calibration error, AUROC and shares below the threshold of `abstain`."""
    top = np.array([_top(answer, by) for answer in asked])
    label = np.array([answer.label for answer in asked])
    scores = {one: top[label == one] for one in LABELS}
    pairs = binned(asked, by)
    below = Settings().abstain_below
    found = {
        "questions": float(len(asked)),
        "ECE": float(np.mean([abs(score - share) for score, share in pairs])),
        **{f"AUROC {one}": auroc(scores["answerable"], scores[one]) for one in LABELS[1:] if len(scores[one])},
        **{f"abstains {one}": float((scores[one] < below).mean()) for one in LABELS if len(scores[one])},
    }
    return {name: round(value, DIGITS) for name, value in found.items()}


def binned(asked: Sequence[Answer], by: Coefficients) -> list[tuple[float, float]]:
    """Ten bins of equal count by top score: the mean score, and the share of top results that answer."""
    top = np.array([_top(answer, by) for answer in asked])
    right = np.array([answer.right[0] if len(answer.right) else 0.0 for answer in asked])
    return [(float(top[rows].mean()), float(right[rows].mean())) for rows in np.array_split(np.argsort(top), BINS)]


def _top(answer: Answer, by: Coefficients) -> float:
    if not len(answer.right):
        return 0.0
    logit = answer.evidence @ np.array(by[:2]) + by.constant
    return falling((1.0 / (1.0 + np.exp(-logit))).tolist())[0]


def fitted(asked: Mapping[str, Sequence[Answer]]) -> Coefficients:
    """The logistic model of these corpora, each of the same weight but for the teams, by Newton's method."""
    rows, right, weight = [], [], []
    for name, theirs in asked.items():
        first = [answer for answer in theirs if len(answer.right)]
        rows.append(np.concatenate([answer.evidence[:FITTED_ON] for answer in first]))
        right.append(np.concatenate([answer.right[:FITTED_ON] for answer in first]))
        whole = WEIGHT_OF_TEAM if name == TEAM else 1.0
        weight.append(np.full(len(right[-1]), whole * 3_000 / len(right[-1])))
    values, wanted, share = np.concatenate(rows), np.concatenate(right), np.concatenate(weight)
    values = np.hstack([values, np.ones((len(values), 1))])
    ridge = np.diag([RIDGE, RIDGE, 0.0])
    found = np.zeros(3)
    for _ in range(STEPS):
        said = 1.0 / (1.0 + np.exp(-values @ found))
        slope = values.T @ (share * (wanted - said)) - ridge @ found
        bend = (values * (share * said * (1.0 - said))[:, np.newaxis]).T @ values + ridge
        found += np.linalg.solve(bend, slope)
    return Coefficients(*found.tolist())


def _slug(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def _show(rows: Mapping[str, Mapping[str, float]]) -> None:
    names = list(next(iter(rows.values())))
    table = Table("corpus", *names, title="top result", title_justify="left")
    for name, row in rows.items():
        table.add_row(name, *(f"{row[figure]:g}" if figure in row else "" for figure in names))
    Console(width=None if sys.stdout.isatty() else 180).print(table)
    print({name: dict(row) for name, row in rows.items() if name == "fitted on all"})


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
