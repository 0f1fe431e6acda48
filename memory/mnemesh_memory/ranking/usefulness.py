"""The part of ratings in relevance: little, and nothing for an irrelevant memory.

Votes say that a memory helped somebody with something, not that it answers this question. So they move a score by at
most USEFULNESS, in proportion to its evidence as form does, and tell memories apart that match about equally well. They
are part of the documents: replicas with the same ledger order alike.
"""

from __future__ import annotations

from typing import Final

from mnemesh_memory.ranking.fusion import Fused
from mnemesh_memory.ranking.scores import FULL_EVIDENCE, SCORE_DECIMALS

USEFULNESS: Final = 0.02


def liking(useful: int, against: int) -> float:
    """The value of votes, in (-1, 1): their difference divided by their sum plus one, so few votes count less than
    many."""
    return (useful - against) / (useful + against + 1)


def rated(fused: Fused, useful: int, against: int) -> Fused:
    """`fused` with what votes add to its score or take from it; the score stays in [0, 1]."""
    if not fused.score or not (useful or against):
        return fused
    room = 1.0 - fused.score if useful > against else fused.score
    part = USEFULNESS * liking(useful, against) * min(1.0, fused.score / FULL_EVIDENCE, room / USEFULNESS)
    return fused._replace(score=round(fused.score + part, SCORE_DECIMALS), useful=part)
