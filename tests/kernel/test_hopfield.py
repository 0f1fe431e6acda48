"""Pattern completion: what the equations promise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemesh_memory.ranking.hopfield import REST, completed, resemblance

seeds = st.integers(0, 2**32 - 1)


def patterns_of(seed: int, number: int = 12, dimensions: int = 24) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).normal(size=(number, dimensions)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def energy(state: NDArray[np.float64], patterns: NDArray[np.float32], beta: float) -> float:
    """E of a state but for what does not depend on it. Lower is nearer to rest."""
    scaled = beta * (patterns.astype(np.float64) @ state)
    top = float(scaled.max())
    return float(state @ state) / 2 - (top + float(np.log(np.exp(scaled - top).sum()))) / beta


@given(seeds, st.floats(0.1, 64))
def test_no_step_raises_the_energy(seed: int, beta: float) -> None:
    patterns = patterns_of(seed)
    states = [completed(patterns_of(seed + 1, 1)[0], patterns, beta, steps) for steps in range(6)]
    energies = [energy(state, patterns, beta) for state in states]
    assert all(after <= before + 1e-9 for before, after in pairwise(energies))


@given(seeds, st.integers(0, 11))
def test_a_damaged_pattern_is_completed_to_the_stored_one(seed: int, number: int) -> None:
    patterns = patterns_of(seed, dimensions=256)
    damaged = patterns[number].copy()
    damaged[:128] = 0  # half of it is gone
    state = completed(damaged, patterns, beta=64)
    assert np.argmax(resemblance(state, patterns)) == number
    assert resemblance(state, patterns)[number] > 0.99


@given(seeds)
def test_a_small_beta_rests_at_the_mean_of_all(seed: int) -> None:
    patterns = patterns_of(seed)
    assert completed(patterns[0], patterns, beta=1e-9) == pytest.approx(patterns.astype(float).mean(axis=0), abs=1e-6)


@given(seeds)
def test_at_rest_another_step_moves_it_hardly(seed: int) -> None:
    patterns = patterns_of(seed)
    rest = completed(patterns[0], patterns, beta=8.0, steps=500)
    again = completed(rest.astype(np.float32), patterns, beta=8.0, steps=1)
    assert np.linalg.norm(again - rest) < 2 * REST


def test_one_step_can_rank_as_the_question_does_not() -> None:
    near, friend, far = np.float32([1, 0, 0]), np.float32([0.9, 0.436, 0]), np.float32([0.6, 0, 0.8])
    patterns = np.stack([near, friend, far])
    question = np.float32([0.8, -0.3, 0.52])
    assert (patterns @ question)[1] < (patterns @ question)[2]
    alike = resemblance(completed(question, patterns, beta=4.0), patterns)
    assert alike[1] > alike[2]


def test_without_a_pattern_the_question_stays_and_nothing_resembles_it() -> None:
    question = np.float32([1, 0])
    none = np.empty((0, 2), np.float32)
    assert completed(question, none) == pytest.approx(question)
    assert resemblance(completed(question, none), none).shape == (0,)
    assert resemblance(np.zeros(2), np.float32([[1, 0], [0, 0]])).tolist() == [0, 0]
