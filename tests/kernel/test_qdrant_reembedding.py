"""Another model takes over on a Qdrant server while recalls go on, in a collection of its own; an outage delays it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from qdrant_double import QdrantDouble
from second_model import cut_model
from test_qdrant_outages import CALLER, SPACE, caught_up, recall, until
from test_qdrant_outages import _quick as _quick
from test_qdrant_outages import mesh as mesh
from test_qdrant_outages import qdrant as qdrant

from mnemesh_actors.consumers.consumer_table import NEXT_INDEX
from mnemesh_actors.generations import reembedding, space_factory
from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.values.model import Draft

TEXTS = [f"Locker {number} is painted {('red', 'green', 'white')[number % 3]}" for number in range(90)]
WIDTH = 128


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembedding, "PAUSE_S", 0.01)
    monkeypatch.setattr(space_factory, "NEXT_INDEX", replace(NEXT_INDEX, page_entries=8))


@pytest.fixture
async def filled(mesh: Mesh) -> Mesh:
    for start in range(0, len(TEXTS), 30):
        await mesh.remember_batch(CALLER, [Draft(content=text, space=SPACE) for text in TEXTS[start : start + 30]])
    return mesh


async def finds(mesh: Mesh, number: int, who: str) -> None:
    answer = await recall(mesh, f"{who} asks: how is locker {number} painted?", limit=1)
    assert ([hit.memory.content for hit in answer.results], answer.degraded) == ([TEXTS[number]], ())


async def taken_over(mesh: Mesh, qdrant: QdrantDouble) -> None:
    """The new model answers, nothing of the old model is left, and each text is in the only collection."""
    reembed: Any = mesh._reembedding
    await until(lambda: reembed.state.active.dimensions == WIDTH and not reembed.state.leaving and not reembed._tasks)
    status = await mesh.status()
    assert (status.state, status.reembed.state, status.index[0].points) == ("ready", "idle", len(TEXTS))
    (collection,) = qdrant.collections()
    assert collection.endswith(f"-{reembed.state.active.slot}")


async def test_another_model_takes_over_on_a_server_while_recalls_go_on(
    filled: Mesh, qdrant: QdrantDouble, tmp_path: Path
) -> None:
    (old,) = qdrant.collections()
    folder = cut_model(tmp_path / "cut", WIDTH)
    seen: list[int] = []
    async with asyncio.timeout(60):
        await filled.reembed(str(folder))
        while old in qdrant.collections():
            number = len(seen) * 7 % len(TEXTS)
            await finds(filled, number, "abcdefghij"[len(seen) % 10] * 5)
            seen.append(number)
    assert len(seen) > 1
    await taken_over(filled, qdrant)
    for number in (0, 44, 89):
        await finds(filled, number, "afterwards")


async def test_a_server_that_goes_away_meanwhile_delays_the_change_and_loses_nothing(
    filled: Mesh, qdrant: QdrantDouble, tmp_path: Path
) -> None:
    reembed: Any = filled._reembedding
    await filled.reembed(str(cut_model(tmp_path / "cut", WIDTH)))
    await until(lambda: reembed.status().done > 0 or reembed.state.active.dimensions == WIDTH)
    assert reembed.state.active.dimensions == 384, "it was too quick to be disturbed"
    qdrant.stop()
    assert not (await filled.remember(CALLER, Draft(content="The quay has a new gate", space=SPACE))).indexed
    await until(lambda: bool(reembed.status().fault))
    assert reembed.state.active.dimensions == 384
    qdrant.start()
    await until(lambda: reembed.state.active.dimensions == WIDTH and not reembed.state.leaving)
    await caught_up(filled)
    answer = await recall(filled, "is there a gate?", limit=1)
    assert [hit.memory.content for hit in answer.results] == ["The quay has a new gate"]
    assert (await filled.status()).index[0].points == len(TEXTS) + 1
    for number in (0, len(TEXTS) - 1):
        await finds(filled, number, "afterwards")
