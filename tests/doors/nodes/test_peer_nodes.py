"""Nodes in processes of their own: sleep, triggers and trust after a kill, and of peers that share a space."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from node_process import Nodes, kill_node
from told_texts import EPISODES

import mnemesh
from mnemesh.api.values import Link

PATIENCE_S = 30.0
AGAIN = "The nightly backup failed once more, because the disk of the archive host was full."


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


@asynccontextmanager
async def peers(nodes: Nodes, path: Path) -> AsyncIterator[tuple[mnemesh.Client, mnemesh.Client, Callable[[], object]]]:
    """Clients of two nodes, and the call by which the second node exchanges the space team with the first."""
    there, here = await nodes.start(path / "there"), await nodes.start(path / "here")
    with (
        mnemesh.Client(there.grpc, there.token, space="team") as far,
        mnemesh.Client(here.grpc, here.token, space="team") as near,
    ):
        token = far.add_agent("here", role="admin", spaces=["team"]).token

        def meet() -> None:
            near.add_peer(f"grpc://{there.grpc}", token=token, spaces=["team"], name="there")

        meet()
        yield far, near, meet


async def test_peers_that_consolidate_apart_end_with_one_fact_of_a_group(nodes: Nodes, tmp_path: Path) -> None:
    async with peers(nodes, tmp_path) as (far, near, meet):
        ids = tell(far, EPISODES)
        near.sync_now("there", wait_s=PATIENCE_S)
        await until(lambda: len(near.list(space="team").memories) == len(ids))
        near.remove_peer("there")
        assert (far.consolidate(space="team").applied, near.consolidate(space="team").applied) == (1, 1)
        meet()
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
        meet()
        near.sync_now("there", wait_s=PATIENCE_S)
        assert len(facts(near)) == len(facts(far)) == 3
        assert {step.action for step in near.consolidate(space="team").steps} == {"merge", "extend"}
        far.consolidate(space="team")  # beside, or after: either way it comes to the same
        near.sync_now("there", wait_s=PATIENCE_S)
        await until(lambda: facts(near) == facts(far) and len(facts(near)) == 2)
        assert (far.consolidate(space="team").applied, near.consolidate(space="team").applied) == (0, 0)


async def test_a_node_that_was_killed_consolidates_on(nodes: Nodes, tmp_path: Path) -> None:
    node = await nodes.start(tmp_path)
    with mnemesh.Client(node.grpc, node.token, space="team") as client:
        tell(client, EPISODES)
        run = client.consolidate(space="team").run
        await kill_node(node)
    node = await nodes.start(tmp_path)
    with mnemesh.Client(node.grpc, node.token, space="team") as client:
        assert client.consolidate(space="team").applied == 0
        assert [one.id for one in client.list_runs(space="team").runs] == [run]
        tell(client, [AGAIN], 5)
        (step,) = client.consolidate(space="team").steps
        assert (step.action, facts(client)) == ("extend", [step.id])


async def test_triggers_come_back_after_a_kill_and_a_fired_one_fires_at_most_once_more(
    nodes: Nodes, tmp_path: Path
) -> None:
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


async def test_a_trigger_of_a_peer_fires_here_and_its_firing_is_known_there(nodes: Nodes, tmp_path: Path) -> None:
    async with peers(nodes, tmp_path) as (far, near, _):
        id_ = far.create_trigger("keyword", "deploy", "Ask Ana.").trigger.id
        near.sync_now("there", wait_s=PATIENCE_S)
        await until(lambda: near.recall("deploy").triggered == (id_,))
        await until(lambda: far.list_triggers().triggers[0].fired)
        assert far.recall("deploy").triggered == ()


async def test_what_a_peer_brought_is_told_apart_and_so_is_what_is_derived_from_it(
    nodes: Nodes, tmp_path: Path
) -> None:
    async with peers(nodes, tmp_path) as (far, near, _):
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
