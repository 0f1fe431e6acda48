"""`python -m bench.training.shown_pairs TARGET`: pairs with a question as recall shows them.

The histories of the training questions are written plainly into a node, which is asked the questions. In each pair the
older memory is the result of the highest score, and the newer one is a kept pair of it (`derived/pairs.sqlite`) or a
result behind it. The newer one answers in the place of the older one when it answers and the older one does not. Each
row of the file is a pair (JSON). `asked_training --shown FILE` reads it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.node import NodeProcess
from bench.training.asked_pairs import AskedPair, asked_rows
from bench.training.judge_training import HISTORIES
from bench.writing.histories import rested, written

from mnemesh import Client
from mnemesh.api.values.recall import Result
from mnemesh_actors.knowledge.pair_store import PairStore
from mnemesh_actors.recall.asked_pairs import READ_MAX
from mnemesh_actors.recall.newer_results import NEWER
from mnemesh_memory.policy.judge.reading import asked_text

BEHIND: Final = 5  # A recall reads fewer. The others are as wrong, and teach the same.
RESULTS: Final = 10


def shown(
    client: Client, pairs: PairStore, stem: str, asked: Sequence[tuple[str, Mapping[str, Any]]]
) -> Iterator[AskedPair]:
    """The pairs of the questions on one history, each with its hand. The history is written into its own space."""
    memories = json.loads((HISTORIES / f"{stem}.json").read_text("utf-8"))["memories"]
    space = f"history/{stem}"
    ids = written(client, memories, space, "plainly", rest=False).ids
    rested(client)
    texts = {ids[memory["id"]]: memory["content"] for memory in memories}
    place = {id_: at for at, id_ in enumerate(texts)}
    gone = {link.id for id_ in texts for link in client.get(id_).links if link.type == "supersedes"}
    for hand, row in asked:
        answers = {ids[id_] for id_ in row["answers"]}
        results = client.recall(row["q"], space=space, limit=RESULTS, explain=True, probe=True).results
        order = [result.id for result in sorted(results, key=_own_score, reverse=True)]
        if not order:
            continue
        older = order[0]
        kept = [pair.newer for pair in pairs.newer(older) if pair.newer not in gone][:READ_MAX]
        for newer in dict.fromkeys([*kept, *order[1 : 1 + BEHIND]]):
            if newer in place and place[newer] > place[older]:
                text = asked_text(row["q"], texts[older])
                yield AskedPair(text, texts[newer], newer in answers and older not in answers, hand)


def _own_score(result: Result) -> float:
    """The score of a result without what lifted it above an older one."""
    return sum(signal.share for signal in result.signals if signal.name != NEWER)


def main(argv: Sequence[str]) -> int:
    """Write the file."""
    if len(argv) != 1:
        raise SystemExit(__doc__)
    by_space: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for hand, row in asked_rows(HISTORIES):
        by_space.setdefault(row["space"], []).append((hand, row))
    with (
        tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder,
        NodeProcess(Path(folder)) as node,
        Client(node.address.grpc, node.token) as client,
        Path(argv[0]).open("w", encoding="utf-8") as file,
    ):
        pairs = PairStore(str(Path(folder) / "derived" / "pairs.sqlite"))
        for stem, asked in sorted(by_space.items()):
            rows = [pair._asdict() for pair in shown(client, pairs, stem, asked)]
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            print(stem, len(asked), len(rows), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
