"""`python -m bench.recall.time_words HARNESS DATA`: what the words of time in LoCoMo's questions bring.

Only questions that name a time are asked, in units of one turn, each with `time_words` off and prefer. A question that
names an event ("before the release") and no date counts as one of events. HARNESS and DATA are those of `bench.locomo`.
Coverage is held against that of the same questions in another conversation. The questions are asked today, years after
the conversations, so a name without a year ("in May") means none of their times and falls back.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Final

from bench.node import NodeProcess
from bench.report import machine
from bench.texts.locomo_data import TOP, Talk, Tally, auroc, harness_at, remember_units, talks
from rich.console import Console
from rich.table import Table

from mnemesh import Client
from mnemesh_memory.times.question_time import read

RESULT: Final = Path(__file__).resolve().parents[1] / "results" / "time_words.json"
MODES: Final = ("off", "prefer")
COLUMNS: Final = ("n", "hit@1", "hit@10", "coverage@10", "MRR", "session hit@1", "abstains", "AUROC elsewhere")
STORED: Final = "units.json"


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall.time_words", description="What words of time bring.")
    parser.add_argument("harness", type=Path, help="locomo_eval.py")
    parser.add_argument("data", type=Path, help="folder with locomo10.json")
    parser.add_argument("--node", type=Path, help="where the memories stay for the next run; nowhere when not given")
    given = parser.parse_args(argv)
    harness = harness_at(given.harness, given.data)
    conversations = talks(harness, "turn")
    tallies = {f"{kind}, {mode}": Tally(harness) for kind in ("a date", "an event") for mode in MODES}
    covered: dict[tuple[str, bool], list[float]] = defaultdict(list)
    facts = {"machine": machine(), "conversations": len(conversations)}
    with (
        tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder,
        NodeProcess(given.node or Path(folder) / "node", ("--recall-timeout-s", "60")) as node,
        Client(node.address.grpc, node.token) as client,
    ):
        stored = _stored(client, conversations, node.data_dir / STORED)
        by_id = {unit.id: unit for talk in conversations for unit in talk.units}
        for number, talk in enumerate(conversations):
            for asked in talk.asked:
                kind = kind_of(asked.text)
                for mode in MODES if kind else ():
                    name = f"{kind}, {mode}"
                    tally = tallies[name]
                    answer = client.recall(asked.text, space=_space(talk), limit=TOP, time_words=mode)
                    other = client.recall(
                        asked.text, space=_space(conversations[number - 1]), limit=TOP, time_words=mode
                    )
                    covered[name, True].append(answer.coverage)
                    covered[name, False].append(other.coverage)
                    tally.add(talk.name, asked, [by_id[stored[result.id]] for result in answer.results])
                    tally.note("abstains", float(answer.abstain))
    for name, tally in tallies.items():
        tally.note("AUROC elsewhere", auroc(covered[name, True], covered[name, False]))
    rows = {name: tally.means() for name, tally in tallies.items()}
    show(rows)
    RESULT.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n", "utf-8")
    return 0


def kind_of(text: str) -> str:
    """The kind of time in a question; nothing for most."""
    found = read(text, time.time_ns() // 1_000_000, UTC)
    if found is None:
        return ""
    return "a date" if found.words else "an event"


def _space(talk: Talk) -> str:
    return f"locomo/{talk.name.lower()}"


def _stored(client: Client, conversations: Sequence[Talk], kept: Path) -> dict[str, str]:
    """The unit of each memory of the node. A fresh node remembers all units first."""
    if not kept.exists():
        ids: dict[str, str] = {}
        for talk in conversations:
            ids |= {key: unit.id for key, unit in remember_units(client, talk.units, _space(talk)).items()}
        kept.write_text(json.dumps(ids), "utf-8")
    known: dict[str, str] = json.loads(kept.read_text("utf-8"))
    return known


def show(rows: Mapping[str, Mapping[str, float]]) -> None:
    """The table for a person."""
    table = Table("a question names", *COLUMNS)
    for name, row in rows.items():
        table.add_row(name, *(f"{row[column]:.0f}" if column == "n" else f"{row[column]:.3f}" for column in COLUMNS))
    Console(width=None if sys.stdout.isatty() else 150).print(table)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
