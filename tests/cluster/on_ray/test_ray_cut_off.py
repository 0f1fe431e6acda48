"""The machine of the index is cut off without a word: writes go on, and say that they are not searchable yet."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
import pytest_asyncio
from namespaces import CONTROL, Network, can_be_made
from node_process import NodeUnderTest, launch_node, ready_node
from node_reads import eventually
from ray_machines import RayMachines
from scenario_doors import GrpcDoor

pytestmark = [
    pytest.mark.ray,
    pytest.mark.proof,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not can_be_made(), reason="network namespaces need root and iproute2"),
]
PATIENCE_S = 60.0
# On a machine at work: a bounded wait for the index (2 s), and for a second ledger on the same machine (1 s).
GAP_MAX_S = 5.0
WRITES = 12


@pytest_asyncio.fixture
async def network() -> AsyncIterator[Network]:
    with closing(Network(4)) as made:
        made.make()
        yield made


@pytest_asyncio.fixture
async def node(network: Network, tmp_path: Path) -> AsyncIterator[NodeUnderTest]:
    cluster = RayMachines(3, network)
    process = None
    try:
        await cluster.start()
        doors = ("--grpc", f"{CONTROL[0][1]}:7433", "--http", f"{CONTROL[0][1]}:7434")
        flags = (*cluster.joining, "--expose", *doors)
        process = await launch_node(tmp_path, *flags, env=cluster.head.env, within=network.within(0))
        yield await ready_node(tmp_path, process)
    finally:
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()
        await cluster.end()


async def test_writes_wait_two_seconds_for_an_index_that_is_cut_off_then_say_degraded_and_it_comes_back(
    network: Network, node: NodeUnderTest
) -> None:
    door = GrpcDoor(node)
    first = await door.call("remember", content="before the cable was pulled", space="cut")
    assert first["indexed"]
    actors = (await door.call("status"))["actors"]
    address = next(one["address"] for one in actors if one["name"] == "shard-0")
    cut = network.addresses.index(address)
    network.unplug(cut)
    gaps = []
    for _ in range(WRITES):
        began = time.monotonic()
        written = await door.call("remember", content=f"pulse {uuid.uuid4().hex}", space="cut", force=True)
        gaps.append(time.monotonic() - began)
        assert written["action"] == "ADD"
    print("seconds of each write:", ", ".join(f"{gap:.2f}" for gap in gaps))
    assert max(gaps) <= GAP_MAX_S
    assert "can't be reached" in written["reason"]
    assert (await door.call("status"))["state"] == "degraded"
    network.plug(cut)

    async def indexed() -> bool:
        again = await door.call("remember", content=f"after {uuid.uuid4().hex}", space="cut", force=True)
        return bool(again["indexed"])

    await eventually(indexed, bool, "the index is back", PATIENCE_S)
    notices = (await door.call("status"))["notices"]
    assert not [notice for notice in notices if notice.startswith("index away")]
    await door.close()
