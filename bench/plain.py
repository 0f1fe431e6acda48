"""What one would write without a library: a numpy dot product and Okapi BM25 over Python dictionaries, in memory.

The comparison for speed. It has no filter but the whole corpus, no update, no durability and no limits.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SATURATION_K = 1.2
LENGTH_B = 0.75
CANDIDATES = 100
WORD = re.compile(r"\w+")


class PlainSearch:
    """`vectors` (n, dimensions) float32, unit length; `texts` the n texts."""

    def __init__(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._vectors = vectors
        counts = [Counter(WORD.findall(text.lower())) for text in texts]
        lengths = np.array([sum(count.values()) for count in counts], np.float32)
        norm = SATURATION_K * (1 - LENGTH_B + LENGTH_B * lengths / max(float(lengths.mean()), 1.0))
        postings: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
        for position, count in enumerate(counts):
            for word, times in count.items():
                rows, weights = postings[word]
                rows.append(position)
                weights.append(times * (SATURATION_K + 1) / (times + norm[position]))
        total = len(texts)
        self._postings = {
            word: (np.array(rows), np.array(weights, np.float32) * math.log(1 + total / len(rows)))
            for word, (rows, weights) in postings.items()
        }

    def search(self, text: str, vector: NDArray[np.float32], limit: int = 10) -> list[int]:
        """Positions of the best texts by the mean of both scores, each scaled by its best."""
        dense = self._vectors @ vector
        lexical = np.zeros(len(self._vectors), np.float32)
        for word in set(WORD.findall(text.lower())):
            if word in self._postings:
                rows, weights = self._postings[word]
                lexical[rows] += weights
        score = dense / max(float(dense.max()), 1e-9) + lexical / max(float(lexical.max()), 1e-9)
        best = np.argpartition(-score, min(CANDIDATES, len(score) - 1))[:CANDIDATES]
        return [int(position) for position in best[np.argsort(-score[best])][:limit]]
