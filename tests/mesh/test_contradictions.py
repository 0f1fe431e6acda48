"""Two nodes that were apart and wrote other values of one slot: both see one link, and nothing is lost."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from node_process import Nodes, NodeUnderTest, kill_node
from peer_scene import client, converged, everything, hub_and_laptop, introduce, until

from mnemesh import Memory
from mnemesh.api.values.history import Contradiction

pytestmark = pytest.mark.asyncio(loop_scope="function")
SPACE = "team/x"


async def pairs(node: NodeUnderTest) -> list[Contradiction]:
    async with client(node) as one:
        return list((await one.conflicts(space=SPACE)).contradictions)


async def links(node: NodeUnderTest) -> list[tuple[str, str, str]]:
    """Every link of the space: memory, type, other memory."""
    return sorted((memory.id, link.type, link.id) for memory in await everything(node, SPACE) for link in memory.links)


async def apart(nodes: Nodes, path: Path) -> tuple[NodeUnderTest, NodeUnderTest, Memory, Memory]:
    """Two nodes that wrote while they did not know each other."""
    hub, laptop = await hub_and_laptop(nodes, path)
    async with client(hub) as here, client(laptop) as there:
        one, other = await asyncio.gather(
            here.remember("The search cluster has 3 nodes", space=SPACE),
            there.remember("The search cluster has 5 nodes", space=SPACE),
        )
        await here.remember("Ana likes tea in the morning", space=SPACE)
        await there.remember("The gate code changes every Monday", space=SPACE)
    return hub, laptop, one.memory, other.memory


async def quiet(*nodes: NodeUnderTest) -> None:
    """Every consumer of the nodes has followed its log to the end."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client(node)) for node in nodes]

        async def judged() -> bool:
            status = await asyncio.gather(*(one.status() for one in clients))
            return not any(consumer.lag for found in status for consumer in found.consumers)

        await until(judged, "everything was judged")


async def both_see_one(hub: NodeUnderTest, laptop: NodeUnderTest) -> list[tuple[str, str, str]]:
    async def seen() -> bool:
        found = [await pairs(node) for node in (hub, laptop)]
        return [len(one) for one in found] == [1, 1] and await links(hub) == await links(laptop)

    await until(seen, "both nodes list the contradiction")
    return await links(hub)


async def test_values_of_one_slot_written_apart_end_in_one_link_that_both_see(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop, one, other = await apart(nodes, tmp_path)
    await introduce(laptop, hub, "laptop", SPACE)
    await converged(SPACE, hub, laptop)
    older, newer = sorted((one, other), key=lambda memory: (memory.created_at, memory.id))
    assert await both_see_one(hub, laptop) == [(newer.id, "contradicts", older.id)]
    for node in (hub, laptop):
        (pair,) = await pairs(node)
        assert (pair.newer.id, pair.older.id) == (newer.id, older.id)
        assert {memory.state for memory in await everything(node, SPACE)} == {"active"}
        async with client(node) as reader:
            found = await reader.recall("how many nodes has the search cluster", space=SPACE)
        marks = {result.id: result.memory.older_than for result in found.results}
        assert [result.id for result in found.results][:2] == [newer.id, older.id]
        assert (marks[newer.id], marks[older.id]) == ((), (newer.id,))


async def test_a_text_that_was_stored_with_force_is_judged_on_no_node(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop, one, other = await apart(nodes, tmp_path)
    older, newer = sorted((one, other), key=lambda memory: (memory.created_at, memory.id))
    async with client(hub) as here, client(laptop) as there:
        first = await here.remember("Session tokens expire after 15 minutes", space=SPACE)
        forced = await there.remember("Session tokens expire after 60 minutes", space=SPACE, force=True)
        assert first.memory.created_at <= forced.memory.created_at
    await introduce(laptop, hub, "laptop", SPACE)
    await converged(SPACE, hub, laptop)
    await both_see_one(hub, laptop)
    await quiet(hub, laptop)
    for node in (hub, laptop):
        assert await links(node) == [(newer.id, "contradicts", older.id)]


async def test_a_decision_travels_and_no_node_judges_the_pair_again(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop, one, other = await apart(nodes, tmp_path)
    await introduce(laptop, hub, "laptop", SPACE)
    await both_see_one(hub, laptop)
    # A verdict of the hub that the laptop has not heard of would come back beside the decision.
    await converged(SPACE, hub, laptop)
    await quiet(hub, laptop)
    async with client(laptop) as there:
        await there.resolve(one.id, other=other.id, keep="both")

    async def decided() -> bool:
        return not await pairs(hub) and not await pairs(laptop) and await links(hub) == await links(laptop)

    await until(decided, "both nodes know the decision")
    await kill_node(laptop)
    laptop = await nodes.start(tmp_path / "laptop")
    async with client(hub) as here, client(laptop) as there:
        await here.update(one.id, importance=0.9)
        await there.update(other.id, importance=0.1)
        await here.remember("The lighthouse is painted white", space=SPACE)
        await converged(SPACE, hub, laptop)
        await quiet(hub, laptop)
    assert [link[1] for link in await links(laptop)] == ["both-hold"]
    assert not await pairs(hub)
    assert not await pairs(laptop)
