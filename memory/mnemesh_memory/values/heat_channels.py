"""Heat as it is told: the value with the channels that made it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """The heat of a memory with its channels."""

    value: float  # In [0, 1].
    strength: float  # By importance. 1 for a pinned memory.
    half_life_days: float  # Of the kind, without the other channels. 0: it does not cool.
    usage: float  # Factor on the half-life, from 1 on.
    usefulness: float  # Factor on the half-life, between 1/2 and 2.
    valence: float  # Factor on the half-life, from 1 to the square root of 2.
    age_days: float  # Since the last use, or else the last change.
    uses: int
