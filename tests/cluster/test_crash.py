"""kill -9 loses no acknowledged write, and SIGTERM loses no call."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest
from crash_load import SHARES, CrashLoad, nothing_is_lost
from draining import holds, sigterm_answers_what_is_inside
from node_process import Nodes, kill_node, stop_node
from node_reads import settled
from scenario_doors import GrpcDoor

SPACE = "crash"
ACKNOWLEDGED_BEFORE_KILL_MAX = 60
KILL_WITHIN_S = 0.05
# Every fifth kill hits a node that has not got ready yet.
KILL_IN_START_EVERY = 5
START_LASTS_S = 2.0
WAIT_S = 60.0


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(6, marks=pytest.mark.timeout(180)),
        # The same with more rounds; `make proof` runs it.
        pytest.param(30, marks=[pytest.mark.proof, pytest.mark.timeout(900)]),
    ],
)
async def test_every_acknowledged_write_survives_random_kills_under_load_exactly_once(
    nodes: Nodes, tmp_path: Path, kills: int
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    load = CrashLoad(SPACE, seed)
    node = await nodes.start(tmp_path)
    await load.node_is_up(node)
    writing = asyncio.create_task(load.run())
    restarts: list[float] = []
    for number in range(1, kills + 1):
        if number % KILL_IN_START_EVERY == 0:
            await kill_in_start(nodes, tmp_path, chance.uniform(0, START_LASTS_S))
        else:
            await load.acknowledged_more(chance.randint(1, ACKNOWLEDGED_BEFORE_KILL_MAX))
            await asyncio.sleep(chance.uniform(0, KILL_WITHIN_S))  # the random moment itself, nothing is waited for
            await kill_node(node)
        if (number + 1) % KILL_IN_START_EVERY == 0 and number < kills:
            continue
        began = time.monotonic()
        node = await nodes.start(tmp_path)
        restarts.append(time.monotonic() - began)
        await load.node_is_up(node)
    await load.acknowledged_more(1)
    load.end()
    await asyncio.wait_for(writing, WAIT_S)
    record = load.record
    done = ", ".join(f"{count} {operation}" for operation, count in sorted(record.answers.items()))
    print(
        f"{kills} kills: acknowledged {done}; {record.lost} answers lost, {record.replayed} replayed, "
        f"{len(record.given_up)} new texts given up; restart {max(restarts):.1f} s at most"
    )
    assert set(record.answers) == set(SHARES), "not every kind of write was acknowledged"
    assert record.lost > 0, "no kill hit a call"

    reader = GrpcDoor(node)
    await nothing_is_lost(reader, SPACE, record, seed)
    status = await settled(reader)
    forgotten = (await reader.call("stats", spaces=[SPACE]))["forgotten"]
    assert status["index"][0]["points"] == status["ledger"]["memories"] + forgotten
    await reader.close()
    assert await stop_node(node) == 0


async def kill_in_start(nodes: Nodes, data_dir: Path, after_s: float) -> None:
    """Start a node and kill it before, or just when, it gets ready."""
    process = await nodes.launch(data_dir)
    await asyncio.sleep(after_s)  # the random moment itself
    process.kill()
    await asyncio.wait_for(process.communicate(), WAIT_S)


async def test_sigterm_answers_the_calls_that_are_inside_then_leaves_nothing_behind(
    nodes: Nodes, tmp_path: Path
) -> None:
    memories = await sigterm_answers_what_is_inside(await nodes.start(tmp_path))
    again = await nodes.start(tmp_path)
    await holds(again, memories)
    assert await stop_node(again) == 0
