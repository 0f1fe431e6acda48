"""Entries of a peer that were put aside on a real node: a person looks at them and decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from forked import MNEMESH
from hostile_peer import Signer, brings
from node_process import Nodes, NodeUnderTest
from peer_scene import client, texts

from mnemesh.errors import InvalidArgument, NotFound
from mnemesh_crdt.changes.envelope import RETRACT


async def put_aside(hub: NodeUnderTest, name: str, token: str) -> None:
    """A peer brings four entries into quarantine, and two that stay pending."""
    far = Signer(name, agent=name)
    other = far.says("somebody else wrote this", by="zoe/cli")
    refused = [
        far.says("one space too far", space="home/x"),
        far.says("another space too far", space="home/y"),
        far.signs(other.doc, other.space, other.raw, agent="zoe/cli"),
        replace(far.says("a signature of noise"), signature=bytes(64)),
    ]
    begun = far.says("this never comes", space="team/y")
    waits = [far.adds(begun, "and this builds on it"), far.erases(RETRACT, begun.doc, "team/z")]
    await brings(hub.grpc, token, far, *refused, *waits)


async def command(node: NodeUnderTest, *words: str, status: int = 0) -> Any:
    """The answer of `mnemesh sync ...`."""
    ended = await MNEMESH.run("sync", *words, "--json", "--data", node.data_dir)
    assert ended.code == status, ended
    return ended.json


async def test_what_was_put_aside_is_paged_filtered_judged_again_and_discarded(nodes: Nodes, tmp_path: Path) -> None:
    hub = await nodes.start(tmp_path / "hub")
    async with client(hub) as there:
        tokens = {
            name: (await there.add_agent(name, role="writer", spaces=["team/*"])).token for name in ("eve", "bob")
        }
        for name, token in tokens.items():
            await put_aside(hub, name, token)

        # The newest first, a page at a time; or the oldest; of one peer, of one space.
        pages = [await there.quarantine(limit=3)]
        while pages[-1].cursor:
            pages.append(await there.quarantine(limit=3, cursor=pages[-1].cursor))
        newest = [one for page in pages for one in page.entries]
        assert [len(page.entries) for page in pages] == [3, 3, 2]
        assert {page.total for page in pages} == {8}
        assert [one.brought_by for one in newest] == ["bob"] * 4 + ["eve"] * 4
        oldest = (await there.quarantine(oldest_first=True)).entries
        assert list(oldest) == newest[::-1]
        homes = await there.quarantine(peer="eve", space="home/*")
        assert (homes.total, {one.space for one in homes.entries}) == (2, {"home/x", "home/y"})
        assert (await there.quarantine(peer="nobody")).entries == ()
        waiting = await there.pending(peer="eve", oldest_first=True)
        assert [(one.space, one.type, one.brought_by) for one in waiting.entries] == [
            ("team/y", "change", "eve"), ("team/z", RETRACT, "eve"),
        ]  # fmt: skip
        crossed = {"cursor": pages[0].cursor, "oldest_first": True}
        for bad in (crossed, {"cursor": "x"}, {"limit": 201}, {"space": "../x"}):
            with pytest.raises(InvalidArgument):
                await there.quarantine(**bad)

        # Judged again by what the peer may do now.
        assert (await there.retry_quarantine(everything=True, peer="eve")).accepted == 0
        assert await texts(hub, "home/x") == []
        await there.revoke_agent("eve")
        assert (await there.retry_quarantine(everything=True, peer="eve")).accepted == 0
        await there.add_agent("eve", role="writer", spaces=["team/*", "home/x"])
        again = await there.retry_quarantine(everything=True, peer="eve")
        assert (again.accepted, again.waiting, again.left) == (1, 0, 7)
        assert await texts(hub, "home/x") == ["one space too far"]

        # A person trusts some entries after a look. A forged entry stays out.
        ids = [one.id for one in (await there.quarantine(peer="bob")).entries]
        trusted = await there.retry_quarantine(ids, trust=True)
        assert (trusted.accepted, trusted.left) == (3, 4)
        assert await texts(hub, "home/y") == ["another space too far"]
        for bad in ({}, {"ids": ["1"], "everything": True}, {"ids": ["x"]}, {"ids": ["1"], "space": "team/x"}):
            with pytest.raises(InvalidArgument):
                await there.discard_quarantine(**bad)
        with pytest.raises(InvalidArgument, match="trust"):
            await there.retry_quarantine(everything=True, trust=True)

        (forged,) = (await there.quarantine(peer="bob")).entries
        assert "signature" in forged.reason
        assert (await there.discard_quarantine([forged.id, "999999"])).discarded == 1
        for absent in (there.discard_quarantine, there.discard_pending, there.retry_quarantine):
            with pytest.raises(NotFound, match=r"entry '999999' not found; sync (quarantine|pending) lists") as caught:
                await absent(["999999", "999998"])
            assert caught.value.field == "ids"
        assert (await there.discard_quarantine(everything=True, peer="eve", space="home/*")).discarded == 1
        assert (await there.discard_pending([waiting.entries[0].id])).discarded == 1
        assert (await there.pending(peer="eve")).total == 1


async def test_the_command_line_shows_and_decides_alike(nodes: Nodes, tmp_path: Path) -> None:
    hub = await nodes.start(tmp_path / "hub")
    async with client(hub) as there:
        await put_aside(hub, "eve", (await there.add_agent("eve", role="writer", spaces=["team/*"])).token)
    found = await command(hub, "quarantine", "--peer", "eve", "--limit", "3")
    assert (len(found["entries"]), found["total"], bool(found["cursor"])) == (3, 4, True)
    (last,) = (await command(hub, "quarantine", "--limit", "3", "--cursor", found["cursor"]))["entries"]
    assert last["space"] == "home/x"
    assert (await command(hub, "quarantine", "--retry", "--all"))["left"] == 4
    # Each was judged again, and so has another number.
    oldest = (await command(hub, "quarantine", "--oldest-first", "--space", "home/x"))["entries"]
    assert (await command(hub, "quarantine", "--retry", "--trust", oldest[0]["id"]))["accepted"] == 1
    assert await texts(hub, "home/x") == ["one space too far"]
    assert (await command(hub, "quarantine", "--discard", "--all", "--space", "home/*"))["discarded"] == 1
    assert (await command(hub, "pending"))["total"] == 2
    assert (await command(hub, "pending", "--discard", "--all"))["discarded"] == 2
    for wrong in ("--all", "1", "--retry", "--retry --discard 1", "--trust", "--discard --all 1"):
        await command(hub, "quarantine", *wrong.split(), status=2)
    await command(hub, "quarantine", "--discard", "999", status=4)
