"""The trust class of what a peer brought, and of what was made of it here."""

from __future__ import annotations

import asyncio
from pathlib import Path

from node_process import Nodes
from test_triggers_node import PATIENCE_S, until

import mnemesh
from mnemesh.api.values import Link


async def test_what_a_peer_brought_is_told_apart_and_so_is_what_is_derived_from_it(tmp_path: Path) -> None:
    nodes = Nodes()
    try:
        there, here = await nodes.start(tmp_path / "there"), await nodes.start(tmp_path / "here")
        with (
            mnemesh.Client(there.grpc, there.token, space="team") as far,
            mnemesh.Client(here.grpc, here.token, space="team") as near,
        ):
            token = far.add_agent("here", role="admin", spaces=["team"]).token
            near.add_peer(f"grpc://{there.grpc}", token=token, spaces=["team"], name="there")
            brought = far.remember("The kiln is fired on Monday.").memory.id
            near.sync_now("there", wait_s=PATIENCE_S)
            await until(lambda: bool(near.list(space="team").memories))
            links = [Link(type="derived-from", id=brought)]
            made = await asyncio.to_thread(lambda: near.remember("Mondays are warm.", links=links).memory.id)
            classes = {memory.id: memory.trust for memory in near.list(space="team").memories}
            assert classes == {brought: "peer", made: "peer"}
            assert near.list(space="team", trust=["own"]).memories == ()
            assert [hit.id for hit in near.recall("Monday", trust=["peer"], limit=1).results] in ([brought], [made])
            assert [memory.trust for memory in far.list(space="team", trust=["own"]).memories] == ["own"]
    finally:
        await nodes.end()
