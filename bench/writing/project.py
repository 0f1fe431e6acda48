"""`python -m bench.writing.project`: do facts that hold stay first in a large space, and do stale ones step back?

All 2,060 memories of tests/data/project are written into one space, plainly and with `supersedes` named by hand. One
node has the model that reads pairs, another one has not. The table has the same shares as `bench.writing.histories`, by
the half of the questions. Where several memories answer, one of them first is right. No model was trained on these
memories. The half `held out` chose how the limit of a question rises with the space, and `given` did not.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from bench.node import fresh_node
from bench.report import machine
from bench.texts.corpora import PROJECT, project_questions, rows_of
from bench.writing.histories import DIGITS, put, rested, written
from rich.console import Console
from rich.table import Table

RESULT: Final = Path(__file__).resolve().parents[1] / "results" / "project.json"
WAYS: Final = ("plainly", "by hand")
# By name the settings of a node.
NODES: Final = {"with the model": "", "without": "guard_model = false\n"}
HALVES: Final = ("given", "held_out")
ALL_READ_S_MAX: Final = 900.0


def main(argv: list[str]) -> int:
    """Measure, print, write."""
    if argv:
        raise SystemExit("python -m bench.writing.project takes no arguments")
    memories = rows_of(PROJECT / "memories.jsonl")
    rows: dict[str, dict[str, float]] = {}
    for name, settings in NODES.items():
        with fresh_node(settings) as client:
            for way in WAYS:
                space = f"project/{way.replace(' ', '-')}"
                ids = written(client, memories, space, way, rest=False).ids
                rested(client, ALL_READ_S_MAX)
                for half in HALVES:
                    questions = [{**one, "text": one["question"]} for one in project_questions(half)]
                    rows[f"{half}, {way}, {name}"] = as_shares(put(client, questions, space, ids))
    rows = dict(sorted(rows.items()))
    table = Table("project", *next(iter(rows.values())))
    for name, row in rows.items():
        table.add_row(name, *(f"{value:g}" for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    RESULT.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", "utf-8")
    return 0


def as_shares(counts: dict[str, float]) -> dict[str, float]:
    """The counts as shares of the questions."""
    contested, holding = counts["questions"], counts["held"]
    return {
        "contested": contested,
        "right first": round(counts["right"] / contested, DIGITS),
        "stale first": round(counts["stale"] / contested, DIGITS),
        "holding": holding,
        "held right": round(counts["held right"] / holding, DIGITS),
    }


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
