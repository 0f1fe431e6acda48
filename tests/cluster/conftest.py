"""Nodes that end with their test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from node_process import Nodes


@pytest_asyncio.fixture
async def nodes() -> AsyncIterator[Nodes]:
    """Starts nodes; what still runs at the end of the test is killed."""
    started = Nodes()
    yield started
    await started.end()
