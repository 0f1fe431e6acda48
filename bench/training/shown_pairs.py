"""`python -m bench.training.shown_pairs TARGET`: pairs with a question as recall shows them.

The histories of the training questions are written plainly into a node of this process, which is asked the questions.
In each pair the older memory is the first result, and the newer one is what recall reads beside it, of BEHIND results
behind the first. The newer one answers in the place of the older one when it answers and the older one does not. Each
row of the file is a pair (JSON). `asked_training --shown FILE` reads it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from bench.host import OWNER
from bench.training.asked_pairs import AskedPair, asked_rows
from bench.writing.histories import AT_REST, MORE

from mnemesh_actors.models import ModelConfig
from mnemesh_actors.node.assembly import StartConfig, start_mesh
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_actors.recall import asked_pairs, retrieval
from mnemesh_actors.recall.asked_pairs import NOTHING, AskedPairs, PairQuestions
from mnemesh_actors.recall.results import FoundMemory
from mnemesh_actors.runtime.local import LocalRuntime
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_memory.policy.judge.reading import asked_text
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.values.model import Draft, Query

BEHIND: Final = 5  # A recall reads three. The others are as wrong, and teach the same.
TIMEOUT_S: Final = 60.0
POLL_S: Final = 0.05
SHOWN: Final[list[tuple[str, str]]] = []  # The ids of the pairs of the last recall, older and newer.


class Shown(PairQuestions):
    """Tells the pairs that would be read, and decides nothing."""

    async def decided(self, results: Sequence[FoundMemory], fused: Sequence[Fused], within_s: float) -> AskedPairs:
        """Nothing."""
        if results:
            older = results[0].memory
            SHOWN[:] = [(older.id, item.memory.id) for item, _ in await self._open(older, results, fused)]
        return NOTHING


async def shown(mesh: Mesh, stem: str, asked: Sequence[tuple[str, Mapping[str, Any]]]) -> list[AskedPair]:
    """The pairs of the questions on one history, each with its hand. The history is written into its own space."""
    memories = json.loads((MORE / f"{stem}.json").read_text("utf-8"))["memories"]
    space = f"history/{stem}"
    drafts = [Draft(content=memory["content"], space=space, kind=memory["kind"]) for memory in memories]
    ids = [(await mesh.remember(OWNER, draft)).memory.id for draft in drafts]
    await _rested(mesh)
    texts = {id_: memory["content"] for id_, memory in zip(ids, memories, strict=True)}
    named = {id_: memory["id"] for id_, memory in zip(ids, memories, strict=True)}
    found = []
    for hand, row in asked:
        SHOWN.clear()
        await mesh.recall(OWNER, Query(text=row["q"], spaces=(space,)))
        for older, newer in SHOWN:
            answers = named[newer] in row["answers"] and named[older] not in row["answers"]
            found.append(AskedPair(asked_text(row["q"], texts[older]), texts[newer], answers, hand))
    return found


async def _rested(mesh: Mesh) -> None:
    until = time.monotonic() + TIMEOUT_S
    while time.monotonic() < until:
        if not any(one.lag for one in (await mesh.status()).consumers if one.name in AT_REST):
            return
        await asyncio.sleep(POLL_S)
    raise RuntimeError(f"the node was not at rest within {TIMEOUT_S:g} s")


async def pairs_of(by_space: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]], target: Path) -> None:
    """Write the file."""
    now = itertools.count(time.time_ns() // 1_000_000)
    config = StartConfig(
        clock=lambda: next(now), entropy=secrets.token_bytes, model=ModelConfig(download=False),
        mesh=MeshConfig(recall_timeout_s=TIMEOUT_S, write_timeout_s=TIMEOUT_S),
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder, target.open("w", encoding="utf-8") as file:
        mesh = await start_mesh(open_directory(Path(folder)), LocalRuntime(), config)
        try:
            for stem, asked in sorted(by_space.items()):
                rows = await shown(mesh, stem, asked)
                file.writelines(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rows)
                print(stem, f"{len(asked)} questions, {len(rows)} pairs", flush=True)
        finally:
            await mesh.close()


def main(argv: Sequence[str]) -> int:
    """Write the file."""
    if len(argv) != 1:
        raise SystemExit(__doc__)
    by_space: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for hand, row in asked_rows(MORE):
        by_space.setdefault(row["space"], []).append((hand, row))
    with patch.object(retrieval, "PairQuestions", Shown), patch.object(asked_pairs, "BEHIND_MAX", BEHIND):
        asyncio.run(pairs_of(by_space, Path(argv[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
