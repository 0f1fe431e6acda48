"""The one path into the index: in the ledger's order, each write awaited by its number, and on again after any fault.

The ledger is the real one in a thread of its own; the shard is a shelf in memory that can die as a process does, and
the model makes vectors without meaning.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import numpy as np
import pytest
from ledger_builders import GENERATION, Home

from mnemesh_actors import follower as module
from mnemesh_actors.embedder import Embedder
from mnemesh_actors.follower import IndexFollower
from mnemesh_actors.ledger.actor import Ledger
from mnemesh_actors.ledger.commands import Command, Committed
from mnemesh_actors.runtime.local import LocalHandle
from mnemesh_actors.shard import IndexItem, ShardStatus
from mnemesh_memory.errors import DataLoss, DeadlineExceeded, InvalidArgument, MnemeshError, Unavailable
from mnemesh_memory.indexing import index_texts
from mnemesh_memory.model import Memory, Source

PATIENCE_S = 20.0
WIDTH = 3


class Model:
    """Stands where the embedding worker's handle stands."""

    name = "embedder-0"

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.faults: list[Exception] = []

    async def embed(self, texts: list[str]) -> np.ndarray[Any, Any]:
        if self.faults:
            raise self.faults.pop(0)
        self.texts += texts
        return np.stack([vector_of(text) for text in texts])


def vector_of(text: str) -> np.ndarray[Any, Any]:
    return np.asarray([len(text), sum(text.encode()), 1], dtype=np.float32)


class Shelf:
    """Stands where the shard's handle stands: keeps items, and after a death only what was flushed."""

    name = "shard-0"

    def __init__(self) -> None:
        self.items: dict[str, IndexItem] = {}
        self.seq = 0
        self.flushed: tuple[dict[str, IndexItem], int] = ({}, 0)
        self.pages: list[int] = []
        self.opened = 0
        self.alive = False
        self.rebuilt = ""
        self.faults: list[Exception] = []
        self.flush_faults: list[Exception] = []
        self.flushes = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def open(self) -> ShardStatus:
        self.alive = True
        self.opened += 1
        return ShardStatus(self.seq, len(self.items), self.rebuilt)

    async def apply(self, items: Sequence[IndexItem], removed: Sequence[str], seq: int, after: int = 0) -> None:
        assert removed == []
        await self.gate.wait()
        self._needs_life()
        if self.faults:
            raise self.faults.pop(0)
        if self.seq < after:
            raise Unavailable(f"holds {self.seq}, not {after}", part="index")
        assert [item.seq for item in items] == sorted(item.seq for item in items)
        self.items |= {item.id: item for item in items}
        self.seq = max(self.seq, seq)
        self.pages.append(seq)

    async def flush(self) -> int:
        self._needs_life()
        if self.flush_faults:
            raise self.flush_faults.pop(0)
        self.flushed = (dict(self.items), self.seq)
        self.flushes.set()
        return self.seq

    async def count(self) -> int:
        self._needs_life()
        return len(self.items)

    def die(self) -> None:
        """As a killed process that is started anew: closed, and without what was not flushed."""
        self.alive = False
        self.items, self.seq = dict(self.flushed[0]), self.flushed[1]

    def _needs_life(self) -> None:
        if not self.alive:
            raise Unavailable("the index is not open", part="index")


class Scene:
    """A ledger, a shelf, a model, and the follower between them."""

    def __init__(self, home: Home, ledger: LocalHandle) -> None:
        self.home = home
        self.ledger = ledger
        self.shelf = Shelf()
        self.model = Model()
        self.notices: list[str] = []
        self.follower = self.another_follower()

    def another_follower(self) -> IndexFollower:
        self.embedder = Embedder(_handle(self.model), GENERATION, WIDTH)
        return IndexFollower(_handle(self.ledger), _handle(self.shelf), self.embedder, self.notices.append)

    async def start(self) -> ShardStatus:
        status = await self.ledger.status()
        return await self.follower.start(status.seq)

    async def write(self, *commands: Command) -> Committed:
        """Commit, as a writer does, without telling the follower; the last outcome."""
        results: list[Committed | Exception] = await self.ledger.commit(commands)
        for result in results:
            if isinstance(result, Exception):
                raise result
        assert isinstance(results[-1], Committed)
        return results[-1]

    async def remember(self, content: str, **fields: Any) -> Memory:
        """Commit, publish and wait, as an acknowledged and indexed write does."""
        written = await self.write(self.home.pen.create(content, **fields))
        self.follower.publish(written.seq)
        await self.until_indexed(written.seq)
        return written.memory

    async def until_indexed(self, seq: int) -> None:
        await asyncio.wait_for(self.follower.wait_for(seq), PATIENCE_S)

    def shelved(self) -> list[str]:
        return [item.texts[0].lexical for item in self.shelf.items.values()]


def _handle(actor: Any) -> Any:
    return actor


async def until(condition: Callable[[], bool]) -> None:
    """Let the others run until `condition` holds; bounded."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110  what is waited for tells nobody
            await asyncio.sleep(0.001)


@pytest.fixture
async def scene(home: Home, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    monkeypatch.setattr(module, "RETRY_S", 0.0)
    monkeypatch.setattr(module, "FLUSH_S", 1000.0)
    ledger = LocalHandle("ledger-0")
    await ledger.construct(Ledger, str(home.file), str(home.directory.key_file), home.directory.node_id)
    made = Scene(home, ledger)
    yield made
    await made.follower.close()
    await ledger.shut()


# ---- order and waits ----------------------------------------------------------------------------------------------


async def test_what_was_written_before_the_start_is_taken_in(scene: Scene) -> None:
    last = await scene.write(*(scene.home.pen.create(str(number)) for number in range(5)))
    status = await scene.start()
    assert status.seq == 0
    await scene.until_indexed(last.seq)
    assert scene.shelved() == ["0", "1", "2", "3", "4"]
    assert (scene.follower.applied, scene.follower.lag, scene.follower.fault) == (5, 0, "")


async def test_a_write_is_awaited_until_recall_can_see_it(scene: Scene) -> None:
    await scene.start()
    scene.shelf.gate.clear()
    written = await scene.write(scene.home.pen.create("one"))
    scene.follower.publish(written.seq)
    waiting = asyncio.create_task(scene.follower.wait_for(written.seq))
    await until(lambda: scene.follower.lag == 1)
    done, _ = await asyncio.wait([waiting], timeout=0.02)
    assert not done
    assert scene.shelved() == []
    scene.shelf.gate.set()
    await asyncio.wait_for(waiting, PATIENCE_S)
    assert scene.shelved() == ["one"]


async def test_a_number_that_was_taken_in_is_not_waited_for(scene: Scene) -> None:
    await scene.start()
    await scene.remember("one")
    await scene.follower.wait_for(1)
    await scene.follower.wait_for(0)


async def test_each_waits_for_its_own_number_only(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE_ENTRIES_MAX", 1)
    scene.shelf.gate.clear()
    last = await scene.write(*(scene.home.pen.create(str(number)) for number in range(3)))
    await scene.start()
    order: list[int] = []

    async def wait(seq: int) -> None:
        await scene.follower.wait_for(seq)
        assert scene.shelf.seq >= seq
        order.append(seq)

    waits = [asyncio.create_task(wait(seq)) for seq in (3, 1, 2, 1)]
    await asyncio.sleep(0)
    assert order == []
    scene.shelf.gate.set()
    await asyncio.wait_for(asyncio.gather(*waits), PATIENCE_S)
    assert order == [1, 1, 2, 3]
    assert scene.shelf.pages == [1, 2, 3]
    assert last.seq == 3


async def test_the_index_follows_in_pages_of_bounded_size(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE_ENTRIES_MAX", 4)
    last = await scene.write(*(scene.home.pen.create(str(number)) for number in range(10)))
    await scene.start()
    await scene.until_indexed(last.seq)
    assert scene.shelf.pages == [4, 8, 10]


async def test_a_change_replaces_and_a_forgotten_memory_is_marked(scene: Scene) -> None:
    await scene.start()
    pen = scene.home.pen
    one, two = await scene.remember("one"), await scene.remember("two")
    last = await scene.write(pen.revise(one, content="one again"), pen.forget(two))
    scene.follower.publish(last.seq)
    await scene.until_indexed(last.seq)
    assert scene.shelved() == ["one again", "two"]
    assert [item.state for item in scene.shelf.items.values()] == ["active", "forgotten"]


async def test_an_item_carries_what_recall_filters_by(scene: Scene) -> None:
    await scene.start()
    memory = await scene.remember(
        "one", title="T", kind="decision", tags=("a", "b"), importance=0.5, paths=("p.py",), tier="pinned",
        source=Source("s1", "/d", 3), valid_from=5, valid_to=6, keywords=("k",),
    )  # fmt: skip
    (item,) = scene.shelf.items.values()
    ((dense, lexical),) = index_texts(memory)
    assert np.array_equal(item.texts[0].dense, vector_of(dense))
    assert item.texts[0].lexical == lexical
    assert (item.id, item.space, item.kind, item.tags, item.agent) == (
        memory.id, memory.space, "decision", ("a", "b"), memory.by,
    )  # fmt: skip
    assert (item.session, item.dir, item.paths, item.seq) == ("s1", "/d", ("p.py",), 1)
    assert (item.created_at, item.updated_at, item.valid_from, item.valid_to) == (
        memory.created_at, memory.updated_at, 5, 6,
    )  # fmt: skip
    assert (item.state, item.tier, item.importance) == ("active", "pinned", 0.5)


async def test_a_long_memory_has_a_text_for_each_of_its_parts(scene: Scene) -> None:
    await scene.start()
    memory = await scene.remember("".join(f"Sentence {number} says something. " for number in range(200)))
    (item,) = scene.shelf.items.values()
    assert [text.lexical for text in item.texts] == [lexical for _, lexical in index_texts(memory)]
    assert len(item.texts) > 2


# ---- what is published --------------------------------------------------------------------------------------------


async def test_an_older_number_published_late_changes_nothing(scene: Scene) -> None:
    await scene.start()
    await scene.remember("one")
    await scene.remember("two")
    scene.follower.publish(1)
    scene.follower.publish(0)
    assert (scene.follower.head, scene.follower.lag) == (2, 0)


async def test_a_commit_that_was_not_answered_is_found_by_looking(scene: Scene) -> None:
    await scene.start()
    await scene.write(scene.home.pen.create("one"))
    scene.follower.look()
    await until(lambda: scene.follower.applied == 1)
    assert scene.shelved() == ["one"]


async def test_what_was_written_meanwhile_is_taken_in_without_being_published(scene: Scene) -> None:
    await scene.start()
    scene.shelf.gate.clear()
    first = await scene.write(scene.home.pen.create("one"))
    scene.follower.publish(first.seq)
    await until(lambda: scene.follower.lag == 1)
    await scene.write(scene.home.pen.create("two"))
    third = await scene.write(scene.home.pen.create("three"))
    scene.follower.publish(third.seq)
    scene.shelf.gate.set()
    await scene.until_indexed(third.seq)
    assert scene.shelved() == ["one", "two", "three"]


# ---- vectors ------------------------------------------------------------------------------------------------------


async def test_what_is_cached_is_not_embedded_again_and_what_was_embedded_is_cached(scene: Scene) -> None:
    await scene.start()
    await scene.remember("one")
    await scene.remember("two")
    assert scene.model.texts == ["one", "two"]
    await scene.follower.close()
    scene.shelf, before = Shelf(), scene.shelf.items
    scene.follower = scene.another_follower()
    await scene.start()
    await scene.until_indexed(2)
    assert scene.model.texts == ["one", "two"], "a rebuild embeds nothing that is cached"
    for id_, item in scene.shelf.items.items():
        assert np.array_equal(item.texts[0].dense, before[id_].texts[0].dense)


async def test_two_memories_of_one_text_are_embedded_once(scene: Scene) -> None:
    pen = scene.home.pen
    last = await scene.write(pen.create("same"), pen.create("same", space="team/ops"))
    await scene.start()
    await scene.until_indexed(last.seq)
    assert scene.model.texts == ["same"]
    assert len(scene.shelf.items) == 2


# ---- faults -------------------------------------------------------------------------------------------------------


async def test_a_shard_that_died_is_opened_again_and_misses_nothing(scene: Scene) -> None:
    await scene.start()
    await scene.remember("one")
    await scene.shelf.flush()
    await scene.remember("two")
    scene.shelf.die()
    assert scene.shelved() == ["one"]
    await scene.remember("three")
    assert scene.shelved() == ["one", "two", "three"]
    assert scene.shelf.opened == 2
    assert scene.notices == ["index stalled: the index is not open"]
    assert scene.follower.fault == ""


@pytest.mark.parametrize(
    "fault", [Unavailable("busy", part="index"), DataLoss("torn"), InvalidArgument("item", 1, "another")], ids=repr
)
async def test_after_a_fault_the_same_entries_are_tried_again(scene: Scene, fault: MnemeshError) -> None:
    await scene.start()
    scene.shelf.faults = [fault, fault, fault]
    await scene.remember("one")
    assert scene.shelved() == ["one"]
    assert scene.notices == [f"index stalled: {fault.message}"], "told once, not at every try"
    assert scene.follower.fault == ""


async def test_a_model_that_is_away_for_a_while_holds_the_index_up_only_so_long(scene: Scene) -> None:
    await scene.start()
    scene.model.faults = [DataLoss("no vectors"), DataLoss("no vectors")]
    await scene.remember("one")
    assert scene.shelved() == ["one"]


async def test_a_ledger_that_is_away_for_a_while_holds_the_index_up_only_so_long(scene: Scene) -> None:
    await scene.start()
    feed, calls = scene.ledger.feed, 0

    async def sometimes(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise Unavailable("the ledger is starting", part="ledger")
        return await feed(*args)

    scene.ledger.__dict__["feed"] = sometimes
    await scene.remember("one")
    assert scene.shelved() == ["one"]
    assert calls >= 2


async def test_a_wait_that_runs_out_says_that_the_write_is_stored_and_why(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAIT_S", 0.02)
    await scene.start()
    scene.shelf.gate.clear()
    written = await scene.write(scene.home.pen.create("one"))
    scene.follower.publish(written.seq)
    with pytest.raises(DeadlineExceeded) as caught:
        await scene.follower.wait_for(written.seq)
    for part in ("stored", "0.02 s", "it is behind", "wait=durable"):
        assert part in caught.value.message
    scene.shelf.faults = [Unavailable("the disk is slow", part="index")] * 1000
    scene.shelf.gate.set()
    await until(lambda: scene.follower.fault != "")
    with pytest.raises(DeadlineExceeded, match="the disk is slow"):
        await scene.follower.wait_for(written.seq)
    scene.shelf.faults = []
    monkeypatch.setattr(module, "WAIT_S", PATIENCE_S)
    await scene.until_indexed(written.seq)
    assert scene.shelved() == ["one"]


async def test_those_who_gave_up_waiting_are_not_kept(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_S", 0.01)
    await scene.start()
    scene.shelf.gate.clear()
    written = await scene.write(scene.home.pen.create("one"))
    scene.follower.publish(written.seq)
    results = await asyncio.gather(*(scene.follower.wait_for(written.seq) for _ in range(50)), return_exceptions=True)
    assert {type(result) for result in results} == {DeadlineExceeded}
    gone = asyncio.create_task(scene.follower.wait_for(written.seq))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    assert scene.follower._waiting == []
    scene.shelf.gate.set()


async def test_a_bug_is_told_to_everyone_and_nobody_waits_for_nothing(scene: Scene) -> None:
    await scene.start()
    scene.shelf.gate.clear()
    scene.shelf.faults = [TypeError("a bug of ours")]
    written = await scene.write(scene.home.pen.create("one"))
    scene.follower.publish(written.seq)
    waiting = asyncio.create_task(scene.follower.wait_for(written.seq))
    await asyncio.sleep(0)
    scene.shelf.gate.set()
    for wait in (waiting, asyncio.create_task(scene.follower.wait_for(written.seq + 1))):
        with pytest.raises(Unavailable, match="stored, but not indexed"):
            await asyncio.wait_for(wait, PATIENCE_S)
    with pytest.raises(Unavailable, match="restart the node"):
        await asyncio.wait_for(scene.follower.wait_for(written.seq), PATIENCE_S)
    assert "a bug of ours" in scene.follower.fault
    assert [notice for notice in scene.notices if "a bug of ours" in notice]


async def test_a_bug_of_the_flush_is_told_and_does_not_hold_up_what_is_written(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_S", 0.0)
    await scene.start()
    scene.shelf.flush_faults = [TypeError("a bug of the flush")]
    await scene.remember("one")
    await until(lambda: "a bug of the flush" in scene.follower.fault)
    await scene.remember("two")
    assert scene.shelved() == ["one", "two"]


async def test_a_rebuilt_index_is_told_and_a_new_one_is_not(scene: Scene) -> None:
    scene.shelf.rebuilt = "absent"
    await scene.start()
    assert scene.notices == []
    await scene.follower.close()
    scene.shelf.rebuilt = "another model made it"
    scene.follower = scene.another_follower()
    await scene.start()
    assert scene.notices == ["index rebuilt from the ledger: another model made it"]


# ---- reading through the follower ---------------------------------------------------------------------------------


async def test_a_reader_opens_a_shard_that_died_and_its_entries_come_back(scene: Scene) -> None:
    await scene.start()
    await scene.remember("one")
    scene.shelf.die()
    assert await scene.follower.read(lambda shard: shard.count()) == 0
    await until(lambda: scene.follower.applied == 1)
    assert await scene.follower.read(lambda shard: shard.count()) == 1
    assert scene.shelved() == ["one"]


async def test_a_reader_is_told_when_opening_again_does_not_help(scene: Scene) -> None:
    await scene.start()
    asked = 0

    async def broken(_shard: Any) -> int:
        nonlocal asked
        asked += 1
        raise Unavailable("no use", part="index")

    with pytest.raises(Unavailable, match="no use"):
        await scene.follower.read(broken)
    assert asked == 2


async def test_a_wrong_question_is_not_asked_twice(scene: Scene) -> None:
    await scene.start()
    asked = 0

    async def wrong(_shard: Any) -> int:
        nonlocal asked
        asked += 1
        raise InvalidArgument("limit", 0, "1 to 200")

    with pytest.raises(InvalidArgument):
        await scene.follower.read(wrong)
    assert (asked, scene.shelf.opened) == (1, 1)


# ---- flushing and closing -----------------------------------------------------------------------------------------


async def test_what_was_taken_in_is_flushed_and_a_failed_flush_is_tried_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_S", 0.005)
    await scene.start()
    scene.shelf.flush_faults = [Unavailable("the disk is full", part="index")]
    await scene.remember("one")
    await asyncio.wait_for(scene.shelf.flushes.wait(), PATIENCE_S)
    assert scene.shelf.flushed[1] == 1


async def test_closing_tells_those_who_wait_that_their_write_is_stored(scene: Scene) -> None:
    await scene.start()
    scene.shelf.gate.clear()
    written = await scene.write(scene.home.pen.create("one"))
    scene.follower.publish(written.seq)
    waiting = asyncio.create_task(scene.follower.wait_for(written.seq))
    await asyncio.sleep(0)
    await asyncio.wait_for(scene.follower.close(), PATIENCE_S)
    for wait in (waiting, asyncio.create_task(scene.follower.wait_for(written.seq))):
        with pytest.raises(Unavailable, match="stored"):
            await asyncio.wait_for(wait, PATIENCE_S)
    scene.shelf.gate.set()
    scene.follower = scene.another_follower()
    await scene.start()
    await scene.until_indexed(written.seq)
    assert scene.shelved() == ["one"]
