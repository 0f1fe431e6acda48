"""Diversity: what repeats an earlier result stands lower."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mnemesh_memory.ranking.coverage import terms
from mnemesh_memory.ranking.scores import rounded
from mnemesh_memory.ranking.second_look.optional_signal import Look, OptionalSignal, Sight, in_order


def diverse(looks: Sequence[Look], texts: Mapping[str, str], weight: float, limit: int) -> list[Look]:
    """The same with what repeats an earlier one lowered by up to `weight` of its score, for the first `limit`: maximal
    marginal relevance (J. Carbonell, J. Goldstein, SIGIR 1998, doi:10.1145/290941.291025), likeness being the share of
    common words (Jaccard). Best first."""
    said = {look.id: terms(texts.get(look.id, "")) for look in looks}
    left, chosen = in_order(looks), list[Look]()
    alike = dict.fromkeys(said, 0.0)
    while left and len(chosen) < limit:
        best = max(left, key=lambda look: look.score * (1.0 - weight * alike[look.id]))
        left.remove(best)
        lost = best.score * weight * alike[best.id]
        parts = {**best.parts, "diversity": -lost} if lost else best.parts
        chosen.append(Look(best.id, rounded(best.score - lost), parts))
        for look in left:
            alike[look.id] = max(alike[look.id], _common(said[look.id], said[best.id]))
    # Nobody who was passed over stands above who was chosen.
    floor = chosen[-1].score if chosen else 1.0
    rest = [look if look.score <= floor else _lowered(look, floor) for look in left]
    return [*chosen, *in_order(rest)]


def _lowered(look: Look, floor: float) -> Look:
    return Look(look.id, floor, {**look.parts, "diversity": floor - look.score})


def _common(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _change(looks: Sequence[Look], sight: Sight) -> list[Look]:
    texts = {id_: memory.content for id_, memory in sight.memories.items()}
    return diverse(looks, texts, sight.weights["diversity"], sight.query.limit)


ROW: Final = OptionalSignal(
    "diversity", 0.0, "Loss by repeating an earlier result, as a share of the score.", change=_change
)
