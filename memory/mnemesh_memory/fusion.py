"""One order out of two kinds of evidence: a convex combination of normalised scores.

Scores, not ranks: reciprocal rank fusion throws away how much better the first is, and with a weak dense model loses to
BM25 alone. S. Bruch, S. Gai, A. Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 42(1), 2023,
doi:10.1145/3596512. The answer depends on the candidates alone, not on the order they come in, so replicas agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from mnemesh_memory.errors import InvalidArgument

SIGNALS: Final = ("dense", "bm25")
DEFAULT_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType({"dense": 0.5, "bm25": 0.5})
SCORE_DECIMALS: Final = 6
COSINE_UNRELATED: Final = 0.15
COSINE_SAME: Final = 0.75
TERM_CHARS: Final = 6
COMMON_WORDS: Final = frozenset(
    ["a", "about", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "is", "it", "its", "me", "my", "of", "on", "or", "our", "she", "should", "so", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with", "would", "you", "your"]
)
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory with the raw scores that the index gave: cosine in [-1, 1], BM25 >= 0; None where a list lacks it."""

    id: str
    dense: float | None = None
    bm25: float | None = None


@dataclass(frozen=True, slots=True)
class Fused:
    """A memory with its relevance in [0, 1], and each signal's part of it: the parts sum to the score.

    `cosine` is the raw dense score, None when the dense list lacks the memory.
    """

    id: str
    score: float
    signals: Mapping[str, float]
    cosine: float | None = None


def fuse(candidates: Iterable[Candidate], weights: Mapping[str, float] | None = None) -> list[Fused]:
    """Best first; equal scores in the order of their ids.

    score = sum of w_s * n_s over the signals s, with the weights scaled to sum 1, n_dense = max(0, cosine) and
    n_bm25 = BM25 / the largest BM25 among the candidates. A signal that a candidate lacks counts 0. A weight that is
    not given has its default; with weight 0 a signal is gone, and so is whoever is known by it alone.
    Raises InvalidArgument for a weight that is unknown, negative or not finite, and when all are 0.
    """
    scaled = scaled_weights(weights or {})
    pool = list(candidates)
    top = max((candidate.bm25 for candidate in pool if candidate.bm25 is not None), default=0.0)
    fused = []
    for candidate in pool:
        parts: dict[str, float] = {}
        if candidate.dense is not None and scaled["dense"] > 0:
            parts["dense"] = scaled["dense"] * _unit(candidate.dense)
        if candidate.bm25 is not None and scaled["bm25"] > 0:
            parts["bm25"] = scaled["bm25"] * (_unit(candidate.bm25 / top) if top > 0 else 0.0)
        if parts:
            score = round(min(1.0, sum(parts.values())), SCORE_DECIMALS)
            fused.append(Fused(candidate.id, score, parts, candidate.dense))
    return sorted(fused, key=lambda one: (-one.score, one.id))


def scaled_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """The weight of every signal, summing to 1. See `fuse` for what is refused."""
    for name, weight in weights.items():
        if name not in SIGNALS:
            raise InvalidArgument("weights", name, "one of " + ", ".join(SIGNALS))
        if not math.isfinite(weight) or weight < 0:
            raise InvalidArgument(f"weights.{name}", weight, "a finite number, not negative")
    whole = {**DEFAULT_WEIGHTS, **weights}
    largest = max(whole.values())
    if largest <= 0:
        raise InvalidArgument("weights", dict(whole), "at least one above 0")
    # Divided by the largest first: the sum of huge weights must not overflow.
    relative = {name: whole[name] / largest for name in SIGNALS}
    total = sum(relative.values())
    return {name: weight / total for name, weight in relative.items()}


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))


def coverage(query: str, best: Iterable[tuple[Fused, str]]) -> float:
    """How well the best results answer, in [0, 1], from absolute evidence: unlike scores it compares across queries.

    `best` are the first results with their texts. For each: half of it the cosine, stretched from
    [COSINE_UNRELATED, COSINE_SAME] to [0, 1], half the share of the query's terms that the text holds. The largest
    counts. Without a dense score (search by words), or without a term in the query, the other half stands alone.
    """
    wanted = terms(query)
    return round(max((_evidence(wanted, fused, text) for fused, text in best), default=0.0), SCORE_DECIMALS)


def _evidence(wanted: frozenset[str], fused: Fused, text: str) -> float:
    halves = []
    if fused.cosine is not None:
        halves.append(_unit((fused.cosine - COSINE_UNRELATED) / (COSINE_SAME - COSINE_UNRELATED)))
    if wanted:
        halves.append(len(wanted & terms(text)) / len(wanted))
    return sum(halves) / len(halves) if halves else 0.0


def terms(text: str) -> frozenset[str]:
    """The words that carry meaning: lower case, without common English ones, cut to their first letters."""
    words = _WORD.findall(text.casefold())
    return frozenset(word[:TERM_CHARS] for word in words if word not in COMMON_WORDS)
