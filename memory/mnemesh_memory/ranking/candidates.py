"""Candidates as columns, and the one order that fusion makes of them: best first.

Calculations run over some hundred candidates at once. Only candidates that somebody looks at become objects. The module
fusion defines each signal and its weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from mnemesh_memory.ranking import fusion
from mnemesh_memory.ranking.fusion import Candidate, Context, Fused, Mix
from mnemesh_memory.text.traits import SUBSTANCE_WORDS, TIME_WORDS_MAX, Question, Traits

Column: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

# Of so many words that carry meaning.
_SUBSTANCE: Final = np.log1p(np.arange(SUBSTANCE_WORDS + 1)) / math.log1p(SUBSTANCE_WORDS)
# Traits but for the speakers; `told` says of whom they are known.
TRAITS: Final = np.dtype(
    [("at", np.int64), ("words", np.int8), ("times", np.int8), ("asks", np.bool_), ("told", np.bool_)]
)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Sequence[Candidate]):
    """Some memories with their raw scores, in the order of their ids, which are unique. A row is a Candidate.

    `dense` and `bm25` have shape (n,) and NaN where a list lacks a memory. `around` has shape (n, 4), the fields of
    Context, and NaN in the rows of those without one; None when nobody has one. `traits` has shape (n,) and the dtype
    TRAITS.
    """

    ids: Sequence[str]
    dense: Column
    bm25: Column
    around: Column | None
    traits: NDArray[np.void]
    speakers: Sequence[tuple[int, ...]]

    @classmethod
    def of(cls, rows: Iterable[Candidate]) -> Candidates:
        """The same as columns; itself when it is that already."""
        if isinstance(rows, Candidates):
            return rows
        pool = sorted(rows, key=lambda one: one.id)
        nowhere = (math.nan,) * len(Context._fields)
        around = [nowhere if one.context is None else one.context for one in pool]
        return cls(
            ids=[one.id for one in pool],
            dense=_column(one.dense for one in pool),
            bm25=_column(one.bm25 for one in pool),
            around=np.array(around, np.float64) if any(one.context for one in pool) else None,
            traits=np.array([traits_row(one.traits) for one in pool], TRAITS),
            speakers=[one.traits.speakers if one.traits else () for one in pool],
        )

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Candidate: ...

    @overload
    def __getitem__(self, at: slice) -> list[Candidate]: ...

    def __getitem__(self, at: int | slice) -> Candidate | list[Candidate]:
        if isinstance(at, slice):
            return [self._row(number) for number in range(len(self))[at]]
        return self._row(range(len(self))[at])

    def __iter__(self) -> Iterator[Candidate]:
        return map(self._row, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def _row(self, at: int) -> Candidate:
        context = None if self.around is None or math.isnan(self.around[at, 0]) else Context(*self.around[at].tolist())
        moment, words, times, asks, told = self.traits[at].item()
        traits = Traits(moment, words, times, asks, self.speakers[at]) if told else None
        return Candidate(self.ids[at], _told(self.dense, at), _told(self.bm25, at), context, traits)


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
            return list(map(self._row, self.places[at]))
        return self._row(self.places[at])

    def __iter__(self) -> Iterator[Fused]:
        return map(self._row, self.places)

    def _row(self, at: int) -> Fused:
        dense, bm25, cosine, form = (_told(column, at) for column in (self.dense, self.bm25, self.cosine, self.form))
        return Fused(self.ids[at], float(self.score[at]), dense, bm25, cosine, form)


def fuse(
    candidates: Iterable[Candidate],
    weights: Mapping[str, float] | None = None,
    question: Question | None = None,
    mix: Mix = fusion.DEFAULT_MIX,
) -> Ranking:
    """Best first; equal scores in the order of their ids, which must be unique.

    evidence = sum over the signals of weight * value, with the weights scaled to sum 1. The value of dense is
    max(0, cosine), and for who is missing in that list its lowest, because a list holds the best there are: that loses
    nothing against asking for the exact cosine. The value of BM25 is its share of the largest among the candidates, and
    0 for who is missing. Each is mixed with the same of the candidate's context, as `mix` says. A weight that is not
    given has its default; with weight 0 a signal is gone, and so is whoever is known by it alone. With a `question`,
    traits make good a part of what the evidence lacks, less for who has little of it, nothing for who has none. Raises
    InvalidArgument for a weight that is unknown, negative or not finite, and when all are 0.
    """
    scaled = fusion.scaled_weights(weights or {})
    pool = Candidates.of(candidates)
    words, worded = _by_words(pool, mix)
    meaning, cosine = _by_meaning(pool, mix)
    nobody = np.zeros(len(pool), np.bool_)
    worded = worded if scaled["bm25"] else nobody
    meant = ~np.isnan(cosine) & (~np.isnan(pool.dense) | worded) if scaled["dense"] else nobody
    by_words = np.where(worded, scaled["bm25"] * words, 0.0)
    by_meaning = np.where(meant, scaled["dense"] * meaning, 0.0)
    score = evidence = np.minimum(1.0, by_meaning + by_words)
    form = np.full(len(pool), math.nan)
    if question is not None:
        told, worth = pool.traits["told"], _form(pool, question, mix)
        form = np.where(told, (1.0 - evidence) * np.minimum(1.0, evidence / fusion.FULL_EVIDENCE) * worth, math.nan)
        score = np.minimum(1.0, evidence + np.where(told, form, 0.0))
    score = np.round(score, fusion.SCORE_DECIMALS)
    order = np.argsort(-score, kind="stable")  # rows stand in the order of their ids
    return Ranking(
        ids=pool.ids,
        places=order[(meant | worded)[order]].tolist(),
        score=score,
        dense=np.where(meant, by_meaning, math.nan),
        bm25=np.where(worded, by_words, math.nan),
        cosine=cosine,
        form=form,
    )


def _by_words(pool: Candidates, mix: Mix) -> tuple[Column, Mask]:
    """How well the words fit, in [0, 1], and of whom they say anything."""
    told = ~np.isnan(pool.bm25)
    own = np.where(told, pool.bm25, 0.0)
    words = own / (own.max(initial=0.0) or 1.0)
    if pool.around is None:
        return words, told
    here = ~np.isnan(pool.around[:, 0])
    window, _, _, best = np.where(here[:, np.newaxis], pool.around, 0.0).T
    widest = max(window.max(initial=0.0), best.max(initial=0.0)) or 1.0
    wide = np.maximum(words, window / widest)
    episode = np.maximum(wide, best / widest)
    mixed = mix.words * words + mix.window * wide + mix.episode_words * episode
    return np.where(here, mixed, words), told | (window != 0.0)


def _by_meaning(pool: Candidates, mix: Mix) -> tuple[Column, Column]:
    """How well the meaning fits, in [0, 1], and the cosines; both NaN without a list by meaning."""
    told = ~np.isnan(pool.dense)
    cosine = np.where(told, pool.dense, pool.dense[told].min(initial=math.inf) if told.any() else math.nan)
    meaning = _unit(cosine)
    if pool.around is None:
        return meaning, cosine
    _, near, best, _ = pool.around.T
    mixed = mix.meaning * meaning + mix.near * _unit(near) + mix.episode * np.maximum(meaning, _unit(best))
    return np.where(np.isnan(near), meaning, mixed), cosine


def _form(pool: Candidates, question: Question, mix: Mix) -> Column:
    """How much of what its evidence lacks the form of each memory and its date make good, in [0, 1)."""
    traits = pool.traits
    worth: Column = mix.substance * _SUBSTANCE[traits["words"]]
    worth += np.where(traits["asks"], 0.0, mix.states)
    if question.when:
        worth += mix.time * (traits["times"] / TIME_WORDS_MAX)
    if question.dated or question.window is not None:
        worth += mix.date * np.array(list(map(question.means, traits["at"].tolist(), pool.ids)), np.float64)
    if any(pool.speakers):
        worth += np.where([not question.words.isdisjoint(theirs) for theirs in pool.speakers], mix.speaker, 0.0)
    return worth


def traits_row(traits: Traits | None) -> tuple[int, int, int, bool, bool]:
    """A row of TRAITS."""
    return (0, 0, 0, False, False) if traits is None else (*traits[:4], True)


def _column(values: Iterable[float | None]) -> Column:
    return np.array([math.nan if value is None else value for value in values], np.float64)


def _told(column: Column, at: int) -> float | None:
    value = float(column[at])
    return None if math.isnan(value) else value


def _unit(values: Column) -> Column:
    return np.minimum(1.0, np.maximum(0.0, values))
