"""Nodes that may not meet: two with one id, or of different protocols. Both stay up and say what to do."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from fault_proxy import FaultProxy
from forked import MNEMESH
from hostile_peer import Signer, stream_to
from node_process import Nodes, kill_node, stop_node
from peer_scene import WAIT_S, client, converged, hub_and_laptop, peer_in, texts, until

from mnemesh.errors import FailedPrecondition
from mnemesh_crdt.sync.greeting import PROTOCOL
from mnemesh_crdt.sync.messages import Ack, Batch, Hello, Refusal
from mnemesh_gateway.peers.sync_channel import to_wire
from mnemesh_proto.v1 import sync_pb2


@asynccontextmanager
async def saying(hello: Hello) -> AsyncIterator[str]:
    """A server that greets every stream with this and then listens; its address."""

    async def sync(requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        yield to_wire(hello, sync_pb2.SyncResponse).SerializeToString()
        async for _ in requests:
            pass

    handlers = {"Sync": grpc.stream_stream_rpc_method_handler(sync)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("mnemesh.v1.SyncService", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


async def test_two_nodes_on_copies_of_one_directory_refuse_each_other_until_one_has_an_id_of_its_own(
    nodes: Nodes, tmp_path: Path
) -> None:
    one = await nodes.start(tmp_path / "one")
    async with client(one) as here:
        await here.remember("written before the copy", space="team/x")
    await stop_node(one)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    one, two = await asyncio.gather(nodes.start(tmp_path / "one"), nodes.start(tmp_path / "two"))
    async with client(one) as here, client(two) as there:
        token = (await there.add_agent("one", role="admin", spaces=["team/*"])).token
        with pytest.raises(FailedPrecondition, match=r"two nodes with one id.*mnemesh node new-identity"):
            await here.add_peer(two.grpc, token=token, spaces=["team/*"], name="two")
        await here.remember("written by the one", space="team/x")
        await there.remember("written by the other", space="team/x")
    await stop_node(two)
    renewed = await MNEMESH.run("node", "new-identity", "--data", tmp_path / "two")
    assert (renewed.code, "2 memories stay" in " ".join(renewed.stdout.split())) == (0, True), renewed
    two = await nodes.start(tmp_path / "two")
    async with client(one) as here, client(two) as there:
        await there.remember("written with an id of its own", space="team/x")
        await here.add_peer(two.grpc, token=token, spaces=["team/*"], name="two")
    await converged("team/x", one, two)
    async with client(one) as here:
        ids = {memory.content: memory.id for memory in (await here.list(space="team/x", limit=10)).memories}
        nodes_of = {text: (await here.history(ids[text])).revisions[0].node for text in ids}
    old = nodes_of.pop("written before the copy")
    new = nodes_of.pop("written with an id of its own")
    assert nodes_of == {"written by the one": old, "written by the other": old}
    assert new != old


async def test_a_hub_that_a_node_and_its_copy_call_refuses_the_copy_and_says_so(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*")
    async with client(laptop) as here:
        await here.remember("written before the copy", space="team/x")
    await converged("team/x", hub, laptop)
    await stop_node(laptop)
    shutil.copytree(tmp_path / "laptop", tmp_path / "copy")
    laptop = await nodes.start(tmp_path / "laptop")
    async with client(laptop) as here, client(hub) as there:
        (peer,) = (await here.sync_now(wait_s=WAIT_S)).peers
        assert (peer.state, peer.caught_up, peer.last_error) == ("connected", True, "")
        copy = await nodes.start(tmp_path / "copy")
        async with client(copy) as twin:
            await twin.remember("written by the copy", space="team/x")
            peer = await peer_in("refused", twin)
            assert "two nodes with one id" in peer.last_error
            assert "mnemesh node new-identity" in peer.last_error
        (peer,) = (await there.sync_status()).peers
        assert (peer.name, peer.state, peer.incoming) == ("laptop", "connected", True)
        assert "another process has the id of this node, too, and was refused" in peer.last_error
        assert await texts(hub, "team/x") == ["written before the copy"], "nothing of the copy was taken in"
        # The node itself does not notice.
        await here.remember("written by the node", space="team/x")
        await converged("team/x", hub, laptop)
        (peer,) = (await here.sync_now(wait_s=WAIT_S)).peers
        assert (peer.state, peer.last_error) == ("connected", "")
    await stop_node(copy)
    assert (await MNEMESH.run("node", "new-identity", "--data", tmp_path / "copy")).code == 0
    copy = await nodes.start(tmp_path / "copy")
    await converged("team/x", hub, laptop, copy)
    assert len(await texts(hub, "team/x")) == 3


async def test_a_node_that_calls_another_and_its_copy_refuses_the_copy_and_says_so_beside_both(
    nodes: Nodes, tmp_path: Path
) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path)
    async with client(hub) as there:
        await there.remember("written before the copy", space="team/x")
        token = (await there.add_agent("laptop", role="admin", spaces=["team/*"])).token
    await stop_node(hub)
    shutil.copytree(tmp_path / "hub", tmp_path / "copy")
    hub, copy = await asyncio.gather(nodes.start(tmp_path / "hub"), nodes.start(tmp_path / "copy"))
    address = copy.grpc
    async with client(copy) as twin:
        await twin.remember("written by the copy", space="team/x")
    async with client(laptop) as here:
        await here.add_peer(hub.grpc, token=token, spaces=["team/*"], name="hub")
        # The same process at two addresses is no copy.
        await here.add_peer(hub.grpc.replace("127.0.0.1", "localhost"), token=token, spaces=["team/*"], name="again")
        with pytest.raises(FailedPrecondition, match=r"two nodes with one id.*new-identity.*the peer was not added"):
            await here.add_peer(address, token=token, spaces=["team/*"], name="copy")
        for peer in (await here.sync_status()).peers:
            assert (peer.state, "was refused: two nodes with one id" in peer.last_error) == ("connected", True)
        assert await texts(laptop, "team/x") == ["written before the copy"], "nothing of the copy was taken in"
        await here.remove_peer("again")
    # Both are kept once the copy was first there alone: whoever comes second then is refused.
    await stop_node(hub)
    async with client(laptop) as here:
        await here.add_peer(address, token=token, spaces=["team/*"], name="copy")
        await nodes.start(tmp_path / "hub", "--grpc", hub.grpc)

        async def refused() -> bool:
            await here.sync_now("hub", wait_s=1.0)
            return (await here.sync_status()).peers[1].state == "refused"

        await until(refused, "the other one is refused")
        copied, original = (await here.sync_status()).peers
        assert (copied.name, copied.state, original.name) == ("copy", "connected", "hub")
        assert "another process has the id of this node, too, and was refused" in copied.last_error
        assert "two nodes with one id" in original.last_error
        assert "mnemesh node new-identity" in original.last_error


async def test_a_node_that_lost_its_power_is_let_in_again_though_its_old_stream_still_stands(
    nodes: Nodes, tmp_path: Path
) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path)
    proxy = FaultProxy(hub.grpc)
    address = await proxy.start()
    async with client(hub) as there:
        token = (await there.add_agent("laptop", role="admin", spaces=["team/*"])).token
        async with client(laptop) as here:
            await here.add_peer(address, token=token, spaces=["team/*"], name="hub")
            await here.remember("written before", space="team/x")
            await converged("team/x", hub, laptop)
        proxy.abandon()
        await kill_node(laptop)
        laptop = await nodes.start(tmp_path / "laptop")

        async def connected() -> bool:
            async with client(laptop) as here:
                (peer,) = (await here.sync_now(wait_s=WAIT_S)).peers
            return peer.state == "connected"

        await until(connected, "the laptop is let in")
        async with client(laptop) as here:
            await here.remember("written after", space="team/x")
        await converged("team/x", hub, laptop)
        assert [(one.name, one.last_error) for one in (await there.sync_status()).peers] == [("laptop", "")]
    await proxy.close()


async def test_a_peer_of_a_newer_major_protocol_is_refused_with_what_to_do_whoever_calls(
    nodes: Nodes, tmp_path: Path
) -> None:
    node, newer = await nodes.start(tmp_path / "node"), Signer()
    async with client(node) as here:
        own = (await here.sync_status()).node_id
        token = (await here.add_agent("newer", role="admin", spaces=["team/*"])).token
        async with stream_to(node.grpc, token) as stream:
            await stream.say(newer.hello(protocol=PROTOCOL + 1000))
            refusal = await stream.hear(Refusal)
            assert (refusal.code, f"upgrade Mnemesh on node '{own}'" in refusal.reason) == ("protocol", True)
        async with saying(newer.hello(protocol=PROTOCOL + 1000)) as address:
            with pytest.raises(FailedPrecondition, match=f"upgrade Mnemesh on node '{own}'"):
                await here.add_peer(address, token="t", spaces=["team/*"], name="newer")
        assert (await here.remember("it goes on", space="team/x")).action == "ADD"


async def test_a_peer_of_a_newer_minor_protocol_exchanges_as_any_other(nodes: Nodes, tmp_path: Path) -> None:
    node, newer = await nodes.start(tmp_path / "node"), Signer(agent="newer")
    async with client(node) as here:
        await here.remember("from here", space="team/x")
        token = (await here.add_agent("newer", role="writer", spaces=["team/*"])).token
        async with stream_to(node.grpc, token) as stream:
            await stream.greet(newer, protocol=PROTOCOL + 7)
            batch = await stream.hear(Batch)
            assert [entry.space for entry in batch.entries] == ["team/x"]
            await stream.say(newer.batch(0, newer.says("from the newer one")))
            assert await stream.hear(Ack, Refusal) == Ack(newer.feed, 1)
    assert await texts(node, "team/x") == ["from here", "from the newer one"]


async def test_a_peer_that_turns_out_to_be_another_node_than_it_was_is_refused_until_it_is_added_anew(
    nodes: Nodes, tmp_path: Path
) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*")
    address, token_file = hub.grpc, (tmp_path / "hub" / "access.sqlite").read_bytes()
    await stop_node(hub)
    other = await nodes.start(tmp_path / "other")
    await stop_node(other)
    (tmp_path / "other" / "access.sqlite").write_bytes(token_file)
    await nodes.start(tmp_path / "other", "--grpc", address)
    async with client(laptop) as here:
        (peer,) = (await here.sync_now(wait_s=WAIT_S)).peers
        assert (peer.state, "remove the peer and add it again" in peer.last_error) == ("refused", True)
