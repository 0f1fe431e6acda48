"""`python -m bench.on_ray.ray_sleep`: how much of two bare processes' rate two astrocytes on Ray reach; ten spaces at
once.

A bare process plans portions that were read before, and does nothing else. The node reads the same memories, plans on
two machines of a Ray cluster, and carries the steps out. All machines are this one. With --processors each of the four
processes that plan has a fixed share of a processor, so gateway and ledger don't take from it (cgroups, needs root).
Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from queue import Empty, SimpleQueue

from bench.consolidation.sleep import OWNER, filled, started, texts
from bench.node import NodeProcess
from bench.on_ray.ray_cluster import RayCluster
from bench.on_ray.ray_import import WORKERS, chunks, limited
from bench.report import median_row, show
from rich.console import Console

from mnemesh import Client
from mnemesh.api.batch import BATCH_ITEMS_MAX
from mnemesh.api.calls.writes import Item
from mnemesh_actors.astrocytes.planning_process import PlanningProcess
from mnemesh_actors.runtime.budget import Budget
from mnemesh_actors.sleep.plan_input import batch, fresh_ids
from mnemesh_memory.consolidation.steps import Portion

SPACES = 10
RATIO_MIN = 0.8


def main(argv: Sequence[str]) -> int:
    """Measure and print. A missed promise is said in the table and is no failure of the run."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.on_ray.ray_sleep", description="Two astrocytes on two machines."
    )
    parser.add_argument("--memories", type=int, default=256, help="memories of each of the ten spaces")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both")
    parser.add_argument("--processors", type=float, default=0.0, help="share of a processor of each process that plans")
    given = parser.parse_args(argv)
    contents = [texts(given.memories, number) for number in range(SPACES)]
    portions = asyncio.run(portions_of(contents))
    rates: dict[str, list[float]] = {"bare": [], "node": []}
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder, ExitStack() as undo:
        cluster = undo.enter_context(RayCluster(WORKERS))
        options = ("--runtime", "ray", "--ray-address", cluster.address, "--ray-replica-dir", f"{folder}/{{ip}}")
        node = undo.enter_context(NodeProcess(Path(folder) / "node", (*options, "--astrocyte-workers", str(WORKERS))))
        client = undo.enter_context(Client(node.address.grpc, node.token))
        actors = [one.pid for one in client.status().actors if one.name.startswith("astrocyte-")]
        bare = [undo.enter_context(closing(PlanningProcess())) for _ in range(WORKERS)]
        if given.processors:
            for pid in actors:
                undo.callback(limited(pid, given.processors))
        for number in range(given.rounds):
            told(client, contents, number)
            with ExitStack() as freed:
                for process in bare:
                    process.plan(portions[0])  # a child that rested has ended
                    if given.processors:
                        freed.callback(limited(process.start(), given.processors))
                rates["bare"].append(given.memories * SPACES / planned(bare, portions))
            rates["node"].append(given.memories * SPACES / consolidated(client, number))
    ratios = [done / alone for done, alone in zip(rates["node"], rates["bare"], strict=True)]
    shown = f"{WORKERS} processes with {given.processors or 'all'} of a processor each"
    rows = [
        median_row("consolidation, of the rate of two bare processes", ratios, "x", at_least=RATIO_MIN, floor=shown),
        median_row("consolidation with two astrocytes", rates["node"], "memories/s"),
        median_row("two bare processes", rates["bare"], "memories/s"),
    ]
    show(rows, Console(width=None if sys.stdout.isatty() else 150))
    return 0


async def portions_of(contents: Sequence[Sequence[str]]) -> list[Portion]:
    """The portions that a node makes of these texts, a space each."""
    found: list[Portion] = []
    with tempfile.TemporaryDirectory() as folder:
        mesh = await started(Path(folder) / "data")
        try:
            for number, part in enumerate(contents):
                await filled(mesh, part, _space(0, number))
            await mesh._parts.follower.wait_for(mesh._parts.follower.head)
            for number in range(len(contents)):
                space = _space(0, number)
                async for ids, upto in fresh_ids(mesh._parts, space, 0):
                    found += (await batch(mesh._parts, space, OWNER.principal, ids, upto, Budget())).portions
        finally:
            await mesh.close()
    return found


def planned(bare: Sequence[PlanningProcess], portions: Sequence[Portion]) -> float:
    """Seconds until the processes have planned all portions. Each gets the next one as soon as it has none."""
    left: SimpleQueue[Portion] = SimpleQueue()
    for portion in portions:
        left.put(portion)

    def lane(process: PlanningProcess) -> None:
        try:
            while True:
                process.plan(left.get_nowait())
        except Empty:
            return

    began = time.perf_counter()
    with ThreadPoolExecutor(len(bare)) as threads:
        list(threads.map(lane, bare))
    return time.perf_counter() - began


def told(client: Client, contents: Sequence[Sequence[str]], number: int) -> None:
    """Write the texts into the ten spaces of a round, as `filled` does."""
    for place, part in enumerate(contents):
        items: list[Item | str] = [
            {"content": text, "kind": "episode" if at % 3 == 0 else "fact", "space": _space(number, place),
             "source": {"session": f"s{at}"}, "force": True, "importance": 0.7}
            for at, text in enumerate(part)
        ]  # fmt: skip
        for some in chunks(items, BATCH_ITEMS_MAX):
            for outcome in client.remember_batch(some, wait="indexed"):
                if isinstance(outcome, Exception):
                    raise outcome


def consolidated(client: Client, number: int) -> float:
    """Seconds until the ten spaces of a round are consolidated, by ten callers at once."""

    def one(place: int) -> int:
        return client.consolidate(space=_space(number, place)).read

    began = time.perf_counter()
    with ThreadPoolExecutor(SPACES) as threads:
        read = sum(threads.map(one, range(SPACES)))
    if not read:
        raise RuntimeError("nothing was consolidated")
    return time.perf_counter() - began


def _space(number: int, place: int) -> str:
    return f"bench/round{number}/space{place}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
