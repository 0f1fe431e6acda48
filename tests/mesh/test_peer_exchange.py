"""Real nodes that exchange entries over gRPC: the work of a user with `peer` and `sync`, and its limits."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path

import pytest
from node_process import Nodes, kill_node, stop_node
from peer_scene import PATIENCE_S, WAIT_S, client, converged, hub_and_laptop, introduce, peer_in, texts, until

from mnemesh import AsyncClient, Memory
from mnemesh.cli.people.conflict_commands import ends_of
from mnemesh.errors import AlreadyExists, FailedPrecondition, InvalidArgument, NotFound


async def test_three_nodes_in_a_line_converge_and_a_purge_reaches_them_all(nodes: Nodes, tmp_path: Path) -> None:
    a, b, c = [await nodes.start(tmp_path / name) for name in "abc"]
    await introduce(a, b, "from-a", "team/*")
    await introduce(b, c, "from-b", "team/*")
    for name, node in (("a", a), ("b", b), ("c", c)):
        async with client(node) as one:
            names = {"tags": [f"tag-of-{name}"], "source": {"session": f"session-of-{name}"}}
            await one.remember(f"node {name} deploys on its own day", space="team/x", **names)
            await one.remember(f"node {name} keeps this to itself", space="@owner")
            await one.remember(f"node {name} has other business", space="home/x")
    await converged("team/x", a, b, c)
    assert len(await texts(a, "team/x")) == 3
    for name, node in (("a", a), ("b", b), ("c", c)):
        assert await texts(node, "@owner") == [f"node {name} keeps this to itself"]
        assert await texts(node, "home/x") == [f"node {name} has other business"]
    async with client(a) as one, client(c) as far:
        found = (await one.list(space="team/x", limit=10)).memories
        mine = next(memory for memory in found if "node a" in memory.content)
        assert (await one.purge(mine.id)).changes == 1

        async def gone() -> bool:
            try:
                await far.get(mine.id, include_forgotten=True)
            except NotFound:
                return True
            return False

        await until(gone, "the purge reached the end of the line")
    assert await texts(b, "team/x") == await texts(c, "team/x")
    for folder in "abc":
        for file in (tmp_path / folder).rglob("*"):
            data = file.read_bytes() if file.is_file() else b""
            assert [one for one in (b"node a deploys", b"tag-of-a", b"session-of-a") if one in data] == [], file


async def test_a_node_that_was_away_or_killed_catches_up_by_itself(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*")
    async with client(laptop) as one:
        kept = await one.remember("written before", space="team/x")
    await converged("team/x", hub, laptop)
    address = hub.grpc
    await kill_node(hub)
    async with client(laptop) as one:
        await one.remember("written on the way", space="team/x")
        await one.update(kept.memory.id, content="changed on the way")

        async def offline() -> bool:
            (peer,) = (await one.sync_status()).peers
            return peer.state == "offline" and bool(peer.last_error) and peer.pending_out > 0

        await until(offline, "the laptop says that the hub is away")
    hub = await nodes.start(tmp_path / "hub", "--grpc", address)
    async with client(hub) as one:
        await one.remember("written at the hub", space="team/x")
    async with client(laptop) as one:
        (peer,) = (await one.sync_now(wait_s=WAIT_S)).peers
        assert (peer.state, peer.caught_up) == ("connected", True)
    await converged("team/x", hub, laptop)
    assert await texts(hub, "team/x") == ["changed on the way", "written at the hub", "written on the way"]
    # After a restart in peace the streams stand again and go on from their cursors.
    await stop_node(laptop)
    laptop = await nodes.start(tmp_path / "laptop")
    async with client(laptop) as one:
        await one.remember("written after the restart", space="team/x")
    await converged("team/x", hub, laptop)


@asynccontextmanager
async def parted(
    nodes: Nodes, tmp_path: Path
) -> AsyncIterator[tuple[AsyncClient, AsyncClient, Memory, Callable[[], Awaitable[object]]]]:
    """Two nodes with one memory that are no peers any more: two clients, the memory, and a call that joins."""
    a, b = await nodes.start(tmp_path / "a"), await nodes.start(tmp_path / "b")
    async with client(a) as here, client(b) as there:
        token = (await there.add_agent("a", role="admin", spaces=["team/*"])).token
        join = partial(here.add_peer, b.grpc, token=token, spaces=["team/*"], name="b")
        await join()
        memory = (await here.remember("we deploy on Friday", space="team/x")).memory
        await converged("team/x", a, b)
        await here.remove_peer("b")
        yield here, there, memory, join


def conflicts(count: int, *clients: AsyncClient) -> Callable[[], Awaitable[bool]]:
    """Whether each of `clients` is shown so many conflicts."""

    async def shown() -> bool:
        return all([len((await one.conflicts(space="team/x")).conflicts) == count for one in clients])

    return shown


async def test_concurrent_edits_on_two_nodes_are_a_conflict_that_both_show_and_one_resolves(
    nodes: Nodes, tmp_path: Path
) -> None:
    async with parted(nodes, tmp_path) as (here, there, memory, join):
        await here.update(memory.id, content="we deploy on Monday")
        await there.update(memory.id, content="we deploy on Tuesday")
        await join()
        await until(conflicts(1, here, there), "both nodes show the conflict")
        shown = [await one.get(memory.id) for one in (here, there)]
        assert shown[0].content == shown[1].content
        assert {shown[0].content, *(head.content for head in shown[0].conflicts)} == {
            "we deploy on Monday",
            "we deploy on Tuesday",
        }
        changed = (await here.update(memory.id, content="we deploy on Wednesday")).memory
        (other,) = changed.conflicts
        for command, kept in zip(ends_of(changed), (changed.heads[0], other.revision), strict=False):
            key = command.split()[-1]
            assert (len(key), kept.startswith(key)) == (len("2@") + 8, True)
        ended = await here.resolve(memory.id, keep=key)
        assert (ended.memory.content, ended.memory.conflicts) == (other.content, ())
        await until(conflicts(0, here, there), "the conflict is over on both nodes")
        revisions = [await one.history(memory.id) for one in (here, there)]
        assert [one.id for one in revisions[0].revisions] == [one.id for one in revisions[1].revisions]
        assert len({one.node for one in revisions[0].revisions}) == 2
        assert len(revisions[0].revisions) == 5


async def test_push_and_pull_go_one_way(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path)
    async with client(hub) as there, client(laptop) as here:
        await there.remember("from the hub", space="team/x")
        await here.remember("from the laptop", space="team/x")
        token = (await there.add_agent("laptop", role="admin", spaces=["team/*"])).token
        await here.add_peer(hub.grpc, token=token, spaces=["team/*"], direction="push", name="hub")
        assert (await here.sync_now("hub", wait_s=WAIT_S)).peers[0].caught_up
        assert await texts(hub, "team/x") == ["from the hub", "from the laptop"]
        assert await texts(laptop, "team/x") == ["from the laptop"]
        await here.remove_peer("hub")
        await here.add_peer(hub.grpc, token=token, spaces=["team/*"], direction="pull", name="hub")
        await here.remember("stays here", space="team/x")
        assert (await here.sync_now("hub", wait_s=WAIT_S)).peers[0].caught_up
        assert await texts(laptop, "team/x") == ["from the hub", "from the laptop", "stays here"]
        assert await texts(hub, "team/x") == ["from the hub", "from the laptop"]


async def test_a_peer_that_can_not_be_added_is_refused_with_a_reason(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path)
    async with client(laptop) as here, client(hub) as there:
        with pytest.raises(FailedPrecondition, match=r"refuses the token.*not added"):
            await here.add_peer(hub.grpc, token="mnm_wrong", spaces=["team/*"], name="hub")
        assert (await here.sync_status()).peers == ()
        own = (await here.add_agent("me", role="admin", spaces=["*"])).token
        with pytest.raises(FailedPrecondition, match=r"this is this node itself.*not added"):
            await here.add_peer(laptop.grpc, token=own, spaces=["team/*"], name="me")
        for bad in ("http://hub:1", "hub", "grpc://hub:99999", "grpc://u@hub:1", ""):
            with pytest.raises(InvalidArgument, match="url"):
                await here.add_peer(bad, token="t", spaces=["team/*"])
        with pytest.raises(InvalidArgument, match="spaces"):
            await here.add_peer(hub.grpc, token="t", spaces=["../x"])
        with pytest.raises(InvalidArgument, match="direction"):
            await here.add_peer(hub.grpc, token="t", spaces=["team/*"], direction="sideways")
        with pytest.raises(NotFound, match="peer"):
            await here.remove_peer("nobody")
        await introduce(laptop, hub, "laptop", "team/*")
        with pytest.raises(AlreadyExists, match="laptop"):
            await here.add_peer(hub.grpc, token="t", spaces=["team/*"], name="laptop")
        incoming = [one for one in (await there.sync_status()).peers if one.incoming]
        assert [(one.name, one.state) for one in incoming] == [("laptop", "connected")]


def lose(data_dir: Path, *ids: str) -> None:
    """A bad disk: these memories are gone from under a running node."""
    (path,) = data_dir.glob("ledger/*.sqlite")
    with closing(sqlite3.connect(path, timeout=PATIENCE_S)) as db, db:
        for id_ in ids:
            space, bucket = db.execute("SELECT space, bucket FROM document WHERE doc = ?", (id_,)).fetchone()
            for table, column in (("entry", "doc"), ("document", "doc"), ("memory", "id"), ("text_hash", "doc")):
                db.execute(f"DELETE FROM {table} WHERE {column} = ?", (id_,))
            db.execute("DELETE FROM digest WHERE space = ? AND bucket = ?", (space, bucket))


async def test_sync_now_at_either_end_brings_back_what_a_bad_disk_lost_before_it_answers(
    nodes: Nodes, tmp_path: Path
) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path)
    async with client(hub) as there, client(laptop) as here:
        one = (await here.remember("written at the laptop", space="team/x")).memory
        two = (await there.remember("written at the hub", space="team/y")).memory
        await introduce(laptop, hub, "laptop", "team/*")
        (peer,) = (await here.sync_now(wait_s=WAIT_S)).peers
        assert (peer.caught_up, peer.comparing, peer.lag_s) == (True, False, 0)
        for asked, name in ((there, "laptop"), (there, ""), (here, "laptop"), (here, "")):
            lose(tmp_path / "laptop", one.id)
            lose(tmp_path / "hub", two.id)
            (peer,) = (await asked.sync_now(name, wait_s=WAIT_S)).peers
            assert (peer.state, peer.caught_up, peer.comparing) == ("connected", True, False)
            assert await texts(laptop, "team/x") == await texts(hub, "team/x") == ["written at the laptop"]
            assert await texts(laptop, "team/y") == await texts(hub, "team/y") == ["written at the hub"]
        with pytest.raises(NotFound, match="peer"):
            await there.sync_now("nobody")


async def test_what_is_known_of_a_peer_is_known_after_a_restart_before_the_first_contact(
    nodes: Nodes, tmp_path: Path
) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*")
    async with client(hub) as there, client(laptop) as here:
        await here.remember("written at the laptop", space="team/x")
        await there.remember("written at the hub", space="team/x")
        await converged("team/x", hub, laptop)
        await here.sync_now(wait_s=WAIT_S)
        (before,) = (await here.sync_status()).peers
        assert (before.auth, before.lag_s, before.cursor_out, before.cursor_in) == ("accepted", 0, 2, 2)
        assert before.last_contact is not None
    await stop_node(laptop)
    async with client(hub) as there:
        peer = await peer_in("offline", there)
        assert (peer.incoming, peer.name, peer.auth, peer.cursor_out) == (True, "laptop", "accepted", 2)
    await stop_node(hub)
    laptop = await nodes.start(tmp_path / "laptop")
    async with client(laptop) as here:
        await here.remember("nobody is there to hear it", space="team/x")
        status = await here.sync_status()
        laptop_id, (after,) = status.node_id, status.peers
        assert after.state in ("connecting", "offline")
        assert (after.last_contact, after.auth) == (before.last_contact, "accepted")
        assert (after.cursor_out, after.cursor_in, after.pending_out, after.pending_in) == (2, 2, 1, 0)
        assert after.lag_s is not None
        assert after.lag_s > 0
    hub = await nodes.start(tmp_path / "hub")
    async with client(hub) as there:
        (peer,) = (await there.sync_status()).peers
        assert (peer.state, peer.incoming, peer.name, peer.node_id) == ("offline", True, "laptop", laptop_id)
        assert (peer.cursor_out, peer.auth) == (2, "accepted")
        assert peer.cursor_in >= 1, "what is durable: entries that are none of the reader's are not saved one by one"


async def test_a_node_whose_index_is_away_exchanges_all_the_same(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*")
    async with client(hub) as there:
        await there.remember("from the hub", space="team/x")
    await converged("team/x", hub, laptop)
    address = hub.grpc
    await stop_node(hub)
    hub = await nodes.start(tmp_path / "hub", "--grpc", address, env={"MNEMESH_QDRANT_URL": "http://127.0.0.1:9"})
    async with client(hub) as there, client(laptop) as here:
        assert (await there.sync_status()).head == 1
        await here.remember("from the laptop", space="team/x", wait="durable")
        await here.sync_now(wait_s=WAIT_S)
        assert {peer.state for peer in (await here.sync_status()).peers} == {"connected"}
    await converged("team/x", hub, laptop)
