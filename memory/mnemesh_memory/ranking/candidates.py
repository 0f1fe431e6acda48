"""Candidates of a question: one at a time, or as columns.

Calculations run over some hundred candidates at once. Only candidates that somebody looks at become objects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from mnemesh_memory.text.traits import PERSONS, SUBSTANCE_WORDS, TIME_WORDS_MAX, Question, Traits

Column: TypeAlias = NDArray[np.float64]

# Traits but for the speakers; `told` says of whom they are known.
TRAITS: Final = np.dtype(
    [("at", np.int64), ("words", np.int8), ("times", np.int8), ("asks", np.bool_), ("told", np.bool_)]
)


# In place of a cosine, where no question stands before a memory.
NOT_ASKED: Final = -2.0  # No cosine is as low.


class Context(NamedTuple):
    """The surroundings of a candidate in its episode."""

    window: float = 0.0  # The BM25 score of its text together with the texts just before.
    near: float = 0.0  # The mean cosine of the two neighbours, 0 for a neighbour outside of the list.
    best_dense: float = 0.0  # The best cosine of the episode.
    best_window: float = 0.0  # The best window of the episode.
    opens: float = 0.0  # 1 for the first memory of the episode, else 0.
    asked: float = NOT_ASKED  # The cosine of the memory just before it when that asks a question.


class Candidate(NamedTuple):
    """A memory with the raw scores that the index gave: cosine in [-1, 1], BM25 >= 0; None where a list lacks it.
    Without a context it is its own episode."""

    id: str
    dense: float | None = None
    bm25: float | None = None
    context: Context | None = None
    traits: Traits | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Sequence[Candidate]):
    """Some memories with their raw scores, in the order of their ids, which are unique. A row is a Candidate.

    `dense` and `bm25` have shape (n,) and NaN where a list lacks a memory. `around` has shape (n, 6), the fields of
    Context, and NaN in the rows of those without one; None when nobody has one. `traits` has shape (n,) and the dtype
    TRAITS. `episodes` has shape (n,) and the number of the episode, 0 for none; None when nobody counted.
    """

    ids: Sequence[str]
    dense: Column
    bm25: Column
    around: Column | None
    traits: NDArray[np.void]
    speakers: Sequence[tuple[int, ...]]
    episodes: NDArray[np.intc] | None = None

    @classmethod
    def of(cls, rows: Iterable[Candidate]) -> Candidates:
        """The same as columns; itself when it is that already."""
        if isinstance(rows, Candidates):
            return rows
        pool = sorted(rows, key=lambda row: row.id)
        nowhere = (math.nan,) * len(Context._fields)
        around = [nowhere if row.context is None else row.context for row in pool]
        return cls(
            ids=[row.id for row in pool],
            dense=_column(row.dense for row in pool),
            bm25=_column(row.bm25 for row in pool),
            around=np.array(around, np.float64) if any(row.context for row in pool) else None,
            traits=np.array([traits_row(row.traits) for row in pool], TRAITS),
            speakers=[row.traits.speakers if row.traits else () for row in pool],
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
        moment, words, times, asks, known = self.traits[at].item()
        traits = Traits(moment, words, times, self.speakers[at], asks) if known else None
        return Candidate(self.ids[at], known_at(self.dense, at), known_at(self.bm25, at), context, traits)


def traits_row(traits: Traits | None) -> tuple[int, int, int, bool, bool]:
    """A row of TRAITS."""
    return (0, 0, 0, False, False) if traits is None else (*traits[:3], traits.asks, True)


def _column(values: Iterable[float | None]) -> Column:
    return np.array([math.nan if value is None else value for value in values], np.float64)


def known_at(column: Column, at: int) -> float | None:
    """A value of a column; NaN stands for None."""
    value = float(column[at])
    return None if math.isnan(value) else value


# ---- a column of `CandidateColumns` for each signal of fusion -------------------------------------------------------
# A value lies in [0, 1]. The raw measurement behind a value is NaN where there was nothing to measure.

# Of substance so much less counts for a message: its answer is often as short as an order.
_SUBSTANCE_OF_MESSAGE: Final = 0.5
# An opening counts so much for a short question, and fully for a message.
_OPENING_OF_QUESTION: Final = 0.35
# The vector of a question counts so much beside that of the memory after it. The cosine of two such vectors is some .5.
_SHARE_OF_ASKED: Final = 0.5
_LENGTH_OF_BOTH: Final = math.sqrt(1.0 + _SHARE_OF_ASKED**2 + _SHARE_OF_ASKED)
_SUBSTANCE: Final = np.log1p(np.arange(SUBSTANCE_WORDS + 1)) / math.log1p(SUBSTANCE_WORDS)


class CandidateColumns:
    """Columns (n,), one row a candidate. Where nobody has anything around it, columns of its episode are not there."""

    def __init__(self, pool: Candidates, question: Question | None) -> None:
        self.pool = pool
        self.question = question or Question()
        self.nothing = np.zeros(len(pool))  # The column of a signal that the question does not ask for.
        known = ~np.isnan(pool.dense)
        floor = pool.dense[known].min(initial=math.inf) if known.any() else math.nan
        # For a memory that is missing in the list its lowest: a list holds the best there are.
        self.cosine = np.where(known, pool.dense, floor)
        self.meaning = _unit(self.cosine)
        bm25 = np.where(np.isnan(pool.bm25), 0.0, pool.bm25)
        self.words = bm25 / (bm25.max(initial=0.0) or 1.0)
        # The rows for which words say anything.
        self.worded = ~np.isnan(pool.bm25)
        # The same, and the rows for which only words of their session say anything.
        self.session_worded = self.worded
        # The rows with something around them in their episode; None without any.
        self.around: NDArray[np.bool_] | None = None
        if pool.around is not None:
            self.around = ~np.isnan(pool.around[:, 0])
            context = np.where(self.around[:, np.newaxis], pool.around, 0.0)
            (
                self.window_bm25, self.near_cosine, self.best_cosine, self.best_bm25, self.opens, self.asked,
            ) = context.T  # fmt: skip
            self._widest = float(max(self.window_bm25.max(initial=0.0), self.best_bm25.max(initial=0.0))) or 1.0
            self.window: Column = np.maximum(self.words, self.window_bm25 / self._widest)
            self.worded |= self.window_bm25 != 0.0
            self.session_worded = self.worded | (self.best_bm25 != 0.0)

    @property
    def windowed(self) -> bool:
        """Whether windows were counted at all, which a search by keyword does not."""
        return self.around is not None and bool(self.window_bm25.any() or self.best_bm25.any())

    def answer(self) -> Column:
        """The cosine of the question and the memory with the question before it, as if both were one text."""
        joint = (self.cosine + _SHARE_OF_ASKED * self.asked) / _LENGTH_OF_BOTH
        return np.where(self.asked == NOT_ASKED, self.meaning, _unit(joint))

    def answer_raw(self) -> Column:
        """Of the question before it."""
        return np.where(self.asked == NOT_ASKED, math.nan, self.asked)

    def near(self) -> Column:
        return _unit(self.near_cosine)

    def episode(self) -> Column:
        return np.maximum(self.meaning, _unit(self.best_cosine))

    def episode_raw(self) -> Column:
        return np.where(_unit(self.best_cosine) >= self.meaning, self.best_cosine, self.pool.dense)

    def window_raw(self) -> Column:
        """Of the memory alone, when that fits better than together with what was said before it."""
        return np.where(self.window_bm25 / self._widest >= self.words, self.window_bm25, self.pool.bm25)

    def episode_words(self) -> Column:
        words: Column = np.maximum(self.window, self.best_bm25 / self._widest)
        return words

    def episode_words_raw(self) -> Column:
        return np.where(self.best_bm25 / self._widest >= self.window, self.best_bm25, self.window_raw())

    def substance(self) -> Column:
        whole = 1.0 - _SUBSTANCE_OF_MESSAGE * self.question.message
        return whole * np.asarray(_SUBSTANCE[self.pool.traits["words"]])

    def time(self) -> Column:
        return self.pool.traits["times"] / TIME_WORDS_MAX if self.question.when else self.nothing

    def date(self) -> Column:
        if not self.question.dated and self.question.window is None:
            return self.nothing
        return np.array(list(map(self.question.means, self.pool.traits["at"].tolist(), self.pool.ids)), np.float64)

    def speaker(self) -> Column:
        if not any(self.pool.speakers):
            return self.nothing
        return np.array([not self.question.words.isdisjoint(theirs) for theirs in self.pool.speakers], np.float64)

    def person(self) -> Column:
        if not any(self.pool.speakers):
            return self.nothing
        return np.array([theirs[:1] in PERSONS for theirs in self.pool.speakers], np.float64)

    def opening(self) -> Column:
        """A memory without a session is an opening, too: nothing was said before it."""
        if self.around is None:
            return self.nothing
        whole = _OPENING_OF_QUESTION + (1.0 - _OPENING_OF_QUESTION) * self.question.message
        return whole * np.where(self.around, self.opens, 1.0)

    def counted(self, trait: str) -> Column:
        """A trait as it was counted."""
        return np.where(self.pool.traits["told"], self.pool.traits[trait], math.nan)


def _unit(values: Column) -> Column:
    return np.minimum(1.0, np.maximum(0.0, values))
