"""Many memories at once, through a real node: told first, done when asked, each judged by itself."""

from __future__ import annotations

import asyncio
import json
import uuid

import pytest
from forked import MNEMESH
from node_process import NodeUnderTest

from mnemesh import AsyncClient
from mnemesh.errors import InvalidArgument, NotFound, PermissionDenied

WAIT_S = 60.0
pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def node(shared_node: NodeUnderTest) -> NodeUnderTest:
    return shared_node


@pytest.fixture
def space() -> str:
    """A space of its own for each test."""
    return f"many/{uuid.uuid4().hex}"


async def command(node: NodeUnderTest, *words: str) -> dict[str, object]:
    process = await MNEMESH.start(*words, "--json", "--data", str(node.data_dir))
    out, _ = await asyncio.wait_for(process.communicate(), WAIT_S)
    found: dict[str, object] = json.loads(out)
    return found


async def test_what_filters_name_is_told_first_then_forgotten_or_purged(node: NodeUnderTest, space: str) -> None:
    async with AsyncClient(node.grpc, node.token) as client:
        for number in range(7):
            await client.remember(f"stale note number {number}", space=space, tags=["stale"])
        kept = (await client.remember("a good note", space=space)).memory
        told = await client.forget_many(space=space, tags_any=["stale"], limit=5)
        assert (told.matched, len(told.ids), told.dry_run) == (7, 5, True)
        assert (await client.list(space=space)).total == 8
        done = await client.forget_many(space=space, tags_any=["stale"], dry_run=False, limit=5)
        assert (done.matched, len(done.ids), done.refused) == (7, 5, ())
        assert (await client.list(space=space)).total == 3
        assert (await client.list(space=space, state="forgotten")).total == 5
        assert (await command(node, "forget-many", "--space", space, "--tag", "stale"))["matched"] == 2
        gone = await command(node, "forget-many", "--space", space, "--tag", "stale", "--apply", "--purge", "--yes")
        assert isinstance(gone["ids"], list)
        assert len(gone["ids"]) == 2
        with pytest.raises(NotFound):
            await client.get(gone["ids"][0], include_forgotten=True)
        (left,) = (await client.list(space=space)).memories
        assert left.id == kept.id
        with pytest.raises(InvalidArgument, match="limit"):
            await client.forget_many(space=space, limit=0)


async def test_who_may_not_write_there_forgets_nothing_and_a_writer_purges_its_own_alone(
    node: NodeUnderTest, space: str
) -> None:
    async with AsyncClient(node.grpc, node.token) as owner:
        theirs = (await owner.remember("the owner's note", space=space)).memory
        reader = (await owner.add_agent("many-reader", role="reader", spaces=["many/*"])).token
        writer = (await owner.add_agent("many-writer", role="writer", spaces=["many/*"])).token
    async with AsyncClient(node.grpc, reader) as rea:
        with pytest.raises(PermissionDenied):
            await rea.forget_many(space=space)
    async with AsyncClient(node.grpc, writer) as ana:
        with pytest.raises((PermissionDenied, NotFound)):
            await ana.forget_many(space="home/x", dry_run=False)
        own = (await ana.remember("ana's note", space=space)).memory
        told = await ana.forget_many(space=space, purge=True)
        assert (told.matched, told.ids, told.dry_run) == (2, (own.id,), True)
        assert [(one.id, "begun by owner" in one.reason) for one in told.refused] == [(theirs.id, True)]
        assert (await ana.forget_many(space=space)).refused == (), "to forget it, it may"
        done = await ana.forget_many(space=space, purge=True, dry_run=False)
        assert done.refused == told.refused, "as it was told"
        assert done.ids == (own.id,)
        assert [one.id for one in done.refused] == [theirs.id]
        assert (await ana.get(theirs.id)).content == "the owner's note"
