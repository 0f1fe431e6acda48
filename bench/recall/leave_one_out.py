"""`python -m bench.recall.leave_one_out FOLDER`: what recall finds in a corpus by weights that were learned on the
others.

FOLDER is that of `bench.carry`, with its nodes and vectors. Every weight begins at a value that no corpus has seen:
alike within meaning and words, and FORM_START for form. A search on the other corpora, with SAMPLE questions of each,
multiplies a weight at a time by one of FACTORS, at most ROUNDS times. The weights are the geometric mean of BAGS such
searches. Both keep the learning from the chances of its questions, unlike `bench.recall.fitting`, which searches to the
end. A signal that the other corpora do not know, such as a named month, keeps its first value.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np
from bench import carry
from bench.ablation import Variant
from bench.ablation import searched as how_searched
from bench.calibration import stored
from bench.nodes.stored import open_shard
from bench.recall.columns import EMBEDDED, Questions, Weights, default_weights, padded, stacked, values_of
from bench.recall.fitting import OBJECTIVE, SHARE, Point, legal, objective_of, weights_of
from bench.report import machine
from bench.texts.corpora import Collection
from bench.texts.embedding_cache import EmbeddingCache
from rich.console import Console
from rich.table import Table

from mnemesh_memory.ranking.fusion import fuse
from mnemesh_memory.ranking.signals import SIGNALS

RESULT: Final = Path(__file__).resolve().parents[1] / "results" / "leave_one_out.json"
LEARNED_FROM: Final = ("LoCoMo", "RealMem", "FriendsQA")
BAGS: Final = 8
SAMPLE: Final = 500  # questions of each corpus in a search
JITTER: Final = 0.25  # of a first value, as a standard deviation of its logarithm
FORM_START: Final = 0.14
FACTORS: Final = (1.4, 0.7)
ROUNDS: Final = 3
BETTER_BY: Final = 0.0005
SEED: Final = 5
DIGITS: Final = 4


def main(argv: Sequence[str]) -> int:
    """Learn, judge, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.recall.leave_one_out", description="Weights learned elsewhere."
    )
    parser.add_argument("folder", type=Path, help="that of bench.carry")
    parser.add_argument("--locomo", nargs=2, type=Path, metavar=("HARNESS", "DATA"), required=True)
    parser.add_argument("--realmem", type=Path, required=True)
    parser.add_argument("--friendsqa", type=Path, required=True)
    given = parser.parse_args(argv)
    embedded = EmbeddingCache(given.folder / "vectors.npz")
    sources = carry.sources(given.locomo, given.realmem, given.friendsqa, kept_back=False)
    asked = {name: gathered(carry.node_of(given.folder, name), sources[name], embedded) for name in LEARNED_FROM}
    rows = {}
    for name, theirs in asked.items():
        weights = learned([other for corpus, other in asked.items() if corpus != name])
        told = {"dense": round(weights.dense, DIGITS)} | {key: round(one, DIGITS) for key, one in weights.of.items()}
        rows[name] = {"learned on the others": means(theirs, weights), "recall": means(theirs, default_weights())}
        rows[name]["weights"] = told
        show(name, rows[name])
    facts = {"machine": machine(), "bags": BAGS, "sample": SAMPLE, "seed": SEED}
    RESULT.write_text(json.dumps(facts | {"rows": rows}, indent=1) + "\n", "utf-8")
    return 0


def gathered(node: Path, collections: Sequence[Collection], embedded: EmbeddingCache) -> Questions:
    """The questions of a corpus with their candidates as columns."""
    unit_of = {key: unit for unit, key in stored(node, collections).items()}
    session_of = {unit.id: unit.session for collection in collections for unit in collection.units}
    pools, right, session, asked = [], [], [], []
    with closing(open_shard(node)) as shard:
        for one in carry.questions(shard, unit_of, collections, embedded):
            pool = one.candidates(*how_searched(Variant()))
            units = [unit_of[id_] for id_ in pool.ids]
            shown = np.zeros(len(pool), np.bool_)
            shown[fuse(pool).places] = True
            shown &= ~np.isin(units, list(one.question.replaced))
            values = values_of(pool, one.question.text, np.zeros((len(pool), len(EMBEDDED))))
            pools.append((shown, values, np.zeros(len(pool))))
            right.append(np.isin(units, list(one.question.wanted)))
            sessions = one.collection.sessions_of(one.question)
            session.append(np.array([session_of[unit] in sessions for unit in units], np.bool_))
            asked.append(one.question)
    here = stacked(pools)
    return Questions(
        talk=np.arange(len(asked)).astype(np.str_),
        multi_hop=np.array([question.several for question in asked]),
        pieces=np.array([len(question.wanted) for question in asked], np.float64),
        right=padded(right),
        session=padded(session),
        here=here,
        elsewhere=here,
    )


def learned(corpora: Sequence[Questions]) -> Weights:
    """The mean of the weights that searches on samples of these corpora find."""
    chance = np.random.default_rng(SEED)
    form = [name for name, row in SIGNALS.items() if row.part == "form"]
    first = legal({SHARE: 0.5, **dict.fromkeys(SIGNALS, 1.0), **dict.fromkeys(form, FORM_START)})
    found = []
    for _ in range(BAGS):
        samples = [drawn(one, chance) for one in corpora]
        start = legal({name: value * float(np.exp(chance.normal(0.0, JITTER))) for name, value in first.items()})

        def objective(point: Point, samples: Sequence[Questions] = samples) -> float:
            return float(np.mean([objective_of(one.figures(weights_of(point))) for one in samples]))

        found.append(climbed(objective, start))
    return weights_of(legal({name: float(np.exp(np.mean([np.log(point[name]) for point in found]))) for name in first}))


def climbed(objective: Callable[[Point], float], start: Point) -> Point:
    """A better point near the start."""
    best, value = start, objective(start)
    for _ in range(ROUNDS):
        for name in start:
            for factor in FACTORS:
                tried = legal({**best, name: best[name] * factor})
                if (found := objective(tried)) > value + BETTER_BY:
                    best, value = tried, found
    return best


def drawn(corpus: Questions, chance: np.random.Generator) -> Questions:
    """Some of its questions, each at most once."""
    rows = chance.permutation(len(corpus))[: min(SAMPLE, len(corpus) * 2 // 3)]
    return corpus.of([str(row) for row in rows])


def means(asked: Questions, weights: Weights) -> dict[str, float]:
    """The figures of a corpus."""
    return {name: round(float(np.nanmean(column)), DIGITS) for name, column in asked.figures(weights).items()}


def show(name: str, rows: dict[str, dict[str, float]]) -> None:
    """The table for a person."""
    table = Table(name, *OBJECTIVE, title_justify="left")
    for label in ("learned on the others", "recall"):
        table.add_row(label, *(f"{rows[label][one]:.3f}" for one in OBJECTIVE))
    Console(width=None if sys.stdout.isatty() else carry.TABLE_CHARS).print(table)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
