"""The one path into the index: in the ledger's order, each write awaited by its number."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from doubles import noted
from follower_scene import PATIENCE_S, WIDTH, Scene, ShardDouble, until, vector_of
from ledger_builders import GENERATION
from structlog.testing import capture_logs

from mnemesh_actors.consumers import feed_loop, handover
from mnemesh_actors.consumers import follower as module
from mnemesh_actors.consumers.handover import page_of
from mnemesh_actors.ledger.commands import Command, Committed, FeedPage, KeptVectors
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.values.errors import Unavailable
from mnemesh_memory.values.model import Source

# ---- order and waits ------------------------------------------------------------------------------------------------


async def test_a_write_is_awaited_until_recall_can_see_it(scene: Scene) -> None:
    scene.shard.gate.clear()
    written = await scene.published("one")
    waiting = asyncio.create_task(scene.follower.wait_for(written))
    await until(lambda: scene.follower.lag == 1)
    done, _ = await asyncio.wait([waiting], timeout=0.02)
    assert not done
    assert scene.shelved() == []
    scene.shard.gate.set()
    await asyncio.wait_for(waiting, PATIENCE_S)
    assert scene.shelved() == ["one"]


async def test_a_number_that_was_taken_in_is_not_waited_for(scene: Scene) -> None:
    await scene.remember("one")
    await scene.follower.close()
    await scene.follower.wait_for(1)
    await scene.follower.wait_for(0)


async def test_each_waits_for_its_own_number_only(idle: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    idle.follower._page_entries = 1
    idle.shard.gate.clear()
    last = await idle.write(*(idle.home.pen.create(str(number)) for number in range(3)))
    await idle.start()
    order: list[int] = []

    async def wait(seq: int) -> None:
        await idle.follower.wait_for(seq)
        assert idle.shard.seq >= seq
        order.append(seq)

    waits = [asyncio.create_task(wait(seq)) for seq in (3, 1, 2, 1)]
    await asyncio.sleep(0)
    assert order == []
    idle.shard.gate.set()
    await asyncio.wait_for(asyncio.gather(*waits), PATIENCE_S)
    assert order == [1, 1, 2, 3]
    assert idle.shard.pages == [1, 2, 3]
    assert last.seq == 3


async def test_a_follower_without_news_asks_for_nothing(idle: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = noted(monkeypatch, idle.ledger, "feed")
    await idle.start()
    await idle.remember("one")
    for _ in range(50):
        await idle.ledger.status()
    assert len(calls) <= 4


async def test_one_who_gives_up_does_not_hold_up_those_who_wait(scene: Scene) -> None:
    waits = [asyncio.create_task(scene.follower.wait_for(seq)) for seq in (1, 3, 2)]
    await asyncio.sleep(0)
    waits[0].cancel()
    await asyncio.gather(waits[0], return_exceptions=True)
    last = await scene.write(scene.home.pen.create("one"), scene.home.pen.create("two"))
    scene.follower.publish(last.seq)
    await asyncio.wait_for(waits[2], PATIENCE_S)
    assert not waits[1].done()
    scene.follower.publish((await scene.write(scene.home.pen.create("three"))).seq)
    await asyncio.wait_for(waits[1], PATIENCE_S)


async def test_a_change_replaces_and_a_forgotten_memory_is_marked(scene: Scene) -> None:
    pen = scene.home.pen
    one, two = await scene.remember("one"), await scene.remember("two")
    last = await scene.write(pen.revise(one, content="one again"), pen.forget(two))
    scene.follower.publish(last.seq)
    await scene.until_indexed(last.seq)
    assert scene.shelved() == ["one again", "two"]
    assert [item.state for item in scene.shard.items.values()] == ["active", "forgotten"]


async def test_an_item_carries_what_recall_filters_by(scene: Scene) -> None:
    memory = await scene.remember(
        "one", title="T", kind="decision", tags=("a", "b"), tier="pinned", source=Source("s1", "/d", 3),
        valid_from=5, valid_to=6, keywords=("k",),
    )  # fmt: skip
    (item,) = scene.shard.items.values()
    ((dense, lexical),) = index_texts(memory)
    assert np.array_equal(item.texts[0].dense, vector_of(dense))
    assert item.texts[0].lexical == lexical
    assert (item.id, item.space, item.kind, item.tags, item.agent) == (
        memory.id, memory.space, "decision", ("a", "b"), memory.by,
    )  # fmt: skip
    assert (item.session, item.place, item.seq) == ("s1", 3, 1)
    assert (item.created_at, item.updated_at, item.valid_from, item.valid_to) == (
        memory.created_at, memory.updated_at, 5, 6,
    )  # fmt: skip
    assert (item.state, item.tier) == ("active", "pinned")


async def test_a_long_memory_has_a_text_for_each_of_its_parts(scene: Scene) -> None:
    memory = await scene.remember("".join(f"Sentence {number} says something. " for number in range(200)))
    (item,) = scene.shard.items.values()
    assert [text.lexical for text in item.texts] == [lexical for _, lexical in index_texts(memory)]
    assert len(item.texts) > 2


# ---- what is published ----------------------------------------------------------------------------------------------


async def test_an_older_number_published_late_changes_nothing(scene: Scene) -> None:
    await scene.remember("one")
    await scene.remember("two")
    scene.follower.publish(1)
    scene.follower.publish(0)
    assert (scene.follower.head, scene.follower.lag) == (2, 0)


async def test_a_commit_that_was_not_answered_is_found_by_looking(scene: Scene) -> None:
    await scene.write(scene.home.pen.create("one"))
    scene.follower.look()
    await until(lambda: scene.follower.applied == 1)
    assert scene.shelved() == ["one"]


# ---- vectors --------------------------------------------------------------------------------------------------------


async def test_what_is_cached_is_not_embedded_again_and_what_was_embedded_is_cached(scene: Scene) -> None:
    await scene.remember("one")
    await scene.remember("two")
    assert scene.model.texts == ["one", "two"]
    await scene.follower.close()
    scene.shard, before = ShardDouble(), scene.shard.items
    scene.follower = scene.another_follower()
    await scene.start()
    await scene.until_indexed(2)
    assert scene.model.texts == ["one", "two"], "a rebuild embeds nothing that is cached"
    for id_, item in scene.shard.items.items():
        assert np.array_equal(item.texts[0].dense, before[id_].texts[0].dense)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(bytes(WIDTH * 4 - 1), id="short"),
        pytest.param(bytes(WIDTH * 4), id="zero"),
        pytest.param(b"\xff" * WIDTH * 4, id="nan"),
        pytest.param(b"\x7f\x7f\x7f\x7f" * WIDTH, id="huge"),
        pytest.param(b"\x40" * WIDTH * 4, id="long"),
    ],
)
async def test_a_cached_vector_that_was_damaged_is_embedded_again_and_kept(scene: Scene, damage: bytes) -> None:
    for text in ("one", "two", "three"):
        await scene.remember(text)
    sound = {item.id: item.texts[0].dense for item in scene.shard.items.values()}
    with closing(sqlite3.connect(scene.home.file)) as db, db:
        db.execute("UPDATE vector SET data = ? WHERE hash = ?", (damage, bytes.fromhex(content_hash("two"))))
    with capture_logs() as lines:
        for _ in range(2):
            await scene.follower.close()
            scene.shard = ShardDouble()
            scene.follower = scene.another_follower()
            await scene.start()
            await scene.until_indexed(3)
            assert scene.follower.fault == ""
            assert scene.shard.items.keys() == sound.keys()
            for id_, item in scene.shard.items.items():
                assert np.array_equal(item.texts[0].dense, sound[id_])
    assert scene.model.texts == ["one", "two", "three", "two"], "the next rebuild finds it sound"
    told = [line["damaged"] for line in lines if line["event"] == "cached_vectors_damaged"]
    assert told == [1]


async def test_two_memories_of_one_text_are_embedded_once(idle: Scene) -> None:
    pen = idle.home.pen
    last = await idle.write(pen.create("same"), pen.create("same", space="team/ops"))
    await idle.start()
    await idle.until_indexed(last.seq)
    assert idle.model.texts == ["same"]
    assert len(idle.shard.items) == 2


# ---- flushing and closing -------------------------------------------------------------------------------------------


async def test_what_was_taken_in_is_flushed_and_a_failed_flush_is_tried_again(
    idle: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_S", 0.005)
    await idle.start()
    idle.shard.flush_faults = [Unavailable("the disk is full", part="index")]
    await idle.remember("one")
    await asyncio.wait_for(idle.shard.flushes.wait(), PATIENCE_S)
    assert idle.shard.flushed[1] == 1


async def test_closing_tells_those_who_wait_that_their_write_is_stored(scene: Scene) -> None:
    scene.shard.gate.clear()
    written = await scene.published("one")
    waiting = asyncio.create_task(scene.follower.wait_for(written))
    await asyncio.sleep(0)
    await asyncio.wait_for(scene.follower.close(), PATIENCE_S)
    for wait in (waiting, asyncio.create_task(scene.follower.wait_for(written))):
        with pytest.raises(Unavailable, match="stored"):
            await asyncio.wait_for(wait, PATIENCE_S)
    scene.shard.gate.set()
    scene.follower = scene.another_follower()
    await scene.start()
    await scene.until_indexed(written)
    assert scene.shelved() == ["one"]


async def test_it_is_catching_up_until_it_holds_what_the_ledger_held_when_it_was_opened(idle: Scene) -> None:
    last = await idle.write(*(idle.home.pen.create(str(number)) for number in range(3)))
    idle.shard.gate.clear()
    await idle.start()
    assert (idle.follower.catching_up, idle.follower.gaps) == (True, 1)
    idle.shard.gate.set()
    await idle.until_indexed(last.seq)
    assert not idle.follower.catching_up
    idle.shard.gate.clear()
    idle.follower.publish((await idle.write(idle.home.pen.create("later"))).seq)
    assert (idle.follower.catching_up, idle.follower.gaps) == (False, 1), "a usual lag is none"
    idle.shard.gate.set()


async def test_an_unknown_number_is_asked_for_at_leisure(idle: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_loop, "RETRY_S", 1000.0)
    await idle.start()
    await idle.remember("one")
    asked = noted(monkeypatch, idle.ledger, "feed")
    idle.follower.publish(5)
    await until(lambda: bool(asked))
    for _ in range(50):
        await asyncio.sleep(0.001)
    assert len(asked) == 1
    written = await idle.write(idle.home.pen.create("two"))
    idle.follower.look()
    await idle.until_indexed(written.seq)


# ---- handed over ----------------------------------------------------------------------------------------------------


def with_vectors(*texts: str) -> KeptVectors:
    return KeptVectors(
        generation=GENERATION, items=tuple((content_hash(text), vector_of(text).tobytes()) for text in texts)
    )


async def commit(scene: Scene, *commands: Command) -> FeedPage | None:
    """Commit and publish, as the node does, with all that the commit knows; what was handed over."""
    results: list[Committed | Exception] = await scene.ledger.commit(commands)
    page = page_of(commands, results, scene.follower.head, GENERATION)
    scene.follower.publish(max(one.seq for one in results if isinstance(one, Committed)), page)
    return page


@pytest.fixture
def asked(idle: Scene, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The questions to the ledger's feed."""
    return noted(monkeypatch, idle.ledger, "feed")


async def test_new_memories_come_with_their_commit_without_another_question(
    idle: Scene, asked: list[tuple[Any, ...]]
) -> None:
    await idle.start()
    await until(lambda: bool(asked))
    asked.clear()
    for number in range(3):
        texts = [f"{number} one", f"{number} two"]
        await commit(idle, *(idle.home.pen.create(text, vectors=with_vectors(text)) for text in texts))
    await idle.until_indexed(6)
    assert idle.shelved() == ["0 one", "0 two", "1 one", "1 two", "2 one", "2 two"]
    assert asked == []
    assert idle.model.texts == []


async def test_what_is_handed_over_is_what_the_feed_says(scene: Scene) -> None:
    pen = scene.home.pen
    page = await commit(scene, *(pen.create(text, tags=("t",), vectors=with_vectors(text)) for text in ("a", "b")))
    assert page == await scene.ledger.feed(0, 256, GENERATION)
    doubled = await commit(scene, pen.create("a"), pen.create("c", vectors=with_vectors("c")))
    assert doubled == await scene.ledger.feed(2, 256, GENERATION)


async def test_a_commit_that_is_more_than_new_memories_is_read_from_the_feed(
    scene: Scene, asked: list[tuple[Any, ...]]
) -> None:
    first = await scene.remember("first")
    pen = scene.home.pen
    asked.clear()
    assert await commit(scene, pen.create("second", supersedes=(first.id,), vectors=with_vectors("second"))) is None
    await scene.until_indexed(scene.follower.head)
    assert await commit(scene, pen.create("third", vectors=with_vectors("third")), pen.forget(first)) is None
    await scene.until_indexed(scene.follower.head)
    assert len(asked) == 2
    assert sorted(item.state for item in scene.shard.items.values()) == ["active", "active", "forgotten"]


async def test_what_does_not_follow_on_what_is_there_is_read_from_the_feed(idle: Scene) -> None:
    await idle.write(idle.home.pen.create("unseen"))
    assert await commit(idle, idle.home.pen.create("seen", vectors=with_vectors("seen"))) is None
    await idle.start()
    await idle.until_indexed(2)
    assert idle.shelved() == ["unseen", "seen"]


async def test_of_a_shard_that_lost_what_was_handed_over_the_feed_fills_the_gap(scene: Scene) -> None:
    await commit(scene, scene.home.pen.create("one", vectors=with_vectors("one")))
    await scene.until_indexed(1)
    scene.shard.die()
    await commit(scene, scene.home.pen.create("two", vectors=with_vectors("two")))
    await scene.until_indexed(2)
    assert scene.shelved() == ["one", "two"]


async def test_what_waits_for_a_stalled_index_is_bounded_and_nothing_is_lost(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.follower._page_entries = 3
    scene.shard.gate.clear()
    texts = [str(number) for number in range(10)]
    for text in texts:
        await commit(scene, scene.home.pen.create(text, vectors=with_vectors(text)))
        await asyncio.sleep(0)
    assert len(list(scene.follower._handed)) <= 3
    scene.shard.gate.set()
    await scene.until_indexed(10)
    assert scene.shelved() == texts


async def test_handed_over_pages_stay_within_the_bytes_of_one(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "FEED_BYTES_MAX", 100)
    scene.shard.gate.clear()
    for text in ("a" * 30, "b" * 30, "c" * 30):
        await commit(scene, scene.home.pen.create(text, vectors=with_vectors(text)))
    assert sum(len(memory.content) for page in scene.follower._handed for _, memory in page.memories) <= 100
    scene.shard.gate.set()
    await scene.until_indexed(3)
    assert [text[0] for text in scene.shelved()] == ["a", "b", "c"]


# ---- what is gone ---------------------------------------------------------------------------------------------------


async def test_what_is_erased_leaves_the_index_and_a_handed_over_page_does_not_bring_it_back(scene: Scene) -> None:
    pen = scene.home.pen
    one, _ = await scene.remember("one"), await scene.remember("two")
    command = pen.create("three")
    (result,) = await scene.ledger.commit([command])
    handed = page_of([command], [result], scene.follower.head, GENERATION)
    for id_ in (one.id, result.memory.id):
        gone = await scene.ledger.erase(pen.erase(id_, as_admin=True))
    scene.follower.publish(result.seq, handed)
    scene.follower.publish(gone.seq)
    await scene.until_indexed(gone.seq)
    assert scene.shelved() == ["two"]
