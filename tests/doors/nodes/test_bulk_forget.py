"""Many memories at once, through a real node: told first, done when asked, each judged by itself."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from forked import MNEMESH, Ended
from node_process import NodeUnderTest

from mnemesh import AsyncClient
from mnemesh.errors import InvalidArgument, NotFound, PermissionDenied
from mnemesh_gateway.operations import admin_calls, peer_calls
from mnemesh_memory.values.model import Caller

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def node(shared_node: NodeUnderTest) -> NodeUnderTest:
    return shared_node


@pytest.fixture
def space() -> str:
    """A space of its own for each test."""
    return f"many/{uuid.uuid4().hex}"


async def command(node: NodeUnderTest, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = (await ended(node, *words, "--json")).json
    return found


async def shown(node: NodeUnderTest, *words: str) -> str:
    process = await ended(node, *words)
    assert process.code == 0, process
    return process.stdout


async def ended(node: NodeUnderTest, *words: str) -> Ended:
    return await MNEMESH.run(*words, "--data", node.data_dir)


async def test_what_filters_name_is_told_first_then_forgotten_or_purged(node: NodeUnderTest, space: str) -> None:
    async with AsyncClient(node.grpc, node.token) as client:
        for number in range(7):
            await client.remember(f"stale note number {number}", space=space, tags=["stale"])
        kept = (await client.remember("a good note", space=space)).memory
        told = await client.bulk_forget(space=space, tags_any=["stale"], limit=5)
        assert (told.matched, len(told.ids), told.dry_run) == (7, 5, True)
        assert (await client.list(space=space)).total == 8
        done = await client.bulk_forget(space=space, tags_any=["stale"], dry_run=False, limit=5)
        assert (done.matched, len(done.ids), done.refused) == (7, 5, ())
        assert (await client.list(space=space)).total == 3
        assert (await client.list(space=space, state="forgotten")).total == 5
        assert (await command(node, "bulk-forget", "--space", space, "--tag", "stale"))["matched"] == 2
        gone = await command(node, "bulk-forget", "--space", space, "--tag", "stale", "--apply", "--purge", "--yes")
        assert isinstance(gone["ids"], list)
        assert len(gone["ids"]) == 2
        with pytest.raises(NotFound):
            await client.get(gone["ids"][0], include_forgotten=True)
        (left,) = (await client.list(space=space)).memories
        assert left.id == kept.id
        with pytest.raises(InvalidArgument, match="limit"):
            await client.bulk_forget(space=space, limit=0)


async def test_who_may_not_write_there_forgets_nothing_and_a_writer_purges_its_own_alone(
    node: NodeUnderTest, space: str
) -> None:
    async with AsyncClient(node.grpc, node.token) as owner:
        theirs = (await owner.remember("the owner's note", space=space)).memory
        reader = (await owner.add_agent("many-reader", role="reader", spaces=["many/*"])).token
        writer = (await owner.add_agent("many-writer", role="writer", spaces=["many/*"])).token
    async with AsyncClient(node.grpc, reader) as rea:
        with pytest.raises(PermissionDenied):
            await rea.bulk_forget(space=space)
    async with AsyncClient(node.grpc, writer) as ana:
        with pytest.raises((PermissionDenied, NotFound)):
            await ana.bulk_forget(space="home/x", dry_run=False)
        own = (await ana.remember("ana's note", space=space)).memory
        told = await ana.bulk_forget(space=space, purge=True)
        assert (told.matched, told.ids, told.dry_run) == (2, (own.id,), True)
        assert [(one.id, "begun by owner" in one.reason) for one in told.refused] == [(theirs.id, True)]
        assert (await ana.bulk_forget(space=space)).refused == (), "to forget it, it may"
        done = await ana.bulk_forget(space=space, purge=True, dry_run=False)
        assert done.refused == told.refused, "as it was told"
        assert done.ids == (own.id,)
        assert [one.id for one in done.refused] == [theirs.id]
        assert (await ana.get(theirs.id)).content == "the owner's note"


async def issued(node: NodeUnderTest, space: str, *toolsets: str) -> tuple[str, str]:
    """Name and token of a writer of all below `space`."""
    name = f"many-{uuid.uuid4().hex[:12]}"
    async with AsyncClient(node.grpc, node.token) as owner:
        made = await owner.add_agent(name, role="writer", spaces=[f"{space}/*"], toolsets=toolsets)
    return name, made.token


async def test_all_means_every_space_that_the_token_may_write_and_no_other(node: NodeUnderTest, space: str) -> None:
    name, token = await issued(node, space)
    async with AsyncClient(node.grpc, node.token) as owner, AsyncClient(node.grpc, token) as ana:
        kept = (await owner.remember("beside it", space=space)).memory
        own = [
            (await ana.remember(f"in {here}", space=here)).memory for here in (f"{space}/a", f"{space}/b", f"@{name}")
        ]
        closed = await ana.supersede(own[0].id, "in its place")
        forgotten = (await ana.forget(own[1].id)).memory
        left = {closed.memory.id, own[2].id}
        words = ("bulk-forget", "--all", "--token", token)
        told = await command(node, *words, "--purge")
        assert (told["matched"], set(told["ids"]), told["left_out"]) == (2, left, 2)
        said = (await shown(node, *words, "--purge")).splitlines()
        assert said[0] == f"2 memories would be purged, in @{name}, {space}/a; --apply does it"
        assert said[-1] == "2 forgotten or superseded besides would stay; --state all names them too"
        in_b = (*words, "--space", f"{space}/b", "--state", "forgotten")
        assert [(await command(node, *one))["ids"] for one in (in_b, (*in_b, "--purge"))] == [[], [forgotten.id]]
        gone = await command(node, *words, "--state", "all", "--purge", "--apply", "--yes")
        assert (set(gone["ids"]), gone["left_out"]) == ({*left, own[0].id, forgotten.id}, 0)
        assert (await ana.list(everywhere=True, state="all")).total == 0
        assert (await owner.get(kept.id)).id == kept.id
        with pytest.raises(InvalidArgument, match="everywhere"):
            await ana.bulk_forget(space=f"{space}/a", everywhere=True)


async def test_who_has_no_administration_forgets_in_bulk_and_erases_nothing(node: NodeUnderTest, space: str) -> None:
    _, token = await issued(node, space, "core", "curate")
    here = f"{space}/a"
    async with AsyncClient(node.grpc, node.token) as owner, AsyncClient(node.grpc, token) as ana:
        memory = (await ana.remember("a note", space=here)).memory
        for dry_run in (True, False):
            with pytest.raises(PermissionDenied, match="may not purge"):
                await ana.bulk_forget(space=here, purge=True, dry_run=dry_run)
        assert (await ana.bulk_forget(space=here, dry_run=False)).ids == (memory.id,)
        assert (await owner.get(memory.id, include_forgotten=True)).state == "forgotten"


async def test_what_is_forgotten_is_not_forgotten_again(node: NodeUnderTest, space: str) -> None:
    async with AsyncClient(node.grpc, node.token) as client:
        kept, gone = [(await client.remember(f"note {name}", space=space)).memory for name in ("one", "two")]
        await client.forget(gone.id)
        for dry_run in (True, False):
            told = await client.bulk_forget(space=space, state="all", dry_run=dry_run)
            assert (told.matched, told.ids) == (2, (kept.id,))
        assert (await client.bulk_forget(space=space, state="all")).ids == ()
        asked = ("bulk-forget", "--token", node.token, "--space", space, "--state", "all")
        assert await shown(node, *asked) == "0 memories would be forgotten\n"
        assert (await shown(node, *asked, "--purge")).startswith(f"2 memories would be purged, in {space}; --apply")
        await client.restore(kept.id)
        assert (await shown(node, *asked)).startswith(f"1 memory would be forgotten, in {space}; --apply does it\n")
        assert len((await client.bulk_forget(space=space, state="all", purge=True)).ids) == 2


async def test_what_is_refused_is_gone_past(node: NodeUnderTest, space: str) -> None:
    _, token = await issued(node, space)
    here = f"{space}/a"
    async with AsyncClient(node.grpc, node.token) as owner, AsyncClient(node.grpc, token) as ana:
        own = (await ana.remember("ana's, and older than a page of others", space=here)).memory
        await owner.remember_batch([{"content": f"the owner's {number}", "space": here} for number in range(100)])
        await owner.remember_batch([{"content": f"the owner's, too {number}", "space": here} for number in range(101)])
        words = ("bulk-forget", "--space", here, "--purge", "--token", token)
        told = await command(node, *words)
        assert (told["matched"], told["ids"], len(told["refused"])) == (202, [own.id], 201)
        gone = await command(node, *words, "--apply", "--yes")
        assert gone["ids"] == [own.id]
        assert (await ana.list(space=here)).total == 201
        again = await ended(node, *words, "--apply", "--yes")
        assert (again.code, again.stdout.splitlines()[0]) == (4, "0 memories purged")


async def test_of_one_backup_and_one_peer_the_plural_is_not_said() -> None:
    backups = SimpleNamespace(may_hold=lambda at: (object(),))
    gate: Any = SimpleNamespace(backups=lambda: backups, peers_now=lambda: SimpleNamespace(deaf=lambda *_: ["hub"]))
    bob = Caller(agent="bob", principal="bob", role="writer", spaces=("team/*",))
    assert await admin_calls.may_hold(gate, bob, 0) == ["1 backup of the node; who administers it sees where"]
    assert peer_calls.not_told(gate, bob, ["team/x"]) == ["1 peer of the node; its owner sees which"]
