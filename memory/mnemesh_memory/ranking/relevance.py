"""The score of a result: an estimate of the probability that the memory answers the question.

The evidence is absolute. A memory has its cosine, its share of the question's terms, and its company. That is the
number of the best candidates of its session, or that it stands alone. The nearness of the fiftieth candidate counts
too, because among many near memories the first is less sure. A logistic model (Platt, 1999) of these gives a first
estimate. Isotonic regression (Ayer et al., 1955, pool adjacent violators) then makes the estimates agree with the
order, which fusion and the second look have decided before.

A second model estimates the probability that the space answers the question at all, for `abstain`. The first result may
be wrong where an answer is, and a memory that stands alone is more often right but no more often there.

Where that probability is in doubt, a model may have read the first results together with the question. Then its log
odds count beside the same evidence, by coefficients of their own.

`python -m bench.calibration` fits the coefficients on several corpora and prints the calibration of each.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.ranking.scores import SCORE_DECIMALS, with_rules

# Company is counted among so many of the best candidates.
COMPANY_AMONG: Final = 10
# The crowd is as near as the candidate at this place, by cosine.
CROWD_PLACE: Final = 50
# Results of an answer that are looked at for whether the space answers at all.
BEST_FOR_ANSWER: Final = 3
# A reading takes as long as nearly three embeddings of a question. Nothing is read outside of these probabilities of an
# answer: some 5 of 100 questions.
DOUBT_FROM: Final = 0.03
DOUBT_TO: Final = 0.8
# Log odds of a reading are cut at this distance from even odds.
ODDS_MAX: Final = 8.0


class ResultEvidence(NamedTuple):
    """Of one result: its cosine in [-1, 1], and the share of the question's terms that it holds, in [0, 1]. None for
    evidence that the question or the search does not have."""

    cosine: float | None
    share: float | None
    company: float | None = None  # The share of the best candidates that are of its session; None if it stands alone.
    crowd: float = 0.0  # The cosine of the candidate at CROWD_PLACE.
    read: float | None = None  # By a model that has read question and text: the probability that the text answers.


NO_EVIDENCE: Final = ResultEvidence(None, None)


class Surroundings(NamedTuple):
    """The candidates around the results of one question."""

    # By id of a candidate that does not stand alone: the share of the best candidates that are of its session.
    company: Mapping[str, float] = MappingProxyType({})
    crowd: float = 0.0
    read: Mapping[str, float] = MappingProxyType({})  # By id of a candidate that a model has read.


NOTHING_AROUND: Final = Surroundings()


class Coefficients(NamedTuple):
    """Of the logit: per unit of cosine, of share and of company, for standing alone, per unit of crowd and of the
    value of a reading, and the constant."""

    cosine: float
    share: float
    company: float
    alone: float
    crowd: float
    read: float
    constant: float


class Term(NamedTuple):
    """One addend of the logit: `weight` times `value`, which is made of `raw`."""

    name: str
    raw: float | None  # None for what is no measurement: standing alone, and the constant.
    value: float
    weight: float


class Models(NamedTuple):
    """The coefficients by the evidence that there is: both kinds, the cosine alone, the share alone, and both kinds
    with a reading."""

    both: Coefficients
    cosine: Coefficients
    share: Coefficients
    read: Coefficients


RELEVANT: Final = Models(
    both=Coefficients(5.5, 2.5, 1.9, 1.3, -1.65, 0.0, -5.75),
    cosine=Coefficients(7.05, 0.0, 0.0, 0.55, 0.0, 0.0, -4.85),
    share=Coefficients(0.0, 3.9, 0.0, 1.0, 0.0, 0.0, -3.9),
    read=Coefficients(2.25, 0.4, 2.3, 1.3, -1.55, 9.25, -8.7),
)
# The same for whether the space answers: by the best cosine, share and reading of an answer, and by what surrounds the
# first.
ANSWERED: Final = Models(
    both=Coefficients(5.75, 1.95, 1.3, 0.4, 0.0, 0.0, -4.45),
    cosine=Coefficients(7.2, 0.0, 0.0, 0.0, 0.0, 0.0, -3.7),
    share=Coefficients(0.0, 3.6, 0.0, 0.0, 0.0, 0.0, -2.2),
    read=Coefficients(2.95, 0.25, 1.55, 0.3, 0.0, 7.35, -6.55),
)


def surroundings(candidates: Candidates, best: Sequence[str], ids: Iterable[str]) -> Surroundings:
    """The surroundings of the candidates of `ids`. `best` are the ids of the best candidates, best first."""
    near = candidates.dense[~np.isnan(candidates.dense)]
    crowd = max(0.0, float(np.partition(near, -CROWD_PLACE)[-CROWD_PLACE])) if len(near) >= CROWD_PLACE else 0.0
    if candidates.around is None or candidates.episodes is None:
        return Surroundings(crowd=crowd)
    first = candidates.episodes[_places(candidates, best[:COMPANY_AMONG])].tolist()
    asked = list(dict.fromkeys(ids))
    places = _places(candidates, asked)
    episodes, alone = candidates.episodes[places].tolist(), np.isnan(candidates.around[places, 0]).tolist()
    company = {
        id_: first.count(episode) / max(1, len(first))
        for id_, episode, by_itself in zip(asked, episodes, alone, strict=True)
        if not by_itself
    }
    return Surroundings(company, crowd)


def relevances(
    evidence: Iterable[ResultEvidence],
    shares: Iterable[tuple[float, float]] | None = None,
    models: Models = RELEVANT,
) -> list[float]:
    """The score of each result, in [0, 1] and never rising; `evidence` is in the order of the answer, best first.
    `shares` are the shares that rules fill and take, as `with_rules` has them."""
    values = [_logistic(_terms(row, models)) for row in evidence]
    if shares is not None:
        values = [with_rules(value, more, less) for value, (more, less) in zip(values, shares, strict=True)]
    return [round(value, SCORE_DECIMALS) for value in falling(values)]


def probability(evidence: ResultEvidence) -> float:
    """The estimate for one memory by itself; 0 without any evidence."""
    return _logistic(logit(evidence))


def logit(evidence: ResultEvidence) -> list[Term]:
    """The terms whose sum is the logit of `probability`; none without any evidence."""
    return _terms(evidence, RELEVANT)


def answered(best: Sequence[ResultEvidence], models: Models = ANSWERED) -> float:
    """The probability that the space answers the question; `best` are the first results, best first."""
    return round(_logistic(_terms(strongest_of(best), models)), SCORE_DECIMALS)


def strongest_of(best: Sequence[ResultEvidence]) -> ResultEvidence:
    """The best evidence of the first results, with what surrounds the first; NO_EVIDENCE without any."""
    known = [row for row in best[:BEST_FOR_ANSWER] if row.cosine is not None or row.share is not None]
    if not known:
        return NO_EVIDENCE
    cosines = [row.cosine for row in known if row.cosine is not None]
    shares = [row.share for row in known if row.share is not None]
    readings = [row.read for row in known if row.read is not None]
    return known[0]._replace(
        cosine=max(cosines, default=None), share=max(shares, default=None), read=max(readings, default=None)
    )


def in_doubt(best: Sequence[ResultEvidence]) -> bool:
    """Whether a reading of the first results may change what an answer says of itself. Readings count beside both kinds
    of evidence alone."""
    strongest = strongest_of(best)
    both = strongest.cosine is not None and strongest.share is not None
    return both and DOUBT_FROM <= answered(best) <= DOUBT_TO


def _terms(evidence: ResultEvidence, models: Models) -> list[Term]:
    if evidence.cosine is None and evidence.share is None:
        return []
    by = models.cosine if evidence.share is None else models.share if evidence.cosine is None else models.both
    read = evidence.read
    if read is not None and by is models.both:
        by = models.read
    company = evidence.company
    return [
        Term("cosine", evidence.cosine, _unit(evidence.cosine), by.cosine),
        Term("share", evidence.share, _unit(evidence.share), by.share),
        Term("alone", None, 1.0, by.alone) if company is None else Term("company", company, company, by.company),
        Term("crowd", evidence.crowd, evidence.crowd, by.crowd),
        *(() if read is None else (Term("read", read, odds_value(read), by.read),)),
        Term("constant", None, 1.0, by.constant),
    ]


def odds_value(read: float) -> float:
    """The log odds of a probability, cut at ODDS_MAX and brought to [0, 1]."""
    least = 1.0 / (1.0 + math.exp(ODDS_MAX))
    kept = min(1.0 - least, max(least, read))
    return (math.log(kept / (1.0 - kept)) + ODDS_MAX) / (2 * ODDS_MAX)


def _logistic(terms: Sequence[Term]) -> float:
    return 1.0 / (1.0 + math.exp(-sum(term.weight * term.value for term in terms))) if terms else 0.0


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


def _places(candidates: Candidates, ids: Sequence[str]) -> list[int]:
    """The rows of some candidates; the rows are in the order of ids."""
    return [bisect_left(candidates.ids, id_) for id_ in ids]


def _unit(value: float | None) -> float:
    return 0.0 if value is None or math.isnan(value) else min(1.0, max(0.0, value))
