"""The score of a result: an estimate of the probability that the memory answers the question.

The evidence is absolute: the cosine as it is, and the share of the question's terms that the memory holds. Nothing is
measured against the best candidate of the same question, so scores compare across questions. A logistic model (Platt,
1999) of both gives a first estimate. Isotonic regression (Ayer et al., 1955, pool adjacent violators) then makes the
estimates agree with the order, which fusion and the second look have decided before.

`python -m bench.calibration` fits the coefficients on several corpora and prints the calibration of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from mnemesh_memory.ranking.scores import SCORE_DECIMALS


class Evidence(NamedTuple):
    """Of one result: its cosine in [-1, 1], and the share of the question's terms that it holds, in [0, 1]. None for
    evidence that the question or the search does not have."""

    cosine: float | None
    share: float | None


NO_EVIDENCE: Final = Evidence(None, None)


class Coefficients(NamedTuple):
    """Of the logit: per unit of cosine, per unit of share, and the constant."""

    cosine: float
    share: float
    constant: float


# By the evidence that there is: both, the cosine alone, the share alone.
BOTH: Final = Coefficients(6.7, 2.7, -6.4)
COSINE_ALONE: Final = Coefficients(8.2, 0.0, -6.0)
SHARE_ALONE: Final = Coefficients(0.0, 4.5, -4.0)


def relevances(evidence: Iterable[Evidence]) -> list[float]:
    """The score of each result, in [0, 1] and never rising; `evidence` is in the order of the answer, best first."""
    return [round(value, SCORE_DECIMALS) for value in falling([probability(one) for one in evidence])]


def probability(evidence: Evidence) -> float:
    """The estimate for one memory by itself; 0 without any evidence."""
    cosine, share = evidence
    if cosine is None and share is None:
        return 0.0
    known = BOTH if cosine is not None and share is not None else COSINE_ALONE if share is None else SHARE_ALONE
    logit = known.cosine * _unit(cosine) + known.share * _unit(share) + known.constant
    return 1.0 / (1.0 + math.exp(-logit))


def falling(values: Sequence[float]) -> list[float]:
    """The nearest values by least squares that never rise. Neighbours that would rise share their mean."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        mean, size = value, 1
        while blocks and blocks[-1][0] < mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    return [mean for mean, size in blocks for _ in range(size)]


def _unit(value: float | None) -> float:
    return 0.0 if value is None or math.isnan(value) else min(1.0, max(0.0, value))
