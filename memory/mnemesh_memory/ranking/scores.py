"""The scale of a score: from 0 to 1, with SCORE_DECIMALS, and room to make good what the evidence lacks."""

from __future__ import annotations

from typing import Final

SCORE_DECIMALS: Final = 6
# With so much evidence a memory gets all that form and date are worth, with less in proportion.
FULL_EVIDENCE: Final = 0.3


def unit(value: float) -> float:
    """The nearest value in [0, 1]."""
    return min(1.0, max(0.0, value))


def room(score: float) -> float:
    """The part of the gap between a score and 1 that a signal may fill: little of it where there is little evidence."""
    return (1.0 - score) * min(1.0, score / FULL_EVIDENCE)


def rounded(score: float) -> float:
    """A score as it is shown."""
    return round(unit(score), SCORE_DECIMALS)
