"""Two nodes are cut off from each other, both are written to, and the link comes back: they converge, and how fast.

The proof uses network namespaces where the machine lets us make them, else a TCP proxy; the normal tests the proxy.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from fault_proxy import FaultProxy
from namespaces import BETWEEN, CONTROL, Namespaces, can_be_made
from node_process import Nodes, NodeUnderTest
from peer_scene import PATIENCE_S, client, everything, introduce, until

from mnemesh.api.values.writes import Remembered

RESULTS = Path(__file__).parents[2] / "bench" / "results" / "partitions.json"
SPACE = "team/x"
SHARED = 200
WRITERS = 16
NEW_EVERY = 10  # the other writes change what both sides have
SYNC_WAIT_S = 10.0
# Changes on both sides together, and the seconds within which they are on both: as docs/proof.md promises.
PROMISED = {50: 5.0, 1_000: 5.0, 10_000: 30.0}
FLAPS = 12


@dataclass
class Parted:
    """Two nodes, the first of which calls the second over a link that can be cut. `kind` names the link."""

    kind: str
    nodes: tuple[NodeUnderTest, NodeUnderTest]
    link: FaultProxy | Namespaces

    def stall(self) -> None:
        """Messages of the first do not arrive. Messages of the second do."""
        if isinstance(self.link, FaultProxy):
            self.link.stall("out")
        else:
            self.link.mute(0)

    async def write(self, chance: random.Random, changes: int, shared: list[str]) -> None:
        """`changes` in all, half of them on each side, at the same time; one in NEW_EVERY is a new memory."""
        await asyncio.gather(
            *(self._write_on(number, chance.getrandbits(32), changes // 2, shared) for number in (0, 1))
        )

    async def _write_on(self, number: int, seed: int, changes: int, shared: list[str]) -> None:
        chance, left = random.Random(seed), iter(range(changes))
        async with client(self.nodes[number]) as one:

            async def writer() -> None:
                for n in left:
                    if n % NEW_EVERY == 0:
                        content = f"side {number} of {seed} says {n}: {chance.getrandbits(64):x}"
                        await one.remember(content, space=SPACE, wait="durable", force=True)
                    else:
                        await one.update(chance.choice(shared), importance=chance.random(), wait="durable")

            await asyncio.gather(*(writer() for _ in range(WRITERS)))

    async def same(self) -> bool:
        """Whether both hold the same memories with the same heads."""
        held = await asyncio.gather(*(heads_of(node) for node in self.nodes))
        return held[0] == held[1]

    def cpu_s(self) -> tuple[float, ...]:
        """Seconds of a core that each node has used so far."""
        times = [psutil.Process(node.process.pid).cpu_times() for node in self.nodes]
        return tuple(one.user + one.system for one in times)

    async def heal(self) -> dict[str, Any]:
        """Let both meet again; the seconds until both hold the same, and what that cost each node. A machine that is
        busy otherwise shows in the difference."""
        began, before = time.monotonic(), self.cpu_s()
        self.link.heal()
        async with client(self.nodes[0]) as caller:
            async with asyncio.timeout(PATIENCE_S * 4):
                while True:
                    (peer,) = (await caller.sync_now(wait_s=SYNC_WAIT_S)).peers
                    if peer.caught_up and await self.same():
                        spent = [round(now - then, 2) for now, then in zip(self.cpu_s(), before, strict=True)]
                        return {"converged_s": round(time.monotonic() - began, 2), "cpu_s": spent}


async def heads_of(node: NodeUnderTest) -> dict[str, tuple[str, ...]]:
    return {memory.id: tuple(sorted(memory.heads)) for memory in await everything(node, SPACE)}


@asynccontextmanager
async def by_proxy(nodes: Nodes, path: Path) -> AsyncIterator[Parted]:
    pair = await asyncio.gather(nodes.start(path / "a"), nodes.start(path / "b"))
    proxy = FaultProxy(pair[1].grpc)
    try:
        await introduce(pair[0], pair[1], "a", "team/*", address=await proxy.start())
        yield Parted("TCP proxy", (pair[0], pair[1]), proxy)
    finally:
        await proxy.close()


@asynccontextmanager
async def by_namespace(nodes: Nodes, path: Path) -> AsyncIterator[Parted]:
    link = Namespaces()
    try:
        link.make()
        pair = []
        for number, name in enumerate("ab"):
            node = await nodes.start(path / name, "--grpc", "0.0.0.0:0", "--expose", within=link.within(number))
            port = node.grpc.rpartition(":")[2]
            pair.append(replace(node, grpc=f"{CONTROL[number][1]}:{port}"))
        between = f"{BETWEEN[1]}:{pair[1].grpc.rpartition(':')[2]}"
        await introduce(pair[0], pair[1], "a", "team/*", address=between)
        yield Parted("network namespaces", (pair[0], pair[1]), link)
    finally:
        await nodes.end()
        link.close()


async def common_ground(parted: Parted) -> list[str]:
    """Memories that both sides have."""
    async with client(parted.nodes[0]) as one:
        made = await one.remember_batch([{"content": f"both know number {n}", "space": SPACE} for n in range(SHARED)])
    await until(parted.same, "both know the same before the partition")
    return [one.memory.id for one in made if isinstance(one, Remembered)]


async def part_and_heal(parted: Parted, chance: random.Random, changes: int, shared: list[str]) -> dict[str, Any]:
    before = await heads_of(parted.nodes[0])
    parted.link.cut()
    began = time.monotonic()
    await parted.write(chance, changes, shared)
    written_s = time.monotonic() - began
    assert not await parted.same()
    healed = await parted.heal()
    found = await heads_of(parted.nodes[0])
    assert len(found) == len(before) + 2 * -(-(changes // 2) // NEW_EVERY)
    return {"changes": changes, "parted_s": round(written_s, 1), **healed}


async def one_way(parted: Parted, chance: random.Random, changes: int, shared: list[str]) -> dict[str, Any]:
    parted.stall()
    await parted.write(chance, changes, shared)
    assert not await parted.same()
    return {"changes": changes, **await parted.heal()}


async def flapping(parted: Parted, chance: random.Random, changes: int, shared: list[str]) -> dict[str, Any]:
    async def flap() -> None:
        for _ in range(FLAPS):
            parted.link.cut()
            await asyncio.sleep(chance.uniform(0, 0.3))  # the moments are random; nothing is waited for
            parted.link.heal()
            await asyncio.sleep(chance.uniform(0, 0.3))
        parted.link.cut()

    await asyncio.gather(flap(), parted.write(chance, changes, shared))
    return {"changes": changes, "flaps": FLAPS, **await parted.heal()}


async def test_both_sides_of_a_partition_converge_when_it_heals_also_of_a_one_way_and_a_flapping_one(
    nodes: Nodes, tmp_path: Path
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    async with by_proxy(nodes, tmp_path) as parted:
        shared = await common_ground(parted)
        for partition in (part_and_heal, one_way, flapping):
            print(partition.__name__, await partition(parted, chance, 50, shared))


@pytest.mark.proof
@pytest.mark.timeout(900)
async def test_a_thousand_changes_are_on_both_sides_5_s_after_a_partition_and_ten_thousand_30_s(
    nodes: Nodes, tmp_path: Path
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    chance = random.Random(seed)
    make = by_namespace if can_be_made() else by_proxy
    async with make(nodes, tmp_path) as parted:
        shared = await common_ground(parted)
        figures: dict[str, Any] = {"seed": seed, "link": parted.kind}
        figures["partitions"] = [await part_and_heal(parted, chance, n, shared) for n in (1_000, 10_000)]
        figures["one way"] = await one_way(parted, chance, 1_000, shared)
        figures["flapping"] = await flapping(parted, chance, 1_000, shared)
    print(json.dumps(figures))
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n")
    for one in figures["partitions"]:
        assert one["converged_s"] <= PROMISED[one["changes"]], figures
