"""`python -m bench.recall.fitting HARNESS DATA`: recall's weights, learned from four LoCoMo conversations and judged on
the fifth.

For each conversation the mix, the share of meaning and the abstain threshold are learned from the others. Their score
is taken on the questions of that conversation, so each question counts once, by weights that never saw its
conversation. The table has recall's own weights, chosen on all of these conversations, for comparison. It also has the
result of the same search on all conversations, which shows how much of a figure is only fit. The search learns how much
signals count. The choice of signals was made by people who had read the conversations, and no split undoes that.

The search is a coordinate search from several starts, none of them recall's own weights. Its objective is the sum of
OBJECTIVE over turns and pairs alike. Candidates are those of `bench.ablation`; its node directory (`--node`) can be
used again. `--pools FOLDER` keeps the columns, and the next run searches at once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import numpy as np
from bench.ablation import Collected, Index, Variant
from bench.ablation import searched as how_searched
from bench.recall.columns import (
    EMBEDDED,
    FORM_MAX,
    Column,
    Mask,
    Questions,
    Weights,
    default_weights,
    padded,
    parts,
    proof_of,
    stacked,
    values_of,
)
from bench.report import machine
from bench.texts.locomo_data import DIGITS, MULTI_HOP, UNITS, Talk, Unit, harness_at, talks
from rich.console import Console
from rich.table import Table

from mnemesh_actors.ledger.feeds.index_feed import WINDOW_BEFORE
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_gateway.node.settings import Settings
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.ranking.fusion import fuse
from mnemesh_memory.ranking.signals import SIGNALS

RESULT: Final = Path(__file__).resolve().parents[1] / "results" / "fitting.json"
# All that recall is judged by: with the first three alone, what is learned gives up pieces of several answers.
OBJECTIVE: Final = ("hit@10", "coverage@10", "MRR", "multi-hop coverage@10", "session hit@1")
FIGURES: Final = (*OBJECTIVE, "abstains", "abstains elsewhere")
# The largest share of answerable questions that may be flagged, among the questions behind the threshold.
ABSTAIN_SHARE_MAX: Final = 0.05
THRESHOLDS: Final = np.round(np.arange(0.0, 1.0, 0.01), 2)
SEED: Final = 4
STARTS: Final = 3  # the first has equal weights and no form
STEPS: Final = (0.2, 0.07, 0.02)
ROUNDS_MAX: Final = 8  # of one step
BETTER_BY: Final = 1e-9
SHARE: Final = "dense"  # of a point of the search, beside the signals
SHARE_MARGIN: Final = 0.05  # neither meaning nor words go altogether
BATCH: Final = 256
TABLE_CHARS: Final = 150

Point = Mapping[str, float]
Learned = TypeVar("Learned")


class Fit(NamedTuple):
    """Learned weights, and the coverage below which recall flags a missing answer."""

    weights: Weights
    abstain_below: float


def main(argv: Sequence[str]) -> int:
    """Learn, judge, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.recall.fitting", description="Weights that are learned, on LoCoMo."
    )
    parser.add_argument("harness", type=Path, help="locomo_eval.py")
    parser.add_argument("data", type=Path, help="folder with locomo10.json")
    parser.add_argument("--node", type=Path, help="where bench.ablation left its memories")
    parser.add_argument("--pools", type=Path, help="where candidates stay for the next run; nowhere when not given")
    given = parser.parse_args(argv)
    facts: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder:
        kept = given.pools or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        asked = {}
        for unit in UNITS:
            path = kept / f"{unit}.npz"
            made = path.with_suffix(".json")  # by which code
            if not path.exists():
                made.write_text(json.dumps(machine()), "utf-8")
                conversations = talks(harness_at(given.harness, given.data), unit)
                gathered(conversations, (given.node or Path(folder)) / unit).save(path)
            asked[unit], facts[unit] = Questions.load(path), json.loads(made.read_text("utf-8"))
    rows, folds = measured(asked)
    for unit in UNITS:
        _show(unit, rows[unit])
    chosen = {"objective": list(OBJECTIVE), "starts": STARTS, "seed": SEED}
    whole = {"machine": machine(), "candidates": facts, **chosen, "rows": rows, "folds": folds}
    RESULT.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    return 0


def measured(asked: Mapping[str, Questions]) -> tuple[dict[str, dict[str, dict[str, float]]], dict[str, object]]:
    """The figures by unit and by where the weights come from, and what each fold learned."""
    names = sorted(set(asked[UNITS[0]].talk.tolist()))
    plain = list(SIGNALS)
    default = Fit(default_weights(), Settings().abstain_below)
    rows = {unit: {"default": _means(judged(one, default))} for unit, one in asked.items()}
    seen = learned(list(asked.values()), plain)
    for unit, one in asked.items():
        rows[unit]["learned on all"] = _means(judged(one, seen))
    folds: dict[str, object] = {"learned on all": _told(seen)}
    tried = {
        "held out": plain,
        "held out, embedded windows": [*plain, *EMBEDDED],
    }
    for name, columns in tried.items():
        fits = _fits(asked, names, columns)
        folds[name] = {held: _told(fit) for held, fit in fits.items()}
        for unit, one in asked.items():
            scored = [judged(one.of([held]), fit) for held, fit in fits.items()]
            rows[unit][name] = _means({figure: np.concatenate([row[figure] for row in scored]) for figure in FIGURES})
        print(name, flush=True)
    return rows, folds


def _fits(asked: Mapping[str, Questions], names: Sequence[str], columns: Sequence[str]) -> dict[str, Fit]:
    """By conversation, what was learned from the others; several at once, because numpy lets other threads run."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def learning(theirs: list[str]) -> Future[Fit]:
            return pool.submit(learned, [one.of(theirs) for one in asked.values()], columns)

        under_way = list(left_out(names, learning))
    return {held: fit.result() for held, fit in under_way}


def left_out(names: Sequence[str], learn: Callable[[list[str]], Learned]) -> Iterator[tuple[str, Learned]]:
    """Each name with what is learned from all the others."""
    for held in names:
        yield held, learn([one for one in names if one != held])


def learned(asked: Sequence[Questions], columns: Sequence[str]) -> Fit:
    """The best weights of these signals for these questions, the same for all units, and their threshold."""
    chance = np.random.default_rng(SEED)

    def objective(point: Point) -> float:
        weights = weights_of(point)
        return float(np.mean([objective_of(one.figures(weights)) for one in asked]))

    found = [searched(objective, start) for start in starts(columns, chance)]
    weights = weights_of(max(found, key=objective))
    return Fit(weights, threshold(np.concatenate([one.here.coverage(weights) for one in asked])))


def objective_of(figures: Mapping[str, Column]) -> float:
    """The value to maximise: the sum of the means of OBJECTIVE, each over the questions of its kind."""
    return float(sum(np.nanmean(figures[one]) for one in OBJECTIVE))


def starts(columns: Sequence[str], chance: np.random.Generator) -> Iterator[Point]:
    """Where the search begins: signals that count alike, then random ones."""
    form = [name for name in columns if parts()[name] == "form"]
    yield legal({SHARE: 0.5, **dict.fromkeys(columns, 1.0), **dict.fromkeys(form, 0.0)})
    for _ in range(STARTS - 1):
        drawn = dict(zip(columns, chance.random(len(columns)).tolist(), strict=True))
        at_most = FORM_MAX * chance.random() / max(1e-9, sum(drawn[name] for name in form))
        yield legal({SHARE: chance.random(), **drawn, **{name: drawn[name] * at_most for name in form}})


def searched(objective: Callable[[Point], float], start: Point) -> Point:
    """The best point that changes of one weight at a time reach, by ever smaller steps."""
    best, value = start, objective(start)
    for step in STEPS:
        for _ in range(ROUNDS_MAX):
            before = value
            for name in start:
                for change in (step, -step):
                    tried = legal({**best, name: best[name] + change})
                    if tried != best and (found := objective(tried)) > value + BETTER_BY:
                        best, value = tried, found
            if value <= before + BETTER_BY:
                break
    return best


def legal(point: Point) -> Point:
    """The nearest that a mix allows: nothing negative, weights of dense and of bm25 that sum to 1, of form to less."""
    found = {name: max(0.0, weight) for name, weight in point.items()}
    found[SHARE] = min(1.0 - SHARE_MARGIN, max(SHARE_MARGIN, found[SHARE]))
    for part in ("dense", "bm25", "form"):
        names = [name for name in found if name != SHARE and parts()[name] == part]
        total = sum(found[name] for name in names)
        whole = min(total, FORM_MAX) if part == "form" else 1.0
        even = whole / max(1, len(names))
        found |= {name: found[name] * whole / total if total else even for name in names}
    return found


def weights_of(point: Point) -> Weights:
    """A point of the search as weights."""
    return Weights(point[SHARE], {name: weight for name, weight in point.items() if name != SHARE})


def threshold(coverages: Column) -> float:
    """The largest hundredth that flags no more than ABSTAIN_SHARE_MAX of questions with these coverages."""
    flagged = (coverages[:, np.newaxis] < THRESHOLDS).mean(axis=0)
    return float(THRESHOLDS[flagged <= ABSTAIN_SHARE_MAX].max())


def judged(asked: Questions, fit: Fit) -> dict[str, Column]:
    """Every one of FIGURES for each question, (q,)."""
    here, elsewhere = (pools.coverage(fit.weights) < fit.abstain_below for pools in (asked.here, asked.elsewhere))
    abstains = {"abstains": here.astype(float), "abstains elsewhere": elsewhere.astype(float)}
    return {**asked.figures(fit.weights), **abstains}


def gathered(conversations: Sequence[Talk], node: Path) -> Questions:
    """The questions of the conversations with their candidates. `node`: where `bench.ablation` keeps its memories."""
    here, elsewhere, right, session, asked = [], [], [], [], []
    with Index(node, conversations) as index:
        embedded = _embedded(conversations)
        for one in index.collected():
            pools = one.pools(*how_searched(Variant()))
            pool = pools.here
            units = [index.units[id_] for id_ in pool.ids]
            right.append(np.array([unit.id in one.asked.wanted for unit in units], np.bool_))
            session.append(np.array([unit.session in one.asked.sessions for unit in units], np.bool_))
            here.append(_row(pool, one, index, embedded))
            elsewhere.append(_row(pools.elsewhere, one, index, embedded))
            asked.append((one.talk.name, one.asked))
    return Questions(
        talk=np.array([name for name, _ in asked]),
        multi_hop=np.array([one.category == MULTI_HOP for _, one in asked]),
        pieces=np.array([len(one.wanted) for _, one in asked], np.float64),
        right=padded(right),
        session=padded(session),
        here=stacked(here),
        elsewhere=stacked(elsewhere),
    )


def _row(
    pool: Candidates, one: Collected, index: Index, embedded: Mapping[tuple[str, str], Column]
) -> tuple[Mask, Column, Column]:
    units = [index.units[id_] for id_ in pool.ids]
    cosines = np.array([embedded[unit.conv, unit.id] @ one.vector for unit in units]).reshape(-1, len(EMBEDDED))
    shown = np.zeros(len(pool), np.bool_)
    shown[fuse(pool).places] = True
    text = one.asked.text
    return shown, values_of(pool, text, cosines), proof_of(pool, text, [unit.text for unit in units])


def _embedded(conversations: Sequence[Talk]) -> dict[tuple[str, str], Column]:
    """For each unit, by its conversation and id, the vectors of EMBEDDED, (len(EMBEDDED), dimensions)."""
    keys, texts = [], []
    for talk in conversations:
        for members in _sessions(talk):
            for at, unit in enumerate(members):
                around = members[max(0, at - WINDOW_BEFORE) : at + 1], members[max(0, at - 1) : at + 2]
                keys.append((talk.name, unit.id))
                texts += ["\n".join(one.text for one in some) for some in around]
    with closing(EmbeddingWorker(ModelConfig(download=False))) as worker:
        worker.load()
        vectors = np.concatenate([worker.embed(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)])
    return dict(zip(keys, vectors.astype(np.float64).reshape(len(keys), len(EMBEDDED), -1), strict=True))


def _sessions(talk: Talk) -> Iterator[list[Unit]]:
    by_session: dict[str, list[Unit]] = {}
    for unit in talk.units:
        by_session.setdefault(unit.session, []).append(unit)
    yield from by_session.values()


def _means(figures: Mapping[str, Column]) -> dict[str, float]:
    return {name: round(float(np.nanmean(figures[name])), DIGITS) for name in FIGURES}


def _told(fit: Fit) -> dict[str, object]:
    weights = {name: round(weight, DIGITS) for name, weight in fit.weights.of.items()}
    return {"dense": round(fit.weights.dense, DIGITS), "mix": weights, "abstain_below": fit.abstain_below}


def _show(unit: str, rows: Mapping[str, Mapping[str, float]]) -> None:
    table = Table("weights", *FIGURES, title=f"{unit} units", title_justify="left")
    for name, row in rows.items():
        table.add_row(name, *(f"{row[one]:.3f}" for one in FIGURES))
    Console(width=None if sys.stdout.isatty() else TABLE_CHARS).print(table)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
