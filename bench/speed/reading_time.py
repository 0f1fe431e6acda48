"""`python -m bench.speed.reading_time`: how long a reading of three results takes beside embedding their question.

Both run in turns in one process, with questions and notes of tests/data/questions, each used once.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from mnemesh_actors.models import EmbeddingWorker, ModelConfig

NOTES: Final = Path(__file__).resolve().parents[2] / "tests" / "data" / "questions" / "notes.jsonl"
READ: Final = 3
WARM_UP: Final = 10


def main() -> None:
    """Measure and print."""
    worker = EmbeddingWorker(ModelConfig(download=False))
    worker.load()
    rows = [json.loads(line) for line in NOTES.read_text("utf-8").splitlines()]
    embedded, read = [], []
    for start in range(0, len(rows) - READ + 1, READ):
        some = rows[start : start + READ]
        question = some[0]["questions"][0]
        embedded.append(_milliseconds(partial(worker.embed_questions, [question])))
        read.append(_milliseconds(partial(worker.read_answers, question, [row["note"] for row in some])))
    bare, reading = (statistics.median(times[WARM_UP:]) for times in (embedded, read))
    print(f"embedding a question {bare:.2f} ms, reading {READ} results {reading:.2f} ms: {reading / bare:.1f} x")
    worker.close()


def _milliseconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1000


if __name__ == "__main__":
    main()
