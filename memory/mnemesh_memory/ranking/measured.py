"""The candidates of one question, measured: a column for each signal of fusion.

A value lies in [0, 1]. The raw measurement behind a value is NaN where there was nothing to measure.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_memory.ranking.candidates import Candidates, Column
from mnemesh_memory.text.traits import PERSONS, SUBSTANCE_WORDS, TIME_WORDS_MAX, Question

# Of so many words that carry meaning.
# Of substance so much less counts for a message: its answer is often as short as an order.
_SUBSTANCE_OF_MESSAGE: Final = 0.5
# An opening counts so much for a short question, and fully for a message.
_OPENING_OF_QUESTION: Final = 0.35
_SUBSTANCE: Final = np.log1p(np.arange(SUBSTANCE_WORDS + 1)) / math.log1p(SUBSTANCE_WORDS)


class Measured:
    """Columns (n,), one row a candidate. Where nobody has anything around it, columns of its episode are not there."""

    def __init__(self, pool: Candidates, question: Question | None) -> None:
        self.pool = pool
        self.question = question or Question()
        self.nothing = np.zeros(len(pool))  # The column of a signal that the question does not ask for.
        told = ~np.isnan(pool.dense)
        floor = pool.dense[told].min(initial=math.inf) if told.any() else math.nan
        # For a memory that is missing in the list its lowest: a list holds the best there are.
        self.cosine = np.where(told, pool.dense, floor)
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
            self.window_bm25, self.near_cosine, self.best_cosine, self.best_bm25, self.opens = context.T
            self._widest = float(max(self.window_bm25.max(initial=0.0), self.best_bm25.max(initial=0.0))) or 1.0
            self.window: Column = np.maximum(self.words, self.window_bm25 / self._widest)
            self.worded |= self.window_bm25 != 0.0
            self.session_worded = self.worded | (self.best_bm25 != 0.0)

    @property
    def windowed(self) -> bool:
        """Whether windows were counted at all, which a search by keyword does not."""
        return self.around is not None and bool(self.window_bm25.any() or self.best_bm25.any())

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
        found: Column = np.maximum(self.window, self.best_bm25 / self._widest)
        return found

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
