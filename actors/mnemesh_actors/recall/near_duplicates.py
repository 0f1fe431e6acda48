"""Near-duplicates among results: of two texts that say nearly the same and match alike, the newer stands first. Pure.

Two neighbours in an answer seldom match alike and share many words. Only then are vectors asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.recall.results import Found
from mnemesh_memory.ranking.coverage import terms
from mnemesh_memory.text.traits import happened_at

COSINE_MIN: Final = 0.9
# Two match alike when their scores differ by at most so much.
TIE: Final = 0.02
# Texts with fewer common words are no near-duplicates: nobody looks at their vectors.
COMMON_MIN: Final = 0.4
LOOKED_AT_CHARS: Final = 600


def doubtful(found: Sequence[Found]) -> list[str]:
    """Ids of neighbours with the older one first that may say the same."""
    ids: dict[str, None] = {}
    for upper, lower in pairwise(found):
        if _ties(upper, lower) and _share_words(upper, lower):
            ids |= {upper.memory.id: None, lower.memory.id: None}
    return list(ids)


def newer_first(found: Sequence[Found], vectors: Mapping[str, Vector]) -> list[Found]:
    """The same, with the newer one of near-duplicates before the older."""
    ranked: list[Found] = []
    for item in found:
        at = len(ranked)
        while at and _ties(ranked[at - 1], item) and _alike(ranked[at - 1], item, vectors):
            at -= 1
        ranked.insert(at, item)
    return ranked


def _ties(upper: Found, lower: Found) -> bool:
    """Whether the lower result is newer, and only a small difference of scores keeps the order. Equal scores have an
    order of their own."""
    return (
        lower.fused.score < upper.fused.score <= lower.fused.score + TIE
        and happened_at(upper.memory) < happened_at(lower.memory)
        and upper.liking <= lower.liking
        and (upper.memory.importance or 0.0) <= (lower.memory.importance or 0.0)
        and not (upper.origin or lower.origin)
    )


def _share_words(upper: Found, lower: Found) -> bool:
    first, second = (terms(item.memory.content[:LOOKED_AT_CHARS]) for item in (upper, lower))
    return len(first & second) >= COMMON_MIN * len(first | second)


def _alike(upper: Found, lower: Found, vectors: Mapping[str, Vector]) -> bool:
    first, second = vectors.get(upper.memory.id), vectors.get(lower.memory.id)
    return first is not None and second is not None and float(first @ second) >= COSINE_MIN
