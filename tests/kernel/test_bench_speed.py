"""What the measurements of speed compare with, and which programs one command runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from bench import __main__ as bench
from bench.plain import LENGTH_B, SATURATION_K, PlainSearch

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ["red apples and pears", "the port is 5433", "green apples", "a note about nothing"]
VECTORS = np.eye(4, dtype=np.float32)


def test_numpy_and_bm25s_find_by_words_and_by_meaning() -> None:
    plain = PlainSearch(TEXTS, VECTORS)
    assert plain.search("Which PORT?", VECTORS[1], limit=1) == [1]
    assert plain.search("green apples", VECTORS[0]) == [0, 2, 1, 3]
    assert plain.search("green apples", np.zeros(4, np.float32), limit=2) == [2, 0]
    assert plain.search("?!", VECTORS[3], limit=1) == [3]
    assert plain.search("words that nothing holds", VECTORS[0], limit=1) == [0]


def test_the_words_are_scored_by_bm25s_with_the_parameters_of_the_index() -> None:
    plain = PlainSearch(TEXTS, VECTORS)
    lengths = [len(text.split()) for text in TEXTS]
    norm = SATURATION_K * (1 - LENGTH_B + LENGTH_B * lengths[1] / (sum(lengths) / 4))
    scores = plain._words.get_scores(["port"])
    assert scores == pytest.approx([0, math.log(1 + 3.5 / 1.5) / (1 + norm), 0, 0], rel=1e-5)


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (["--scale"], []),
        (["--scale", "--mem0", "there"], ["--mem0", "there"]),
        (["--scale", "--corpus", "texts", "--mem0", "there"], ["--corpus", "texts", "--mem0", "there"]),
    ],
)
def test_one_command_measures_the_growth_too(
    monkeypatch: pytest.MonkeyPatch, given: list[str], passed: list[str]
) -> None:
    asked: list[Sequence[str]] = []

    def measured(words: Sequence[str]) -> int:
        asked.append(words)
        return 3

    monkeypatch.setattr(bench.scale, "main", measured)
    assert bench.main(["--no-speed", *given]) == 3
    assert asked == [passed]


def test_a_comparison_that_would_not_be_made_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["--no-speed", "--mem0", "there"])
    assert "--mem0 is measured with --scale" in capsys.readouterr().err


def test_the_command_that_the_readme_names_for_its_tables_is_one_that_the_program_takes() -> None:
    command = (ROOT / "README.md").read_text().split("make bench ARGS='")[1].split("'")[0]
    given = bench._arguments(command.split())
    assert given.scale
    assert (given.mem0, given.corpus, given.locomo) == ("FOLDER", Path("TEXTS"), ["HARNESS", "DATA"])
