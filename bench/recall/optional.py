"""`python -m bench.recall.optional HARNESS DATA`: the gain and the cost of each optional signal of recall on LoCoMo,
one at a time, through the recall of a running node.

A signal that is on by default is switched off, a signal that is off is given a few weights. LoCoMo quotes next to
nothing, so quoted phrases have questions of their own. Such a question is two to four consecutive words of a random
unit, in no other unit of the conversation, drawn with a fixed seed. A cross-encoder is left out: its weights are not
part of anything here.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.node import fresh_node
from bench.report import machine
from bench.texts.locomo_data import FOUND, TOP, UNITS, Asked, Talk, Tally, Unit, harness_at, remember_units, talks
from rich.console import Console
from rich.table import Table

from mnemesh import Client
from mnemesh_memory.ranking.second_look.quoted_phrases import held
from mnemesh_memory.ranking.signals import OPTIONAL

RESULT: Final = Path(__file__).resolve().parents[1] / "results" / "optional.json"
TRIED: Final = (0.05, 0.1, 0.2)
QUOTES_A_TALK: Final = 80
TABLE_CHARS: Final = 150


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall.optional", description="What optional signals bring.")
    parser.add_argument("harness", type=Path, help="locomo_eval.py")
    parser.add_argument("data", type=Path, help="folder with locomo10.json")
    parser.add_argument("--unit", choices=(*UNITS, "both"), default="both")
    parser.add_argument("--names", default="", help="conversations, comma-separated; all when not given")
    given = parser.parse_args(argv)
    harness, facts = harness_at(given.harness, given.data), machine()
    rows: dict[str, dict[str, dict[str, float]]] = {}
    with fresh_node() as client:
        for unit in UNITS if given.unit == "both" else (given.unit,):
            everything = talks(harness, unit, [name for name in given.names.split(",") if name])
            unit_of: dict[str, Unit] = {}
            for talk in everything:
                unit_of |= remember_units(client, talk.units, _space(talk, unit))
            quotes = [talk._replace(asked=_quoting(talk)) for talk in everything]
            tallies = {name: Tally(harness) for name in (*variants(), "quotes", "quotes without phrases")}
            for name, weights in variants().items():
                _ask(tallies[name], client, everything, unit, unit_of, weights)
            _ask(tallies["quotes"], client, quotes, unit, unit_of, {})
            _ask(tallies["quotes without phrases"], client, quotes, unit, unit_of, {"phrases": 0.0})
            rows[unit] = {name: tally.means() for name, tally in tallies.items()}
            _show(unit, rows[unit])
    RESULT.write_text(json.dumps({"machine": facts, "rows": rows}, indent=1) + "\n", "utf-8")
    return 0


def variants() -> dict[str, Mapping[str, float]]:
    """Weights by what they change."""
    found: dict[str, Mapping[str, float]] = {"as it is": {}}
    for name, row in OPTIONAL.items():
        if name != "rerank":
            found |= {f"{name} {weight}": {name: weight} for weight in ((0.0,) if row.weight else TRIED)}
    return found


def _quoting(talk: Talk) -> list[Asked]:
    drawn = random.Random(talk.name)
    asked: list[Asked] = []
    while len(asked) < QUOTES_A_TALK:
        unit = drawn.choice(talk.units)
        words = unit.turns[0][1].split()
        at = drawn.randrange(max(1, len(words) - 3))
        phrase = " ".join(words[at : at + drawn.choice((2, 3, 4))]).strip('.,!?"')
        holding = [one for one in talk.units if held((phrase,), one.text)]
        if '"' not in phrase and " " in phrase and holding == [unit]:
            asked.append(Asked(f'what was said about "{phrase}"?', 0, frozenset([unit.id]), frozenset([unit.session])))
    return asked


def _space(talk: Talk, unit: str) -> str:
    return f"locomo/{unit}-{talk.name.lower()}"


def _ask(
    tally: Tally, client: Client, everything: Sequence[Talk], unit: str, unit_of: Mapping[str, Unit],
    weights: Mapping[str, float],
) -> None:  # fmt: skip
    for talk in everything:
        for asked in talk.asked:
            answer = client.recall(asked.text, space=_space(talk, unit), limit=TOP, snippets_only=True, weights=weights)
            tally.add(talk.name, asked, [unit_of[result.id] for result in answer.results])


def _show(unit: str, rows: Mapping[str, Mapping[str, float]]) -> None:
    table = Table("weight", *FOUND, title=f"{unit} units", title_justify="left")
    for name, row in rows.items():
        cells = (f"{row[one]:.0f}" if one == "n" else f"{row[one]:.3f}" if one in row else "" for one in FOUND)
        table.add_row(name, *cells)
    Console(width=None if sys.stdout.isatty() else TABLE_CHARS).print(table)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
