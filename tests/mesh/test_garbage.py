"""Enemies send a hub every kind of garbage, all at once and as fast as they can, for as long as they are told to.

Meanwhile an honest agent writes at the hub and another at a laptop that exchanges with the hub. No acknowledged write
may be lost, and the two nodes must hold the same. The garbage that the hub keeps in memory and on disk must be bounded.
`MNEMESH_TEST_GARBAGE_S` is the length of the proof in seconds: 3600 for an hour. The enemies are a process of their
own, so the honest agents wait for the hub alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import statistics
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import garbage
import psutil
import pytest
from bench.report import machine
from node_process import Nodes, NodeUnderTest, ended, stop_node
from peer_scene import PATIENCE_S, client, everything, hub_and_laptop

from mnemesh_crdt.document.document import MemoryDocument
from mnemesh_memory.values import limits

RESULTS = Path(__file__).parents[2] / "bench" / "results" / "garbage.json"
PROOF_S = float(os.environ.get("MNEMESH_TEST_GARBAGE_S", "60"))
SHORT_S = 6.0
SPACE = "team/honest"
QUIET_WRITES = 30
# An honest agent at work and not a load: in an hour the index would grow by more than the garbage.
PAUSE_S = 1.0
SAMPLE_S = 1.0
SETTLE_S = 60.0
MIB = 1024 * 1024
# The process's own memory, without the pages of files.
MEMORY_GROWTH_MIB_MAX = 160
# One enemy alone fills its share of the quarantine with changes of the largest size.
DISK_GROWTH_MIB_MAX = 1.25 * limits.QUARANTINE_SHARE_MAX * limits.CHANGE_BYTES_MAX / MIB + 64


@dataclass
class Honest:
    """An agent at `node` who writes one memory after the other: the acknowledged writes, and the time of each (s)."""

    node: NodeUnderTest
    name: str
    acknowledged: dict[str, str] = field(default_factory=dict)
    waited: list[float] = field(default_factory=list)

    async def write(self) -> None:
        async with client(self.node) as one:
            await self._write(one)

    async def _write(self, one: Any) -> None:
        content = f"{self.name} says for the {len(self.acknowledged)}. time that all is well"
        began = time.monotonic()
        done = await one.remember(content, space=SPACE, force=True)
        self.waited.append(time.monotonic() - began)
        self.acknowledged[done.memory.id] = content

    async def work(self, until: float) -> None:
        async with client(self.node) as one:
            while time.monotonic() < until:
                await self._write(one)
                await asyncio.sleep(PAUSE_S)  # the pace of the load; nothing is waited for

    def latency_ms(self) -> dict[str, float]:
        ordered = sorted(self.waited)
        at = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
        found = {name: ordered[min(len(ordered) - 1, int(share * len(ordered)))] for name, share in at.items()}
        return {name: round(value * 1000, 1) for name, value in {**found, "max": ordered[-1]}.items()}


@dataclass
class Watched:
    """The use of a node: own memory and size of the ledger's file, in MiB, once a second."""

    node: NodeUnderTest
    memory: list[float] = field(default_factory=list)
    disk: list[float] = field(default_factory=list)

    def look(self) -> None:
        info = psutil.Process(self.node.process.pid).memory_info()
        self.memory.append(round((info.rss - info.shared) / MIB, 1))
        files = list(ledger_file(self.node).parent.glob("*.sqlite*"))
        self.disk.append(round(sum(file.stat().st_size for file in files if file.exists()) / MIB, 1))

    async def go_on(self, until: float) -> None:
        while time.monotonic() < until:
            self.look()
            await asyncio.sleep(SAMPLE_S)  # the pace of looking


def ledger_file(node: NodeUnderTest) -> Path:
    return node.data_dir / "ledger" / "0.sqlite"


async def held(node: NodeUnderTest) -> dict[str, str]:
    """Content by id of every memory of the honest agents on the node."""
    return {memory.id: memory.content for memory in await everything(node, SPACE)}


async def settled(nodes: tuple[NodeUnderTest, ...], expected: dict[str, str]) -> float:
    """Seconds until every node holds exactly that."""
    began = time.monotonic()
    async with client(nodes[-1]) as caller:
        while True:
            (peer,) = (await caller.sync_now(wait_s=5)).peers
            missed = [len(expected.keys() - (await held(node)).keys()) for node in nodes]
            if not any(missed):
                break
            assert time.monotonic() - began < SETTLE_S, f"missing after {SETTLE_S:g} s: {missed}; {peer}"
    for node in nodes:
        assert await held(node) == expected
    return round(time.monotonic() - began, 1)


async def besiege(hub: NodeUnderTest, seed: int, seconds: float) -> dict[str, Any]:
    """The messages of the enemies, and the ends of their streams."""
    tokens = {}
    async with client(hub) as there:
        for name in garbage.KINDS:
            issued = await there.add_agent(name, role="writer", spaces=["team/*"])
            tokens[name] = issued.token
    process = await asyncio.create_subprocess_exec(
        sys.executable, garbage.__file__,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    asked = {"grpc": hub.grpc, "http": hub.http, "tokens": tokens, "seed": seed, "seconds": seconds}
    async with ended(process):
        out, _ = await asyncio.wait_for(process.communicate(json.dumps(asked).encode()), seconds + PATIENCE_S * 2)
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(out)
    return found


def opened(hub: NodeUnderTest) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(f"file:{ledger_file(hub)}?mode=ro", uri=True))


def on_the_shelves(hub: NodeUnderTest) -> dict[str, Any]:
    """The garbage that the hub keeps. No share is exceeded."""
    kept: dict[str, Any] = {}
    with opened(hub) as db:
        for table, most in (("quarantine", limits.QUARANTINE_SHARE_MAX), ("pending", limits.PENDING_SHARE_MAX)):
            rows = db.execute(f"SELECT sender, count(*), sum(length(raw)) FROM {table} GROUP BY sender").fetchall()
            kept[table] = sum(count for _, count, _ in rows)
            kept[f"{table} MiB"] = round(sum(size for _, _, size in rows) / MIB, 1)
            more = limits.PENDING_ERASURES_SHARE_MAX if table == "pending" else 0
            assert all(count <= most + more for _, count, _ in rows), rows
        for table in ("node_key", "peer_cursor", "peer_contact", "entry"):
            (kept[table],) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert kept["quarantine"] <= limits.QUARANTINE_ENTRIES_MAX
    assert kept["pending"] <= limits.PENDING_CHANGES_MAX + limits.PENDING_ERASURES_MAX
    assert kept["node_key"] <= limits.NODE_KEYS_MAX
    return kept


def every_document_loads(hub: NodeUnderTest) -> int:
    """How many there are, each read from nothing but the changes in the file."""
    changes: dict[tuple[str, str], list[bytes]] = {}
    with opened(hub) as db:
        for doc, space, raw in db.execute("SELECT doc, space, raw FROM entry WHERE type = 'change' ORDER BY seq"):
            changes.setdefault((doc, space), []).append(raw)
    for (doc, space), raws in changes.items():
        assert MemoryDocument(doc, space, raws).state().revisions, doc
    return len(changes)


async def under_garbage(nodes: Nodes, path: Path, seed: int, seconds: float) -> dict[str, Any]:
    hub, laptop = await hub_and_laptop(nodes, path, "team/*")
    quiet, at_hub, at_laptop = (Honest(hub, "a quiet one"), Honest(hub, "the hub's"), Honest(laptop, "the laptop's"))
    for _ in range(QUIET_WRITES):
        await quiet.write()
    watched = Watched(hub)
    watched.look()
    until = time.monotonic() + seconds
    sent, *_ = await asyncio.gather(
        besiege(hub, seed, seconds), at_hub.work(until), at_laptop.work(until), watched.go_on(until)
    )
    assert hub.process.returncode is None, "the hub died"
    expected = quiet.acknowledged | at_hub.acknowledged | at_laptop.acknowledged
    converged_s = await settled((hub, laptop), expected)
    watched.look()
    shelves = on_the_shelves(hub)
    assert await stop_node(hub) == 0
    documents = every_document_loads(hub)
    # The node that starts again has another port, which the laptop does not call. So the node itself is asked.
    again = await nodes.start(path / "hub")
    assert await held(again) == expected
    async with client(again) as there:
        for memory in await everything(again, "team/x"):
            await there.update(memory.id, content=f"{memory.id} can still be changed")
    return {
        "seed": seed,
        "seconds": seconds,
        "sent": {name: one["sent"] for name, one in sent.items()},
        "ended": {name: one["ended"] for name, one in sent.items()},
        "acknowledged": len(expected),
        "converged_s": converged_s,
        "remember_ms": {
            "before": quiet.latency_ms(), "at the hub": at_hub.latency_ms(), "at the laptop": at_laptop.latency_ms(),
        },
        "memory_mib": spread(watched.memory),
        "disk_mib": spread(watched.disk),
        "kept": shelves,
        "documents": documents,
    }  # fmt: skip


def spread(values: list[float]) -> dict[str, float]:
    """The first value, the median of each quarter of the time, the largest and the last."""
    quarter = max(1, len(values) // 4)
    parts = [round(statistics.median(values[at * quarter : (at + 1) * quarter] or values[-1:]), 1) for at in range(4)]
    names = ("first quarter", "second quarter", "third quarter", "last quarter")
    return {"before": values[0], **dict(zip(names, parts, strict=True)), "most": max(values), "end": values[-1]}


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(SHORT_S, id="short"),
        pytest.param(PROOF_S, id="whole", marks=[pytest.mark.proof, pytest.mark.timeout(PROOF_S + 900)]),
    ],
)
async def test_garbage_of_every_kind_all_the_time_costs_nobody_a_write_and_is_kept_within_bounds(
    nodes: Nodes, tmp_path: Path, seconds: float
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    figures = await under_garbage(nodes, tmp_path, seed, seconds)
    print(json.dumps(figures))
    for name in garbage.KINDS:
        assert figures["sent"][name]["turns"], f"{name} sent nothing"
    if seconds != SHORT_S:
        RESULTS.write_text(json.dumps({**machine(), **figures}, indent=1) + "\n")
    memory, disk = figures["memory_mib"], figures["disk_mib"]
    assert memory["most"] - memory["before"] < MEMORY_GROWTH_MIB_MAX, memory
    assert disk["most"] - disk["before"] < DISK_GROWTH_MIB_MAX, disk
