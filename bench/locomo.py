"""`python -m bench.locomo HARNESS DATA`: how well a running node's recall finds the evidence of LoCoMo's questions.

HARNESS is the file that defines units and scores (it is not part of this repository), DATA the folder with
locomo10.json (Maharana et al., Evaluating Very Long-Term Conversational Memory of LLM Agents, ACL 2024). Memories go in
by `remember_batch` and come back by `recall`, through gRPC, one fresh space a conversation; no LLM, no cross-encoder.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from bench.node import NodeProcess
from bench.report import machine
from rich.console import Console
from rich.table import Table

from mnemesh import Client
from mnemesh.writes import Item

RESULTS: Final = Path(__file__).resolve().parent / "results"
TOP: Final = 10
MULTI_HOP: Final = 1
# Of `coverage`: how well it tells a question whose answer is here from one about another conversation, and from one
# whose evidence was left out; and how many questions whose answer is here are flagged.
ABSTAIN: Final = ("AUROC elsewhere", "AUROC left out", "abstains")
FOUND: Final = ("n", "hit@1", "hit@5", "hit@10", "coverage@10", "MRR", "multi-hop coverage@10", "session hit@1")


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
    os.environ["LOCOMO_DIR"] = str(given.data)
    harness = _module(given.harness)
    conversations = harness.load(None, given.names.split(",") if given.names else None)
    units = ("turn", "pair") if given.unit == "both" else (given.unit,)
    rows = {}
    with (
        tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder,
        NodeProcess(Path(folder)) as node,
        Client(node.address.grpc, node.token) as client,
    ):
        for unit in units:
            rows[unit] = _measured(harness, client, conversations, unit, given.shared, not given.plain)
    _show(rows)
    facts = {"machine": machine(), "shared": given.shared, "plain": given.plain, "conversations": len(conversations)}
    name = "_".join(("locomo", *(flag for flag in ("shared", "plain") if facts[flag])))
    (RESULTS / f"{name}.json").write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n", "utf-8")
    return 0


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("locomo_harness", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _measured(
    harness: ModuleType, client: Client, conversations: Sequence[Any], unit: str, shared: bool, repaired: bool
) -> dict[str, float]:
    sums: dict[str, list[float]] = defaultdict(list)
    everything = [(name, harness.units_of(name, talk, unit, repaired), qa) for name, talk, qa in conversations]
    spaces = {name: f"locomo/{unit}" if shared else f"locomo/{unit}-{name.lower()}" for name, _, _ in everything}
    unit_of: dict[str, Any] = {}
    for name, units, _ in everything:
        unit_of |= _remembered(client, units, spaces[name])
        if not shared:
            _remembered(client, units, _tagged(spaces[name]), tagged=True)
    told: dict[str, list[float]] = defaultdict(list)
    for number, (name, units, questions) in enumerate(everything):
        elsewhere = spaces[everything[number - 1][0]]
        by_turn = {turn: one for one in units for turn in one.dia_ids}
        for question in questions:
            evidence = question.get("evidence") or []
            evidence = [evidence] if isinstance(evidence, str) else evidence
            named = harness.fix_ev(evidence) if repaired else [str(one) for one in evidence]
            wanted = {by_turn[turn].id for turn in named if turn in by_turn}
            if repaired and not wanted:
                continue  # its evidence is nowhere
            answer = client.recall(question["question"], space=spaces[name], limit=TOP, snippets_only=True)
            got = [unit_of[result.id] for result in answer.results]
            _count(sums, harness.score([one.id for one in got], wanted), question["category"])
            sessions = {one.session for one in units if one.id in wanted}
            first = got[0] if got else None
            sums["session hit@1"].append(float(first is not None and first.conv == name and first.session in sessions))
            if not shared and wanted:
                told["here"].append(answer.coverage)
                sums["abstains"].append(float(answer.abstain))
                told["elsewhere"].append(client.recall(question["question"], space=elsewhere, limit=TOP).coverage)
                tags = [_tag(name, session) for session in sessions]
                without = client.recall(question["question"], space=_tagged(spaces[name]), limit=TOP, tags_none=tags)
                told["left out"].append(without.coverage)
    averages = {name: sum(values) / len(values) for name, values in sums.items()}
    for kind in ("elsewhere", "left out"):
        if told[kind]:
            averages[f"AUROC {kind}"] = _auroc(told["here"], told[kind])
    return {"n": float(len(sums["MRR"])), **averages}


def _tagged(space: str) -> str:
    return f"{space}-tagged"


def _tag(conversation: str, session: str) -> str:
    return f"{conversation}/{session}".lower()


def _auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """The share of pairs that stand the right way round, a tie being half of one."""
    low = np.sort(np.asarray(lower))
    below, up_to = np.searchsorted(low, higher, "left"), np.searchsorted(low, higher, "right")
    return float(np.mean((below + up_to) / 2) / len(low))


def _count(sums: dict[str, list[float]], scores: dict[str, float], category: int) -> None:
    for name, theirs in (("hit@1", "hit@1"), ("hit@5", "hit@5"), ("hit@10", "hit@10"), ("coverage@10", "cov@10")):
        sums[name].append(scores[theirs])
    sums["MRR"].append(scores["mrr"])
    if category == MULTI_HOP:
        sums["multi-hop coverage@10"].append(scores["cov@10"])


def _remembered(client: Client, units: Sequence[Any], space: str, *, tagged: bool = False) -> dict[str, Any]:
    """Each unit by the id of its memory. `tagged`: with its session as a tag, so that it can be left out; the words of
    a tag count, so what is measured otherwise has none."""
    stored: dict[str, Any] = {}
    items: list[Item | str] = []
    for number, unit in enumerate(units):
        item: Item = {
            "content": unit.text, "space": space, "kind": "episode", "force": True,
            "source": {"session": f"{unit.conv}/{unit.session}", "seq": number},
        }  # fmt: skip
        if tagged:
            item["tags"] = [_tag(unit.conv, unit.session)]
        if unit.when:
            item["valid_from"] = datetime.fromisoformat(unit.when).replace(tzinfo=UTC)
        items.append(item)
    for done, unit in zip(client.remember_batch(items), units, strict=True):
        if isinstance(done, Exception):
            raise done
        stored[done.memory.id] = unit
    return stored


def _show(rows: dict[str, dict[str, float]]) -> None:
    columns = [name for name in (*FOUND, *ABSTAIN) if any(name in row for row in rows.values())]
    table = Table("unit", *columns)
    for unit, row in rows.items():
        table.add_row(unit, *(f"{row[name]:.0f}" if name == "n" else f"{row[name]:.3f}" for name in columns))
    Console(width=None if sys.stdout.isatty() else 150).print(table)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
