"""`python -m bench.recall.misses HARNESS DATA`: where the evidence is of the LoCoMo questions that recall does not
answer.

Each question without evidence among the first ten is counted by the place of its best evidence in the whole order, if
any. Further counts: a neighbour of the evidence or its session was found, and evidence and question share a word. The
same counts exist for every single piece of evidence, because a question may need several. For answered questions there
is the place of the best, the source of MRR. Questions and candidates are those of `bench.ablation`; its node directory
(`--node`) can be used again. So the words of time of a question are words here, no stretch.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.ablation import Index, Variant
from bench.report import machine
from bench.texts.locomo_data import CATEGORIES, TOP, UNITS, Asked, Talk, Unit, harness_at, talks
from rich.console import Console
from rich.table import Table

from mnemesh_memory.ranking.coverage import terms

RESULT: Final = Path(__file__).resolve().parents[1] / "results" / "misses.json"
BESIDE: Final = 2
PLACES: Final = ((TOP, "found"), (20, "to 20"), (50, "to 50"), (10**9, "later"))
ABSENT: Final = "no candidate"
COLUMNS: Final = (
    "questions", "missed", "to 20", "to 50", "later", ABSENT, "beside it found", "its session found", "no common word",
)  # fmt: skip
FIRST: Final = ((1, "at 1"), (2, "at 2"), (3, "at 3"), (5, "at 4 to 5"), (TOP, "at 6 to 10"))
PLACED: Final = (*(name for _, name in FIRST), "missed")
PIECES: Final = ("pieces", "pieces found", "pieces to 20", "pieces to 50", "pieces later", f"pieces {ABSENT}")
TABLE_CHARS: Final = 150


def main(argv: Sequence[str]) -> int:
    """Count, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.recall.misses", description="Where missed evidence is, on LoCoMo."
    )
    parser.add_argument("harness", type=Path, help="locomo_eval.py")
    parser.add_argument("data", type=Path, help="folder with locomo10.json")
    parser.add_argument("--unit", choices=(*UNITS, "both"), default="both")
    parser.add_argument("--node", type=Path, help="where bench.ablation left its memories")
    given = parser.parse_args(argv)
    harness, before = harness_at(given.harness, given.data), machine()
    runs: dict[str, Any] = json.loads(RESULT.read_text("utf-8")) if RESULT.exists() else {}
    for unit in UNITS if given.unit == "both" else (given.unit,):
        conversations = talks(harness, unit)
        with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder:
            counts = _counts(conversations, (given.node or Path(folder)) / unit)
        show(unit, counts)
        columns = dict.fromkeys((*COLUMNS, *PLACED, *PIECES))
        rows = {name: {column: counts[name][column] for column in columns} for name in _names(counts)}
        runs[unit] = {"machine": before, "conversations": len(conversations), "rows": rows}
    RESULT.write_text(json.dumps(runs, indent=1) + "\n", "utf-8")
    return 0


def _counts(conversations: Sequence[Talk], node: Path) -> dict[str, Counter[str]]:
    """The counts of each category, and of all."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    order = {unit.id: place for talk in conversations for place, unit in enumerate(talk.units)}
    with Index(node, conversations) as index:
        for one in index.collected(as_recalled=True):
            ranked = [index.units[item.id] for item in index.ranked(one, Variant()).here]
            found = counted(one.talk, one.asked, ranked, order)
            counts[CATEGORIES[one.asked.category]] += found
            counts["all"] += found
    return counts


def counted(talk: Talk, asked: Asked, ranked: Sequence[Unit], order: Mapping[str, int]) -> Counter[str]:
    """The counts of one question. `ranked`: the candidates, best first; `order` is the place of each unit in its
    conversation."""
    places = {unit.id: place for place, unit in enumerate(ranked, 1)}
    found = Counter({"questions": 1, "pieces": len(asked.wanted)})
    found.update(f"pieces {_bucket(places.get(id_), PLACES)}" for id_ in asked.wanted)
    best = min((places[id_] for id_ in asked.wanted if id_ in places), default=None)
    if best is not None and best <= TOP:
        found[_bucket(best, FIRST)] = 1
        return found
    top = ranked[:TOP]
    evidence = [unit for unit in talk.units if unit.id in asked.wanted]
    shared = [(unit, shown) for unit in evidence for shown in top if unit.session == shown.session]
    words = terms(asked.text)
    found.update(("missed", _bucket(best, PLACES)))
    found["its session found"] = bool(shared)
    found["beside it found"] = any(abs(order[unit.id] - order[shown.id]) <= BESIDE for unit, shown in shared)
    found["no common word"] = not any(words & terms(unit.text) for unit in evidence)
    return found


def _bucket(place: int | None, buckets: Sequence[tuple[int, str]]) -> str:
    return ABSENT if place is None else next(name for last, name in buckets if place <= last)


def _names(counts: Mapping[str, Counter[str]]) -> list[str]:
    return [name for name in (*CATEGORIES.values(), "all") if name in counts]


def show(unit: str, counts: Mapping[str, Counter[str]]) -> None:
    """The tables for a person."""
    for columns in (COLUMNS, PLACED, PIECES):
        table = Table("category", *columns, title=f"{unit} units", title_justify="left")
        for name in _names(counts):
            table.add_row(name, *(str(counts[name][column]) for column in columns))
        Console(width=None if sys.stdout.isatty() else TABLE_CHARS).print(table)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
