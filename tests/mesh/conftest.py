from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from node_process import Nodes


@pytest.fixture
async def nodes() -> AsyncIterator[Nodes]:
    made = Nodes()
    try:
        yield made
    finally:
        await made.end()
