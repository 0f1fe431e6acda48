"""The tables of the calibration of recall's score, from the results of `python -m bench.calibration`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.pages.markdown_table import table_text

LET_THROUGH = ("right", "unanswerable", "same_topic")


def calibration(results: Mapping[str, Any]) -> str:
    """How far the score is a probability, by corpus."""
    rows = {name: row for name, row in results["rows"].items() if "ECE" in row}
    figures = list(next(iter(rows.values())))[1:]
    lines = [(name, *(_short(row[figure]) for figure in figures)) for name, row in rows.items()]
    table, bins = table_text(("corpus", *(name.replace("_", " ") for name in figures)), lines), results["bins"]
    cells = [[f"{_short(score)} / {_short(share)}" for score, share in pairs] for pairs in bins.values()]
    binned = table_text(("bin", *bins), [(str(number), *row) for number, row in enumerate(zip(*cells, strict=True), 1)])
    return f"{table}\nMean score and share of right top results, in ten bins of equal count:\n\n{binned}"


def passing(passes: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """The shares that each `min_score` lets through, by corpus."""
    lines = [
        (_short(float(cut), 2), *(_shares(by_cut[cut]) for by_cut in passes.values()))
        for cut in next(iter(passes.values()))
    ]
    return table_text(("`min_score`", *passes), lines)


def _shares(row: Mapping[str, float]) -> str:
    return " / ".join(_short(row[name], 2) for name in LET_THROUGH)


def _short(value: float, digits: int = 3) -> str:
    """Without the zero before the point."""
    return f"{value:.{digits}f}".removeprefix("0")
