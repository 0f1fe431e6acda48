"""The rights of the token of a stream: ended, narrowed, a writer's, private spaces of one principal."""

from __future__ import annotations

from pathlib import Path

import pytest
from node_process import Nodes, NodeUnderTest, stop_node
from peer_scene import WAIT_S, client, converged, hub_and_laptop, introduce, peer_in, texts, until

from mnemesh.errors import FailedPrecondition, InvalidArgument, NotFound, PermissionDenied


async def until_texts(node: NodeUnderTest, space: str, number: int) -> None:
    async def holds() -> bool:
        return len(await texts(node, space)) == number

    await until(holds, f"{number} memories in {space}")


async def connected_again(node: NodeUnderTest) -> None:
    async def holds() -> bool:
        async with client(node) as one:
            (peer,) = (await one.sync_now(wait_s=WAIT_S)).peers
        return peer.state == "connected" and peer.caught_up

    await until(holds, "the stream stands again")


async def test_a_token_revoked_in_the_middle_lets_nothing_out_or_in_from_then_on(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*")
    async with client(hub) as there, client(laptop) as here:
        await there.remember("known to both", space="team/x")
        await converged("team/x", hub, laptop)
        await there.revoke_agent("laptop")
        await peer_in("refused", here)
        await there.remember("after the end, at the hub", space="team/x")
        await here.remember("after the end, at the laptop", space="team/x")
        (peer,) = (await here.sync_now(wait_s=WAIT_S)).peers
        assert (peer.state, "revoked" in peer.last_error) == ("refused", True)
        assert await texts(hub, "team/x") == ["after the end, at the hub", "known to both"]
        assert await texts(laptop, "team/x") == ["after the end, at the laptop", "known to both"]
        # The name gets a new token, and the stream goes on where it stood.
        token = (await there.add_agent("laptop", role="admin", spaces=["team/*"])).token
        again = (await here.set_peer_token("laptop", token=token)).peer
        assert (again.state, again.auth, again.node_id) == ("connected", "accepted", peer.node_id)
        assert again.lag_s is not None, "they had been level before"
    await connected_again(laptop)
    await converged("team/x", hub, laptop)
    assert len(await texts(hub, "team/x")) == 3


async def test_a_token_narrowed_to_fewer_spaces_lets_nothing_of_the_others_out(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*", "home/*")
    async with client(hub) as there, client(laptop) as here:
        for space in ("team/x", "home/x"):
            await there.remember(f"first of {space}", space=space)
            await converged(space, hub, laptop)
        await there.revoke_agent("laptop")
        token = (await there.add_agent("laptop", role="admin", spaces=["team/*"])).token
        await here.remove_peer("laptop")
        await here.add_peer(hub.grpc, token=token, spaces=["team/*", "home/*"], name="laptop")
        for space in ("team/x", "home/x"):
            await there.remember(f"second of {space}", space=space)
            await here.remember(f"third of {space}", space=space)
        await connected_again(laptop)
        await converged("team/x", hub, laptop)
        assert await texts(laptop, "team/x") == ["first of team/x", "second of team/x", "third of team/x"]
        assert await texts(laptop, "home/x") == ["first of home/x", "third of home/x"]
        assert await texts(hub, "home/x") == ["first of home/x", "second of home/x"]
        assert (await there.sync_status()).quarantined == 0  # it was not even sent


async def test_a_token_that_the_peer_refuses_changes_nothing(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*")
    async with client(laptop) as here:
        with pytest.raises(FailedPrecondition, match=r"refuses the token.*the token was not changed"):
            await here.set_peer_token("laptop", token="mnm_wrong")
        with pytest.raises(NotFound, match="nobody"):
            await here.set_peer_token("nobody", token="mnm_wrong")
        with pytest.raises(InvalidArgument, match="token"):
            await here.set_peer_token("laptop", token=" ")
        await here.remember("goes on with the token that it had", space="team/x")
    await connected_again(laptop)
    await converged("team/x", hub, laptop)
    await stop_node(laptop)
    laptop = await nodes.start(tmp_path / "laptop")
    await connected_again(laptop)


async def test_the_status_says_what_a_token_leaves_of_the_direction_and_how_much_is_not_taken(
    nodes: Nodes, tmp_path: Path
) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path)
    async with client(hub) as there, client(laptop) as here:
        token = (await there.add_agent("rd", role="reader", spaces=["team/*"])).token
        await there.remember("written at the hub", space="team/x")
        added = await here.add_peer(hub.grpc, token=token, spaces=["team/*"], name="hub")
        assert "takes nothing from here, and gives at most the spaces of its token" in added.note
        assert "--owner rd" not in added.note, "a reader's token brings nothing under any owner"
        assert "--role admin" in added.note
        memory = (await here.remember("written at the laptop", space="team/x")).memory
        await here.remember("of another space", space="home/x")
        await connected_again(laptop)
        await until_texts(laptop, "team/x", 2)
        (peer,) = (await here.sync_status()).peers
        assert (peer.direction, peer.effective_direction, peer.not_taken) == ("both", "pull", 1), peer
        told = await here.bulk_forget(space="team/x", purge=True)
        assert (told.matched, told.not_told) == (2, ("hub",))
        assert (await here.bulk_forget(space="home/x", purge=True)).not_told == ()
        assert (await here.purge(memory.id)).not_told == ("hub",)
        # A writer's token of another name takes only the writes of that name.
        token = (await there.add_agent("ana", role="writer", spaces=["team/*"])).token
        again = await here.set_peer_token("hub", token=token)
        assert "takes only what ana wrote" in again.note
        assert "--owner ana" in again.note
        await here.remember("the owner wrote this", space="team/x")
        (peer,) = (await here.sync_now(wait_s=WAIT_S)).peers
        assert (peer.effective_direction, peer.only_by, peer.not_taken) == ("both", "ana", 2), "and the erasure"
        hers = [one for one in (await there.sync_status()).peers if one.name == "ana"]
        assert [(one.direction, one.only_by) for one in hers] == [("both", "ana")], "the hub says it in the same words"
        # A token that covers none of the spaces, or some, is told from a token that brings nothing.
        for spaces, direction in ((["home/*"], "both"), (["home/*", "shed"], "pull")):
            other = await here.add_peer(hub.grpc, token=token, spaces=spaces, name="other", direction=direction)
            assert "nothing is exchanged" in other.note, other.note
            assert "its token covers team/*, @ana" in other.note
            await here.remove_peer("other")
        pulled = await here.add_peer(hub.grpc, token=token, spaces=["team/*"], name="other", direction="pull")
        assert pulled.note == ""
        await here.remove_peer("other")
        # An admin's takes everything of its spaces.
        token = (await there.add_agent("all", role="admin", spaces=["team/x"])).token
        again = await here.set_peer_token("hub", token=token)
        assert "takes only entries of team/x" in again.note
        await here.remember("beyond what the token covers", space="team/y")
        (peer,) = (await here.sync_now(wait_s=WAIT_S)).peers
        assert (peer.effective_direction, peer.only_by, peer.not_taken) == ("both", "", 1)
        await converged("team/x", hub, laptop)
        memory = (await here.remember("erased everywhere", space="team/x")).memory
        assert (await here.purge(memory.id)).not_told == ()


async def test_of_two_nodes_with_one_token_the_one_that_is_away_is_forgotten(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path)
    old = await nodes.start(tmp_path / "old")
    async with client(hub) as there, client(laptop) as here, client(old) as before:
        token = (await there.add_agent("ben", role="admin", spaces=["team/*"])).token
        for one in (here, before):
            await one.add_peer(f"grpc://{hub.grpc}", token=token, spaces=["team/*"], name="hub")
        stays = (await here.sync_status()).node_id
        await before.remove_peer("hub")

        async def left() -> bool:
            return sorted(peer.state for peer in (await there.sync_status()).peers) == ["connected", "offline"]

        await until(left, "the hub says that one of the two has left")
        await there.remove_peer("ben")
        (peer,) = (await there.sync_status()).peers
        assert (peer.name, peer.node_id, peer.state) == ("ben", stays, "connected")
        with pytest.raises(FailedPrecondition, match="agent revoke ben"):
            await there.remove_peer("ben")


async def test_who_called_and_is_away_is_forgotten_when_asked_and_a_caller_that_is_connected_is_not(
    nodes: Nodes, tmp_path: Path
) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*")
    async with client(hub) as there, client(laptop) as here:
        with pytest.raises(FailedPrecondition, match="agent revoke laptop"):
            await there.remove_peer("laptop")
        await here.remove_peer("laptop")
        peer = await peer_in("offline", there)
        assert "the peer ended the stream" in peer.last_error
        (told,) = (await there.sync_now("laptop", wait_s=WAIT_S)).peers
        assert (told.state, told.node_id) == ("offline", peer.node_id), "whom nobody can call is told of all the same"
        token = (await here.add_agent("hub", role="admin", spaces=["team/*"])).token
        await there.add_peer(f"grpc://{laptop.grpc}", token=token, spaces=["team/*"], name="laptop")
        (told,) = (await there.sync_now("laptop", wait_s=WAIT_S)).peers
        assert told.state == "connected", "of a peer that can be called, its old call says nothing"
        await there.remove_peer("laptop")
        assert (await there.remove_peer("laptop")).name == "laptop"
        assert (await there.sync_status()).peers == ()
        with pytest.raises(NotFound, match="laptop"):
            await there.remove_peer("laptop")
    await stop_node(hub)
    hub = await nodes.start(tmp_path / "hub")
    async with client(hub) as there:
        assert (await there.sync_status()).peers == ()


async def test_two_nodes_whose_owners_have_the_usual_name_are_told_that_these_are_one(
    nodes: Nodes, tmp_path: Path
) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path)
    async with client(hub) as there, client(laptop) as here:
        token = (await there.add_agent("laptop", role="admin", spaces=["team/*"])).token
        added = await here.add_peer(hub.grpc, token=token, spaces=["team/*"], name="hub")
        assert "the two are one: each may erase what the other wrote" in added.note


async def test_a_members_node_called_like_its_token_brings_what_its_owner_writes(nodes: Nodes, tmp_path: Path) -> None:
    hub = await nodes.start(tmp_path / "hub")
    laptop = await nodes.start(tmp_path / "laptop", "--owner", "ana")
    await introduce(laptop, hub, "ana", "team/*", "@ana", role="writer")
    async with client(laptop) as here, client(hub) as there:
        assert (await here.whoami()).principal == "ana"
        await here.remember("ana wrote this on her laptop", space="team/x")
        await here.remember("ana keeps this to herself", space="@ana")
        await there.remember("the hub's owner wrote this", space="team/x")
        await connected_again(laptop)
        await converged("team/x", hub, laptop)
        assert await texts(hub, "team/x") == ["ana wrote this on her laptop", "the hub's owner wrote this"]
        with pytest.raises(PermissionDenied):
            await texts(hub, "@ana")  # the hub's owner reads no other's private space
        assert (await there.sync_status()).quarantined == 0


async def test_what_a_member_purges_at_home_is_gone_at_the_hub_though_another_edited_it_there(
    nodes: Nodes, tmp_path: Path
) -> None:
    hub = await nodes.start(tmp_path / "hub")
    laptop = await nodes.start(tmp_path / "laptop", "--owner", "ana")
    await introduce(laptop, hub, "ana", "team/*", role="writer")
    async with client(laptop) as here, client(hub) as there:
        mine = (await here.remember("ana wrote this and takes it back", space="team/x")).memory
        theirs = (await there.remember("the hub's owner wrote this", space="team/x")).memory
        await converged("team/x", hub, laptop)
        await there.update(mine.id, content="the hub's owner wrote it again")
        assert (await here.bulk_forget(space="team/x", purge=True)).not_told == ("ana",), "one of the two"
        assert (await here.purge(mine.id)).not_told == ()

        async def gone() -> bool:
            return await texts(hub, "team/x") == ["the hub's owner wrote this"]

        await until(gone, "the purge reached the hub")
        # As an admin of her own node she erases what others wrote, there alone: the hub did not make her one.
        assert (await here.purge(theirs.id)).not_told == ("ana",), "what she is told of the peer that keeps it"
        assert (await here.purge(theirs.id)).not_told == ("ana",), "also when she asks again"
        await here.sync_now(wait_s=WAIT_S)
        assert await texts(laptop, "team/x") == []
        assert await texts(hub, "team/x") == ["the hub's owner wrote this"]
        (refused,) = (await there.quarantine(limit=10)).entries
        assert (refused.doc, "only a peer that relays" in refused.reason) == (theirs.id, True)


async def test_two_nodes_of_one_principal_share_its_private_space_over_a_hub(nodes: Nodes, tmp_path: Path) -> None:
    hub = await nodes.start(tmp_path / "hub")
    async with client(hub) as there:
        token = (await there.add_agent("ana", role="writer", spaces=["team/*"])).token
    laptop, desk = [await nodes.start(tmp_path / name, "--owner", "ana") for name in ("laptop", "desk")]
    for node in (laptop, desk):
        async with client(node) as one:
            added = await one.add_peer(hub.grpc, token=token, spaces=["@ana"], name="hub")
            assert (added.peer.state, added.note) == ("connected", "")
            await one.remember(f"private, from {node.data_dir.name}", space="@ana")
    await converged("@ana", laptop, desk)
    assert await texts(desk, "@ana") == ["private, from desk", "private, from laptop"]
