"""The operation purge over a real ledger: the erased memories, the named remains, and the informed parties."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from follower_scene import Scene, played
from ledger_builders import AGENT, SPACE, START, Home
from peer_builders import EVERYTHING, ID, NOW, OTHER, Node

from mnemesh_actors.ledger.peers.erase import Erase, Gone
from mnemesh_actors.ledger.peers.exchange import Incoming
from mnemesh_actors.node_ports import MeshConfig, NodePorts
from mnemesh_actors.remember.bulk_removal import BulkForgetting
from mnemesh_actors.remember.purge import Purging
from mnemesh_actors.remember.writes import Writing
from mnemesh_actors.runtime.batch import Batcher
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_memory.values.errors import DeadlineExceeded, NotFound
from mnemesh_memory.values.model import Caller, ListQuery

CALLER = Caller(AGENT, "owner", default_space=SPACE)


@pytest.fixture
async def scene(home: Home) -> AsyncIterator[Scene]:
    async with played(home) as scene:
        await scene.start()
        yield scene


def parts_of(scene: Scene, ledger: Any = None) -> NodePorts:
    moments, chance = itertools.count(START), itertools.count()
    commits: Any = Batcher("ledger", scene.ledger.commit, 256, 256)
    return NodePorts(
        ledger=ledger or scene.ledger,
        serving=scene.serving(),
        commits=commits,
        clock=lambda: next(moments),
        entropy=lambda size: hashlib.sha512(str(next(chance)).encode()).digest()[:size],
        config=MeshConfig(),
    )


class Alone:
    """A ledger of two machines of which one is away."""

    name = "ledger-0"

    def __init__(self, scene: Scene, why: str) -> None:
        self._ledger = scene.ledger
        self._why = why

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        found: Callable[..., Awaitable[Any]] = getattr(self._ledger, method)
        return found

    async def erase(self, command: Erase) -> Gone:
        return replace(await self._ledger.erase(command), alone=self._why)


async def arrives(scene: Scene, node: Node, *entries: Entry) -> None:
    batch = Incoming(peer=node.id, origin=node.origin, grant=EVERYTHING, entries=entries, keys=node.keys)
    await scene.ledger.take_in(batch, NOW)


async def test_what_only_one_machine_has_erased_is_pending(scene: Scene) -> None:
    memory = await scene.remember("the text")
    purging = Purging(parts_of(scene, Alone(scene, "degraded: on one machine only, a; b")))
    gone = await purging.purge(CALLER, memory.id)
    assert gone.changes == 1
    assert gone.pending == ("other machines erase it once they are level again (degraded: on one machine only, a; b)",)


@pytest.mark.parametrize("fault", ["", "the disk is full; make room"])
async def test_an_index_that_is_behind_is_one_thing_that_is_pending_of_many_memories(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    for number in range(3):
        await scene.remember(f"the text {number}")

    async def behind(seq: int) -> None:
        monkeypatch.setattr(scene.follower, "fault", fault)
        raise DeadlineExceeded("stored, but not taken in; use wait=durable", part="index")

    monkeypatch.setattr(scene.follower, "wait_for", behind)
    parts = parts_of(scene)
    many = BulkForgetting(parts, Writing(parts), Purging(parts))
    done = await many.bulk_forget(CALLER, ListQuery(spaces=(SPACE,)), purge=True, dry_run=False)
    assert (len(done.ids), done.pending) == (3, (f"the index drops it later ({fault or 'it is behind'})",))


async def test_a_second_purge_answers_as_the_first_did_with_no_changes(scene: Scene) -> None:
    memory, purging = await scene.remember("the text"), Purging(parts_of(scene))
    first = await purging.purge(CALLER, memory.id)
    assert (first.changes, first.begun) == (1, memory.created_at)
    assert await purging.purge(CALLER, memory.id.upper()) == replace(first, changes=0, begun=0)
    with pytest.raises(NotFound):
        await purging.purge(CALLER, memory.id[:8])
    with pytest.raises(NotFound):
        await purging.purge(CALLER, OTHER)


@pytest.mark.parametrize("fate", ["waits", "was refused"])
async def test_what_only_waits_or_was_refused_is_purged_by_an_admin_of_its_space_and_is_not_there_for_others(
    scene: Scene, fate: str
) -> None:
    node, purging = Node(), Purging(parts_of(scene))
    node.says("not sent")
    late = node.says("the text")
    await arrives(scene, node, late if fate == "waits" else replace(late, signature=bytes(64)))
    backlog = await scene.ledger.backlog()
    assert (backlog.pending, backlog.quarantined) == ((1, 0) if fate == "waits" else (0, 1))
    for other in (
        Caller("ana/cli", "ana", "writer", default_space=SPACE, spaces=("*",)),
        Caller("ana/cli", "ana", "admin", default_space="home/x", spaces=("home/*",)),
    ):
        with pytest.raises(NotFound):
            await purging.purge(other, ID)
    assert await scene.ledger.backlog() == backlog
    gone = await purging.purge(CALLER, ID)
    assert (gone.id, gone.space, gone.changes, gone.begun) == (ID, SPACE, 0, 0)
    backlog = await scene.ledger.backlog()
    assert (backlog.pending, backlog.quarantined, backlog.erased) == (0, 0, 1)


async def test_who_may_not_read_a_space_does_not_learn_what_was_erased_there(scene: Scene) -> None:
    memory, purging = await scene.remember("the text"), Purging(parts_of(scene))
    stranger = Caller("ana/cli", "ana", "admin", default_space="home/x", spaces=("home/*",))
    told = []
    for _ in range(2):
        with pytest.raises(NotFound) as refused:
            await purging.purge(stranger, memory.id)
        told.append(refused.value.message)
        await purging.purge(CALLER, memory.id)
    assert told[0] == told[1]


async def test_an_erasure_of_a_peer_drops_the_texts_of_every_revision_from_the_models_cache(scene: Scene) -> None:
    node = Node()
    await arrives(scene, node, node.says("the text"), node.says("the text as it was edited"))
    await scene.embedder.embed(["the text", "the text as it was edited"])
    assert scene.embedder.knows("the text")
    await arrives(scene, node, node.erases())
    head = (await scene.ledger.status()).seq
    scene.follower.publish(head)
    await scene.until_indexed(head)
    assert not scene.embedder.knows("the text")
    assert not scene.embedder.knows("the text as it was edited")


async def test_a_purge_drops_the_texts_of_older_revisions_too(scene: Scene) -> None:
    memory, parts = await scene.remember("the text"), parts_of(scene)
    await scene.write(scene.home.pen.revise(memory, content="the text as it was edited"))
    await scene.embedder.embed(["the text"])
    await Purging(parts).purge(CALLER, memory.id)
    assert not scene.embedder.knows("the text")
