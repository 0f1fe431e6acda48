"""Why a score is what it is: every signal with what it brings.

Worked out only when somebody asks, from what fusion was given: its own loop goes over some hundred candidates a recall
and keeps no more than the sums. A property test holds the two together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from mnemesh_memory.ranking.candidates import Candidate, CandidateColumns, Candidates, Column, known_at
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.fusion import scaled_weights
from mnemesh_memory.ranking.relevance import ResultEvidence, logit, probability
from mnemesh_memory.ranking.scores import SCORE_DECIMALS, room
from mnemesh_memory.ranking.signals import DEFAULT_MIX, FORM, SIGNALS, Mix, Signal
from mnemesh_memory.text.traits import Question

# A share is told in these parts, as a score is.
PARTS: Final = 10**SCORE_DECIMALS


class Share(NamedTuple):
    """The part of one signal in a score, with SCORE_DECIMALS. A signal of the second look has its change of the score
    as its value, and a weight of 1. The shares of a result add up to the score, unless the score is 1."""

    name: str
    raw: float | None  # A cosine, a BM25 score, a number of words, 1 or 0 for yes or no; None without a measurement.
    value: float  # In [0, 1], made of `raw`.
    weight: float
    share: float  # `weight` times `value`.


class Estimate(NamedTuple):
    """How the score was estimated: the shares of `parts` sum to the logit of `probability`. The score is `probability`
    as rules move it, or the mean of neighbours in the order whose estimates would rise."""

    parts: tuple[Share, ...]
    probability: float


def estimate_of(evidence: ResultEvidence) -> Estimate | None:
    """The estimate behind a score, with SCORE_DECIMALS; None without any evidence."""
    parts = [
        Share(name, _rounded(raw), round(value, SCORE_DECIMALS), weight, round(weight * value, SCORE_DECIMALS) + 0.0)
        for name, raw, value, weight in logit(evidence)
        if weight
    ]
    return Estimate(tuple(parts), round(probability(evidence), SCORE_DECIMALS)) if parts else None


def _rounded(measured: float | None) -> float | None:
    return None if measured is None or math.isnan(measured) else round(measured, SCORE_DECIMALS)


# The signal of a memory by itself, of each kind of evidence.
OWN: Final = ("meaning", "words")


class Explainer:
    """Explains what `fuse` made of the same candidates, weights, question and mix."""

    def __init__(
        self,
        candidates: Iterable[Candidate],
        weights: Mapping[str, float] | None = None,
        question: Question | None = None,
        mix: Mix = DEFAULT_MIX,
    ) -> None:
        pool = Candidates.of(candidates)
        self._places = {id_: place for place, id_ in enumerate(pool.ids)}
        self._weights = scaled_weights(weights or {})
        self._asked = question is not None
        self._mix = mix
        self._measured = CandidateColumns(pool, question)
        self._columns: dict[str, tuple[Column, Column]] = {}

    def shares(self, fused: Fused) -> tuple[Share, ...]:
        """The part of each counted signal in the score, in the order of the table."""
        place = self._places[fused.id]
        shares: list[Share] = []
        for row in SIGNALS.values():
            weight = self._weight(row, place, fused)
            if weight is not None:
                values, raw = self._columns_of(row)
                value = float(values[place])
                shares.append(Share(row.name, known_at(raw, place), value, weight, weight * value))
        total = 0.0
        for share in shares:
            total += share.share
        later = {**fused.more, **({} if fused.useful is None else {"useful": fused.useful})}
        for name, change in later.items():
            shares.append(Share(name, None, change, 1.0, change))
            total += change
        if later:  # each of these was counted on top of a rounded score
            change = shares[-1].share + fused.score - total
            shares[-1] = shares[-1]._replace(value=change, share=change)
        return _apportioned(shares, fused.score)

    def _columns_of(self, row: Signal) -> tuple[Column, Column]:
        """The values of a signal, and the measurements behind them, computed once."""
        if row.name not in self._columns:
            values = row.value(self._measured)
            self._columns[row.name] = values, row.raw(self._measured) if row.raw else values
        return self._columns[row.name]

    def _weight(self, row: Signal, place: int, fused: Fused) -> float | None:
        """How much a signal counts for this candidate; None when it has nothing to say."""
        mixed, measured = self._mix[row.name], self._measured
        if row.part == FORM:
            evidence = min(1.0, (fused.dense or 0.0) + (fused.bm25 or 0.0))
            return mixed * room(evidence) if mixed and self._asked and measured.pool.traits["told"][place] else None
        if (fused.dense if row.part == "dense" else fused.bm25) is None:
            return None
        alone = measured.around is None or not measured.around[place] or (row.part == "bm25" and not measured.windowed)
        if alone:  # it is its own episode, and counts for what would stand around it, too
            return self._weights[row.part] if row.name in OWN else None
        return self._weights[row.part] * mixed if mixed else None


def _apportioned(shares: Sequence[Share], score: float) -> tuple[Share, ...]:
    """`shares` with SCORE_DECIMALS, by the largest remainder (Hamilton's method), so that they add up."""
    exact = [share.share * PARTS for share in shares]
    down = [math.floor(part) for part in exact]
    total = round(score * PARTS)
    if score == 1.0:  # where a higher sum was cut
        total = max(total, round(math.fsum(exact)))
    order = sorted(range(len(shares)), key=lambda place: (down[place] - exact[place], place))
    for place in order[: total - sum(down)]:
        down[place] += 1
    return tuple(
        Share(
            share.name,
            _rounded(share.raw),
            round(share.value, SCORE_DECIMALS),
            round(share.weight, SCORE_DECIMALS),
            part / PARTS,
        )
        for share, part in zip(shares, down, strict=True)
    )
