"""Ratings tell apart what matches about equally well, and lift nothing that does not match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.ranking.fusion import FULL_EVIDENCE, Fused
from mnemesh_memory.ranking.usefulness import USEFULNESS, liking, rated

SCORE = st.floats(0, 1).map(lambda score: round(score, 6))
VOTES = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))


@given(SCORE, SCORE, VOTES, VOTES)
def test_no_votes_put_a_memory_above_one_that_is_clearly_more_relevant(
    low: float, high: float, ours: tuple[int, int], theirs: tuple[int, int]
) -> None:
    low, high = sorted((low, high))
    a, b = rated(Fused("a", low), *ours).score, rated(Fused("b", high), *theirs).score
    assert 0 <= a <= 1
    if high - low > 2 * USEFULNESS:
        assert a < b
    assert abs(a - low) <= USEFULNESS * min(1.0, low / FULL_EVIDENCE) + 1e-6


@given(VOTES)
def test_what_does_not_match_is_not_lifted(votes: tuple[int, int]) -> None:
    assert rated(Fused("a", 0.0), *votes).score == 0


@given(SCORE, VOTES)
def test_the_part_of_the_votes_is_told_and_sums_with_the_others_to_the_score(
    score: float, votes: tuple[int, int]
) -> None:
    one = rated(Fused("a", score, dense=score), *votes)
    assert (one.dense or 0.0) + (one.useful or 0.0) == pytest.approx(one.score, abs=1e-6)


def test_of_equal_matches_the_more_useful_is_first_and_many_votes_say_more_than_one() -> None:
    votes = {"none": (0, 0), "one": (1, 0), "many": (9, 1), "bad": (0, 2), "mixed": (3, 3)}
    scores = {name: rated(Fused(name, 0.5), *given).score for name, given in votes.items()}
    assert sorted(scores, key=lambda name: -scores[name]) == ["many", "one", "none", "mixed", "bad"]
    assert scores["mixed"] == scores["none"] == 0.5


def test_a_memory_without_votes_says_nothing_of_them() -> None:
    assert rated(Fused("a", 0.5, bm25=0.5), 0, 0) == Fused("a", 0.5, bm25=0.5)
    assert liking(0, 0) == 0
