"""Triggers of a node that is killed: armed ones come back, and one that fired fires at most once more."""

from __future__ import annotations

from pathlib import Path

from node_process import Nodes, kill_node

import mnemesh


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
