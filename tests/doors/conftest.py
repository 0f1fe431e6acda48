"""One real node for every test of the doors that can share a node, nodes of a test of its own, and doors to a fake.

Each test writes to spaces of its own on the shared node, and leaves the node running.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from diverging import CONFLICTS_A_DOOR, seed_conflicts
from door_clients import doors as doors
from node_process import NodeUnderTest, running
from node_process import nodes as nodes
from scenario_doors import NETWORKED_DOORS

from mnemesh_actors.storage.data_directory import open_directory

# A memory of kind prompt is cold as soon as it is written, and all others cool as usual.
HALF_LIVES = "prompt=0.0000000001"


@pytest.fixture(scope="session")
def seeded() -> dict[str, list[str]]:
    """Ids of the memories in conflict that no test has taken yet, by door."""
    return {}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_node(
    tmp_path_factory: pytest.TempPathFactory, seeded: dict[str, list[str]]
) -> AsyncIterator[NodeUnderTest]:
    """A node process in the local runtime on free ports."""
    directory = tmp_path_factory.mktemp("shared")
    for name in NETWORKED_DOORS:
        seeded[name] = seed_conflicts(open_directory(directory), f"seeded/{name}", CONFLICTS_A_DOOR)
    async with running(directory, env={"MNEMESH_HALF_LIVES": HALF_LIVES}) as started:
        yield started
