"""The scale of a score, from 0 to 1 with SCORE_DECIMALS, and the part of ratings in it: little, and nothing for an
irrelevant memory.

Votes say that a memory helped somebody with something, not that it answers this question. So they move a score by at
most USEFULNESS, in proportion to its evidence as form does, and tell memories apart that match about equally well. They
are part of the documents: replicas with the same ledger order alike.
"""

from __future__ import annotations

from typing import Final

from mnemesh_memory.ranking.fused import Fused

SCORE_DECIMALS: Final = 6
# With so much evidence a memory gets all that form and date are worth, with less in proportion.
FULL_EVIDENCE: Final = 0.3


def unit(value: float) -> float:
    """The nearest value in [0, 1]."""
    return min(1.0, max(0.0, value))


def room(score: float) -> float:
    """The part of the gap between a score and 1 that a signal may fill: little of it where there is little evidence."""
    return (1.0 - score) * min(1.0, score / FULL_EVIDENCE)


def with_rules(score: float, more: float, less: float) -> float:
    """A score after rules, which fill a share of its gap to 1 and take a share of it."""
    return (score + more * room(score)) * (1.0 - less)


def rounded(score: float) -> float:
    """A score as it is shown."""
    return round(unit(score), SCORE_DECIMALS)


USEFULNESS: Final = 0.02


def liking(useful: int, against: int) -> float:
    """The value of votes, in (-1, 1): their difference divided by their sum plus one, so few votes count less than
    many."""
    return (useful - against) / (useful + against + 1)


def rated(fused: Fused, useful: int, against: int) -> Fused:
    """`fused` with what votes add to its score or take from it; the score stays in [0, 1]."""
    if not fused.score or not (useful or against):
        return fused
    left = 1.0 - fused.score if useful > against else fused.score
    part = USEFULNESS * liking(useful, against) * min(1.0, fused.score / FULL_EVIDENCE, left / USEFULNESS)
    return fused._replace(score=round(fused.score + part, SCORE_DECIMALS), useful=part)
