"""Consolidation of nodes in processes of their own: after a kill, and of peers that share a space."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from node_process import Nodes, kill_node

import mnemesh

PATIENCE_S = 30.0
EPISODES = (
    "The nightly backup failed because the disk of the archive host was full.",
    "Nightly backup failed again: the disk of the archive host was full.",
    "The backup failed at night, because the archive host had a full disk.",
    "The nightly backup failed once more, because the disk of the archive host was full.",
)


async def until(holds: Callable[[], bool]) -> None:
    """Ask again until it holds; bounded. Each asking is a call of a node, so no pause is needed."""
    async with asyncio.timeout(PATIENCE_S):
        while not await asyncio.to_thread(holds):
            pass


def tell(client: mnemesh.Client, texts: Sequence[str], first: int = 0) -> list[str]:
    return [
        client.remember(text, kind="episode", force=True, source={"session": f"s{first + number}"}).memory.id
        for number, text in enumerate(texts)
    ]


def facts(client: mnemesh.Client) -> list[str]:
    return sorted(memory.id for memory in client.list(space="team").memories if memory.kind == "fact")


async def test_peers_that_consolidate_apart_end_with_one_fact_of_a_group(tmp_path: Path) -> None:
    nodes = Nodes()
    try:
        there, here = await nodes.start(tmp_path / "there"), await nodes.start(tmp_path / "here")
        with (
            mnemesh.Client(there.grpc, there.token, space="team") as far,
            mnemesh.Client(here.grpc, here.token, space="team") as near,
        ):
            token = far.add_agent("here", role="admin", spaces=["team"]).token
            near.add_peer(f"grpc://{there.grpc}", token=token, spaces=["team"], name="there")
            ids = tell(far, EPISODES[:3])
            near.sync_now("there", wait_s=PATIENCE_S)
            await until(lambda: len(near.list(space="team").memories) == len(ids))
            near.remove_peer("there")
            assert (far.consolidate(space="team").applied, near.consolidate(space="team").applied) == (1, 1)
            near.add_peer(f"grpc://{there.grpc}", token=token, spaces=["team"], name="there")
            near.sync_now("there", wait_s=PATIENCE_S)
            # The sources came from a peer here, and were written there: facts of two trust classes, of which one stays.
            assert len(facts(near)) == len(facts(far)) == 2
            near.consolidate(space="team")
            near.sync_now("there", wait_s=PATIENCE_S)
            await until(lambda: len(facts(far)) == 1 and facts(near) == facts(far))
            (fact,) = facts(near)
            assert not near.get(fact).conflicts
            assert (far.consolidate(space="team").applied, near.consolidate(space="team").applied) == (0, 0)
            # Groups that differ in a member meet: the next run of either side leaves one fact.
            near.remove_peer("there")
            other = "The weekly report was late because the mail server was down."
            again = "Because the mail server was down, the weekly report was late."
            tell(far, [other, again, other.replace("late", "late again")], 10)
            tell(near, [text.replace("late", "late today") for text in (other, again)], 20)
            tell(near, [other.replace("late", "late once more")], 30)
            assert (far.consolidate(space="team").applied, near.consolidate(space="team").applied) == (1, 1)
            near.add_peer(f"grpc://{there.grpc}", token=token, spaces=["team"], name="there")
            near.sync_now("there", wait_s=PATIENCE_S)
            assert len(facts(near)) == len(facts(far)) == 3
            assert {step.action for step in near.consolidate(space="team").steps} == {"merge", "extend"}
            far.consolidate(space="team")  # beside, or after: either way it comes to the same
            near.sync_now("there", wait_s=PATIENCE_S)
            await until(lambda: facts(near) == facts(far) and len(facts(near)) == 2)
            assert (far.consolidate(space="team").applied, near.consolidate(space="team").applied) == (0, 0)
    finally:
        await nodes.end()


async def test_a_node_that_was_killed_consolidates_on(tmp_path: Path) -> None:
    nodes = Nodes()
    try:
        node = await nodes.start(tmp_path)
        with mnemesh.Client(node.grpc, node.token, space="team") as client:
            tell(client, EPISODES[:3])
            run = client.consolidate(space="team").run
            await kill_node(node)
        node = await nodes.start(tmp_path)
        with mnemesh.Client(node.grpc, node.token, space="team") as client:
            assert client.consolidate(space="team").applied == 0
            assert [one.id for one in client.list_runs(space="team").runs] == [run]
            tell(client, EPISODES[3:], 5)
            (step,) = client.consolidate(space="team").steps
            assert (step.action, facts(client)) == ("extend", [step.id])
    finally:
        await nodes.end()
