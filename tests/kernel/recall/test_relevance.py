"""Scores are probabilities from absolute evidence, and agree with the order."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.ranking.candidates import Candidate, Candidates, Context
from mnemesh_memory.ranking.explanation import estimate_of
from mnemesh_memory.ranking.relevance import (
    COMPANY_AMONG,
    CROWD_PLACE,
    ResultEvidence,
    answered,
    falling,
    probability,
    relevances,
    surroundings,
)

unit = st.floats(0, 1)
cosine = st.none() | st.floats(-1, 1) | st.just(math.nan)
company = st.none() | unit
evidence = st.builds(ResultEvidence, cosine, st.none() | unit, company, unit, st.none() | unit)


@given(st.lists(evidence, max_size=30))
def test_scores_lie_between_0_and_1_and_never_rise(answer: list[ResultEvidence]) -> None:
    scores = relevances(answer)
    assert len(scores) == len(answer)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert 0.0 <= answered(answer) <= 1.0


@given(evidence)
def test_an_explained_estimate_is_the_sum_of_its_parts_and_makes_the_score(one: ResultEvidence) -> None:
    estimate = estimate_of(one)
    if estimate is None:
        assert probability(one) == 0.0
        return
    logit = sum(part.share for part in estimate.parts)
    assert 1 / (1 + math.exp(-logit)) == pytest.approx(estimate.probability, abs=1e-5)
    assert [estimate.probability] == relevances([one])
    assert not any(str(part.share) == "-0.0" for part in estimate.parts)
    names = {part.name for part in estimate.parts}
    assert "constant" in names
    assert ("alone" in names) != ("company" in names) or one.company is not None


@given(unit, unit, unit, unit, company, unit)
def test_more_evidence_never_means_a_lower_score(
    cosine: float, share: float, more: float, further: float, company: float | None, crowd: float
) -> None:
    weaker = ResultEvidence(cosine, share, company, crowd)
    stronger = ResultEvidence(max(cosine, more), max(share, further), company, crowd)
    for read in (more, further):
        assert probability(stronger._replace(read=read)) >= probability(weaker._replace(read=read))
    low, high = sorted((more, further))
    assert probability(weaker._replace(read=high)) >= probability(weaker._replace(read=low))
    assert answered([weaker._replace(read=high)]) >= answered([weaker._replace(read=low)])
    assert probability(stronger) >= probability(weaker)
    assert answered([stronger]) >= answered([weaker])


@given(unit, unit, unit, unit, unit)
def test_company_of_its_session_raises_a_score_and_a_near_crowd_lowers_it(
    cosine: float, share: float, company: float, more: float, crowd: float
) -> None:
    alike = ResultEvidence(cosine, share, company, 0.0)
    assert probability(alike._replace(company=max(company, more))) >= probability(alike)
    assert probability(alike._replace(crowd=crowd)) <= probability(alike)


@given(st.lists(unit, min_size=1, max_size=30))
def test_values_that_fall_already_stay_and_the_mean_is_kept(values: list[float]) -> None:
    ordered = sorted(values, reverse=True)
    assert falling(ordered) == pytest.approx(ordered)
    assert sum(falling(values)) == pytest.approx(sum(values))


@given(st.lists(evidence, min_size=1, max_size=10))
def test_a_weak_neighbour_behind_changes_no_score_before_it(answer: list[ResultEvidence]) -> None:
    least = ResultEvidence(0.0, 0.0, 0.0, 1.0)
    if all(probability(one) >= probability(least) for one in answer):
        assert relevances([*answer, least])[: len(answer)] == relevances(answer)


def test_without_evidence_the_score_is_0() -> None:
    assert relevances([ResultEvidence(None, None)]) == [0.0]
    assert relevances([]) == []
    assert answered([ResultEvidence(None, None)]) == answered([]) == 0.0


def test_candidates_of_one_session_are_company_and_one_without_a_session_stands_alone() -> None:
    around = Context(1.0, 0.2, 0.5, 1.0, 0.0)
    pool = Candidates.of([Candidate("a", 0.5, 1.0, around), Candidate("b", 0.4, 1.0, around), Candidate("c", 0.3, 1.0)])
    pool = _in_episodes(pool, [7, 7, 0])
    found = surroundings(pool, ["a", "b", "c"][:COMPANY_AMONG], ["a", "c"])
    assert found.company == {"a": pytest.approx(2 / 3)}
    assert found.crowd == 0.0
    assert surroundings(Candidates.of([]), [], []).company == {}


def test_the_crowd_is_as_near_as_the_fiftieth_candidate() -> None:
    cosines = [number / 100 for number in range(80)]
    pool = Candidates.of(Candidate(f"{number:02}", cosine) for number, cosine in enumerate(cosines))
    assert surroundings(pool, [], []).crowd == sorted(cosines, reverse=True)[CROWD_PLACE - 1]


def _in_episodes(pool: Candidates, numbers: list[int]) -> Candidates:
    return replace(pool, episodes=np.array(numbers, np.intc))
