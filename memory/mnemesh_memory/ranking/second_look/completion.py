"""Completion: likeness to the pattern to which a question comes to rest among the best memories (hopfield.py)."""

from __future__ import annotations

from typing import Final

from mnemesh_memory.ranking.second_look.optional_signal import OptionalSignal, Sight


def _gain(sight: Sight) -> dict[str, float]:
    """By the question's vector and the vectors of the memories."""
    if sight.fetched is None:
        return {}
    from mnemesh_memory.ranking.second_look.hopfield import recalled  # loads numpy

    question, vectors = sight.fetched
    alike = recalled(question, list(vectors.values()))
    return dict(zip(vectors, alike.tolist(), strict=True))


ROW: Final = OptionalSignal("completion", 0.0, "Gain by likeness to the completed pattern of a question.", gain=_gain)
