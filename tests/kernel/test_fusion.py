"""Fusion: what holds for any candidates, any weights, any order."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.errors import InvalidArgument
from mnemesh_memory.fusion import (
    DEFAULT_WEIGHTS,
    SCORE_DECIMALS,
    Candidate,
    Fused,
    coverage,
    fuse,
    scaled_weights,
    terms,
)

cosines = st.floats(-1, 1)
sums = st.floats(0, 1e6)
ids = st.text("abcdef0123456789-", min_size=1, max_size=4)
candidates = st.lists(
    st.builds(Candidate, ids, st.none() | cosines, st.none() | sums), max_size=12, unique_by=lambda one: one.id
)
weights = st.fixed_dictionaries({}, optional={"dense": st.floats(0, 1e9), "bm25": st.floats(0, 1e9)}).filter(
    lambda given: max({**DEFAULT_WEIGHTS, **given}.values()) > 0
)


@given(candidates, weights, st.randoms())
def test_the_answer_does_not_depend_on_the_order_of_the_candidates(
    pool: list[Candidate], given_weights: dict[str, float], chance: random.Random
) -> None:
    shuffled = list(pool)
    chance.shuffle(shuffled)
    assert fuse(pool, given_weights) == fuse(shuffled, given_weights)


@given(candidates, weights)
def test_scores_are_relevances_in_the_unit_interval_and_fall_along_the_list(
    pool: list[Candidate], given_weights: dict[str, float]
) -> None:
    fused = fuse(pool, given_weights)
    assert all(0 <= one.score <= 1 for one in fused)
    assert [(-one.score, one.id) for one in fused] == sorted((-one.score, one.id) for one in fused)
    assert len({one.id for one in fused}) == len(fused)


@given(candidates, weights)
def test_the_parts_sum_to_the_score(pool: list[Candidate], given_weights: dict[str, float]) -> None:
    for one in fuse(pool, given_weights):
        assert one.signals
        assert all(part >= 0 for part in one.signals.values())
        assert sum(one.signals.values()) == pytest.approx(one.score, abs=2 * 10**-SCORE_DECIMALS)


@given(candidates.filter(bool), weights, cosines, sums)
def test_who_is_at_least_as_good_in_both_lists_is_at_least_as_relevant(
    pool: list[Candidate], given_weights: dict[str, float], more_dense: float, more_bm25: float
) -> None:
    first = pool[0]
    better = Candidate("better", max(first.dense or -1, more_dense), max(first.bm25 or 0, more_bm25))
    scores = {one.id: one.score for one in fuse([*pool, better], given_weights)}
    assert scores["better"] >= scores.get(first.id, 0)


@given(candidates)
def test_a_weight_of_zero_removes_a_signal(pool: list[Candidate]) -> None:
    by_words = fuse(pool, {"dense": 0})
    assert {one.id for one in by_words} == {one.id for one in pool if one.bm25 is not None}
    assert all(one.signals.keys() == {"bm25"} for one in by_words)
    without = fuse([Candidate(one.id, None, one.bm25) for one in pool], {"dense": 0})
    assert [(one.id, one.score) for one in by_words] == [(one.id, one.score) for one in without]
    by_meaning = fuse(pool, {"bm25": 0})
    assert {one.id for one in by_meaning} == {one.id for one in pool if one.dense is not None}
    assert all(one.signals.keys() == {"dense"} for one in by_meaning)


@given(candidates, st.floats(1e-6, 1e6))
def test_only_the_ratio_of_weights_counts(pool: list[Candidate], factor: float) -> None:
    plain, scaled = fuse(pool, {"dense": 2, "bm25": 3}), fuse(pool, {"dense": 2 * factor, "bm25": 3 * factor})
    assert {one.id: one.score for one in plain} == pytest.approx({one.id: one.score for one in scaled}, abs=1e-5)


@given(candidates)
def test_no_weights_are_the_default_ones(pool: list[Candidate]) -> None:
    assert fuse(pool) == fuse(pool, {}) == fuse(pool, dict(DEFAULT_WEIGHTS))
    assert fuse(pool, {"dense": DEFAULT_WEIGHTS["dense"]}) == fuse(pool)


def test_a_score_is_the_weighted_sum_of_cosine_and_share_of_the_best_words() -> None:
    pool = [Candidate("a", 0.5, 8.0), Candidate("b", 0.9, None), Candidate("c", None, 4.0), Candidate("d", -0.5, 0.0)]
    fused = {one.id: one for one in fuse(pool, {"dense": 1, "bm25": 1})}
    assert fused["a"] == Fused("a", 0.75, 0.25, 0.5, 0.5)
    assert fused["b"] == Fused("b", 0.45, 0.45, None, 0.9)
    # c is not among the best by meaning, so at best it is as near as the last of them: d, which counts as 0.
    assert fused["c"] == Fused("c", 0.25, 0.0, 0.25, -0.5)
    assert fused["d"].score == 0


def test_equal_scores_stand_in_the_order_of_ids() -> None:
    pool = [Candidate(id_, 0.5, 1.0) for id_ in ("b", "c", "a")] + [Candidate("0", 0.5 - 1e-9, 1.0)]
    assert [one.id for one in fuse(pool)] == ["0", "a", "b", "c"]


def test_without_candidates_there_is_no_result() -> None:
    assert fuse([]) == []
    assert fuse([Candidate("a")]) == []
    assert coverage("anything", []) == 0


@pytest.mark.parametrize(
    "bad",
    [
        {"dense": -0.1}, {"bm25": math.nan}, {"dense": math.inf}, {"dense": 0, "bm25": 0}, {"heat": 1.0},
        {"dense": 0.0, "bm25": -1e-9},
    ],
)  # fmt: skip
def test_weights_that_make_no_sense_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument, match="weights"):
        fuse([Candidate("a", 0.5, 1.0)], bad)


def test_huge_and_tiny_weights_do_not_overflow() -> None:
    assert scaled_weights({"dense": 1e308, "bm25": 1e308}) == {"dense": 0.5, "bm25": 0.5}
    assert scaled_weights({"dense": 5e-324, "bm25": 0}) == {"dense": 1.0, "bm25": 0.0}
    assert fuse([Candidate("a", None, 5e-324), Candidate("b", None, 1e308)], {"dense": 0})[0].id == "b"


results = st.lists(
    st.tuples(st.builds(Fused, ids, st.floats(0, 1), st.none(), st.none(), st.none() | cosines), st.text(max_size=30)),
    max_size=4,
)


@given(st.text(max_size=40), results)
def test_coverage_is_in_the_unit_interval_whatever_the_texts(query: str, best: list[tuple[Fused, str]]) -> None:
    assert 0 <= coverage(query, best) <= 1
    assert coverage(query, best) == coverage(query, list(reversed(best)))
    assert coverage(query, best) >= coverage(query, best[:1])


def result(cosine: float | None) -> Fused:
    return Fused("a", 0.5, cosine=cosine)


def test_coverage_is_the_mean_of_cosine_and_share_of_terms() -> None:
    question = "Which port does the database use?"
    assert coverage(question, [(result(0.6), "The database has port 5433.")]) == pytest.approx(0.6 / 2 + 1 / 3)
    assert coverage(question, [(result(0.6), "Green apples.")]) == pytest.approx(0.3)
    assert coverage(question, [(result(-0.2), "Databases with ports")]) == pytest.approx(1 / 3)
    assert coverage(question, [(result(None), "port, database, use")]) == 1
    assert coverage("?!", [(result(0.7), "anything")]) == pytest.approx(0.7)
    assert coverage("?!", [(result(None), "anything")]) == 0


def test_terms_are_words_that_carry_meaning_in_any_script() -> None:
    assert terms("What are the DATABASES of it?") == {"databa"}
    assert terms("a port, two ports; his class, a bus, gas") == {"port", "two", "class", "bus", "gas"}
    assert terms("snake_case foo.bar") == {"snake", "case", "foo", "bar"}
    assert terms("日本語 語") == {"日本", "本語", "語"}
    assert terms("Straße STRASSE") == {"strass"}
    assert terms("🎉 ?!") == frozenset()
