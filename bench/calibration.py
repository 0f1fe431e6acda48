"""`python -m bench.calibration [NODES]`: is the score of recall the probability that a memory answers?

Each corpus is stored in a node of its own, and every question is put to its index as recall puts it. The order is that
of recall's fusion. The table has these figures of each corpus:

- the expected calibration error of the top result, in ten bins of equal count,
- the area under the ROC curve of the top score, and of `answered`, for answerable against other questions,
- the share of questions below the threshold of `abstain`.

The results also have the share of right top results, and of the questions of each
label, that a `min_score` lets through. Two rows stand for each corpus: by the coefficients of ranking/relevance.py, and
by coefficients that were fitted on the other corpora alone. Both stand again as "verified", with the best three results
read beside the question where an answer is in doubt. Each kind of question counts for a third of a corpus. Nodes
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
from mnemesh_actors.embedding.answer_reading import passage_of
from mnemesh_actors.index.shard import RetrievalShard
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.recall.search_calls import search_of
from mnemesh_gateway.node.settings import Settings
from mnemesh_memory.ranking.coverage import terms
from mnemesh_memory.ranking.fusion import fuse
from mnemesh_memory.ranking.relevance import (
    ANSWERED,
    BEST_FOR_ANSWER,
    COMPANY_AMONG,
    RELEVANT,
    Coefficients,
    Models,
    ResultEvidence,
    answered,
    in_doubt,
    logit,
    relevances,
    strongest_of,
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
    """The best results of one question: the evidence of each, and whether each answers."""

    label: str
    evidence: tuple[ResultEvidence, ...]
    right: tuple[bool, ...]


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
        "coefficients": {"unread": RELEVANT.both._asdict(), "read": RELEVANT.read._asdict()},
        "answered": {"unread": ANSWERED.both._asdict(), "read": ANSWERED.read._asdict()},
        "abstain_below": Settings().abstain_below,
    }
    passes = {name: passing([unread(answer) for answer in theirs]) for name, theirs in asked.items()}
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
            yield _answer(shard, worker, collection.space, question, among, unit_of, texts)


def _answer(
    shard: RetrievalShard,
    worker: EmbeddingWorker,
    space: str,
    question: Question,
    among: tuple[str, ...] | None,
    unit_of: Mapping[str, str],
    texts: Mapping[str, str],
) -> Answer:
    query = Query(text=question.text, spaces=(space,), limit=LOOKED_AT)
    vector = worker.embed_questions([question.text])[0]
    search = replace(search_of(query, shard.generation, among, late=False), vector=vector)
    asked = terms(question.text)
    if among == ():
        return Answer(question.label, (), ())
    candidates = shard.search(search)
    ranked = fuse(candidates, {}, question_of(question.text))
    best = list(islice((item for item in ranked if unit_of[item.id] not in question.replaced), LOOKED_AT))
    ids = [item.id for item in best]
    around = surroundings(candidates, ids[:COMPANY_AMONG], ids)
    evidence = []
    for item in best:
        share = len(asked & terms(texts[unit_of[item.id]])) / len(asked) if asked else 0.0
        evidence.append(ResultEvidence(item.cosine, share, around.company.get(item.id), around.crowd))
    if in_doubt(evidence):
        first = evidence[:BEST_FOR_ANSWER]
        passages = [passage_of(texts[unit_of[item.id]], question.text) for item in best[: len(first)]]
        read = worker.read_answers(question.text, passages)
        evidence[: len(first)] = [row._replace(read=one) for row, one in zip(first, read, strict=True)]
    return Answer(question.label, tuple(evidence), tuple(unit_of[item.id] in question.wanted for item in best))


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
        plain = [unread(answer) for answer in theirs]
        bins[name] = [[round(float(value), DIGITS) for value in pair] for pair in binned(plain, RELEVANT)]
        others = {other: asked[other] for other in learned if other != name}
        for read, row in ((plain, name), (theirs, f"{name}, verified")):
            rows[row] = judged(read, RELEVANT, ANSWERED)
            if others and name not in KEPT_BACK:
                by_others = fitted(others), fitted(others, of_answer=True)
                rows[f"{row}, fitted on the others"] = judged(read, *by_others)
    if learned:
        whole = {name: asked[name] for name in learned}
        for of_answer in (False, True):
            models = fitted(whole, of_answer=of_answer)
            for kind, by in (("unread", models.both), ("read", models.read)):
                name = f"{'answered' if of_answer else 'relevant'} {kind}, fitted on all"
                rows[name] = {key: round(value, 2) for key, value in by._asdict().items()}
    return rows, bins


def unread(answer: Answer) -> Answer:
    """The same as if no model had read it."""
    return replace(answer, evidence=tuple(row._replace(read=None) for row in answer.evidence))


def judged(asked: Sequence[Answer], relevant: Models, of_answer: Models) -> dict[str, float]:
    """Calibration error, AUROC and shares below the threshold of `abstain`."""
    top = np.array([_top(answer, relevant) for answer in asked])
    here = np.array([answered(answer.evidence, of_answer) for answer in asked])
    label = np.array([answer.label for answer in asked])
    scores = {one: top[label == one] for one in LABELS}
    sure = {one: here[label == one] for one in LABELS}
    flagged = {one: sure[one] < Settings().abstain_below for one in LABELS}
    pairs = binned(asked, relevant)
    found = {
        "questions": float(len(asked)),
        "read": float(np.mean([any(row.read is not None for row in answer.evidence) for answer in asked])),
        "ECE": float(np.mean([abs(score - share) for score, share in pairs])),
        **{f"AUROC {one}": auroc(scores["answerable"], scores[one]) for one in LABELS[1:] if len(scores[one])},
        **{f"answered {one}": auroc(sure["answerable"], sure[one]) for one in LABELS[1:] if len(sure[one])},
        **{f"abstains {one}": float(flagged[one].mean()) for one in LABELS if len(flagged[one])},
    }
    return {name: round(value, DIGITS) for name, value in found.items()}


def passing(asked: Sequence[Answer]) -> dict[str, dict[str, float]]:
    """By `min_score`: the share of right top results that pass, and of the questions of each label with a top result
    that passes. An answer that abstains passes nothing there, as in hooks."""
    top = np.array([_top(answer, RELEVANT) for answer in asked])
    right = np.array([any(answer.right[:1]) for answer in asked])
    label = np.array([answer.label for answer in asked])
    sure = np.array([answered(answer.evidence) for answer in asked]) >= Settings().abstain_below
    found = {}
    for cut in CUTS:
        passes = top >= cut
        shares = {"right": passes[right]} | {str(one): (passes & sure)[label == one] for one in LABELS}
        found[f"{cut:g}"] = {name: round(float(share.mean()), DIGITS) for name, share in shares.items() if len(share)}
    return found


def binned(asked: Sequence[Answer], by: Models) -> list[tuple[float, float]]:
    """Ten bins of equal weight by top score: the mean score, and the share of top results that answer."""
    top = np.array([_top(answer, by) for answer in asked])
    right = np.array([float(any(answer.right[:1])) for answer in asked])
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


def _top(answer: Answer, by: Models) -> float:
    return relevances(answer.evidence, models=by)[0] if answer.evidence else 0.0


def fitted(asked: Mapping[str, Sequence[Answer]], *, of_answer: bool = False) -> Models:
    """The logistic models of these corpora, each of the same weight: whether the first result answers, or with
    `of_answer` whether an answer is here. The model of readings is fitted on the questions that were read."""
    there = {name: [answer for answer in theirs if answer.evidence] for name, theirs in asked.items()}
    read = {
        name: [answer for answer in theirs if answer.evidence[0].read is not None] for name, theirs in there.items()
    }
    plain = {name: [unread(answer) for answer in theirs] for name, theirs in there.items()}
    before = ANSWERED if of_answer else RELEVANT
    return before._replace(both=_logistic(plain, of_answer), read=_logistic(read, of_answer))


def _logistic(asked: Mapping[str, Sequence[Answer]], of_answer: bool) -> Coefficients:
    """By Newton's method."""
    rows, wanted, weight = [], [], []
    for theirs in asked.values():
        shares = weights_of(theirs)
        for answer, share in zip(theirs, shares * WEIGHT_OF_CORPUS / shares.sum(), strict=True):
            rows.append(_row(strongest_of(answer.evidence) if of_answer else answer.evidence[0]))
            wanted.append(answer.label == LABELS[0] if of_answer else answer.right[0])
            weight.append(share)
    values, truth, share = np.array(rows), np.array(wanted, float), np.array(weight)
    if of_answer:  # among many near memories an answer is no less likely
        values[:, Coefficients._fields.index("crowd")] = 0.0
    ridge = np.diag([*(RIDGE,) * (values.shape[1] - 1), 0.0])
    found = np.zeros(values.shape[1])
    for _ in range(STEPS):
        said = 1.0 / (1.0 + np.exp(-values @ found))
        slope = values.T @ (share * (truth - said)) - ridge @ found
        bend = (values * (share * said * (1.0 - said))[:, np.newaxis]).T @ values + ridge
        found += np.linalg.solve(bend, slope)
    return Coefficients(*found.tolist())


def _row(evidence: ResultEvidence) -> list[float]:
    """The values of the terms, in the order of Coefficients."""
    values = {term.name: term.value for term in logit(evidence)}
    return [values.get(name, 0.0) for name in Coefficients._fields]


def _slug(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def _show(rows: Mapping[str, Mapping[str, float]]) -> None:
    names = list(next(iter(rows.values())))
    table = Table("corpus", *names, title="top result", title_justify="left")
    for name, row in rows.items():
        table.add_row(name, *(f"{row[figure]:g}" if figure in row else "" for figure in names))
    Console(width=None if sys.stdout.isatty() else 180).print(table)
    print(json.dumps({name: row for name, row in rows.items() if name.endswith("fitted on all")}, indent=1))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
