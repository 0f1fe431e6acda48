"""A cross-encoder's own judgement of the best, mixed into their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mnemesh_memory.ranking.scores import rounded
from mnemesh_memory.ranking.second_look.optional_signal import Look, OptionalSignal, Sight, in_order


def mixed(looks: Sequence[Look], relevance: Mapping[str, float], weight: float) -> list[Look]:
    """The same, `weight` of each score being the relevance in [0, 1] that a model gives, best first. A memory without
    an own value gets the least value among the others."""
    least = min(relevance.values(), default=0.0)
    changed = []
    for id_, score, parts in looks:
        change = weight * (relevance.get(id_, least) - score)
        changed.append(Look(id_, rounded(score + change), {**parts, "rerank": change}))
    return in_order(changed)


def _change(looks: Sequence[Look], sight: Sight) -> list[Look]:
    return mixed(looks, sight.values, sight.weights["rerank"]) if sight.values else list(looks)


ROW: Final = OptionalSignal(
    "rerank",
    0.0,
    "The cross-encoder's share of the score of the best.",
    change=_change,
    fetches=True,
    part="reranker",
)
