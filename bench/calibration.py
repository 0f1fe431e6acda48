"""`python -m bench.calibration [NODES]`: is the score of recall the probability that a memory answers?

Each corpus is stored in a node of its own, and every question is put to its index as recall puts it. The order is that
of recall's fusion. The table has three figures of each corpus:

- the expected calibration error of the top result, in ten bins of equal count,
- the area under the ROC curve of the top score, for answerable against other questions,
- the share of questions below the threshold of `abstain`.

The results also have the share of right top results, and of the questions of each
label, that a `min_score` lets through. Two rows stand for each corpus: by the coefficients of ranking/relevance.py, and
by coefficients that were fitted on the other corpora alone. Each kind of question counts for a third of a corpus. Nodes
in the folder NODES are used again.

A replaced memory of a team is left out of its answers, because the write guard takes it out of recall.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from bench.node import NodeProcess
from bench.nodes.stored import open_shard
from bench.report import machine
from bench.texts import corpora
from bench.texts.corpora import LABELS, Collection, Question, with_absent
from bench.texts.documents import remember
from bench.texts.locomo_data import auroc
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
from mnemesh_memory.ranking.relevance import (
    ANSWERED_BOTH,
    BEST_FOR_ANSWER,
    BOTH,
    COMPANY_AMONG,
    Coefficients,
    falling,
    surroundings,
)
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values.model import Query

RESULT: Final = Path(__file__).resolve().parent / "results" / "calibration.json"
STORED: Final = "bench-units.json"
BINS: Final = 10
LOOKED_AT: Final = 10
TEAM: Final = "teams, given"
PROJECT: Final = "project, given"
KEPT_BACK: Final = ("teams, kept back", "project, kept back")
WEIGHT_OF_CORPUS: Final = 3_000.0
RIDGE: Final = 1.0
STEPS: Final = 50
# Values of min_score.
CUTS: Final = (0.05, 0.1, 0.15, 0.3, 0.5)
DIGITS: Final = 3

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answer:
    """The best results of one question: the evidence of each in the order of Coefficients without the constant, (n, 5),
    and whether each answers, (n,)."""

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
    sources |= {TEAM: corpora.team("given"), PROJECT: [corpora.project("given")]}
    kept_back = (corpora.team("held_out"), [corpora.project("held_out")])
    sources |= dict(zip(KEPT_BACK, kept_back, strict=True))
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder:
        nodes = given.nodes or Path(folder)
        asked = {name: list(answers(nodes / _slug(name), source)) for name, source in sources.items() if source}
    rows, bins = measured(asked)
    _show(rows)
    facts = {
        "machine": machine(),
        "coefficients": BOTH._asdict(),
        "answered": ANSWERED_BOTH._asdict(),
        "abstain_below": Settings().abstain_below,
    }
    passes = {name: passing(theirs) for name, theirs in asked.items()}
    RESULT.write_text(json.dumps(facts | {"rows": rows, "bins": bins, "passes": passes}, indent=1) + "\n", "utf-8")
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
            vector = worker.embed_questions([question.text])[0]
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
    if among == ():
        return Answer(question.label, np.zeros((0, len(BOTH) - 1)), np.zeros(0))
    candidates = shard.search(search)
    ranked = fuse(candidates, {}, question_of(question.text))
    best = list(islice((item for item in ranked if unit_of[item.id] not in question.replaced), LOOKED_AT))
    ids = [item.id for item in best]
    around = surroundings(candidates, ids[:COMPANY_AMONG], ids)
    evidence, right = [], []
    for item in best:
        unit = unit_of[item.id]
        share = len(asked & terms(texts[unit])) / len(asked) if asked else 0.0
        company = around.company.get(item.id)
        evidence.append((item.cosine or 0.0, share, company or 0.0, float(company is None), around.crowd))
        right.append(float(unit in question.wanted))
    return Answer(question.label, np.clip(np.reshape(evidence, (-1, len(BOTH) - 1)), 0.0, 1.0), np.array(right))


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
    learned = [name for name in asked if name not in KEPT_BACK]
    for name, theirs in asked.items():
        rows[name] = judged(theirs, BOTH, ANSWERED_BOTH)
        bins[name] = [[round(float(value), DIGITS) for value in pair] for pair in binned(theirs, BOTH)]
        others = {other: asked[other] for other in learned if other != name}
        if others and name not in KEPT_BACK:
            rows[f"{name}, fitted on the others"] = judged(theirs, fitted(others), fitted(others, of_answer=True))
    if learned:
        whole = {name: asked[name] for name in learned}
        for name, of_answer in (("fitted on all", False), ("answered, fitted on all", True)):
            rows[name] = {key: round(value, 2) for key, value in fitted(whole, of_answer=of_answer)._asdict().items()}
    return rows, bins


def judged(asked: Sequence[Answer], by: Coefficients, by_of_answer: Coefficients) -> dict[str, float]:
    """Calibration error, AUROC and shares below the threshold of `abstain`."""
    top = np.array([_top(answer, by) for answer in asked])
    here = np.array([_logistic(_strongest(answer), by_of_answer) if len(answer.right) else 0.0 for answer in asked])
    label = np.array([answer.label for answer in asked])
    scores = {one: top[label == one] for one in LABELS}
    flagged = {one: here[label == one] < Settings().abstain_below for one in LABELS}
    pairs = binned(asked, by)
    found = {
        "questions": float(len(asked)),
        "ECE": float(np.mean([abs(score - share) for score, share in pairs])),
        **{f"AUROC {one}": auroc(scores["answerable"], scores[one]) for one in LABELS[1:] if len(scores[one])},
        **{f"abstains {one}": float(flagged[one].mean()) for one in LABELS if len(flagged[one])},
    }
    return {name: round(value, DIGITS) for name, value in found.items()}


def passing(asked: Sequence[Answer]) -> dict[str, dict[str, float]]:
    """By `min_score`: the share of right top results that pass, and of the questions of each label with a top result
    that passes. An answer that abstains passes nothing there, as in hooks."""
    top = np.array([_top(answer, BOTH) for answer in asked])
    right = np.array([len(answer.right) > 0 and answer.right[0] > 0 for answer in asked])
    label = np.array([answer.label for answer in asked])
    here = np.array([_logistic(_strongest(answer), ANSWERED_BOTH) if len(answer.right) else 0.0 for answer in asked])
    sure = here >= Settings().abstain_below
    found = {}
    for cut in CUTS:
        passes = top >= cut
        shares = {"right": passes[right]} | {str(one): (passes & sure)[label == one] for one in LABELS}
        found[f"{cut:g}"] = {name: round(float(share.mean()), DIGITS) for name, share in shares.items() if len(share)}
    return found


def binned(asked: Sequence[Answer], by: Coefficients) -> list[tuple[float, float]]:
    """Ten bins of equal weight by top score: the mean score, and the share of top results that answer."""
    top = np.array([_top(answer, by) for answer in asked])
    right = np.array([answer.right[0] if len(answer.right) else 0.0 for answer in asked])
    weight = weights_of(asked)
    order = np.argsort(top)
    until = np.cumsum(weight[order])
    ends = np.searchsorted(until, until[-1] * np.arange(1, BINS) / BINS, side="right")
    return [
        (float(np.average(top[rows], weights=weight[rows])), float(np.average(right[rows], weights=weight[rows])))
        for rows in np.split(order, ends)
        if len(rows)
    ]


def weights_of(asked: Sequence[Answer]) -> Column:
    """Of each question: the labels of a corpus count alike."""
    counts = Counter(answer.label for answer in asked)
    return np.array([len(asked) / len(counts) / counts[answer.label] for answer in asked])


def _top(answer: Answer, by: Coefficients) -> float:
    if not len(answer.right):
        return 0.0
    return falling([_logistic(row, by) for row in answer.evidence])[0]


def _strongest(answer: Answer) -> Column:
    """The evidence that an answer is here: the best cosine and share of the first results, and what surrounds the
    first."""
    found: Column = np.concatenate([answer.evidence[:BEST_FOR_ANSWER, :2].max(axis=0), answer.evidence[0, 2:]])
    return found


def _logistic(evidence: Column, by: Coefficients) -> float:
    return float(1.0 / (1.0 + np.exp(-(evidence @ np.array(by[:-1]) + by.constant))))


def fitted(asked: Mapping[str, Sequence[Answer]], *, of_answer: bool = False) -> Coefficients:
    """The logistic model of these corpora, each of the same weight, by Newton's method: whether the first result
    answers, or with `of_answer` whether an answer is here."""
    rows, right, weight = [], [], []
    for theirs in asked.values():
        first = [answer for answer in theirs if len(answer.right)]
        rows.append(np.array([_strongest(answer) if of_answer else answer.evidence[0] for answer in first]))
        right.append([answer.label == LABELS[0] if of_answer else answer.right[0] for answer in first])
        whole = weights_of(first)
        weight.append(whole * WEIGHT_OF_CORPUS / whole.sum())
    values, wanted, share = np.concatenate(rows), np.concatenate(right).astype(float), np.concatenate(weight)
    values = np.hstack([values, np.ones((len(values), 1))])
    if of_answer:  # among many near memories an answer is no less likely
        values[:, Coefficients._fields.index("crowd")] = 0.0
    ridge = np.diag([*(RIDGE,) * (len(BOTH) - 1), 0.0])
    found = np.zeros(len(BOTH))
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
    print({name: dict(row) for name, row in rows.items() if name.endswith("fitted on all")})


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
