"""Votes of the astrocytes: each domain that a question belongs to speaks for its memories (consolidation/votes.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mnemesh_memory.ranking.second_look.optional_signal import OptionalSignal, Sight


def _gain(sight: Sight) -> Mapping[str, float]:
    votes: Mapping[str, float] = sight.fetched or {}
    return votes


ROW: Final = OptionalSignal("votes", 0.0, "Gain by the votes of the astrocytes of its domains.", gain=_gain)
