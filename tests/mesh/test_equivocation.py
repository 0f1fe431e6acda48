"""Real nodes and a writer who tells two nodes different things under one Automerge actor."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from hostile_peer import Signer, brings
from node_process import Nodes, NodeUnderTest, stop_node
from peer_scene import client, converged, introduce, until

from mnemesh_crdt.changes.envelope import Entry

SPACE = "team/x"


def face(eve: Signer, to: Entry, content: str) -> Entry:
    """A revision that builds on the beginning `to`, always by the same Automerge actor."""
    return eve.adds(to, content, hashlib.sha256(b"one actor").digest()[:16])


async def tell(node: NodeUnderTest, eve: Signer, after: int, *entries: Entry) -> None:
    async with client(node) as there:
        token = (await there.add_agent(f"eve{after}", role="admin", spaces=["team/*"])).token
    await brings(node.grpc, token, eve, *entries)


async def says(node: NodeUnderTest, id: str) -> set[str]:
    async with client(node) as one:
        memory = await one.get(id)
        return {memory.content, *(other.content for other in memory.conflicts)}


async def all_say(id: str, texts: set[str], *nodes: NodeUnderTest) -> None:
    async def same() -> bool:
        return all([await says(node, id) == texts for node in nodes])

    await until(same, f"{texts} on {len(nodes)} nodes")


async def test_honest_edits_on_either_of_two_faces_stand_on_every_node_and_one_edit_settles_them(
    nodes: Nodes, tmp_path: Path
) -> None:
    here, there, third = await asyncio.gather(*(nodes.start(tmp_path / name) for name in ("a", "b", "c")))
    eve = Signer("eve", agent="eve")
    first = eve.says("as it was", SPACE)
    await tell(here, eve, 1, first)
    await tell(there, eve, 1, first)
    await tell(here, eve, 2, face(eve, first, "ONE"))
    await tell(there, eve, 2, face(eve, first, "TWO"))
    for node, text in ((here, "ONE, seen here"), (there, "TWO, seen there")):
        async with client(node) as one:
            await one.update(first.doc, content=text)
    await introduce(here, third, "here", SPACE)
    await introduce(there, third, "there", SPACE)
    await all_say(first.doc, {"ONE, seen here", "TWO, seen there"}, here, there, third)
    async with client(third) as one:
        past = {entry.content for entry in (await one.history(first.doc)).revisions}
        assert past == {"as it was", "ONE", "TWO", "ONE, seen here", "TWO, seen there"}
        (conflict,) = (await one.conflicts(spaces=[SPACE])).conflicts
        assert len(conflict.versions) == 2
        lines = (await one.blame(first.doc)).lines
        assert lines[0].by == "owner", lines
        async with client(there) as other:
            assert (await other.blame(first.doc)).lines == lines
        await one.update(first.doc, content="settled", expected_heads=(await one.get(first.doc)).heads)
    await all_say(first.doc, {"settled"}, here, there, third)
    await stop_node(there)
    there = await nodes.start(tmp_path / "b")
    assert await says(there, first.doc) == {"settled"}
    async with client(there) as one:
        await one.update(first.doc, tags=["kept"], content="settled, and kept")
    await all_say(first.doc, {"settled, and kept"}, here, there, third)
    await converged(SPACE, here, there, third)
    async with client(third) as one:
        peers = (await one.sync_now(wait_s=30)).peers
        assert [(peer.comparing, peer.differs) for peer in peers] == [(False, 0)] * len(peers)
        status = await one.sync_status()
        assert status.quarantined == 0
