"""`python -m bench.writing.histories`: are the facts of a team's history current when an agent writes plainly?

Each history of tests/data/team, and eighteen of tests/data/histories, are written three times into a node, memory by
memory. Days lie between two memories of a team, so the node rests before the next one: at rest more pairs are read than
at a write. First the history is written plainly. Then by a writer who carries out the right hints of answers. Then with
`supersedes` named by hand. After that its questions are asked. The table has the share of contested questions with a
right first result, and with a stale one, and the share of questions about facts that hold with a right one ("held").
It also counts the pairs that the guard replaced, linked and asked about.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.node import fresh_node
from bench.report import machine
from bench.texts.corpora import TEAM
from bench.texts.locomo_data import moment
from rich.console import Console
from rich.table import Table

from mnemesh import Client

RESULT: Final = Path(__file__).resolve().parents[1] / "results" / "histories.json"
MORE: Final = TEAM.parent / "histories"
# By name the files of a set. No model was trained on those of `measured`, nor on those of `asked`, which decided how
# recall treats marks and give the limit of a mark.
SETS: Final = {
    "given": (TEAM, "given_*.json"),
    "measured": (MORE, "measured_*.json"),
    "asked": (MORE, "a[no]_*.json"),
    "held out": (TEAM, "held_out_*.json"),
}
WAYS: Final = ("plainly", "hints heard", "by hand")
COUNTS: Final = (
    "to replace",
    "replaced",
    "replaced wrongly",
    "linked",
    "marked",
    "marked wrongly",
    "asked",
    "asked needlessly",
)
DIGITS: Final = 3
AT_REST: Final = ("contradictions", "pairs")  # the consumers that compare memories at rest
REST_S_MAX: Final = 30.0
# A node that is asked more often counts as busy.
REST_POLL_S: Final = 0.1
_NAMED: Final = re.compile(r'call supersede\(id="([^"]+)"')


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    if argv:
        raise SystemExit("python -m bench.writing.histories takes no arguments")
    rows: dict[str, dict[str, float]] = {}
    with fresh_node() as client:
        for name, (folder, pattern) in SETS.items():
            paths = sorted(folder.glob(pattern))
            for way in WAYS:
                counts: dict[str, float] = {}
                for path in paths:
                    found = told(client, history(path), f"history/{path.stem}-{way.replace(' ', '-')}", way)
                    counts = {column: counts.get(column, 0.0) + value for column, value in found.items()}
                rows[f"{name}, {way}"] = shares(counts)
    table = Table("histories", *next(iter(rows.values())))
    for name, row in rows.items():
        table.add_row(name, *(f"{value:g}" for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 150).print(table)
    RESULT.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", "utf-8")
    return 0


def told(client: Client, data: dict[str, Any], space: str, way: str) -> dict[str, float]:
    """Counts of one history that is written in one of WAYS and asked."""
    ids, hints = written(client, data["memories"], space, way)
    counts = {**dict.fromkeys(COUNTS, 0.0), **hints}
    for memory in data["memories"]:
        wanted = {ids[memory["supersedes"]]} if memory["supersedes"] else set()
        links = client.get(ids[memory["id"]]).links
        gone, beside, marked = (
            {link.id for link in links if link.type == type_} for type_ in ("supersedes", "contradicts", "may-replace")
        )
        counts["to replace"] += len(wanted)
        counts["replaced"] += len(gone & wanted)
        counts["replaced wrongly"] += len(gone - wanted)
        counts["linked"] += len(beside & wanted)
        counts["marked"] += len(marked & wanted)
        counts["marked wrongly"] += len(marked - wanted)
    return put(client, data["questions"], space, ids) | counts


class Written(NamedTuple):
    """The memory of each id of a history, and how many hints of the guard were right and wrong."""

    ids: dict[str, str]
    hints: dict[str, float]


def written(
    client: Client, memories: Sequence[Mapping[str, Any]], space: str, way: str, *, rest: bool = True
) -> Written:
    """Write memories in one of WAYS. With `rest` the node rests after each."""
    ids: dict[str, str] = {}
    by_hand = way == "by hand"
    hints = {"asked": 0.0, "asked needlessly": 0.0}
    for memory in memories:
        named = [ids[memory["supersedes"]]] if by_hand and memory["supersedes"] else []
        done = client.remember(
            memory["content"],
            space=space,
            kind=memory["kind"],
            supersedes=named,
            force=by_hand,
            valid_from=since(memory),
        )
        ids[memory["id"]] = done.memory.id
        wanted = {ids[memory["supersedes"]]} if memory["supersedes"] else set()
        named_now = set(_NAMED.findall(done.hint)) if done.action == "ADD" else set()
        if way == "hints heard" and named_now & wanted:
            client.supersede(min(wanted), content=memory["content"], valid_from=since(memory))
        if rest:
            rested(client)
        hints["asked"] += len(named_now & wanted)
        hints["asked needlessly"] += len(named_now - wanted)
    return Written(ids, hints)


def put(client: Client, questions: Sequence[Mapping[str, Any]], space: str, ids: Mapping[str, str]) -> dict[str, float]:
    """Counts of the questions that memories answer: how often the first result is right, or stale."""
    counts = dict.fromkeys(("questions", "right", "stale", "held", "held right"), 0.0)
    for question in questions:
        if not question["answers"]:
            continue
        results = client.recall(question["text"], space=space, limit=1).results
        first = results[0].id if results else ""
        right = first in {ids[id_] for id_ in question["answers"]}
        contested = question["contested"]
        counts["questions" if contested else "held"] += 1
        counts["right" if contested else "held right"] += right
        counts["stale"] += contested and first in {ids[id_] for id_ in question["stale"]}
    return counts


def history(path: Path) -> dict[str, Any]:
    """A history with its questions, which other hands may have written into a file of their own."""
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    asked = path.parent / f"asked_{path.stem.split('_')[0]}.jsonl"
    if "questions" not in data:
        rows = [json.loads(line) for line in asked.read_text("utf-8").splitlines()]
        data["questions"] = [{**row, "text": row["q"]} for row in rows if row["space"] == path.stem]
    return data


def since(memory: Mapping[str, str]) -> datetime | None:
    """Since when a memory of a history holds, None where the history has no dates."""
    return moment(memory["at"][:19]) if "at" in memory else None


def rested(client: Client, within_s: float = REST_S_MAX) -> None:
    """Wait until the node has judged all that it was told. Raises TimeoutError when it takes longer."""
    until = time.monotonic() + within_s
    while any(one.lag for one in client.status().consumers if one.name in AT_REST):
        if time.monotonic() > until:
            raise TimeoutError(f"the node was not at rest within {within_s:g} s")
        time.sleep(REST_POLL_S)


def shares(counts: dict[str, float]) -> dict[str, float]:
    """The same, with what is right and stale first as shares of the questions."""
    asked = counts["questions"]
    return {
        "questions": asked,
        "right first": round(counts["right"] / asked, DIGITS),
        "stale first": round(counts["stale"] / asked, DIGITS),
        "held right": round(counts["held right"] / counts["held"], DIGITS) if counts["held"] else 0.0,
        **{name: counts[name] for name in COUNTS},
    }


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
