"""`python -m bench.writing.project`: do facts that hold stay first in a large space, and do stale ones step back?

All 2,060 memories of tests/data/project are written into one space: plainly, with `supersedes` named by hand, and
plainly into a node without the model that reads pairs. The table has the same shares as `bench.writing.histories`, of
the given half of the questions and of the half that is held out. No model was trained on these memories.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.node import NodeProcess
from bench.report import machine
from bench.texts.corpora import PROJECT, rows_of
from bench.writing.histories import DIGITS, asked, rested, written
from rich.console import Console
from rich.table import Table

from mnemesh import Client

RESULT: Final = Path(__file__).resolve().parents[1] / "results" / "project.json"
SPACE: Final = "project/{way}"
WITHOUT: Final = "without the model"
SETTINGS_WITHOUT: Final = "guard_model = false\n"
HALVES: Final = ("given", "held out")
REST_S_MAX: Final = 900.0


def main(argv: list[str]) -> int:
    """Measure, print, write."""
    if argv:
        raise SystemExit("python -m bench.writing.project takes no arguments")
    memories, questions = rows_of(PROJECT / "memories.jsonl"), rows_of(PROJECT / "questions.jsonl")
    rows: dict[str, dict[str, float]] = {}
    for settings, ways in (("", ("plainly", "by hand")), (SETTINGS_WITHOUT, (WITHOUT,))):
        with node(settings) as client:
            for way in ways:
                space = SPACE.format(way=way.replace(" ", "-"))
                ids = written(client, memories, space, way, rest=False).of
                rested(client, REST_S_MAX)
                for number, half in enumerate(HALVES):
                    theirs = [
                        {**one, "text": one["question"]} for one in questions if int(one["id"][-3:]) % 2 == number
                    ]
                    rows[f"{half}, {way}"] = shares(asked(client, theirs, space, ids))
    table = Table("project", *next(iter(rows.values())))
    for name in sorted(rows):
        table.add_row(name, *(f"{value:g}" for value in rows[name].values()))
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    RESULT.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", "utf-8")
    return 0


@contextmanager
def node(settings: str) -> Iterator[Client]:
    """A client of a new node with these settings."""
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder:
        file = Path(folder) / "mnemesh.toml"
        file.write_text(settings, "utf-8")
        with (
            NodeProcess(Path(folder) / "data", ["--config", str(file)]) as process,
            Client(process.address.grpc, process.token) as client,
        ):
            yield client


def shares(counts: dict[str, float]) -> dict[str, float]:
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
