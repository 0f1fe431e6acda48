"""`python -m bench.on_ray.ray_import`: how much of its embedding workers' rate an import reaches on two Ray machines;
writes bench/results/ray_import.json.

All machines are this one. With --processors each worker has a fixed share of a processor, so gateway, ledger and index
don't take from it (cgroups; needs root). The same texts go to two bare workers and to a node's import, in turns.
Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TypeVar

import psutil
from bench.counts import from_one
from bench.node import NodeProcess
from bench.on_ray.ray_cluster import RayCluster
from bench.report import machine, median_row, show
from bench.texts.corpus import sentences
from rich.console import Console

from mnemesh import Client
from mnemesh.api.batch import BATCH_ITEMS_MAX
from mnemesh.api.calls.writes import Item
from mnemesh_actors.embedding.embedder import EmbeddingPool
from mnemesh_actors.generations.generation_factory import spawn_embedders
from mnemesh_actors.models import ModelConfig
from mnemesh_actors.remember.deadlines import EMBEDDED_BYTES
from mnemesh_actors.runtime.base import Place
from mnemesh_actors.runtime.ray import RayHandle, RayRuntime

Element = TypeVar("Element")
RESULTS = Path(__file__).resolve().parents[1] / "results" / "ray_import.json"
RATIO_MIN = 0.85
WORKERS = 2
SPACE = "bench/import"
CGROUP = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 20_000


def main(argv: Sequence[str]) -> int:
    """Measure, print, write. A missed promise is said in the table and the file; it is no failure of the run."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.on_ray.ray_import", description="Measure an import on two machines."
    )
    parser.add_argument("--corpus", type=Path, help="file or folder of text, Markdown or JSONL")
    parser.add_argument("--texts", type=from_one, default=1_000, help="memories of a round")
    parser.add_argument("--rounds", type=from_one, default=3, help="rounds of both")
    parser.add_argument("--processors", type=float, default=0.0, help="share of a processor of each worker; 0 for all")
    given = parser.parse_args(argv)
    texts = sentences(given.corpus)
    if len(texts) < (wanted := (given.rounds + 1) * given.texts):
        parser.error(f"--texts and --rounds need {wanted} sentences, and there are {len(texts)}")
    rates: dict[str, list[float]] = {"bare": [], "import": []}
    spent: list[float] = []
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder, ExitStack() as undo:
        cluster = undo.enter_context(RayCluster(WORKERS))
        path = Path(folder)
        options = ("--runtime", "ray", "--ray-address", cluster.address, "--ray-replica-dir", str(path / "{ip}"))
        node = undo.enter_context(NodeProcess(path / "node", options))
        client = undo.enter_context(Client(node.address.grpc, node.token))
        actors = [one.pid for one in client.status().actors if one.name.startswith("embedder-")]
        loop = undo.enter_context(asyncio.Runner())
        runtime = RayRuntime(path / "driver", secrets.token_hex(16), cluster.address)
        crew = loop.run(_bare(runtime))
        undo.callback(lambda: loop.run(runtime.close()))
        bare = [worker.last_placement[0] for worker in crew.workers if isinstance(worker, RayHandle)]
        if given.processors:
            for pid in (*actors, *bare):
                undo.callback(limited(pid, given.processors))
        warm, *parts = chunks(texts[:wanted], given.texts)
        _imported(client, warm)
        for part in parts:
            rates["bare"].append(loop.run(_embedded(crew, part)))
            before = _cpu(actors)
            rates["import"].append(_imported(client, part))
            spent.append(_cpu(actors) - before)
    ratios = [done / alone for done, alone in zip(rates["import"], rates["bare"], strict=True)]
    busy = ", ".join(f"{one:.1f} s" for one in spent)
    shown = f"{WORKERS} workers with {given.processors or 'all'} of a processor; their CPU in each import: {busy}"
    rows = [
        median_row("import, of the rate of two bare workers", ratios, "x", at_least=RATIO_MIN, floor=shown),
        median_row("import with two workers", rates["import"], "texts/s"),
        median_row("two bare workers", rates["bare"], "texts/s"),
    ]
    facts = {"machine": machine(), "texts": given.texts, "processors": given.processors}
    console = Console(width=None if sys.stdout.isatty() else 150)
    show(rows, console)
    RESULTS.write_text(json.dumps({**facts, "rows": [asdict(row) for row in rows]}, indent=1) + "\n", "utf-8")
    console.print(f"Written to {RESULTS}")
    return 0


def chunks(items: Sequence[Element], size: int) -> Iterator[Sequence[Element]]:
    """`size` of them at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


# ---- bare workers ---------------------------------------------------------------------------------------------------


async def _bare(runtime: RayRuntime) -> EmbeddingPool:
    """Workers beside those of the node, one on each machine except the machine of the doors."""
    await runtime.start()
    others = (await runtime.machines())[1:]
    crew = await spawn_embedders(runtime, ModelConfig(), [Place(machine=one.id) for one in others])
    await crew.load()
    return crew


async def _embedded(crew: EmbeddingPool, texts: Sequence[str]) -> float:
    """Texts a second when each worker is given the next portion as soon as it has none."""
    left = iter(_portions(texts))

    async def lane(worker: int) -> None:
        for portion in left:
            await crew.workers[worker].embed(portion)

    began = time.perf_counter()
    await asyncio.gather(*(lane(worker) for worker in range(crew.size)))
    return len(texts) / (time.perf_counter() - began)


def _portions(texts: Sequence[str]) -> Iterator[list[str]]:
    portion: list[str] = []
    for text in texts:
        if portion and sum(map(len, portion)) + len(text) > EMBEDDED_BYTES:
            yield portion
            portion = []
        portion.append(text)
    yield portion


# ---- the node -------------------------------------------------------------------------------------------------------


def _imported(client: Client, texts: Sequence[str]) -> float:
    """Texts a second until the last is acknowledged, sent as `mnemesh import` sends them."""

    began = time.perf_counter()
    for batch in chunks(texts, BATCH_ITEMS_MAX):
        items: list[Item | str] = [{"content": text, "space": SPACE} for text in batch]
        for outcome in client.remember_batch(items, wait="durable", judge_at_rest=True):
            if isinstance(outcome, Exception):
                raise outcome
    return len(texts) / (time.perf_counter() - began)


# ---- processes ------------------------------------------------------------------------------------------------------


def _cpu(pids: Sequence[int]) -> float:
    """Seconds of processor of these processes together."""
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(one.user + one.system for one in times)


def limited(pid: int, processors: float) -> Callable[[], None]:
    """Give the process that share of a processor; the answer takes it back."""
    group = CGROUP / f"mnemesh-bench-{os.getpid()}-{pid}"
    group.mkdir()
    (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (group / "cpu.cfs_quota_us").write_text(str(int(PERIOD_US * processors)))
    (group / "cgroup.procs").write_text(str(pid))
    return partial(_released, group)


def _released(group: Path) -> None:
    for pid in (group / "cgroup.procs").read_text().split():
        (CGROUP / "cgroup.procs").write_text(pid)
    group.rmdir()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
