"""`python -m bench.locomo HARNESS DATA`: how well a running node's recall finds the evidence of LoCoMo's questions.

HARNESS is the file that defines units and scores (it is not part of this repository), DATA the folder with
locomo10.json (Maharana et al., Evaluating Very Long-Term Conversational Memory of LLM Agents, ACL 2024). Memories go in
by `remember_batch` and come back by `recall`, through gRPC, one fresh space a conversation; no LLM, no cross-encoder.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

from bench.locomo_data import FOUND, TOP, UNITS, Tally, Unit, auroc, harness_at, remember_units, session_tag, talks
from bench.node import fresh_node
from bench.report import machine
from rich.console import Console
from rich.table import Table

from mnemesh import Client

RESULTS: Final = Path(__file__).resolve().parent / "results"
# Of `coverage`: how well it tells a question whose answer is here from one about another conversation, and from one
# whose evidence was left out; and how many questions whose answer is here are flagged.
ABSTAIN: Final = ("AUROC elsewhere", "AUROC left out", "abstains")


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.locomo", description="Measure recall on LoCoMo.")
    parser.add_argument("harness", type=Path, help="locomo_eval.py")
    parser.add_argument("data", type=Path, help="folder with locomo10.json")
    parser.add_argument("--unit", choices=("turn", "pair", "both"), default="both")
    parser.add_argument("--names", default="", help="conversations, comma-separated; all when not given")
    parser.add_argument("--shared", action="store_true", help="all conversations in one space")
    parser.add_argument("--plain", action="store_true", help="evidence ids as they stand, no captions")
    given = parser.parse_args(argv)
    harness = harness_at(given.harness, given.data)
    names = [name for name in given.names.split(",") if name]
    units = UNITS if given.unit == "both" else (given.unit,)
    rows = {}
    with fresh_node() as client:
        for unit in units:
            rows[unit] = _measured(harness, client, unit, names, given.shared, not given.plain)
    _show(rows)
    facts = {"machine": machine(), "shared": given.shared, "plain": given.plain, "conversations": len(names)}
    name = "_".join(("locomo", *(flag for flag in ("shared", "plain") if facts[flag])))
    (RESULTS / f"{name}.json").write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n", "utf-8")
    return 0


def _measured(
    harness: ModuleType, client: Client, unit: str, names: Sequence[str], shared: bool, repaired: bool
) -> dict[str, float]:
    tally = Tally(harness)
    everything = talks(harness, unit, names, repaired=repaired)
    spaces = {talk.name: f"locomo/{unit}" if shared else f"locomo/{unit}-{talk.name.lower()}" for talk in everything}
    unit_of: dict[str, Unit] = {}
    for talk in everything:
        unit_of |= remember_units(client, talk.units, spaces[talk.name])
        if not shared:
            remember_units(client, talk.units, _tagged(spaces[talk.name]), tagged=True)
    told: dict[str, list[float]] = defaultdict(list)
    for number, talk in enumerate(everything):
        elsewhere = spaces[everything[number - 1].name]
        for asked in talk.asked:
            answer = client.recall(asked.text, space=spaces[talk.name], limit=TOP, snippets_only=True)
            tally.add(talk.name, asked, [unit_of[result.id] for result in answer.results])
            if not shared and asked.wanted:
                told["here"].append(answer.coverage)
                tally.note("abstains", float(answer.abstain))
                told["elsewhere"].append(client.recall(asked.text, space=elsewhere, limit=TOP).coverage)
                tags = [session_tag(talk.name, session) for session in asked.sessions]
                without = client.recall(asked.text, space=_tagged(spaces[talk.name]), limit=TOP, tags_none=tags)
                told["left out"].append(without.coverage)
    for kind in ("elsewhere", "left out"):
        if told[kind]:
            tally.note(f"AUROC {kind}", auroc(told["here"], told[kind]))
    return tally.means()


def _tagged(space: str) -> str:
    return f"{space}-tagged"


def _show(rows: dict[str, dict[str, float]]) -> None:
    columns = [name for name in (*FOUND, *ABSTAIN) if any(name in row for row in rows.values())]
    table = Table("unit", *columns)
    for unit, row in rows.items():
        table.add_row(unit, *(f"{row[name]:.0f}" if name == "n" else f"{row[name]:.3f}" for name in columns))
    Console(width=None if sys.stdout.isatty() else 150).print(table)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
