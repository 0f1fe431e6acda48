"""kill -9 loses no acknowledged write, and SIGTERM loses no call."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from crash_load import SHARES, CrashLoad, found_again, nothing_is_lost
from draining import holds, sigterm_answers_what_is_inside
from fault_proxy import FaultProxy
from node_process import Nodes, kill_node, stop_node
from node_reads import eventually, memories, settled
from scenario_doors import GrpcDoor

from mnemesh import AsyncClient

SPACE = "crash"
ACKNOWLEDGED_BEFORE_KILL_MAX = 60
KILL_WITHIN_S = 0.05
# Every fifth kill hits a node that has not got ready yet.
KILL_IN_START_EVERY = 5
START_LASTS_S = 0.8
WAIT_S = 60.0
PROGRESS_EVERY = 20
# A peer that was away for long is called again at most every minute.
CONVERGED_S = 150.0


@dataclass
class Struck:
    """A node, a load into a space of its own, and kills at random moments.

    A peer finds the node at `entrance`, though the node comes back on another port each time. The load does not use the
    entrance: a channel to a starting node leaves its calls without an answer when closed.
    """

    nodes: Nodes
    data_dir: Path
    space: str
    chance: random.Random
    load: CrashLoad
    entrance: FaultProxy
    looked_for: int = 0

    async def start(self) -> None:
        self.node = await self.nodes.start(self.data_dir)
        self.entrance.target = self.node.grpc
        async with GrpcDoor(self.node) as door:
            self.looked_for += await found_again(door, self.space, self.load.record, self.chance)
        await self.load.node_is_up(self.node)

    async def under_kills(self, kills: int) -> None:
        """Write, be killed and start again; at the end the node is up and every writer has its answer."""
        writing = asyncio.create_task(self.load.run())
        for number in range(1, kills + 1):
            if number % KILL_IN_START_EVERY == 0:
                await self.kill_in_start(self.chance.uniform(0, START_LASTS_S))
            else:
                await self.load.acknowledged_more(self.chance.randint(1, ACKNOWLEDGED_BEFORE_KILL_MAX))
                await asyncio.sleep(self.chance.uniform(0, KILL_WITHIN_S))  # the random moment, nothing is waited for
                await kill_node(self.node)
            if (number + 1) % KILL_IN_START_EVERY == 0 and number < kills:
                continue
            await self.start()
            if number % PROGRESS_EVERY == 0:
                print(f"{self.space}: {number} kills, {self.load.record.answers.total()} acknowledged")
        await self.load.acknowledged_more(1)
        self.load.end()
        await asyncio.wait_for(writing, WAIT_S)

    async def kill_in_start(self, after_s: float) -> None:
        """Start the node and kill it before, or just when, it gets ready."""
        process = await self.nodes.launch(self.data_dir)
        await asyncio.sleep(after_s)  # the random moment itself
        process.kill()
        await asyncio.wait_for(process.communicate(), WAIT_S)


@pytest.mark.parametrize(
    ("kills", "count"),
    [
        pytest.param(6, 1, marks=pytest.mark.timeout(180)),
        # Two nodes that sync. Each takes in the writes of the other, and both are killed.
        pytest.param(200, 2, marks=[pytest.mark.proof, pytest.mark.timeout(1800)]),
    ],
)
async def test_every_acknowledged_write_survives_random_kills_under_load_exactly_once(
    nodes: Nodes, tmp_path: Path, kills: int, count: int
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    all_ = [
        Struck(
            nodes, tmp_path / str(number), f"{SPACE}/{number}", random.Random(f"{seed} {number}"),
            CrashLoad(f"{SPACE}/{number}", seed + number), FaultProxy(""),
        )
        for number in range(count)
    ]  # fmt: skip
    for one in all_:
        await one.start()
    if count == 2:
        await introduce(all_[0], all_[1])
    began = time.monotonic()
    async with asyncio.TaskGroup() as together:
        for one in all_:
            together.create_task(one.under_kills(kills // count))
    answers = sum((one.load.record.answers for one in all_), Counter[str]())
    lost = sum(one.load.record.lost for one in all_)
    print(
        f"{kills} kills of {count} node(s) in {time.monotonic() - began:.0f} s: acknowledged {answers.total()} ("
        + ", ".join(f"{times} {operation}" for operation, times in sorted(answers.items()))
        + f"); {lost} answers lost, {sum(one.load.record.replayed for one in all_)} replayed, "
        f"{sum(len(one.load.record.given_up) for one in all_)} new texts given up; "
        f"{sum(one.looked_for for one in all_)} memories looked for and found right after a restart"
    )
    assert set(answers) == set(SHARES), "not every kind of write was acknowledged"
    assert lost > 0, "no kill hit a call"
    assert all(one.looked_for for one in all_), "no restart was looked at"

    healed = time.monotonic()
    doors = [GrpcDoor(one.node) for one in all_]
    await eventually(lambda: held(doors, all_), all_the_same, "the nodes hold the same", CONVERGED_S)
    print(f"the same on all nodes {time.monotonic() - healed:.1f} s after the last write at most; 0 lost, 0 twice")
    for door in doors:
        for one in all_:
            await nothing_is_lost(door, one.space, one.load.record, seed)
        status = await settled(door)
        forgotten = (await door.call("stats", spaces=[one.space for one in all_]))["forgotten"]
        assert status["index"][0]["points"] == status["ledger"]["memories"] + forgotten
        await door.close()
    for one in all_:
        assert await stop_node(one.node) == 0
        await one.entrance.close()


async def introduce(caller: Struck, called: Struck) -> None:
    """`agent add` on the one, `peer add` on the other."""
    url = f"grpc://{await called.entrance.start()}"
    here, there = (AsyncClient(one.node.grpc, one.node.token) for one in (caller, called))
    async with here, there:
        issued = await there.add_agent("caller", role="admin", spaces=[f"{SPACE}/*"])
        await here.add_peer(url, token=issued.token, spaces=[f"{SPACE}/*"])


async def held(doors: list[GrpcDoor], all_: list[Struck]) -> list[list[tuple[str, str, str, int]]]:
    """The memories of all spaces on each node."""
    found = []
    for door in doors:
        here = [memory for one in all_ for memory in await memories(door, one.space, "all")]
        found.append(sorted((one["id"], one["content"], one["state"], one["version"]) for one in here))
    return found


def all_the_same(found: list[list[tuple[str, str, str, int]]]) -> bool:
    return all(one == found[0] for one in found)


async def test_sigterm_answers_the_calls_that_are_inside_then_leaves_nothing_behind(
    nodes: Nodes, tmp_path: Path
) -> None:
    memories = await sigterm_answers_what_is_inside(await nodes.start(tmp_path))
    again = await nodes.start(tmp_path)
    await holds(again, memories)
    assert await stop_node(again) == 0
