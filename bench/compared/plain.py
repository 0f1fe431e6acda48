"""Search without a vector store: a numpy dot product and bm25s (github.com/xhluca/bm25s, MIT), in memory.

The comparison for speed. It has no filter but the whole corpus, no update, no durability and no limits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from bm25s import BM25
from numpy.typing import NDArray

SATURATION_K: Final = 1.2
LENGTH_B: Final = 0.75
CANDIDATES: Final = 100
NAME: Final = "plain numpy + bm25s, no filter"
WORD: Final = re.compile(r"\w+")


class PlainSearch:
    """`vectors` (n, dimensions) float32, unit length; `texts` the n texts, at least one with a word."""

    def __init__(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._vectors = vectors
        self._words = BM25(method="lucene", k1=SATURATION_K, b=LENGTH_B)
        self._words.index([_words_of(text) for text in texts], show_progress=False)

    def search(self, text: str, vector: NDArray[np.float32], limit: int = 10) -> list[int]:
        """Positions of the best texts by the mean of both scores, each scaled by its best."""
        dense = self._vectors @ vector
        lexical = self._words.get_scores_from_ids(self._words.get_tokens_ids(list(set(_words_of(text)))))
        score = dense / max(float(dense.max()), 1e-9) + lexical / max(float(lexical.max()), 1e-9)
        best = np.argpartition(-score, min(CANDIDATES, len(score) - 1))[:CANDIDATES]
        return [int(position) for position in best[np.argsort(-score[best])][:limit]]


def _words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())
