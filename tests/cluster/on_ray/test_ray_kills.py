"""kill -9 of ledger, index, embedding worker and gateway, each a process on Ray, loses no acknowledged write."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from crash_load import SHARES, CrashLoad, found_again, nothing_is_lost
from node_process import Nodes, NodeUnderTest, kill_node, stop_node
from node_reads import eventually, pid_of, settled
from ray_head import RayHead
from scenario_doors import GrpcDoor

SPACE = "kills"
KILLS = int(os.environ.get("MNEMESH_TEST_RAY_KILLS", "100"))
ACKNOWLEDGED_BEFORE_KILL_MAX = 12
KILL_WITHIN_S = 0.05
WAIT_S = 120.0
PROGRESS_EVERY = 20
GATEWAY = "gateway"
# The gateway seldom: to start one takes longer than everything else.
LOOKED_FOR_MAX = 10  # writers go on meanwhile, and at the end each memory is looked for
SHARES_OF_KILLS = {"ledger-0": 3, "shard-0": 3, "embedder-0": 3, GATEWAY: 1}
pytestmark = [pytest.mark.ray, pytest.mark.proof, pytest.mark.timeout(3000)]


async def another_pid(node: NodeUnderTest, actor: str, killed: set[int]) -> int:
    """The process of an actor, once the actor has a process that was not killed."""
    async with GrpcDoor(node) as door:
        what = f"{actor} is started again"
        return await eventually(lambda: pid_of(door, actor), lambda pid: pid not in {0, *killed}, what, WAIT_S)


async def test_every_acknowledged_write_survives_random_kills_of_each_part_exactly_once(
    nodes: Nodes, head: RayHead, tmp_path: Path
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance, killed, pids = random.Random(seed), Counter[str](), set[int]()

    async def start() -> NodeUnderTest:
        return await nodes.start(tmp_path, "--runtime", "ray", "--ray-address", head.address, env=head.env)

    node = await start()
    load = CrashLoad(SPACE, seed)
    await load.node_is_up(node)
    writing = asyncio.create_task(load.run())
    began, found = time.monotonic(), 0
    for number in range(1, KILLS + 1):
        await load.acknowledged_more(chance.randint(1, ACKNOWLEDGED_BEFORE_KILL_MAX))
        (part,) = chance.choices(list(SHARES_OF_KILLS), list(SHARES_OF_KILLS.values()))
        killed[part] += 1
        if part == GATEWAY:
            await asyncio.sleep(chance.uniform(0, KILL_WITHIN_S))  # the random moment, nothing is waited for
            await kill_node(node)
            node = await start()
            async with GrpcDoor(node) as door:
                found += await found_again(door, SPACE, load.record, chance, LOOKED_FOR_MAX)
            await load.node_is_up(node)
        else:
            pid = await another_pid(node, part, pids)
            pids.add(pid)
            await asyncio.sleep(chance.uniform(0, KILL_WITHIN_S))
            psutil.Process(pid).kill()
            await another_pid(node, part, pids)
            async with GrpcDoor(node) as door:
                found += await found_again(door, SPACE, load.record, chance, LOOKED_FOR_MAX)
        if number % PROGRESS_EVERY == 0:
            print(f"{number} kills after {time.monotonic() - began:.0f} s, {load.record.answers.total()} acknowledged")
    await load.acknowledged_more(1)
    assert found, "recall looked for memories after restarts"
    load.end()
    await asyncio.wait_for(writing, WAIT_S)
    answers = load.record.answers
    print(
        f"{KILLS} kills ({', '.join(f'{times} of {part}' for part, times in sorted(killed.items()))}) in "
        f"{time.monotonic() - began:.0f} s: acknowledged {answers.total()} ("
        + ", ".join(f"{times} {operation}" for operation, times in sorted(answers.items()))
        + f"); {load.record.lost} answers lost, {load.record.replayed} replayed, {len(load.record.given_up)} given up"
    )
    assert set(answers) == set(SHARES), "not every kind of write was acknowledged"
    assert load.record.lost > 0, "no kill hit a call"
    async with GrpcDoor(node) as door:
        await nothing_is_lost(door, SPACE, load.record, seed)
        status = await settled(door)
        forgotten = (await door.call("stats", spaces=[SPACE]))["forgotten"]
        assert status["index"][0]["points"] == status["ledger"]["memories"] + forgotten
    assert await stop_node(node) == 0
