"""A node whose Ray is gone ends and says why. Files and lines that Ray leaves on a machine harm no node.

The ports of a head of the node's own are looked at too.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from forked import MNEMESH
from node_process import Nodes, NodeUnderTest, descendants, stop_node
from node_reads import eventually, finds, pid_of
from qdrant_double import qdrant_double
from scenario_doors import GrpcDoor

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]
EXIT_REFUSED = 4
LOST_S = 30.0
ENDED_S = 60.0


def raylet_of(node: NodeUnderTest) -> psutil.Process:
    return next(process for process in descendants(node.process.pid) if process.name() == "raylet")


async def test_a_node_whose_raylet_dies_ends_and_says_so_and_its_json_log_stays_json(
    nodes: Nodes, tmp_path: Path
) -> None:
    node = await nodes.start(tmp_path, "--runtime", "ray", "--log-format", "json")
    async with GrpcDoor(node) as door:
        await door.call("remember", content="written before Ray was lost", space="lost")
    raylet_of(node).kill()
    assert await asyncio.wait_for(node.process.wait(), ENDED_S) == EXIT_REFUSED
    *logged, last = (await node.said).decode().splitlines()
    assert last.startswith("mnemesh: the node has ended: ")
    assert "Start the node again" in last
    assert any(json.loads(line)["event"] == "runtime_lost" for line in logged)
    again = await nodes.start(tmp_path, "--runtime", "ray")
    async with GrpcDoor(again) as door:
        assert await finds(door, "written before Ray was lost", "lost")
    assert await stop_node(again) == 0


async def test_a_node_whose_head_dies_ends_by_itself_before_ray_aborts_it(nodes: Nodes, tmp_path: Path) -> None:
    node = await nodes.start(tmp_path, "--runtime", "ray")
    next(process for process in descendants(node.process.pid) if process.name() == "gcs_server").kill()
    assert await asyncio.wait_for(node.process.wait(), ENDED_S) == EXIT_REFUSED
    last = (await node.said).decode().splitlines()[-1]
    assert last.startswith("mnemesh: the node has ended: ")


async def test_a_node_whose_ledger_hangs_answers_is_not_ready_and_the_command_line_says_which_part_it_is(
    nodes: Nodes, tmp_path: Path
) -> None:
    node = await nodes.start(tmp_path, "--runtime", "ray")
    async with GrpcDoor(node) as door:
        pid = await pid_of(door, "ledger-0")
    os.kill(pid, signal.SIGSTOP)
    try:
        said = await status(node)
        assert "answers, but its ledger does not" in said
        assert "no node" not in said
        code, ready = await readiness(node)
        assert (code, ready["ready"]) == (503, False)
        assert "its ledger does not" in ready["reason"]
    finally:
        os.kill(pid, signal.SIGCONT)

    await eventually(lambda: status(node), lambda text: "ready" in text, "the ledger answers again", LOST_S)
    assert await readiness(node) == (200, {"ready": True, "state": "ready"})
    assert await stop_node(node) == 0


async def status(node: NodeUnderTest) -> str:
    asked = await MNEMESH.run("status", "--endpoint", node.grpc, "--token", node.token)
    return asked.stdout + asked.stderr


async def readiness(node: NodeUnderTest) -> tuple[int, dict[str, Any]]:
    async with httpx2.AsyncClient(timeout=LOST_S) as web:
        answer = await web.get(f"http://{node.http}/health/ready")
    return answer.status_code, answer.json()


async def test_a_file_that_another_ray_left_on_the_machine_changes_nothing_and_no_metrics_are_served(
    nodes: Nodes, tmp_path: Path
) -> None:
    temporary = Path(tempfile.mkdtemp(prefix="ray-stale-", dir="/tmp"))  # Ray's sockets there need short paths
    (temporary / "ray").mkdir()
    (temporary / "ray" / "ray_current_cluster").write_text("127.0.0.1:1")
    node = await nodes.start(tmp_path, "--runtime", "ray", env={"RAY_TMPDIR": str(temporary)})
    found = descendants(node.process.pid)
    listening = {
        (process.name(), connection.laddr.ip)
        for process in (psutil.Process(node.process.pid), *found)
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    }
    # The monitor, a plain Python, would serve metrics; what docs/ray.md names is all there is.
    everywhere = {name for name, ip in listening if ip in ("::", "0.0.0.0")}
    assert {name for name in everywhere if not name.startswith("ray::")} <= {"gcs_server", "raylet", own_name(node)}
    monitor = next(process for process in found if any("monitor.py" in word for word in process.cmdline()))
    assert monitor.net_connections(kind="inet") == [] or all(
        connection.status != psutil.CONN_LISTEN for connection in monitor.net_connections(kind="inet")
    )
    assert await stop_node(node) == 0
    shutil.rmtree(temporary, ignore_errors=True)


async def test_with_a_qdrant_server_the_index_s_client_is_in_the_gateway(nodes: Nodes, tmp_path: Path) -> None:
    with qdrant_double() as double:
        node = await nodes.start(tmp_path, "--runtime", "ray", "--qdrant-url", double.url)
        async with GrpcDoor(node) as door:
            await door.call("remember", content="the index lies on a server", space="lost")
            assert await pid_of(door, "shard-0") == node.process.pid != await pid_of(door, "ledger-0")
            assert await finds(door, "the index lies on a server", "lost")
        assert await stop_node(node) == 0


def own_name(node: NodeUnderTest) -> str:
    return psutil.Process(node.process.pid).name()
