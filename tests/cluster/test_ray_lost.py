"""A node whose Ray is gone ends and says why; what Ray leaves on a machine or prints there harms no node; and what a
head of the node's own listens on."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from node_process import Nodes, NodeUnderTest, descendants, stop_node
from node_reads import eventually
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
    door = GrpcDoor(node)
    await door.call("remember", content="written before Ray was lost", space="lost")
    await door.close()
    raylet_of(node).kill()
    assert await asyncio.wait_for(node.process.wait(), ENDED_S) == EXIT_REFUSED
    *logged, last = (await node.said).decode().splitlines()
    assert last.startswith("mnemesh: the node has ended: ")
    assert "Start the node again" in last
    assert any(json.loads(line)["event"] == "runtime_lost" for line in logged)
    again = await nodes.start(tmp_path, "--runtime", "ray")
    door = GrpcDoor(again)
    found = await door.call("recall", query="written before Ray was lost", spaces=["lost"], limit=1)
    assert [hit["content"] for hit in found["results"]] == ["written before Ray was lost"]
    await door.close()
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
    door = GrpcDoor(node)
    pid = next(int(one["pid"]) for one in (await door.call("status"))["actors"] if one["name"] == "ledger-0")
    await door.close()
    os.kill(pid, signal.SIGSTOP)
    try:
        said = await status(node)
        assert "answers, but its ledger does not" in said
        assert "no node" not in said
    finally:
        os.kill(pid, signal.SIGCONT)

    async def told() -> str:
        return await status(node)

    await eventually(told, lambda text: "ready" in text, "the ledger answers again", LOST_S)
    assert await stop_node(node) == 0


async def status(node: NodeUnderTest) -> str:
    asked = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mnemesh", "status", "--endpoint", node.grpc, "--token", node.token),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    return (await asyncio.wait_for(asked.communicate(), ENDED_S))[0].decode()


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
        door = GrpcDoor(node)
        await door.call("remember", content="the index lies on a server", space="lost")
        where = {one["name"]: int(one["pid"]) for one in (await door.call("status"))["actors"]}
        assert where["shard-0"] == node.process.pid
        assert where["ledger-0"] != node.process.pid
        found = await door.call("recall", query="the index lies on a server", spaces=["lost"], limit=1)
        assert [hit["content"] for hit in found["results"]] == ["the index lies on a server"]
        await door.close()
        assert await stop_node(node) == 0


def own_name(node: NodeUnderTest) -> str:
    return psutil.Process(node.process.pid).name()
