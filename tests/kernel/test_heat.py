"""Heat is a closed formula: between 0 and 1, warmer with use and recency, never colder for what is pinned."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory.policy.heat import DAY_MS, HALF_LIFE_DAYS, heat
from mnemesh_memory.values.kinds import KINDS, TIERS
from mnemesh_memory.values.limits import TIME_MS_MAX

PROPERTY = settings(max_examples=200, derandomize=True, database=None)
COOLING = sorted(HALF_LIFE_DAYS)
IMPORTANCE = st.none() | st.floats(0, 1)
MOMENTS = st.integers(0, TIME_MS_MAX)
USES = st.integers(0, 10**9)
NOW = 400 * DAY_MS


@PROPERTY
@given(st.sampled_from(KINDS), st.sampled_from(TIERS), IMPORTANCE, MOMENTS, USES, MOMENTS)
def test_heat_lies_between_0_and_1(
    kind: str, tier: str, importance: float | None, used: int, uses: int, now: int
) -> None:
    assert 0.0 <= heat(kind, tier, importance, used, uses, now) <= 1.0


@PROPERTY
@given(st.sampled_from(KINDS), IMPORTANCE, MOMENTS, USES, USES, MOMENTS)
def test_more_use_is_never_colder(kind: str, importance: float | None, used: int, one: int, two: int, now: int) -> None:
    few, many = sorted((one, two))
    assert heat(kind, "normal", importance, used, few, now) <= heat(kind, "normal", importance, used, many, now)


@PROPERTY
@given(st.sampled_from(KINDS), IMPORTANCE, MOMENTS, MOMENTS, USES, MOMENTS)
def test_later_use_is_never_colder(
    kind: str, importance: float | None, one: int, two: int, uses: int, now: int
) -> None:
    early, late = sorted((one, two))
    assert heat(kind, "normal", importance, early, uses, now) <= heat(kind, "normal", importance, late, uses, now)


@PROPERTY
@given(st.sampled_from(KINDS), st.floats(0, 1), st.floats(0, 1), MOMENTS, USES, MOMENTS)
def test_more_importance_is_never_colder(kind: str, one: float, two: float, used: int, uses: int, now: int) -> None:
    less, more = sorted((one, two))
    assert heat(kind, "normal", less, used, uses, now) <= heat(kind, "normal", more, used, uses, now)


@pytest.mark.parametrize("kind", COOLING)
def test_an_unused_memory_has_half_its_heat_after_its_half_life(kind: str) -> None:
    age = round(HALF_LIFE_DAYS[kind] * DAY_MS)
    fresh = heat(kind, "normal", 0.5, NOW, 0, NOW)
    assert fresh == pytest.approx(0.75)
    assert heat(kind, "normal", 0.5, NOW, 0, NOW + age) == pytest.approx(fresh / 2)


@pytest.mark.parametrize("kind", COOLING)
def test_use_and_recency_make_a_difference_that_can_be_seen(kind: str) -> None:
    old = heat(kind, "normal", 0.5, 0, 0, NOW)
    assert heat(kind, "normal", 0.5, 0, 5, NOW) > old * 1.05
    assert heat(kind, "normal", 0.5, NOW - DAY_MS, 0, NOW) > old * 1.05


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_pinned_does_not_cool(kind: str) -> None:
    assert heat(kind, "pinned", 0.0, 0, 0, TIME_MS_MAX) == 1.0


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(HALF_LIFE_DAYS)))
def test_a_kind_without_half_life_keeps_its_strength(kind: str) -> None:
    assert heat(kind, "normal", 1.0, 0, 0, TIME_MS_MAX) == 1.0
    assert heat(kind, "normal", 0.0, 0, 0, TIME_MS_MAX) == 0.5


def test_practice_stretches_the_half_life_by_the_logarithm_of_its_count() -> None:
    uses = 7
    age = round(HALF_LIFE_DAYS["fact"] * (1 + math.log(1 + uses)) * DAY_MS)
    assert heat("fact", "normal", 1.0, 0, uses, age) == pytest.approx(0.5)


def test_a_clock_that_jumped_back_does_not_heat_beyond_the_strength() -> None:
    assert heat("fact", "normal", 0.5, NOW, 3, NOW - DAY_MS) == heat("fact", "normal", 0.5, NOW, 3, NOW)


def test_a_missing_importance_counts_as_the_middle() -> None:
    assert heat("fact", "normal", None, 0, 0, NOW) == heat("fact", "normal", 0.5, 0, 0, NOW)
