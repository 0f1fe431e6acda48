"""`python -m bench.recall.code_recall`: how well a running node finds the terms of developers: identifiers, paths,
versions, error codes, commands, decisions.

Memories and questions stand in bench/code_memories.txt and were made by hand for this bench. They go in by
`remember_batch` and come back by `recall`, through gRPC, in one space. None has a session, so each memory stands
for itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.node import NodeProcess
from bench.report import machine

from mnemesh import Client
from mnemesh.api.calls.writes import Item

MEMORIES: Final = Path(__file__).resolve().parents[1] / "code_memories.txt"
RESULTS: Final = Path(__file__).resolve().parents[1] / "results" / "code_recall.json"
TOP: Final = 10
SPACE: Final = "code"


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall.code_recall", description="Measure recall on code.")
    parser.add_argument(
        "--misses", action="store_true", help="print the questions whose answer is not the first result"
    )
    given = parser.parse_args(argv)
    asked = pairs(MEMORIES.read_text("utf-8"))
    memories = list(dict.fromkeys(memory for memory, _ in asked))
    ranks: list[int] = []
    with (
        tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder,
        NodeProcess(Path(folder)) as node,
        Client(node.address.grpc, node.token) as client,
    ):
        stored: dict[str, str] = {}
        items: list[Item | str] = [
            {"content": memory, "space": SPACE, "kind": "fact", "force": True} for memory in memories
        ]
        for done, memory in zip(client.remember_batch(items), memories, strict=True):
            if isinstance(done, Exception):
                raise done
            stored[done.memory.id] = memory
        for memory, question in asked:
            answer = client.recall(question, space=SPACE, limit=TOP)
            got = [stored[result.id] for result in answer.results]
            ranks.append(got.index(memory) + 1 if memory in got else 0)
            if given.misses and ranks[-1] != 1:
                print(f"{ranks[-1]:2}  {question}\n      {memory}\n      {got[0] if got else ''}")
    row = {
        "memories": len(memories),
        "questions": len(ranks),
        "hit@1": sum(rank == 1 for rank in ranks) / len(ranks),
        "hit@10": sum(rank > 0 for rank in ranks) / len(ranks),
        "MRR": sum(1 / rank for rank in ranks if rank) / len(ranks),
    }
    shown = {name: f"{value:.3f}" if isinstance(value, float) else f"{value}" for name, value in row.items()}
    print("  ".join(f"{name} {value}" for name, value in shown.items()))
    RESULTS.write_text(json.dumps({"machine": machine(), **row}, indent=1) + "\n", "utf-8")
    return 0


def pairs(text: str) -> list[tuple[str, str]]:
    """Each question with the memory that answers it."""
    found: list[tuple[str, str]] = []
    memory = ""
    for line in text.splitlines()[1:]:
        if line.startswith("? "):
            found.append((memory, line.removeprefix("? ")))
        else:
            memory = line
    return found


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
