"""Starts and ends of nodes on Ray: a drain, a gateway that is killed, and a cluster that is there already."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import psutil
import pytest
from draining import sigterm_answers_what_is_inside
from node_process import Nodes, NodeUnderTest, descendants, ended, kill_node, launch_node, refused_start, stop_node
from node_reads import all_gone, contents
from ray_head import RayHead
from scenario_doors import GrpcDoor

SPACE = "life"
pytestmark = pytest.mark.ray
# Ray's own two agents give up a dead cluster after a minute. They hold nothing of ours.
AGENTS = {"ray::DashboardAgent", "ray::RuntimeEnvAgent"}
ACTORS_GONE_S = 30.0
AGENTS_GONE_S = 120.0
EXIT_REFUSED = 4
JOINING_S = 60.0


async def test_sigterm_on_ray_answers_the_calls_that_are_inside_and_ends_every_process(
    nodes: Nodes, tmp_path: Path
) -> None:
    node = await nodes.start(tmp_path, "--runtime", "ray")
    processes = descendants(node.process.pid)
    await sigterm_answers_what_is_inside(node)
    await all_gone(processes, ACTORS_GONE_S)


async def test_a_node_that_waits_for_a_cluster_that_is_not_there_ends_when_it_is_told_to(tmp_path: Path) -> None:
    flags = ("--runtime", "ray", "--ray-address", "127.0.0.1:1", "--drain-s", "1")
    process = await launch_node(tmp_path / "data", *flags)
    async with ended(process):
        assert process.stderr is not None
        async with asyncio.timeout(JOINING_S):
            while b"GCS" not in await process.stderr.readline():  # Ray has waited for 5 s, and goes on for minutes
                pass
        process.terminate()
        _, told = await asyncio.wait_for(process.communicate(), JOINING_S)
    assert (process.returncode, b"start_abandoned" in told) == (0, True)


@pytest.mark.proof
@pytest.mark.timeout(300)
async def test_a_killed_gateway_leaves_no_actor_and_the_next_start_finds_everything(
    nodes: Nodes, tmp_path: Path
) -> None:
    first = await nodes.start(tmp_path, "--runtime", "ray")
    await remember(first, "written before the first kill")
    actors, agents = by_kind(first)
    killed = time.monotonic()
    await kill_node(first)
    # At once: the orphaned ledger still holds its lock, and the new ledger waits for the lock.
    second = await nodes.start(tmp_path, "--runtime", "ray")
    print(f"ready again {time.monotonic() - killed:.1f} s after the kill")
    await remember(second, "written before the second kill")
    await all_gone(actors, ACTORS_GONE_S)
    await all_gone(agents, AGENTS_GONE_S)
    print(f"Ray's agents gone {time.monotonic() - killed:.1f} s after the kill at most")

    actors, _ = by_kind(second)
    killed = time.monotonic()
    await kill_node(second)
    await all_gone(actors, ACTORS_GONE_S)
    print(f"actors gone {time.monotonic() - killed:.1f} s after the kill")
    # Without Ray: the directory belongs to no runtime.
    third = await nodes.start(tmp_path)
    assert await texts(third) == ["written before the first kill", "written before the second kill"]
    assert await stop_node(third) == 0


@pytest.mark.proof
@pytest.mark.timeout(300)
async def test_two_nodes_share_a_ray_cluster_that_outlives_them(nodes: Nodes, head: RayHead, tmp_path: Path) -> None:
    joining = ("--runtime", "ray", "--ray-address", head.address)
    one = await nodes.start(tmp_path / "one", *joining, env=head.env)
    two = await nodes.start(tmp_path / "two", *joining, env=head.env)
    await remember(one, "of the first node")
    await remember(two, "of the second node")
    inside = {process.pid for process in head.processes()}
    pids = await actor_pids(one) | await actor_pids(two)
    assert len(pids) == 8, "ledger, embedder, index and astrocyte of each node"
    assert pids <= inside

    await kill_node(one)
    again = await nodes.start(tmp_path / "one", *joining, env=head.env)
    assert await texts(again) == ["of the first node"]
    assert await texts(two) == ["of the second node"]
    actors = [process for process in head.processes() if process.pid in pids | await actor_pids(again)]
    assert await stop_node(again) == 0
    assert await stop_node(two) == 0
    await all_gone(actors, ACTORS_GONE_S)
    assert [process for process in head.processes() if "raylet" in process.name()]


@pytest.mark.proof
@pytest.mark.timeout(300)
async def test_a_cluster_that_cannot_be_joined_is_named_with_what_to_do(head: RayHead, tmp_path: Path) -> None:
    ended = await refused_start(tmp_path, "--runtime", "ray", "--ray-address", head.address)
    assert ended.code == EXIT_REFUSED
    assert head.address in ended.stderr
    assert "RAY_AUTH_TOKEN_PATH" in ended.stderr
    assert "Traceback" not in ended.stderr


async def remember(node: NodeUnderTest, text: str) -> None:
    async with GrpcDoor(node) as door:
        assert (await door.call("remember", content=text, space=SPACE))["action"] == "ADD"


async def texts(node: NodeUnderTest) -> list[str]:
    async with GrpcDoor(node) as door:
        return await contents(door, SPACE)


async def actor_pids(node: NodeUnderTest) -> set[int]:
    async with GrpcDoor(node) as door:
        return {actor["pid"] for actor in (await door.call("status"))["actors"]}


def by_kind(node: NodeUnderTest) -> tuple[list[psutil.Process], list[psutil.Process]]:
    """The processes of a node with a Ray head of its own: the actors with the head, and Ray's agents."""
    found = descendants(node.process.pid)
    agents = [process for process in found if process.cmdline()[0].strip() in AGENTS]
    assert len(agents) == len(AGENTS)
    return [process for process in found if process not in agents], agents
