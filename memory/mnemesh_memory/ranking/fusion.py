"""One order out of two kinds of evidence: a convex combination of normalised scores.

Scores, not ranks: reciprocal rank fusion throws away how much better the first is, and with a weak dense model loses to
BM25 alone. S. Bruch, S. Gai, A. Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 42(1), 2023,
doi:10.1145/3596512. The answer depends on the candidates alone, not on the order they come in, so replicas agree.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, overload

import numpy as np

from mnemesh_memory.ranking.candidates import Candidate, CandidateColumns, Candidates, Column
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.scores import FULL_EVIDENCE, SCORE_DECIMALS
from mnemesh_memory.ranking.signals import DEFAULT_MIX, DEFAULT_WEIGHTS, FORM, SIGNALS, Mix, Signal
from mnemesh_memory.text.traits import Question
from mnemesh_memory.values.errors import InvalidArgument

_BY_PART: Final = {
    part: tuple(row for row in SIGNALS.values() if row.part == part) for part in (*DEFAULT_WEIGHTS, FORM)
}


@dataclass(frozen=True, slots=True, eq=False)
class Ranking(Sequence[Fused]):
    """The answer of `fuse`, best first. `places` are rows of the columns, where NaN stands for None."""

    ids: Sequence[str]
    places: Sequence[int]
    score: Column
    dense: Column
    bm25: Column
    cosine: Column
    form: Column

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, at: int) -> Fused: ...

    @overload
    def __getitem__(self, at: slice) -> list[Fused]: ...

    def __getitem__(self, at: int | slice) -> Fused | list[Fused]:
        if isinstance(at, slice):
            return self._at(self.places[at])
        return self._at([self.places[at]])[0]

    def __iter__(self) -> Iterator[Fused]:
        return iter(self._at(self.places))

    def _at(self, places: Sequence[int]) -> list[Fused]:
        parts = (self.dense, self.bm25, self.cosine, self.form)
        known = ([None if math.isnan(value) else value for value in column[places].tolist()] for column in parts)
        return list(map(Fused, [self.ids[at] for at in places], self.score[places].tolist(), *known))


def fuse(
    candidates: Iterable[Candidate],
    weights: Mapping[str, float] | None = None,
    question: Question | None = None,
    mix: Mix = DEFAULT_MIX,
) -> Ranking:
    """Best first; equal scores in the order of their ids, which must be unique.

    evidence = sum over dense and bm25 of weight * value, with the weights scaled to sum 1. The value of dense is
    max(0, cosine). A candidate missing in that list has the lowest value, because a list holds the best there are. The
    value of BM25 is the share of the largest among the candidates, and 0 for a missing candidate. Each is mixed with
    the same of the candidate's context, as `mix` says. A weight that is not given has its default. With weight 0 a part
    is gone, and so are candidates known by that part alone. With a `question`, form fills a part of the gap between
    evidence and 1: less where there is little evidence, nothing where there is none. Raises InvalidArgument for a
    weight that is unknown, negative or not finite, and when all are 0.
    """
    scaled = scaled_weights(weights or {})
    pool = Candidates.of(candidates)
    measured = CandidateColumns(pool, question)
    nobody = np.zeros(len(pool), np.bool_)
    worded, shared = (measured.worded, measured.session_worded) if scaled["bm25"] else (nobody, nobody)
    meant = ~np.isnan(measured.cosine) & (~np.isnan(pool.dense) | worded) if scaled["dense"] else nobody
    by_words = np.where(shared, scaled["bm25"] * _mixed(measured, "bm25", mix), 0.0)
    by_meaning = np.where(meant, scaled["dense"] * _mixed(measured, "dense", mix), 0.0)
    score = evidence = np.minimum(1.0, by_meaning + by_words)
    form = np.full(len(pool), math.nan)
    if question is not None:
        known, worth = pool.traits["told"], _sum(measured, _BY_PART[FORM], mix)
        form = np.where(known, (1.0 - evidence) * np.minimum(1.0, evidence / FULL_EVIDENCE) * worth, math.nan)
        score = np.minimum(1.0, evidence + np.where(known, form, 0.0))
    score = np.round(score, SCORE_DECIMALS)
    order = np.argsort(-score, kind="stable")  # rows stand in the order of their ids
    return Ranking(
        ids=pool.ids,
        places=order[(meant | worded)[order]].tolist(),
        score=score,
        dense=np.where(meant, by_meaning, math.nan),
        bm25=np.where(shared, by_words, math.nan),
        cosine=measured.cosine,
        form=form,
    )


def scores_of(fused: Sequence[Fused], ids: Collection[str]) -> dict[str, float]:
    """The scores of those of `ids` that are candidates. No other candidate becomes an object."""
    if isinstance(fused, Ranking):
        return {fused.ids[at]: float(fused.score[at]) for at in fused.places if fused.ids[at] in ids}
    return {item.id: item.score for item in fused if item.id in ids}


def _mixed(measured: CandidateColumns, part: str, mix: Mix) -> Column:
    """How well the candidates fit by one kind of evidence, in [0, 1]: by themselves, or mixed with their episode."""
    alone = _BY_PART[part][0].value(measured)
    if measured.around is None:
        return alone
    return np.where(measured.around, _sum(measured, _BY_PART[part], mix), alone)


def _sum(measured: CandidateColumns, rows: Sequence[Signal], mix: Mix) -> Column:
    total = np.zeros(len(measured.pool))
    for row in rows:
        if (weight := mix[row.name]) and (value := row.value(measured)) is not measured.nothing:
            total += weight * value
    return total


def scaled_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """The weight of every signal, summing to 1. See ranking.fuse for what is refused."""
    for name, weight in weights.items():
        if name not in DEFAULT_WEIGHTS:
            raise InvalidArgument("weights", name, "one of " + ", ".join(DEFAULT_WEIGHTS))
        if not math.isfinite(weight) or weight < 0:
            raise InvalidArgument(f"weights.{name}", weight, "a finite number, not negative")
    whole = {name: weights.get(name, default) for name, default in DEFAULT_WEIGHTS.items()}
    largest = max(whole.values())
    if largest <= 0:
        raise InvalidArgument("weights", whole, "at least one above 0")
    # Divided by the largest first: the sum of huge weights must not overflow.
    relative = {name: weight / largest for name, weight in whole.items()}
    total = sum(relative.values())
    return {name: weight / total for name, weight in relative.items()}
