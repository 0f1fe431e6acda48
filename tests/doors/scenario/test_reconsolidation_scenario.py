"""Reconsolidation through every door: a recall, then new evidence, then the way back."""

from __future__ import annotations

import pytest
from scenario_doors import Door
from test_scenarios import remember
from test_scenarios import space as space

pytestmark = pytest.mark.asyncio(loop_scope="session")
KILN = "The kiln listens on port 8080. Petra answers questions about glazes."


async def test_evidence_after_a_recall_updates_the_memory(door: Door, space: str) -> None:
    id_ = (await remember(door, space, KILN))["memory"]["id"]
    assert (await door.call("recall", query="where does the kiln listen?", spaces=[space]))["results"]
    done = await remember(door, space, "The kiln listens on port 9090.")
    assert (done["action"], done["memory"]["id"]) == ("UPDATE", id_)
    (memory,) = (await door.call("get", ids=[id_]))["memories"]
    assert memory["content"] == KILN.replace("8080", "9090")
    oldest = (await door.call("history", id=id_))["revisions"][-1]
    assert oldest["content"] == KILN
    await door.call("rollback", id=id_, to=oldest["id"])
    assert (await door.call("get", ids=[id_]))["memories"][0]["content"] == KILN
