"""The instruments of the growth benchmark, and the units of the speed floors."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import psutil
import pytest
from bench import growth, latency
from bench.growth import Spent, anonymous_bytes, notes_between
from bench.mixed_host import DIMENSIONS, mixed
from bench.whole_node import SPACE

MIB = 2**20


def test_recall_and_remember_are_told_in_units_of_the_bare_embedding_of_the_same_run() -> None:
    times = {"bare": [4.0], "bare texts": [5.0], "grpc": [0.5], latency.SMALL_SPACE: [7.0], SPACE: [8.5]}
    times[latency.WRITE_SPACE] = [10.0]
    cpu = {name: [3.0] for name in times}
    sizes = {latency.SMALL_SPACE: 1_000, SPACE: 10_000}
    small, large, remember = latency.ratio_rows(times, cpu, sizes)
    assert [(row.value, row.unit, row.target, row.met) for row in (small, large, remember)] == [
        (0.75, "x", "<= 0.75 x", True),
        (1.125, "x", "<= 1 x", False),
        (2.0, "x", "<= 2.1 x", True),
    ]
    assert all("CPU of the node 3.00 ms" in row.floor for row in (small, large, remember))
    twice = {name: [2 * value for value in values] for name, values in times.items()}
    slower = latency.ratio_rows(twice, cpu, sizes)
    assert [row.value for row in slower] == [row.value for row in (small, large, remember)], "a machine half as fast"


def test_made_up_vectors_are_unit_vectors_that_the_text_decides() -> None:
    vectors = mixed([f"text {n}" for n in range(200)])
    assert vectors.shape == (200, DIMENSIONS)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(vectors[7], mixed(["text 7"])[0])
    cosines = vectors @ vectors.T - np.eye(200)
    assert cosines.max() < 0.99, "no two are the same"


def test_an_import_of_growth_never_sends_a_text_twice() -> None:
    words = [f"Sentence number {n} of the corpus." for n in range(50)]
    sent = [text for start in range(0, 4_000, 1_000) for text in notes_between(words, start, start + 1_000)]
    assert len(set(sent)) == 4_000
    assert sent[1_000:1_010] == notes_between(words, 1_000, 1_010)


def test_anonymous_memory_counts_what_is_held_and_not_what_is_mapped(tmp_path: Path) -> None:
    file = tmp_path / "mapped"
    np.ones(64 * MIB, np.uint8).tofile(file)
    before = anonymous_bytes(os.getpid())
    mapped = np.memmap(file, np.uint8, "r")
    assert int(mapped[:: 1 << 12].sum()) == 64 * MIB >> 12
    assert anonymous_bytes(os.getpid()) - before < 8 * MIB
    held = np.ones(64 * MIB, np.uint8)
    assert anonymous_bytes(os.getpid()) - before > 60 * MIB
    assert held.nbytes == mapped.nbytes


def test_the_memory_of_a_memory_is_what_comes_beyond_the_first_size() -> None:
    first = growth._memory_row((5_000, 25_000), [50 * MIB, 100 * MIB], "shape")
    assert (first.value, first.met) == (100, None)
    row = growth._memory_row((5_000, 25_000), [50 * MIB, 100 * MIB, 100 * MIB + 20_000 * 6_001], "shape")
    assert (row.value, row.met) == (pytest.approx(6_001), False)


def test_what_a_node_spends_counts_its_children() -> None:
    before = Spent.of(psutil.Process())
    deadline = before.own + 0.2
    while Spent.of(psutil.Process()).own < deadline:
        sum(range(10_000))
    spent = Spent.of(psutil.Process()).since(before)
    assert spent.own == pytest.approx(0.2, abs=0.05)
    assert spent.children >= 0
    assert spent.clock > 0
