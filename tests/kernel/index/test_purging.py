"""Purges, and the neighbours of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import noted
from follower_scene import Scene
from ledger_builders import AGENT, SPACE
from peer_builders import EVERYTHING, ID, NOW, OTHER, Node
from plain_memories import memory_id, plain_memory

from mnemesh_actors.index import neighbours
from mnemesh_actors.index.shard import IndexItem, IndexText, RetrievalShard, ShardConfig
from mnemesh_actors.ledger.peers.erase import Erase, Gone
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.recall.hygiene_report import Hygiene
from mnemesh_actors.remember.drafts import Siblings
from mnemesh_actors.remember.removal import Removing
from mnemesh_actors.remember.writes import Writing
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_memory.policy.judge import guard
from mnemesh_memory.values.errors import DeadlineExceeded, NotFound
from mnemesh_memory.values.model import Caller, ListQuery, Memory

CALLER = Caller(AGENT, "owner", default_space=SPACE)


def removing(parts: NodePorts) -> Removing:
    return Removing(parts, Writing(parts), Hygiene(parts).hygiene)


async def arrives(scene: Scene, node: Node, *entries: Entry) -> None:
    batch = IncomingEntries(peer=node.id, origin=node.origin, grant=EVERYTHING, entries=entries, keys=node.keys)
    await scene.ledger.take_in(batch, NOW)


async def test_what_only_one_machine_has_erased_is_pending(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, usual = await scene.remember("the text"), scene.ledger.erase

    async def alone(command: Erase) -> Gone:
        return replace(await usual(command), alone="degraded: on one machine only, a; b")

    monkeypatch.setitem(vars(scene.ledger), "erase", alone)
    gone = await removing(scene.parts()).purge(CALLER, memory.id)
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
    parts = scene.parts()
    many = removing(parts)
    done = await many.bulk_forget(CALLER, ListQuery(spaces=(SPACE,)), purge=True, dry_run=False)
    assert (len(done.ids), done.pending) == (3, (f"the index drops it later ({fault or 'it is behind'})",))


async def test_a_second_purge_answers_as_the_first_did_with_no_changes(scene: Scene) -> None:
    memory, purging = await scene.remember("the text"), removing(scene.parts())
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
    node, purging = Node(), removing(scene.parts())
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
    memory, purging = await scene.remember("the text"), removing(scene.parts())
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
    for question in ("the text", "the text as it was edited"):
        await scene.embedder.embed_one(question)
        assert scene.embedder.knows(question)
    await arrives(scene, node, node.erases())
    head = (await scene.ledger.status()).seq
    scene.follower.publish(head)
    await scene.until_indexed(head)
    assert not scene.embedder.knows("the text")
    assert not scene.embedder.knows("the text as it was edited")


async def test_a_purge_drops_the_texts_of_older_revisions_too(scene: Scene) -> None:
    memory, parts = await scene.remember("the text"), scene.parts()
    await scene.write(scene.home.pen.revise(memory, content="the text as it was edited"))
    await scene.embedder.embed_one("the text")
    assert scene.embedder.knows("the text")
    await removing(parts).purge(CALLER, memory.id)
    assert not scene.embedder.knows("the text")


# ---- bulk neighbours -------------------------------------------------------------------------------------------------
# An import is compared with the index and with itself, at a price independent of its size.


DIMENSIONS = 384
BULK_SPACE, BULK_OTHER = "team/x", "team/y"
MANY = 200
TEXTS = 32
GENERATION = "model-1"


def direction(n: int) -> np.ndarray:
    vector = np.random.default_rng(n).normal(size=DIMENSIONS).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def beside(n: int) -> np.ndarray:
    """A vector with a cosine of some .95 to that of memory n."""
    vector = direction(n) + 0.3 * direction(10_000 + n)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def item(n: int, space: str = BULK_SPACE, state: str = "active") -> IndexItem:
    texts = (IndexText(direction(n), f"note {n}"),)
    return IndexItem(id=memory_id(n), space=space, kind="fact", created_at=n, updated_at=n, state=state, texts=texts)


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[RetrievalShard]:
    one = RetrievalShard(ShardConfig(str(tmp_path / "shard"), GENERATION, DIMENSIONS, "life-1"))
    one.open()
    items = [item(n) for n in range(MANY)]
    items[7] = item(7, state="forgotten")
    one.apply([*items, *(item(n, BULK_OTHER) for n in range(MANY, MANY + 20))], [], 1)
    yield one
    one.close()


@pytest.fixture
def asked(shard: RetrievalShard, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls of the index, one by one."""
    return noted(monkeypatch, shard._backend, "query")


def batch(space: str = BULK_SPACE) -> list[tuple[np.ndarray, str]]:
    return [(beside(n), space) for n in range(TEXTS)]


def test_a_small_index_is_searched_for_each_text(shard: RetrievalShard, asked: list[Any]) -> None:
    found = shard.neighbours_batch(batch(), 3, GENERATION)
    assert [len(requests) for (requests,) in asked] == [TEXTS]
    assert [near[0][0] == memory_id(n) for n, near in enumerate(found)] == [n != 7 for n in range(TEXTS)]


def test_a_large_one_is_asked_once_for_groups_of_texts(
    shard: RetrievalShard, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "EACH_POINTS_MAX", 100)
    texts = [*batch(), *((beside(n), BULK_OTHER) for n in range(MANY, MANY + 16)), (direction(1), "nothing in it")]
    found = shard.neighbours_batch(texts, 3, GENERATION)
    assert [len(requests) for (requests,) in asked] == [2 + 1 + 1], "a group of 16 texts each"
    # The mean of a batch is near the neighbours of its texts, so nearly all of them are in the pool.
    assert sum(bool(near) and near[0][0] == memory_id(n) for n, near in enumerate(found[:TEXTS])) >= 0.95 * (TEXTS - 1)
    assert memory_id(7) not in {id_ for near in found for id_, _ in near}, "it is forgotten"
    assert {id_ for near in found[TEXTS:-1] for id_, _ in near} <= {memory_id(n) for n in range(MANY, MANY + 20)}
    assert found[-1] == []
    for (vector, _), near in zip(texts, found, strict=True):
        assert [cosine for _, cosine in near] == sorted((cosine for _, cosine in near), reverse=True)
        for id_, cosine in near:
            (n,) = (n for n in range(MANY + 20) if memory_id(n) == id_)
            assert cosine == pytest.approx(float(vector @ direction(n)), abs=1e-4)


def test_a_few_texts_are_searched_for_each_in_a_large_one_too(
    shard: RetrievalShard, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "EACH_POINTS_MAX", 100)
    few = batch()[:5]
    found = shard.neighbours_batch(few, 3, GENERATION)
    assert [len(requests) for (requests,) in asked] == [5]
    assert [near[0][0] for near in found] == [memory_id(n) for n in range(5)]


def written(n: int, space: str = BULK_SPACE) -> Memory:
    return plain_memory(memory_id(n), f"Note {n} of the batch.", n, space=space)


def test_each_memory_of_a_batch_hears_of_those_before_it_that_are_near() -> None:
    siblings = Siblings()
    assert siblings.of([(written(1), direction(1))]) == {}
    near = siblings.of([(written(2), beside(1)), (written(3, BULK_OTHER), beside(1)), (written(4), direction(1))])
    assert {id_: [one.id for one in found] for id_, found in near.items() if found} == {
        memory_id(2): [memory_id(1)],
        memory_id(4): [memory_id(1), memory_id(2)],
    }
    assert near[memory_id(4)][0].similarity == pytest.approx(1.0, abs=1e-5)
    assert near[memory_id(4)][1].similarity == pytest.approx(float(direction(1) @ beside(1)), abs=1e-5)
    assert near[memory_id(2)][0].snippet == "Note 1 of the batch."
    assert siblings.of([]) == {}


def test_no_more_of_them_are_named_than_of_the_index() -> None:
    near = Siblings().of([(written(n), direction(1)) for n in range(20)])
    assert len(near[memory_id(19)]) == guard.RELATED_MAX
