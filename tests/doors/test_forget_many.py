"""Many memories at once, through a real node: told first, done when asked, each judged by itself."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from node_process import Nodes, NodeUnderTest

from mnemesh import AsyncClient
from mnemesh.errors import InvalidArgument, NotFound, PermissionDenied

SPACE = "team/old"


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NodeUnderTest]:
    nodes = Nodes()
    try:
        yield await nodes.start(tmp_path / "node")
    finally:
        await nodes.end()


async def command(node: NodeUnderTest, *words: str) -> dict[str, object]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mnemesh", *words, "--json", "--data", str(node.data_dir),
        stdout=asyncio.subprocess.PIPE, cwd=node.data_dir,
    )  # fmt: skip
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    found: dict[str, object] = json.loads(out)
    return found


async def test_what_filters_name_is_told_first_then_forgotten_or_purged(node: NodeUnderTest) -> None:
    async with AsyncClient(node.grpc, node.token) as client:
        for number in range(7):
            await client.remember(f"stale note number {number}", space=SPACE, tags=["stale"])
        kept = (await client.remember("a good note", space=SPACE)).memory
        told = await client.forget_many(space=SPACE, tags_any=["stale"], limit=5)
        assert (told.matched, len(told.ids), told.dry_run) == (7, 5, True)
        assert (await client.list(space=SPACE)).total == 8
        done = await client.forget_many(space=SPACE, tags_any=["stale"], dry_run=False, limit=5)
        assert (done.matched, len(done.ids), done.refused) == (7, 5, ())
        assert (await client.list(space=SPACE)).total == 3
        assert (await client.list(space=SPACE, state="forgotten")).total == 5
        assert (await command(node, "forget-many", "--space", SPACE, "--tag", "stale"))["matched"] == 2
        gone = await command(node, "forget-many", "--space", SPACE, "--tag", "stale", "--apply", "--purge")
        assert isinstance(gone["ids"], list)
        assert len(gone["ids"]) == 2
        with pytest.raises(NotFound):
            await client.get(gone["ids"][0], include_forgotten=True)
        (left,) = (await client.list(space=SPACE)).memories
        assert left.id == kept.id
        with pytest.raises(InvalidArgument, match="limit"):
            await client.forget_many(space=SPACE, limit=0)


async def test_who_may_not_write_there_forgets_nothing_and_a_writer_purges_its_own_alone(node: NodeUnderTest) -> None:
    async with AsyncClient(node.grpc, node.token) as owner:
        theirs = (await owner.remember("the owner's note", space=SPACE)).memory
        reader = (await owner.add_agent("rea", role="reader", spaces=["team/*"])).token
        writer = (await owner.add_agent("ana", role="writer", spaces=["team/*"])).token
    async with AsyncClient(node.grpc, reader) as rea:
        with pytest.raises(PermissionDenied):
            await rea.forget_many(space=SPACE)
    async with AsyncClient(node.grpc, writer) as ana:
        with pytest.raises((PermissionDenied, NotFound)):
            await ana.forget_many(space="home/x", dry_run=False)
        own = (await ana.remember("ana's note", space=SPACE)).memory
        done = await ana.forget_many(space=SPACE, purge=True, dry_run=False)
        assert done.ids == (own.id,)
        assert [one.id for one in done.refused] == [theirs.id]
        assert (await ana.get(theirs.id)).content == "the owner's note"
