"""A node on Ray answers as a node in one process does, and outlives the death of any actor.

The sentences of the scenario suite are those of the local runtime, run here over the three networked doors.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from crash_load import LOST, CrashLoad, nothing_is_lost
from node_process import Nodes, NodeUnderTest, descendants, stop_node
from node_reads import all_gone, eventually, pid_of
from scenario_doors import Door, GrpcDoor, Refused, open_door
from test_scenarios import *  # noqa: F403  every sentence there is one here
from test_scenarios import remember

pytestmark = [pytest.mark.ray, pytest.mark.asyncio(loop_scope="session")]

ACTORS = {
    "ledger-0": "Ledger",
    "embedder-0": "EmbeddingWorker",
    "astrocyte-0": "Astrocyte",
    "shard-0": "RetrievalShard",
}
ACKNOWLEDGED_AROUND_KILL = 20
RECOVERY_S = 60.0
GONE_S = 30.0


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[NodeUnderTest]:
    """One node with a Ray head of its own. After its stop no process is left."""
    async with Nodes() as nodes:
        started = await nodes.start(tmp_path_factory.mktemp("ray"), "--runtime", "ray")
        yield started
        processes = descendants(started.process.pid)
        assert await stop_node(started) == 0, (await started.said).decode()
        await all_gone(processes, GONE_S)


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["grpc", "http", "mcp-http"])
async def door(request: pytest.FixtureRequest, node: NodeUnderTest) -> AsyncIterator[Door]:
    """Each networked door of the node in turn."""
    async with open_door(request.param, node) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def probe(node: NodeUnderTest) -> AsyncIterator[GrpcDoor]:
    async with GrpcDoor(node) as opened:
        yield opened


async def actors(probe: Door) -> dict[str, dict[str, Any]]:
    return {actor["name"]: actor for actor in (await probe.call("status"))["actors"]}


async def test_each_actor_lives_in_a_process_of_its_own_that_is_not_the_gateways(
    node: NodeUnderTest, probe: GrpcDoor
) -> None:
    status = await probe.call("status")
    assert status["runtime"] == "ray"
    found = {actor["name"]: actor for actor in status["actors"]}
    assert {name: actor["type"] for name, actor in found.items()} == ACTORS
    assert {actor["state"] for actor in found.values()} == {"ready"}
    pids = {actor["pid"] for actor in found.values()}
    assert len(pids) == len(ACTORS)
    assert node.process.pid not in pids
    titles = {process.pid: process.cmdline()[0] for process in descendants(node.process.pid)}
    assert {name: titles[actor["pid"]].split(".")[0] for name, actor in found.items()} == {
        name: f"ray::{type_}" for name, type_ in ACTORS.items()
    }


@pytest.mark.parametrize("victim", ACTORS)
async def test_an_actor_killed_under_load_comes_back_and_no_acknowledged_write_is_lost(
    node: NodeUnderTest, probe: GrpcDoor, victim: str
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    space = f"ray/{uuid.uuid4().hex}"
    load = CrashLoad(space, seed)
    await load.node_is_up(node)
    writing = asyncio.create_task(load.run())
    await load.acknowledged_more(ACKNOWLEDGED_AROUND_KILL)
    pid = await pid_of(probe, victim)
    assert pid in {process.pid for process in descendants(node.process.pid)}
    os.kill(pid, signal.SIGKILL)
    killed = time.monotonic()

    write_s, recall_s, status_s = await asyncio.gather(
        first_success(killed, lambda: can_write(probe, f"{space}/probe")),
        first_success(killed, lambda: can_recall(probe, space)),
        first_success(killed, lambda: runs_elsewhere(probe, victim, pid)),
    )
    print(
        f"{victim} killed: writes after {write_s:.2f} s, recall after {recall_s:.2f} s, status after {status_s:.2f} s"
    )
    await load.acknowledged_more(ACKNOWLEDGED_AROUND_KILL)
    load.end()
    await asyncio.wait_for(writing, RECOVERY_S)
    await nothing_is_lost(probe, space, load.record, seed)


async def first_success(since: float, attempt: Callable[[], Awaitable[bool]]) -> float:
    """Seconds from `since` (monotonic) to the first attempt that succeeds; a refusal as unavailable is none."""

    async def tried() -> bool:
        try:
            return await attempt()
        except Refused as refused:
            if refused.code not in LOST:
                raise
            return False

    await eventually(tried, bool, "the node recovered", RECOVERY_S)
    return time.monotonic() - since


async def can_write(probe: Door, space: str) -> bool:
    return bool((await remember(probe, space, uuid.uuid4().hex))["indexed"])


async def can_recall(probe: Door, space: str) -> bool:
    """By meaning and by words, of a query that no cache knows."""
    answer = await probe.call("recall", query=f"What does writer 1 note about {uuid.uuid4().hex}?", spaces=[space])
    return len(answer["results"]) > 0 and not answer["degraded"]


async def runs_elsewhere(probe: Door, actor: str, pid: int) -> bool:
    found = (await actors(probe))[actor]
    return found["state"] == "ready" and found["pid"] != pid
