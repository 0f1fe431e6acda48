"""Real nodes and a log that lost its end: the copy of the peer comes back, and a refusal is no success."""

from __future__ import annotations

from pathlib import Path

from bit_rot import flip_change
from node_process import Nodes, kill_node, stop_node
from peer_scene import client, converged, hub_and_laptop, introduce, texts, until

SPACE = "team/x"
WRITES = 30


async def test_what_a_peer_holds_of_a_damaged_node_comes_back_and_is_found(nodes: Nodes, tmp_path: Path) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*")
    async with client(hub) as one:
        kept = [(await one.remember(f"valve {n} is in hall {n * 7}", space=SPACE)).memory for n in range(WRITES)]
    await converged(SPACE, hub, laptop)
    await kill_node(hub)
    (tmp_path / "hub/ledger/0.sqlite-wal").unlink()
    hub = await nodes.start(tmp_path / "hub", "--grpc", hub.grpc)
    await converged(SPACE, hub, laptop)
    assert len(await texts(hub, SPACE)) == WRITES
    async with client(hub) as one:
        status = await one.status()
        assert any("entries of the ledger are lost" in notice for notice in status.notices)

        async def indexed() -> bool:
            return all(index.lag == 0 for index in (await one.status()).index)

        await until(indexed, "the index took in what came back")
        for memory in kept:
            found = await one.recall(memory.content, space=SPACE, limit=1)
            assert found.results[0].memory.id == memory.id
        later = await one.remember("written after the loss", space=SPACE)
    await converged(SPACE, hub, laptop)
    assert later.memory.content in await texts(laptop, SPACE)


async def test_a_damaged_entry_goes_to_nobody_and_comes_back_from_a_peer_after_a_restart(
    nodes: Nodes, tmp_path: Path
) -> None:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*")
    async with client(hub) as one:
        kept = [(await one.remember(f"valve {n} is in hall {n * 7}", space=SPACE)).memory for n in range(WRITES)]
        await converged(SPACE, hub, laptop)
        seq = (await one.status()).ledger.seq
    assert [await stop_node(node) for node in (laptop, hub)] == [0, 0]
    flip_change(tmp_path / "hub/ledger/0.sqlite", seq)

    hub = await nodes.start(tmp_path / "hub", "--grpc", hub.grpc)
    third = await nodes.start(tmp_path / "third")
    async with client(hub) as one, client(third) as other:
        status = await one.status()
        assert (status.state, len(await texts(hub, SPACE))) == ("degraded", WRITES)
        assert any("damaged on disk in the log" in notice for notice in status.notices)
        await one.remember("written beside the damage", space=SPACE)
        await introduce(third, hub, "third", "team/*")

        async def has_the_rest() -> bool:
            return len(await texts(third, SPACE)) == WRITES

        await until(has_the_rest, "the third node has every sound entry")
        assert kept[-1].content not in await texts(third, SPACE)
        status = await other.sync_status()
        assert (status.pending, status.quarantined) == (0, 0), "what is damaged was not even sent"

        laptop = await nodes.start(tmp_path / "laptop")

        async def mended() -> bool:
            return not any("damaged on disk in the log" in notice for notice in (await one.status()).notices)

        await until(mended, "the laptop sent the damaged entry back")
        assert (await one.status()).state == "ready"
        await other.sync_now(wait_s=30)
    await converged(SPACE, hub, laptop, third)
    assert len(await texts(third, SPACE)) == WRITES + 1
