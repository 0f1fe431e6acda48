"""Completion: likeness to the pattern to which a question comes to rest among the best memories (hopfield.py)."""

from __future__ import annotations

from typing import Final

from mnemesh_memory.ranking.second_look.optional_signal import OptionalSignal, Sight


def _gain(sight: Sight) -> dict[str, float]:
    """By the question's vector and the vectors of the memories."""
    if sight.vector is None or not sight.vectors:
        return {}
    from mnemesh_memory.ranking.second_look.hopfield import recalled  # loads numpy

    alike = recalled(sight.vector, list(sight.vectors.values()))
    return dict(zip(sight.vectors, alike.tolist(), strict=True))


ROW: Final = OptionalSignal(
    "completion", 0.0, "Gain by likeness to the completed pattern of a question.", gain=_gain, fetches=True
)
