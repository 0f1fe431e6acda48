"""Scores are probabilities from absolute evidence, and agree with the order."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.ranking.relevance import Evidence, falling, probability, relevances

unit = st.floats(0, 1)
evidence = st.builds(Evidence, st.none() | st.floats(-1, 1) | st.just(math.nan), st.none() | unit)


@given(st.lists(evidence, max_size=30))
def test_scores_lie_between_0_and_1_and_never_rise(answer: list[Evidence]) -> None:
    scores = relevances(answer)
    assert len(scores) == len(answer)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)


@given(unit, unit, unit, unit)
def test_more_evidence_never_means_a_lower_score(cosine: float, share: float, more: float, further: float) -> None:
    weaker = Evidence(cosine, share)
    stronger = Evidence(max(cosine, more), max(share, further))
    assert probability(stronger) >= probability(weaker)


@given(st.lists(unit, min_size=1, max_size=30))
def test_values_that_fall_already_stay_and_the_mean_is_kept(values: list[float]) -> None:
    ordered = sorted(values, reverse=True)
    assert falling(ordered) == pytest.approx(ordered)
    assert sum(falling(values)) == pytest.approx(sum(values))


@given(st.lists(evidence, min_size=1, max_size=10))
def test_a_weak_neighbour_behind_changes_no_score_before_it(answer: list[Evidence]) -> None:
    least = Evidence(0.0, 0.0)
    if all(probability(one) >= probability(least) for one in answer):
        assert relevances([*answer, least])[: len(answer)] == relevances(answer)


def test_without_evidence_the_score_is_0() -> None:
    assert relevances([Evidence(None, None)]) == [0.0]
    assert relevances([]) == []
