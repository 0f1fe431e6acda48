"""`python -m bench.on_ray.ray_ledgers`: what a log on two Ray machines costs; writes bench/results/ray_ledgers.json.

All machines are this one, as in the proofs, so every process shares its cores: a cluster of real machines has more.
Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import psutil
from bench.counts import from_one, too_few
from bench.node import NodeProcess
from bench.nodes.client import GrpcClient, connect
from bench.on_ray.ray_cluster import RayCluster
from bench.report import Row, machine, median_row, percentile, show
from bench.speed.storage import COMMIT_COMMANDS_MAX, create_command
from bench.texts.corpus import sentences
from rich.console import Console

from mnemesh import Client
from mnemesh_actors.ledger.replica_ledger import ReplicaLedger
from mnemesh_actors.replication.members import Member
from mnemesh_actors.replication.replicated_ledger import ReplicatedLedger
from mnemesh_actors.runtime.base import Handle, Machine, Place
from mnemesh_actors.runtime.ray import RayHandle, RayRuntime

RESULTS = Path(__file__).resolve().parents[1] / "results" / "ray_ledgers.json"
CHANGES_A_S_MIN = 2500.0
REMEMBER_RATIO_MAX = 2.5
WARM_UP_ROUNDS = 10
WORKERS = 2
SPACE = "bench/ray"
WAIT_S = 120.0
POLL_S = 0.002


def main(argv: Sequence[str]) -> int:
    """Measure, print, write. A missed promise is said in the table and the file; it is no failure of the run."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.on_ray.ray_ledgers", description="Measure a log on two machines."
    )
    parser.add_argument("--corpus", type=Path, help="file or folder of text, Markdown or JSONL")
    parser.add_argument("--changes", type=from_one, default=10_000, help="changes that a fresh ledger takes over")
    parser.add_argument("--rounds", type=from_one, default=5, help="fresh ledgers")
    parser.add_argument("--writes", type=from_one, default=150, help="memories that are written to each node")
    given = parser.parse_args(argv)
    texts = sentences(given.corpus)
    wanted = {"--changes": given.changes, "--writes": 2 * given.writes}
    if lacking := too_few(len(texts), wanted, 2 * WARM_UP_ROUNDS, least=3 + 2 * WARM_UP_ROUNDS):
        parser.error(lacking)
    facts = {"machine": machine(), "changes": given.changes, "rounds": given.rounds, "writes": given.writes}
    console = Console(width=None if sys.stdout.isatty() else 150)
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder, RayCluster(WORKERS) as cluster:
        rows = [
            asyncio.run(_levelling(texts[: given.changes], given.rounds, Path(folder), cluster.address)),
            *_remembering(texts[given.changes :], given.writes, Path(folder), cluster.address),
        ]
    show(rows, console)
    RESULTS.write_text(json.dumps({**facts, "rows": [asdict(row) for row in rows]}, indent=1) + "\n", "utf-8")
    console.print(f"Written to {RESULTS}")
    return 0


# ---- a fresh ledger takes over what the other has -------------------------------------------------------------------


async def _levelling(texts: Sequence[str], rounds: int, folder: Path, address: str) -> Row:
    """Changes a second from one ledger of a node to a fresh one, each in a process on a machine of its own. The streams
    are those of the gateway, in this process."""
    runtime = RayRuntime(folder / "driver", secrets.token_hex(16), address)
    await runtime.start()
    here, there = (await runtime.machines())[-2:]
    first = await _member(runtime, "full", folder / "full", here)
    for start in range(0, len(texts), COMMIT_COMMANDS_MAX):
        await first.handle.commit([create_command(text) for text in texts[start : start + COMMIT_COMMANDS_MAX]])
    head = (await first.handle.position())[1]
    rates: list[float] = []
    spent = {"giving": 0.0, "taking": 0.0, "between": 0.0}
    for number in range(rounds):
        fresh = await _member(runtime, f"fresh{number}", folder / f"fresh{number}", there)
        ledger = ReplicatedLedger([first], first, _now, secrets.token_bytes, lambda text: None)
        await ledger.start()
        before = {"giving": _cpu(first.handle), "taking": _cpu(fresh.handle), "between": _cpu()}
        began = time.perf_counter()
        await ledger.join(fresh)
        async with asyncio.timeout(WAIT_S):
            while fresh.acked < head:  # noqa: ASYNC110  a member tells nobody
                await asyncio.sleep(POLL_S)
        seconds = time.perf_counter() - began
        after = {"giving": _cpu(first.handle), "taking": _cpu(fresh.handle), "between": _cpu()}
        spent = {name: spent[name] + after[name] - before[name] for name in spent}
        rates.append(head / seconds)
        if (taken := (await fresh.handle.status()).seq) != head:
            raise RuntimeError(f"{taken} of {head} changes were taken in")
        await ledger.close()
        await runtime.drop(fresh.handle)
    await runtime.close()
    each = ", ".join(f"{name} {1000 * value / rounds / head:.2f}" for name, value in spent.items())
    floor = f"ms of processor a change: {each}"
    name = f"{head:,} changes between two ledgers of a cluster"
    return median_row(name, rates, "changes/s", at_least=CHANGES_A_S_MIN, floor=floor)


async def _member(runtime: RayRuntime, name: str, folder: Path, at: Machine) -> Member:
    handle = await runtime.spawn(name, ReplicaLedger, str(folder), place=Place(machine=at.id))
    return Member(handle, await handle.identity(), machine=at.id, place=str(folder))


def _cpu(handle: Handle[object] | None = None) -> float:
    """Seconds of processor of an actor's process, or of this one."""
    assert handle is None or isinstance(handle, RayHandle)
    times = psutil.Process(handle.last_placement[0] if handle else None).cpu_times()
    return float(times.user + times.system)


def _now() -> int:
    return time.time_ns() // 1_000_000


# ---- remember -------------------------------------------------------------------------------------------------------


def _remembering(texts: Sequence[str], writes: int, folder: Path, address: str) -> list[Row]:
    """The same calls in turns to two nodes: one in a single process, one with a log on two machines of the cluster."""
    options = ("--runtime", "ray", "--ray-address", address, "--ray-replica-dir", str(folder / "machines" / "{ip}"))
    alone, spread = folder / "alone", folder / "spread"
    times: dict[str, list[float]] = {"alone": [], "spread": []}
    with (
        NodeProcess(alone) as one,
        NodeProcess(spread, options) as two,
        connect(one.address.grpc, alone) as here,
        connect(two.address.grpc, spread) as there,
    ):
        _on_two(two)
        source = iter(texts)
        for number in range(writes + WARM_UP_ROUNDS):
            measured = {"alone": _timed(here, next(source)), "spread": _timed(there, next(source))}
            if number >= WARM_UP_ROUNDS:
                for name, value in measured.items():
                    times[name].append(value)
        _on_two(two)
    shares = {
        f"p{100 * share:.0f}": {name: percentile(values, share) for name, values in times.items()}
        for share in (0.5, 0.95)
    }
    shown = "; ".join(f"{name} {at['spread']:.1f} ms against {at['alone']:.1f} ms" for name, at in shares.items())
    ratio = [shares["p50"]["spread"] / shares["p50"]["alone"]]
    name = "remember (indexed), two Ray ledgers against one process"
    return [
        median_row(name, ratio, "x", at_most=REMEMBER_RATIO_MAX, floor=shown),
        median_row("remember (indexed), two Ray ledgers", times["spread"], "ms"),
        median_row("remember (indexed), one process", times["alone"], "ms"),
    ]


def _timed(client: GrpcClient, text: str) -> float:
    began = time.perf_counter()
    client.remember(text, SPACE)
    return (time.perf_counter() - began) * 1000


def _on_two(node: NodeProcess) -> None:
    """Wait until the log is on two machines. Raises RuntimeError when it is not in time."""
    deadline = time.monotonic() + WAIT_S
    with Client(node.address.grpc, node.token) as client:
        while True:
            ledger = client.status().ledger
            if ledger and len(ledger.replicas) == 2 and all(one.state == "ok" for one in ledger.replicas):
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"the log is not on two machines: {ledger}")
            time.sleep(POLL_S * 50)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
