"""Measurements of speed and growth."""

from __future__ import annotations

import math
import mmap
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from bench import __main__ as bench
from bench import latency
from bench.growth import anonymous_bytes
from bench.plain import LENGTH_B, SATURATION_K, PlainSearch
from bench.report import machine
from bench.whole_node import SPACE

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ["red apples and pears", "the port is 5433", "green apples", "a note about nothing"]
VECTORS = np.eye(4, dtype=np.float32)


def test_the_words_are_scored_by_bm25s_with_the_parameters_of_the_index() -> None:
    plain = PlainSearch(TEXTS, VECTORS)
    lengths = [len(text.split()) for text in TEXTS]
    norm = SATURATION_K * (1 - LENGTH_B + LENGTH_B * lengths[1] / (sum(lengths) / 4))
    scores = plain._words.get_scores(["port"])
    assert scores == pytest.approx([0, math.log(1 + 3.5 / 1.5) / (1 + norm), 0, 0], rel=1e-5)


def test_the_program_takes_the_command_of_the_page_of_benchmarks() -> None:
    command = (ROOT / "docs/benchmarks.md").read_text().split("make bench ARGS='")[1].split("'")[0]
    given = bench._arguments(command.split())
    assert given.scale
    assert (given.mem0, given.corpus, given.locomo) == ("FOLDER", Path("TEXTS"), ["HARNESS", "DATA"])


def git(tree: Path, *words: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", *own, *words), cwd=tree, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


def test_a_result_names_the_code_that_differs_from_its_commit(tmp_path: Path) -> None:
    code, result = tmp_path / "code.py", tmp_path / "result.json"
    git(tmp_path, "init", "-q")
    for path in (code, result):
        path.write_text("1\n", "utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    result.write_text("2\n", "utf-8")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert {name: machine(tmp_path)[name] for name in ("commit", "changed_files")} == {
        "commit": commit, "changed_files": [],
    }  # fmt: skip
    code.write_text("2\n", "utf-8")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "other.py").write_text("3\n", "utf-8")
    assert machine(tmp_path)["changed_files"] == ["code.py", "new/other.py"]


# ---- growth ----------------------------------------------------------------------------------------------------------
# The instruments of the growth benchmark, and the units of the speed floors.


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


def test_anonymous_memory_counts_what_is_held_and_not_what_is_mapped(tmp_path: Path) -> None:
    file = tmp_path / "mapped"
    np.ones(64 * MIB, np.uint8).tofile(file)
    before = anonymous_bytes(os.getpid())
    mapped = np.memmap(file, np.uint8, "r")
    assert int(mapped[:: 1 << 12].sum()) == 64 * MIB >> 12
    assert anonymous_bytes(os.getpid()) - before < 8 * MIB
    # Not from the heap, which may have this much left from an earlier test.
    held = mmap.mmap(-1, 64 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    np.frombuffer(held, np.uint8)[:] = 1
    assert anonymous_bytes(os.getpid()) - before > 60 * MIB
