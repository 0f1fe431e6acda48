"""`python -m bench.locomo HARNESS DATA`: how well a running node's recall finds the evidence of LoCoMo's questions.

HARNESS is the file that defines units and scores, no part of this repository. DATA is the folder with locomo10.json
(Maharana et al., Evaluating Very Long-Term Conversational Memory of LLM Agents, ACL 2024). Memories go in by
`remember_batch` and come back by `recall`, through gRPC; no LLM, no cross-encoder. There are three variants: one fresh
space a conversation, one space for all, and plain. Plain is the harness's own default: evidence ids as they stand, no
captions. Every run replaces its rows in bench/results/locomo.json, which `make docs` puts into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from bench.node import fresh_node
from bench.report import machine
from bench.texts.locomo_data import (
    FOUND,
    TOP,
    UNITS,
    Tally,
    Unit,
    auroc,
    harness_at,
    remember_units,
    session_tag,
    talks,
)
from rich.console import Console
from rich.table import Table

from mnemesh import Client

RESULT: Final = Path(__file__).resolve().parent / "results" / "locomo.json"
VARIANTS: Final = ("alone", "shared", "plain")
REFERENCE: Final = "reference"
# AUROC of `coverage`: questions with their answer here against the same about another conversation, and against those
# without their evidence. The last is the share of flagged questions with their answer here.
ABSTAIN: Final = ("AUROC elsewhere", "AUROC left out", "abstains")
# The last line of each unit that the reference prints with all its signals, weighted alike.
REFERENCE_LINE: Final = re.compile(r"^(turn|pair) b012s\+d012\+ds\s+n (\d+) (.*)$", re.MULTILINE)
REFERENCE_FIGURES: Final = {
    "h1": "hit@1", "h5": "hit@5", "h10": "hit@10", "cov": "coverage@10", "mrr": "MRR", "sessH1": "session hit@1",
    "mhcov": "multi-hop coverage@10",
}  # fmt: skip
REFERENCE_TIMEOUT_S: Final = 3600
TABLE_CHARS: Final = 150


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.locomo", description="Measure recall on LoCoMo.")
    parser.add_argument("harness", type=Path, help="locomo_eval.py")
    parser.add_argument("data", type=Path, help="folder with locomo10.json")
    choices = (*VARIANTS, REFERENCE)
    parser.add_argument("--variant", choices=choices, action="append", help="only this one; may be given again")
    told = "window_fusion_reference.py, to be measured beside; it wants the package snowballstemmer"
    parser.add_argument("--reference", type=Path, help=told)
    given = parser.parse_args(argv)
    # The reference first: it imports packages without another use here, and fails at once without them.
    wanted = given.variant or [*([REFERENCE] if given.reference else []), *VARIANTS]
    if REFERENCE in wanted and not given.reference:
        parser.error(f"--variant {REFERENCE} wants --reference FILE")
    harness = harness_at(given.harness, given.data)
    runs: dict[str, Any] = json.loads(RESULT.read_text("utf-8")) if RESULT.exists() else {}
    for variant in wanted:
        facts = machine()
        if variant == REFERENCE:
            rows = reference(given.reference, given.data / "locomo10.json")
        else:
            with fresh_node() as client:
                rows = {unit: measured(harness, client, unit, variant) for unit in UNITS}
        runs[variant] = {"machine": facts, "rows": rows}
        RESULT.write_text(json.dumps(runs, indent=1) + "\n", "utf-8")  # each, because the next may fail
        show(variant, rows)
    return 0


def measured(harness: ModuleType, client: Client, unit: str, variant: str) -> dict[str, float]:
    """The figures of one variant."""
    tally = Tally(harness)
    everything = talks(harness, unit, repaired=variant != "plain")
    shared = variant == "shared"
    spaces = {talk.name: f"locomo/{unit}" if shared else f"locomo/{unit}-{talk.name.lower()}" for talk in everything}
    unit_of: dict[str, Unit] = {}
    for talk in everything:
        unit_of |= remember_units(client, talk.units, spaces[talk.name])
        if variant == "alone":
            remember_units(client, talk.units, _tagged(spaces[talk.name]), tagged=True)
    told: dict[str, list[float]] = defaultdict(list)
    for number, talk in enumerate(everything):
        elsewhere = spaces[everything[number - 1].name]
        for asked in talk.asked:
            answer = client.recall(asked.text, space=spaces[talk.name], limit=TOP, snippets_only=True)
            tally.add(talk.name, asked, [unit_of[result.id] for result in answer.results])
            if variant == "alone":
                told["here"].append(answer.coverage)
                tally.note("abstains", float(answer.abstain))
                told["elsewhere"].append(client.recall(asked.text, space=elsewhere, limit=TOP).coverage)
                tags = [session_tag(talk.name, session) for session in asked.sessions]
                without = client.recall(asked.text, space=_tagged(spaces[talk.name]), limit=TOP, tags_none=tags)
                told["left out"].append(without.coverage)
    if variant == "alone":
        for kind in ("elsewhere", "left out"):
            tally.note(f"AUROC {kind}", auroc(told["here"], told[kind]))
    return {"conversations": len(everything), **tally.means()}


def _tagged(space: str) -> str:
    return f"{space}-tagged"


def reference(program: Path, data: Path) -> dict[str, dict[str, float]]:
    """The reference's printed figures for all of its signals. Raises RuntimeError when it fails or prints something
    else."""
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder:
        ended = subprocess.run(
            (sys.executable, str(program.resolve()), str(data.resolve())),
            env={**os.environ, "EMB_CACHE": f"{folder}/vectors"}, cwd=folder,
            capture_output=True, text=True, check=False, timeout=REFERENCE_TIMEOUT_S,
        )  # fmt: skip
    rows = reference_rows(ended.stdout)
    if ended.returncode or set(rows) != set(UNITS):
        raise RuntimeError(f"{program} ended with {ended.returncode}: {(ended.stderr or ended.stdout)[-400:]}")
    return rows


def reference_rows(printed: str) -> dict[str, dict[str, float]]:
    """The figures by unit out of what the reference prints."""
    rows = {}
    for unit, number, rest in REFERENCE_LINE.findall(printed):
        names, values = rest.split()[::2], rest.split()[1::2]
        known = {REFERENCE_FIGURES[name]: float(value) for name, value in zip(names, values, strict=True)}
        rows[unit] = {"n": float(number), **known}
    return rows


def show(variant: str, rows: Mapping[str, Mapping[str, float]]) -> None:
    """The table for a person."""
    columns = [name for name in (*FOUND, *ABSTAIN) if any(name in row for row in rows.values())]
    table = Table("unit", *columns, title=variant, title_justify="left")
    for unit, row in rows.items():
        table.add_row(unit, *(f"{row[name]:.0f}" if name == "n" else f"{row[name]:.3f}" for name in columns))
    Console(width=None if sys.stdout.isatty() else TABLE_CHARS).print(table)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
