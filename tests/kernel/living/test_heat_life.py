"""The heat of a node's memories over its life: no sweep, no sum of cycles, no trace of a wrong clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from recall_scene import running
from set_clock import Clock

from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_memory.policy.dynamics.heat import DAY_MS, HALF_LIFE_DAYS
from mnemesh_memory.values.heat_channels import Heat
from mnemesh_memory.values.model import Caller, Draft, Query

READER = Caller("owner/reader", "owner")
BEGUN = 1_700_000_000_000
pytestmark = pytest.mark.asyncio


async def heat_in(mesh: Mesh) -> Heat:
    """The heat of the only memory, by an explained recall. Its use is not noted before the answer."""
    (hit,) = (await mesh.recall(READER, Query(text="", spaces=("s",), explain=True))).results
    await mesh._recalling.close()
    assert hit.heat is not None
    return hit.heat


async def test_a_month_without_the_node_has_the_heat_of_a_month(tmp_path: Path) -> None:
    clock = Clock(BEGUN)
    async with running(tmp_path, clock=clock) as mesh:
        await mesh.remember(READER, Draft(content="The build needs Go 1.22.", kind="error", space="s"))
    clock.now += 30 * DAY_MS
    async with running(tmp_path, clock=clock) as mesh:
        heat = await heat_in(mesh)
    assert (heat.age_days, heat.half_life_days, heat.uses) == (30.0, 30.0, 0)
    assert heat.value == pytest.approx(0.75 * 2 ** (-1 / heat.valence))


async def test_consolidations_alone_change_no_heat(tmp_path: Path) -> None:
    clock = Clock(BEGUN)
    async with running(tmp_path, clock=clock) as mesh:
        kept = await mesh.remember(READER, Draft(content="The build needs Go 1.22.", space="s"))
        used = await mesh._parts.ledger.activity([kept.memory.id])
        for _ in range(20):
            await mesh.consolidate(READER, "s")
        assert await mesh._parts.ledger.activity([kept.memory.id]) == used
        clock.now += 90 * DAY_MS
        assert (await heat_in(mesh)).value == pytest.approx(0.375)


async def test_a_clock_of_another_decade_leaves_no_trace(tmp_path: Path) -> None:
    clock = Clock(BEGUN)
    async with running(tmp_path, clock=clock) as mesh:
        await mesh.remember(READER, Draft(content="The build needs Go 1.22.", space="s"))
        clock.now = BEGUN - 3650 * DAY_MS
        assert (await heat_in(mesh)).value == pytest.approx(0.75)
        clock.now = BEGUN
        assert (await heat_in(mesh)).value == pytest.approx(0.75)


async def test_half_lives_of_the_settings_cool_the_memories_of_a_node(tmp_path: Path) -> None:
    clock = Clock(BEGUN)
    config = MeshConfig(recall_timeout_s=20.0, half_lives={**HALF_LIFE_DAYS, "fact": 10.0})
    async with running(tmp_path, clock=clock, mesh=config) as mesh:
        await mesh.remember(READER, Draft(content="The build needs Go 1.22.", space="s"))
        clock.now += 10 * DAY_MS
        cold = await mesh.recall(READER, Query(text="build", spaces=("s",), min_heat=0.4))
        warm = await mesh.recall(READER, Query(text="build", spaces=("s",), min_heat=0.37))
        assert (len(cold.results), len(warm.results)) == (0, 1)
