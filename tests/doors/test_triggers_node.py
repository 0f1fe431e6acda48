"""Triggers of nodes in processes of their own: after a kill, and on a peer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from node_process import Nodes, kill_node

import mnemesh

PATIENCE_S = 30.0


async def until(holds: Callable[[], bool]) -> None:
    """Ask again until it holds; bounded. Each asking is a call of a node, so no pause is needed."""
    async with asyncio.timeout(PATIENCE_S):
        while not await asyncio.to_thread(holds):
            pass


async def test_triggers_come_back_after_a_kill_and_a_fired_one_fires_at_most_once_more(tmp_path: Path) -> None:
    nodes = Nodes()
    try:
        node = await nodes.start(tmp_path)
        with mnemesh.Client(node.grpc, node.token, space="team") as client:
            once = client.create_trigger("keyword", "deploy", "Ask Ana.").trigger.id
            often = client.create_trigger("keyword", "deploy", "Read the plan.", repeating=True).trigger.id
            assert client.recall("deploy").triggered == (once, often)
            await kill_node(node)
        node = await nodes.start(tmp_path)
        with mnemesh.Client(node.grpc, node.token, space="team") as client:
            answers = [client.recall("deploy").triggered for _ in range(3)]
            assert all(often in answer for answer in answers)
            assert sum(once in answer for answer in answers) <= 1
    finally:
        await nodes.end()


async def test_a_trigger_of_a_peer_fires_here_and_its_firing_is_known_there(tmp_path: Path) -> None:
    nodes = Nodes()
    try:
        there, here = await nodes.start(tmp_path / "there"), await nodes.start(tmp_path / "here")
        with (
            mnemesh.Client(there.grpc, there.token, space="team") as far,
            mnemesh.Client(here.grpc, here.token, space="team") as near,
        ):
            token = far.add_agent("here", role="admin", spaces=["team"]).token
            near.add_peer(f"grpc://{there.grpc}", token=token, spaces=["team"], name="there")
            id_ = far.create_trigger("keyword", "deploy", "Ask Ana.").trigger.id
            near.sync_now("there", wait_s=PATIENCE_S)
            await until(lambda: near.recall("deploy").triggered == (id_,))
            await until(lambda: far.list_triggers().triggers[0].fired)
            assert far.recall("deploy").triggered == ()
    finally:
        await nodes.end()
