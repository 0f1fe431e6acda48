"""The untuned sum of windows, a baseline without a single learned number.

A unit is scored by eight figures: BM25 and cosine of the unit alone, together with one unit on both sides, together
with two on both sides, and of the session. Each figure is scaled to [0, 1] over all units of the question, and the
eight are summed. For a question in the middle of a conversation, nothing said later counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
from bench.texts.documents import Document
from bench.texts.embedding_cache import EmbeddingCache
from numpy.typing import NDArray
from qdrant_edge import Bm25, Bm25Config

from mnemesh_memory.text.counted_words import spaced

WIDTHS: Final = (1, 2)
# Of a session by meaning: the mean of its best windows.
BEST_OF_SESSION: Final = 3
# The model reads 256 tokens of a text; more characters only cost time.
EMBEDDED_CHARS: Final = 2_000
COUNTING_K: Final = 1e6
SATURATION_K: Final = 1.2
LENGTH_B: Final = 0.75
COSINE_DECIMALS: Final = 5

Column = NDArray[np.float64]


class WindowSum:
    """The baseline over the units of one conversation, which are in order of time."""

    def __init__(self, units: Sequence[Document], embedded: EmbeddingCache) -> None:
        self._texts = [unit.text for unit in units]
        names = {unit.session: None for unit in units}
        numbers = {name: number for number, name in enumerate(names)}
        self._session = np.array([numbers[unit.session] for unit in units])
        self._embedded = embedded
        # With a saturation without end and no share of the length, the weight of a term is its count.
        self._counter = Bm25(Bm25Config(language="english", k=COUNTING_K, b=0.0, avg_len=1.0))
        self._counts: dict[int, list[tuple[int, float]]] = defaultdict(list)
        self._lengths = np.zeros(len(units))
        for place, text in enumerate(self._texts):
            found = self._counter.embed_document(spaced(text))
            for term, count in zip(found.indices, found.values, strict=True):
                self._counts[term].append((place, round(count)))
            self._lengths[place] = sum(map(round, found.values))
        windows = [[self._window(place, width, len(units)) for place in range(len(units))] for width in WIDTHS]
        self._vectors = [embedded.of([text[:EMBEDDED_CHARS] for text in texts]) for texts in (self._texts, *windows)]

    def order(self, question: str, vector: NDArray[np.float32], before: int | None) -> NDArray[np.intp]:
        """The places of the units, best first."""
        known = len(self._texts) if before is None else before
        figures = [*self._by_words(question, known), *self._by_meaning(vector, known)]
        return np.argsort(-sum(map(_scaled, figures), np.zeros(known)), kind="stable")

    def _window(self, place: int, width: int, known: int) -> str:
        around = range(max(0, place - width), min(known, place + width + 1))
        return "\n".join(self._texts[near] for near in around if self._session[near] == self._session[place])

    def _by_words(self, question: str, known: int) -> list[Column]:
        terms = [term for term in self._counter.embed_query(spaced(question)).indices if term in self._counts]
        counts = np.zeros((len(terms), known))
        for row, term in enumerate(terms):
            for place, count in self._counts[term]:
                if place < known:
                    counts[row, place] = count
        lengths = self._lengths[:known]
        session = self._session[:known]
        sessions = np.zeros((len(terms) + 1, session[-1] + 1))
        np.add.at(sessions.T, session, np.vstack([counts, lengths]).T)
        found = [_bm25(counts, lengths)]
        for width in WIDTHS:
            found.append(_bm25(self._widened(counts, width), self._widened(lengths[np.newaxis], width)[0]))
        found.append(_bm25(sessions[:-1], sessions[-1])[session])
        return found

    def _widened(self, rows: Column, width: int) -> Column:
        """The sums of each row over the window of each place."""
        total = rows.copy()
        session = self._session[: rows.shape[1]]
        for step in range(1, min(width, rows.shape[1] - 1) + 1):
            same = session[step:] == session[:-step]
            total[:, step:] += rows[:, :-step] * same
            total[:, :-step] += rows[:, step:] * same
        return total

    def _by_meaning(self, vector: NDArray[np.float32], known: int) -> list[Column]:
        cosines = [_cosines(vectors[:known], vector) for vectors in self._vectors]
        if known < len(self._texts):
            for width, column in zip(WIDTHS, cosines[1:], strict=True):
                # The last windows would hold what comes after the question.
                last = range(max(0, known - width), known)
                texts = [self._window(place, width, known)[:EMBEDDED_CHARS] for place in last]
                column[last.start :] = _cosines(self._embedded.of(texts), vector)
        session = self._session[:known]
        best = [np.sort(cosines[1][session == one])[-BEST_OF_SESSION:].mean() for one in range(session[-1] + 1)]
        return [*cosines, np.array(best)[session]]


def _bm25(counts: Column, lengths: Column) -> Column:
    """BM25 of each place; `counts` has a row for each term."""
    held = (counts > 0).sum(axis=1, keepdims=True)
    rarity = np.log1p((len(lengths) - held + 0.5) / (held + 0.5))
    norm = SATURATION_K * (1 - LENGTH_B + LENGTH_B * lengths / (lengths.mean() or 1.0))
    found: Column = (rarity * counts * (SATURATION_K + 1) / (counts + norm)).sum(axis=0)
    return found


def _cosines(vectors: NDArray[np.float32], vector: NDArray[np.float32]) -> Column:
    """At least 0, and rounded: the sum of many products differs with the number of rows."""
    found: Column = np.maximum(0.0, np.round((vectors @ vector).astype(np.float64), COSINE_DECIMALS))
    return found


def _scaled(values: Column) -> Column:
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)
