"""Another model takes over on Ray as in one process: recalls go on, and a death in the middle is only a delay."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest
import pytest_asyncio
from node_process import Nodes, NodeUnderTest, stop_node
from node_reads import eventually
from scenario_doors import GrpcDoor, refusal
from second_model import cut_model

pytestmark = [pytest.mark.ray, pytest.mark.asyncio(loop_scope="session")]

SPACE = "harbour"
COLOURS = ("red", "green", "white")
LOCKERS = 160
WIDTH = 256
USUAL = "sentence-transformers/all-MiniLM-L6-v2"
TAKEN_OVER_S = 60.0


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[NodeUnderTest]:
    """One node with a Ray head of its own, and memories in the node."""
    async with Nodes() as nodes:
        started = await nodes.start(tmp_path_factory.mktemp("ray"), "--runtime", "ray")
        async with GrpcDoor(started) as door:
            items = [{"content": locker(n), "space": SPACE} for n in range(LOCKERS)]
            await door.call("remember_batch", items=items)
        yield started
        assert await stop_node(started) == 0, (await started.said).decode()


@pytest_asyncio.fixture(loop_scope="session")
async def door(node: NodeUnderTest) -> AsyncIterator[GrpcDoor]:
    async with GrpcDoor(node) as opened:
        yield opened


def locker(number: int) -> str:
    return f"Locker {number} is painted {COLOURS[number % 3]}"


async def actors(door: GrpcDoor) -> list[dict[str, Any]]:
    return concerned((await door.call("status"))["actors"])


def concerned(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Embedder, ledger and shard. An astrocyte has no part in the change of a model."""
    return sorted((one for one in found if one["type"] != "Astrocyte"), key=lambda one: str(one["type"]))


async def finds(door: GrpcDoor, number: int, words: str) -> None:
    """A question that no cache knows is answered, by every part of the node."""
    question = f"{words}: how is locker {number} painted?"
    answer = await door.call("recall", query=question, spaces=[SPACE], limit=1)
    assert [hit["content"] for hit in answer["results"]] == [locker(number)]
    assert answer["degraded_reasons"] == []


@asynccontextmanager
async def recalls_going_on(door: GrpcDoor, seed: int) -> AsyncIterator[list[str]]:
    """Meanwhile one recall follows another, and each finds its memory; the names of the answered recalls."""
    chance, answered, ended = random.Random(seed), list[str](), asyncio.Event()

    async def ask() -> None:
        while not ended.is_set():
            who = "".join(chance.choices(ascii_lowercase, k=8))
            await finds(door, chance.randrange(LOCKERS), f"{who} asks")
            answered.append(who)

    async with asyncio.TaskGroup() as group:
        group.create_task(ask())
        yield answered
        ended.set()


async def taken_over(door: GrpcDoor, dimensions: int) -> dict[str, Any]:
    """The status once that model answers and nothing of the other one is left: two actors beside the ledger."""

    def done(status: dict[str, Any]) -> bool:
        here = (status["model"]["dimensions"], status["reembed"]["state"]) == (dimensions, "idle")
        return here and len(concerned(status["actors"])) == 3

    return await eventually(lambda: door.call("status"), done, "the other model took over", TAKEN_OVER_S)


async def test_another_model_takes_over_on_ray_while_recalls_go_on(
    node: NodeUnderTest, door: GrpcDoor, tmp_path: Path
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    before = await actors(door)
    async with recalls_going_on(door, seed) as answered:
        began = await door.call("reembed", model=str(cut_model(tmp_path / "cut", WIDTH)))
        assert began["reembed"]["state"] in ("loading", "embedding")
        asked = len(answered)
        await taken_over(door, WIDTH)
        during = len(answered) - asked
        await eventually(lambda: asyncio.sleep(0, len(answered)), lambda now: now > asked + during, "one more answer")
    assert during > 0
    embedder, ledger, shard = await actors(door)
    assert ledger in before
    for actor, part in ((embedder, "embedder-0-"), (shard, "shard-0-")):
        assert actor["pid"] not in {one["pid"] for one in before}
        assert (actor["name"].removeprefix(part), actor["state"]) == (shard["name"].removeprefix("shard-0-"), "ready")


@pytest.mark.parametrize("victim", ["EmbeddingWorker", "RetrievalShard"])
async def test_a_process_of_the_model_that_takes_over_is_killed_and_it_takes_over_all_the_same(
    door: GrpcDoor, tmp_path: Path, victim: str
) -> None:
    """Back to the usual model, which the node finds by itself, or to another one."""
    before = {actor["pid"] for actor in await actors(door)}
    usual = (await door.call("status"))["model"]["dimensions"] == WIDTH
    await door.call("reembed", model=USUAL if usual else str(cut_model(tmp_path / "cut", WIDTH)))

    def halfway(status: dict[str, Any]) -> bool:
        return 0 < status["reembed"]["done"] < LOCKERS

    status = await eventually(lambda: door.call("status"), halfway, "some are embedded")
    for actor in status["actors"]:
        if actor["pid"] not in before and actor["type"] == victim:
            os.kill(actor["pid"], signal.SIGKILL)
    await taken_over(door, 384 if usual else WIDTH)
    for number in (0, LOCKERS - 1):
        await finds(door, number, "once more")


async def test_a_caller_who_goes_away_while_the_process_of_a_model_starts_leaves_none_behind(
    door: GrpcDoor, tmp_path: Path
) -> None:
    before, folder = await actors(door), cut_model(tmp_path / "cut", WIDTH)
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")  # nobody writes to this pipe, so the process waits in its start for ever
    for after_s in (0.05, 0.2, 1.0):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(door.call("reembed", model=str(folder)), after_s)
        await eventually(lambda: actors(door), lambda now: now == before, "what was begun is gone", TAKEN_OVER_S)
    assert (await door.call("reembed"))["reembed"]["state"] == "idle"


async def test_what_can_not_be_a_model_is_refused_on_ray_and_no_actor_stays(door: GrpcDoor, tmp_path: Path) -> None:
    before = await actors(door)
    assert (await refusal(door.call("reembed", model=str(tmp_path)), "INVALID_ARGUMENT")).field == "model"
    assert await actors(door) == before
