"""A node on a Ray cluster of several machines: one dies or hangs while agents write, and nothing acknowledged goes with
it. Each proof prints how long writes stood still, and shows the ledger in another process on another machine."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio
from crash_load import LOST, CrashLoad, nothing_is_lost
from forked import MNEMESH
from node_process import Nodes, NodeUnderTest, kill_node, launch_node, ready_node, stop_node
from node_reads import eventually, finds, pid_of
from ray_machines import RayMachines, Worker
from scenario_doors import GrpcDoor, Refused

pytestmark = [pytest.mark.ray, pytest.mark.proof, pytest.mark.timeout(300)]

WRITES_BEFORE, WRITES_AFTER = 60, 60
PROCESS_GAP_S, MACHINE_GAP_S = 3.0, 10.0
PATIENCE_S = 60.0


class Gap:
    """Writes one memory after the other from its own connection, and keeps the longest time between two answers."""

    def __init__(self, node: NodeUnderTest, space: str) -> None:
        self._door = GrpcDoor(node)
        self._space = space
        self.longest_s = 0.0

    async def run(self) -> None:
        last = time.monotonic()
        try:
            while True:
                text = f"Pulse {uuid.uuid4().hex}"
                try:
                    await self._door.call("remember", content=text, space=self._space, wait="durable", force=True)
                except Refused as refused:
                    if refused.code not in LOST:
                        raise
                    await asyncio.sleep(0.02)
                    continue
                now = time.monotonic()
                self.longest_s, last = max(self.longest_s, now - last), now
        finally:
            await self._door.close()


@pytest_asyncio.fixture
async def machines() -> AsyncIterator[RayMachines]:
    cluster = RayMachines(2)
    try:
        await cluster.start()
        yield cluster
    finally:
        await cluster.end()


@pytest_asyncio.fixture
async def node(machines: RayMachines, nodes: Nodes, tmp_path: Path) -> AsyncIterator[NodeUnderTest]:
    started = await start(machines, nodes, tmp_path)
    async with GrpcDoor(started) as door:
        await in_step(door)
    yield started
    await nodes.end()  # before its cluster


async def start(machines: RayMachines, nodes: Nodes, data: Path) -> NodeUnderTest:
    return await nodes.start(data, *machines.joining, env=machines.head.env)


async def replicas(door: GrpcDoor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await door.call("status"))["ledger"]["replicas"]
    return found


async def in_step(door: GrpcDoor) -> None:
    """Two ledgers, both with everything."""

    async def both() -> bool:
        found = await replicas(door)
        return len(found) == 2 and all(one["state"] == "ok" for one in found)

    await eventually(both, bool, "the log is on two machines", PATIENCE_S)


def worker_of(machines: RayMachines, replica: dict[str, Any]) -> Worker:
    return next(one for one in machines.workers if replica["place"].startswith(one.address + ":"))


async def survives(
    node: NodeUnderTest, role: int, strike: Callable[[Worker, int], None], machines: RayMachines, gap_max_s: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The replicas before and after `strike` hits the machine of the primary (`role` 0) or the secondary (1).

    Agents write until the node is whole without the struck part. Every acknowledged write is there, and writes stood
    still for less than `gap_max_s`.
    """
    seed = random.SystemRandom().getrandbits(32)
    space = f"ray/{uuid.uuid4().hex}"
    load = CrashLoad(space, seed)
    await load.node_is_up(node)
    gap = Gap(node, f"{space}/pulse")
    door = GrpcDoor(node)
    writing, pulsing = asyncio.create_task(load.run()), asyncio.create_task(gap.run())
    await load.acknowledged_more(WRITES_BEFORE)
    before = await replicas(door)
    pid = await pid_of(door, before[role]["actor"])
    struck_at = time.monotonic()
    strike(worker_of(machines, before[role]), pid)
    await load.acknowledged_more(WRITES_AFTER)
    after = await whole_without(door, pid)
    whole_s = time.monotonic() - struck_at
    await load.acknowledged_more(WRITES_AFTER)
    load.end()
    await asyncio.wait_for(writing, PATIENCE_S)
    pulsing.cancel()
    await asyncio.gather(pulsing, return_exceptions=True)
    print(
        f"seed {seed}: {load.record.answers.total()} writes acknowledged, {load.record.lost} answers lost, longest gap "
        f"{gap.longest_s:.2f} s, whole again after {whole_s:.1f} s"
    )
    await nothing_is_lost(door, space, load.record, seed)
    assert gap.longest_s <= gap_max_s
    await door.close()
    return before, after


async def whole_without(door: GrpcDoor, pid: int) -> list[dict[str, Any]]:
    """The replicas of a node that is whole without the process `pid`.

    Every actor answers from another process on a living machine, two ledgers have everything, and the index answers.
    """

    def whole(status: dict[str, Any]) -> bool:
        actors, found = status["actors"], status["ledger"]["replicas"]
        return (
            status["state"] == "ready"
            and all(one["state"] == "ready" and one.get("address") and one["pid"] != pid for one in actors)
            and {one["actor"] for one in found} <= {one["name"] for one in actors}
            and len(found) == 2
            and all(one["state"] == "ok" for one in found)
        )

    settled = await eventually(lambda: door.call("status"), whole, "the node is whole again", PATIENCE_S)
    shown: list[dict[str, Any]] = settled["ledger"]["replicas"]
    return shown


async def test_ledgers_index_and_embedding_worker_are_spread_over_the_machines_and_status_says_where(
    machines: RayMachines, node: NodeUnderTest
) -> None:
    door = GrpcDoor(node)
    status = await door.call("status")
    where = {one["name"]: one["address"] for one in status["actors"]}
    found = status["ledger"]["replicas"]
    workers = {worker.address for worker in machines.workers}
    assert {where[one["actor"]] for one in found} == workers
    assert {where["shard-0"], where["embedder-0"]} == workers
    assert where["shard-0"] != where[found[0]["actor"]]
    said = (await MNEMESH.run("status", "--endpoint", node.grpc, "--token", node.token)).stdout
    for one in status["actors"]:
        assert (
            f"{one['name']} ({one['type']}) pid {one['pid']} on {one['address']} (node {one['node'][:12]}) ready"
            in said
        )
    for one in found:
        assert f"replica {one['actor']} in {one['place']}: {one['role']}, seq {one['seq']}" in said
        assert f"life {one['incarnation'][:12]}, ok" in said
    await door.close()


async def test_a_killed_ledger_process_comes_back_on_its_machine(machines: RayMachines, node: NodeUnderTest) -> None:
    before, after = await survives(node, 0, lambda _, pid: psutil.Process(pid).kill(), machines, PROCESS_GAP_S)
    assert {one["machine"] for one in before} == {one["machine"] for one in after}


async def test_a_dead_machine_of_the_second_ledger_is_replaced_by_another(
    machines: RayMachines, node: NodeUnderTest
) -> None:
    before, after = await survives(node, 1, lambda worker, _: worker.kill(), machines, MACHINE_GAP_S)
    assert after[0]["node_id"] == before[0]["node_id"]
    assert after[1]["machine"] not in {one["machine"] for one in before}


@pytest.mark.parametrize("strike", [Worker.kill, Worker.kill_raylet, Worker.hang])
async def test_when_the_primarys_machine_dies_or_hangs_the_other_ledger_goes_on(
    machines: RayMachines, node: NodeUnderTest, strike: Callable[[Worker], None]
) -> None:
    before, after = await survives(node, 0, lambda worker, _: strike(worker), machines, MACHINE_GAP_S)
    assert after[0]["node_id"] == before[1]["node_id"]
    assert after[0]["machine"] != before[0]["machine"]
    assert after[1]["machine"] not in {one["machine"] for one in before}


async def test_a_node_that_starts_again_finds_its_ledgers_on_their_machines(
    machines: RayMachines, nodes: Nodes, tmp_path: Path
) -> None:
    first = await start(machines, nodes, tmp_path)
    async with GrpcDoor(first) as door:
        await in_step(door)
        await door.call("remember", content="written before the restart", space="life")
        ids = {one["node_id"] for one in await replicas(door)}
    assert await stop_node(first) == 0
    async with GrpcDoor(await start(machines, nodes, tmp_path)) as door:
        await in_step(door)
        assert {one["node_id"] for one in await replicas(door)} == ids
        assert await finds(door, "written before the restart", "life")
    await nodes.end()


async def test_a_node_that_starts_while_an_older_ledger_has_joined_waits_for_the_one_that_went_on(
    machines: RayMachines, nodes: Nodes, tmp_path: Path
) -> None:
    first = await start(machines, nodes, tmp_path)
    door = GrpcDoor(first)
    await in_step(door)
    older, newer = [worker_of(machines, replica) for replica in await replicas(door)]
    older.kill()

    async def written() -> str:
        try:
            answer = await door.call("remember", content="after the move", space="life", idempotency_key="moved")
        except Refused as refused:
            return refused.code
        return str(answer["action"])

    await eventually(written, lambda action: action in ("ADD", "NOOP"), "the other ledger goes on", PATIENCE_S)
    await kill_node(first)
    await door.close()
    newer.kill()
    await older.end()
    await newer.end()
    await older.start()
    process = await launch_node(tmp_path, *machines.joining, "--ray-ledger-wait-s", "120", env=machines.head.env)
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE_S):
        while b"ledgers_awaited" not in (line := await process.stderr.readline()):
            assert line, "the node has ended"
    await newer.start()
    second = await ready_node(tmp_path, process)
    async with GrpcDoor(second) as door:
        again = await door.call("remember", content="after the move", space="life", idempotency_key="moved")
        assert again["replayed"]
        await in_step(door)
    assert await stop_node(second) == 0
