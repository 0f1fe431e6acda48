"""Surprisal of a new text: an estimate from samples of its space, which informs and never refuses."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory.policy.dynamics.surprisal import (
    CONTINUITY_MS,
    DISCOUNT,
    SAMPLES_MAX,
    SAMPLES_MIN,
    SPACES_MAX,
    NoveltySamples,
    continuity,
    surprise,
)

units = st.floats(0, 1)
samples = st.lists(units, min_size=SAMPLES_MIN, max_size=60)


def bits(novelty: float, known: list[float], going_on: float = 0.0) -> float:
    found = surprise(novelty, known, going_on)
    assert found is not None
    assert found.reason
    return found.bits


@settings(max_examples=150)
@given(samples, units, units)
def test_more_novelty_is_never_less_surprising_and_never_more_than_the_samples_can_tell(
    known: list[float], one: float, two: float
) -> None:
    less, more = sorted((one, two))
    assert 0.0 <= bits(less, known) <= bits(more, known) <= math.log2(len(known) + 1) + 1e-3


@settings(max_examples=100)
@given(samples, units, units)
def test_going_on_with_a_task_takes_off_at_most_a_half(known: list[float], novelty: float, going_on: float) -> None:
    alone = bits(novelty, known)
    assert DISCOUNT * alone - 1e-3 <= bits(novelty, known, going_on) <= alone


def test_a_usual_novelty_is_no_surprise_and_another_one_is() -> None:
    known = [0.2 + 0.002 * number for number in range(50)]
    assert bits(0.2, known) < 0.5
    assert bits(0.9, known) > 5.0
    assert surprise(0.9, known).reason == "surprising: more novel than about 98% of this space"  # type: ignore[union-attr]


def test_few_samples_and_no_number_tell_nothing() -> None:
    assert surprise(0.5, [0.1] * (SAMPLES_MIN - 1)) is None
    assert surprise(math.nan, [0.1] * SAMPLES_MIN) is None


@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(-CONTINUITY_MS, 2 * CONTINUITY_MS)), max_size=5))
def test_continuity_is_a_share_and_ends_with_its_window(near: list[tuple[float, int]]) -> None:
    assert 0.0 <= continuity(near, CONTINUITY_MS) <= 1.0
    assert continuity([(1.0, 0)], CONTINUITY_MS) == 0.0
    assert continuity([(0.8, 0)], CONTINUITY_MS // 2) == pytest.approx(0.4)


def test_samples_are_bounded_in_a_space_and_over_spaces_and_a_uniform_choice() -> None:
    table, chances = NoveltySamples(), random.Random(7)
    table.begin("s")
    for number in range(10 * SAMPLES_MAX):
        table.note("s", number / (10 * SAMPLES_MAX), chance=chances.getrandbits(64))
    assert len(table.of("s")) == SAMPLES_MAX
    assert sum(table.of("s")) / SAMPLES_MAX == pytest.approx(0.5, abs=0.1)
    table.note("s", math.nan, 0)
    assert all(map(math.isfinite, table.of("s")))
    for number in range(SPACES_MAX + 3):
        table.begin(str(number))
    assert not table.knows("s")
