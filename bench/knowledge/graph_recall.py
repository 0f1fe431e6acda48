"""`python -m bench.knowledge.graph_recall`: does nearness in the knowledge graph help recall?

Each history of tests/data/team is written into a node. Every question with an answer is asked with several weights of
the signal `graph`. The table has the share of questions with an answer among the first 1 and 5 results, and the mean
reciprocal rank of the first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.node import fresh_node
from bench.report import machine
from bench.texts.corpora import TEAM
from bench.texts.locomo_data import moment
from rich.console import Console
from rich.table import Table

from mnemesh import Client

RESULT: Final = Path(__file__).resolve().parents[1] / "results" / "graph_recall.json"
WEIGHTS: Final = (0.0, 0.1, 0.2, 0.4)
TOP: Final = 10
DIGITS: Final = 3


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    if argv:
        raise SystemExit("python -m bench.knowledge.graph_recall takes no arguments")
    rows: dict[str, dict[str, float]] = {}
    with fresh_node() as client:
        for half in ("given", "held_out"):
            ranks: dict[float, list[int]] = {weight: [] for weight in WEIGHTS}
            for path in sorted(TEAM.glob(f"{half}_*.json")):
                asked(client, json.loads(path.read_text("utf-8")), f"history/{path.stem}", ranks)
            rows |= {f"{half.replace('_', ' ')}, graph {weight:g}": figures(found) for weight, found in ranks.items()}
    table = Table("team histories", *next(iter(rows.values())))
    for name, row in rows.items():
        table.add_row(name, *(f"{value:g}" for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 150).print(table)
    RESULT.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", "utf-8")
    return 0


def asked(client: Client, data: dict[str, Any], space: str, ranks: dict[float, list[int]]) -> None:
    """Write one history and ask its questions: the rank of the first right result, 0 for none, goes to `ranks`."""
    ids: dict[str, str] = {}
    for memory in data["memories"]:
        replaced = [ids[memory["supersedes"]]] if memory["supersedes"] else []
        done = client.remember(
            memory["content"],
            space=space,
            kind=memory["kind"],
            supersedes=replaced,
            force=True,
            valid_from=moment(memory["at"][:19]),
        )
        ids[memory["id"]] = done.memory.id
    client.graph(done.memory.id, space=space)  # which waits until the graph knows the log to its end
    for question in data["questions"]:
        wanted = {ids[id_] for id_ in question["answers"]}
        for weight, found in ranks.items() if wanted else ():
            results = client.recall(question["text"], space=space, limit=TOP, weights={"graph": weight}).results
            places = [place for place, result in enumerate(results, 1) if result.id in wanted]
            found.append(min(places, default=0))


def figures(ranks: Sequence[int]) -> dict[str, float]:
    """Counts and shares of a set of ranks."""
    total = len(ranks)
    return {
        "questions": total,
        "hit@1": round(sum(rank == 1 for rank in ranks) / total, DIGITS),
        "hit@5": round(sum(0 < rank <= 5 for rank in ranks) / total, DIGITS),
        "MRR": round(sum(1 / rank for rank in ranks if rank) / total, DIGITS),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
