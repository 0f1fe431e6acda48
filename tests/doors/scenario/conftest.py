"""Every door into the node that the tests of the doors share, and a space of that node for each test."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from diverging import CONFLICTS_A_DOOR, seed_conflicts
from node_process import NodeUnderTest
from scenario_doors import NETWORKED_DOORS, Door, InProcessDoor, open_door
from scenario_doors import space as space

from mnemesh_actors.models import ModelConfig
from mnemesh_actors.node.assembly import StartConfig, start_mesh
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_actors.runtime.local import LocalRuntime
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_gateway.operations.gate import MeshGate
from mnemesh_memory.policy.dynamics.heat import half_lives_of

# As in the node that the other doors share.
HALF_LIVES = "prompt=0.0000000001"
DOORS = ("in-process", *NETWORKED_DOORS)


def pytest_itemcollected(item: pytest.Item) -> None:
    """A scenario runs in the loop of its door."""
    if "door" in getattr(item, "fixturenames", ()) and item.get_closest_marker("asyncio"):
        item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


async def _in_process(directory: Path) -> tuple[InProcessDoor, MeshGate]:
    mesh = await start_mesh(
        open_directory(directory),
        LocalRuntime(),
        StartConfig(
            clock=lambda: time.time_ns() // 1_000_000,
            entropy=secrets.token_bytes,
            model=ModelConfig(),
            mesh=MeshConfig(half_lives=half_lives_of(HALF_LIVES)),
        ),
    )
    gate = MeshGate(version="test", data_dir=str(directory), pid=os.getpid(), ready_timeout_s=5)
    gate.open(mesh)
    return InProcessDoor(gate), gate


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=DOORS)
async def door(
    request: pytest.FixtureRequest,
    shared_node: NodeUnderTest,
    tmp_path_factory: pytest.TempPathFactory,
    seeded: dict[str, list[str]],
) -> AsyncIterator[Door]:
    """Each door in turn; the in-process one has a mesh of its own, the others share the node."""
    if request.param == "in-process":
        directory = tmp_path_factory.mktemp("in-process")
        seeded["in-process"] = seed_conflicts(open_directory(directory), "seeded/in-process", CONFLICTS_A_DOOR)
        made, gate = await _in_process(directory)
        yield made
        mesh = gate.mesh_now()
        assert mesh is not None
        await mesh.close()
        return
    async with open_door(request.param, shared_node) as opened:
        yield opened
