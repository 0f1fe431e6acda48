"""Real nodes and a log that lost its end: the copy of the peer comes back, and a refusal is no success."""

from __future__ import annotations

from pathlib import Path

from node_process import Nodes, kill_node
from peer_scene import client, converged, hub_and_laptop, texts, until

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
