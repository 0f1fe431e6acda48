"""One real node for the whole suite, and every door into it."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from diverging import seed_conflicts
from node_process import NodeUnderTest, start_node, stop_node
from scenario_doors import CliDoor, Door, GrpcDoor, HttpDoor, InProcessDoor, McpDoor

from mnemesh_actors.directory import open_directory
from mnemesh_actors.embedding import ModelConfig
from mnemesh_actors.runtime.local import LocalRuntime
from mnemesh_actors.start import StartConfig, start_mesh
from mnemesh_gateway.gate import MeshGate

DOORS = ("in-process", "grpc", "http", "mcp-http", "mcp-stdio", "cli")
# Memories in conflict that each door finds in a space of its own: writers who can't see each other need two nodes.
CONFLICTS_A_DOOR = 6


@pytest.fixture(scope="session")
def seeded() -> dict[str, list[str]]:
    """Ids of the memories in conflict that no test has taken yet, by door."""
    return {}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def node(tmp_path_factory: pytest.TempPathFactory, seeded: dict[str, list[str]]) -> AsyncIterator[NodeUnderTest]:
    """A node process in the local runtime on free ports."""
    directory = tmp_path_factory.mktemp("scenario")
    for name in DOORS[1:]:
        seeded[name] = seed_conflicts(open_directory(directory), f"seeded/{name}", CONFLICTS_A_DOOR)
    started = await start_node(directory)
    yield started
    await stop_node(started)


async def _in_process(directory: Path) -> tuple[InProcessDoor, MeshGate]:
    mesh = await start_mesh(
        open_directory(directory),
        LocalRuntime(),
        StartConfig(clock=lambda: time.time_ns() // 1_000_000, entropy=secrets.token_bytes, model=ModelConfig()),
    )
    gate = MeshGate(version="test", data_dir=str(directory), pid=os.getpid(), ready_timeout_s=5)
    gate.open(mesh)
    return InProcessDoor(gate), gate


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=DOORS)
async def door(
    request: pytest.FixtureRequest,
    node: NodeUnderTest,
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
    opened: Door
    if request.param == "grpc":
        opened = GrpcDoor(node)
    elif request.param == "http":
        opened = HttpDoor(node)
    elif request.param == "cli":
        opened = CliDoor(node)
    elif request.param == "mcp-http":
        opened = McpDoor.over_http(node)
    else:
        opened = McpDoor.over_stdio(node)
    yield opened
    await opened.close()
