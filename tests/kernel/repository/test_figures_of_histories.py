"""The page of histories shows what the bench measured, for the half held out and for the given half."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# Columns of the page by the writer of the bench.
COLUMNS = {"plainly": 1, "hints heard": 3, "by hand": 4}


@pytest.mark.parametrize("half", ["held out", "given"])
@pytest.mark.parametrize(("line", "figure"), [("right fact first", "right first"), ("stale fact first", "stale first")])
def test_both_halves_stand_on_the_page_as_measured(half: str, line: str, figure: str) -> None:
    rows = json.loads((ROOT / "bench/results/histories.json").read_text("utf-8"))["rows"]
    page = (ROOT / "docs/history.md").read_text("utf-8").splitlines()
    (told,) = (one.strip("| ").split(" | ") for one in page if one.startswith(f"| {half}: {line} |"))
    shown = {writer: float(told[column]) for writer, column in COLUMNS.items()}
    assert shown == {writer: rows[f"{half}, {writer}"][figure] for writer in COLUMNS}
