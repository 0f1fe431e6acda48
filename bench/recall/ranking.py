"""How good an order is: recall and ndcg as LongMemEval's own scorer counts them. Pure.

Source: D. Wu and others, "LongMemEval", ICLR 2025, arXiv:2410.10813, src/retrieval/eval_utils.py there. Recall is any
and all of the wanted among the first k. Ndcg has gains of 0 and 1, the first two places undiscounted, the ideal being
that of the whole corpus.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple


class Found(NamedTuple):
    """Scores of one question at one k, each in [0, 1]. `share`: the share of the wanted, without a counterpart in their
    scorer."""

    any: float
    all: float
    share: float
    ndcg: float


def found_at(ranked: Sequence[str], wanted: Collection[str], k: int, relevant: int | None = None) -> Found:
    """`ranked` best first; an id may stand in it several times, when several places hold a part of it. `relevant` says
    how many places of the whole corpus hold something wanted, one each when not given. Raises ValueError when nothing
    is wanted."""
    wanted = frozenset(wanted)
    if not wanted:
        raise ValueError("a question without evidence has no score")
    first = ranked[:k]
    got = len(wanted.intersection(first))
    ideal = _gain(range(min(k, len(wanted) if relevant is None else relevant)))
    ndcg = _gain(place for place, one in enumerate(first) if one in wanted) / ideal
    return Found(float(got > 0), float(got == len(wanted)), got / len(wanted), ndcg)


def places_of(ranked: Sequence[str], k: int) -> int:
    """Of how many places the first k different ones are, all when there are not so many."""
    seen: set[str] = set()
    for place, one in enumerate(ranked):
        seen.add(one)
        # Their scorer looks at k places at least.
        if len(seen) >= k and place + 1 >= k:
            return place + 1
    return len(ranked)


def _gain(places: Iterable[int]) -> float:
    return sum(1.0 if place == 0 else 1.0 / math.log2(place + 1) for place in places)
