"""Nodes and Ray clusters that end with their test. The scenarios of the doors run over Ray too."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from node_process import nodes as nodes
from ray_head import RayHead

# As pytest does it for the tests that lie there.
sys.path.insert(0, str(Path(__file__).parents[1] / "doors" / "scenario"))
# The builders of the ledger's own tests.
sys.path.append(str(Path(__file__).parents[1] / "kernel"))


@pytest_asyncio.fixture
async def head() -> AsyncIterator[RayHead]:
    """A Ray cluster that nodes can join; no process of it is left behind."""
    cluster = RayHead()
    try:
        await cluster.start()
        yield cluster
    finally:
        left = await cluster.end()
    assert left == []
