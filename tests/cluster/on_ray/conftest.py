"""A Ray cluster that ends with its test. The scenarios of the doors run over Ray too."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from ray_head import RayHead
from scenario_doors import space as space

# As pytest does it for the tests that lie there.
sys.path.insert(0, str(Path(__file__).parents[2] / "doors" / "scenario"))


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
