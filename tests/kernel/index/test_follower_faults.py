"""The path into the index after a fault: on again where it stopped, and nobody waits for nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from follower_scene import PATIENCE_S, Scene, until

from mnemesh_actors.consumers import follower as module
from mnemesh_actors.consumers import index_presence
from mnemesh_memory.values.errors import DataLoss, DeadlineExceeded, InvalidArgument, MnemeshError, Unavailable

# ---- faults ---------------------------------------------------------------------------------------------------------


async def test_a_shard_that_died_is_opened_again_and_misses_nothing(scene: Scene) -> None:
    await scene.remember("one")
    await scene.shard.flush()
    await scene.remember("two")
    scene.shard.die()
    assert scene.shelved() == ["one"]
    await scene.remember("three")
    assert scene.shelved() == ["one", "two", "three"]
    assert scene.shard.opened == 2
    assert scene.notices == ["index stalled: the index is not open"]
    assert scene.follower.fault == ""


@pytest.mark.parametrize(
    "fault", [Unavailable("busy", part="index"), DataLoss("torn"), InvalidArgument("item", 1, "another")], ids=repr
)
async def test_after_a_fault_the_same_entries_are_tried_again(scene: Scene, fault: MnemeshError) -> None:
    scene.shard.faults = [fault, fault, fault]
    await scene.remember("one")
    assert scene.shelved() == ["one"]
    assert scene.notices == [f"index stalled: {fault.message}"], "told once, not at every try"
    assert scene.follower.fault == ""


async def test_a_ledger_that_is_away_for_a_while_holds_the_index_up_only_so_long(scene: Scene) -> None:
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


async def test_a_wait_that_runs_out_says_that_the_write_is_stored_and_why(scene: Scene) -> None:
    scene.follower._wait_s = 0.02
    scene.shard.gate.clear()
    written = await scene.published("one")
    with pytest.raises(DeadlineExceeded) as caught:
        await scene.follower.wait_for(written)
    for part in ("stored", "0.02 s", "it is behind", "wait=durable"):
        assert part in caught.value.message
    scene.shard.faults = [Unavailable("the disk is slow", part="index")] * 1000
    scene.shard.gate.set()
    await until(lambda: scene.follower.fault != "")
    with pytest.raises(DeadlineExceeded, match="the disk is slow"):
        await scene.follower.wait_for(written)
    scene.shard.faults = []
    scene.follower._wait_s = PATIENCE_S
    await scene.until_indexed(written)
    assert scene.shelved() == ["one"]


async def test_those_who_gave_up_waiting_are_not_kept(scene: Scene) -> None:
    scene.follower._wait_s = 0.01
    scene.shard.gate.clear()
    written = await scene.published("one")
    results = await asyncio.gather(*(scene.follower.wait_for(written) for _ in range(50)), return_exceptions=True)
    assert {type(result) for result in results} == {DeadlineExceeded}
    gone = asyncio.create_task(scene.follower.wait_for(written))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    assert len(scene.follower._waiting) == 0
    scene.shard.gate.set()


async def test_a_bug_is_told_to_everyone_and_nobody_waits_for_nothing(scene: Scene) -> None:
    scene.shard.gate.clear()
    scene.shard.faults = [TypeError("a bug of ours")]
    written = await scene.published("one")
    waiting = asyncio.create_task(scene.follower.wait_for(written))
    await asyncio.sleep(0)
    scene.shard.gate.set()
    for wait in (waiting, asyncio.create_task(scene.follower.wait_for(written + 1))):
        with pytest.raises(Unavailable, match="stored, but not indexed"):
            await asyncio.wait_for(wait, PATIENCE_S)
    with pytest.raises(Unavailable, match="restart the node"):
        await asyncio.wait_for(scene.follower.wait_for(written), PATIENCE_S)
    assert "a bug of ours" in scene.follower.fault
    assert [notice for notice in scene.notices if "a bug of ours" in notice]


async def test_a_bug_of_the_flush_is_told_and_holds_up_no_write(idle: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FLUSH_S", 0.0)
    await idle.start()
    idle.shard.flush_faults = [TypeError("a bug of the flush")]
    await idle.remember("one")
    await until(lambda: "a bug of the flush" in idle.follower.fault)
    await idle.remember("two")
    assert idle.shelved() == ["one", "two"]


async def test_a_rebuilt_index_is_told_and_a_new_one_is_not(idle: Scene) -> None:
    idle.shard.rebuilt = "absent"
    await idle.start()
    assert idle.notices == []
    await idle.follower.close()
    idle.shard.rebuilt = "another model made it"
    idle.follower = idle.another_follower()
    await idle.start()
    assert idle.notices == ["index rebuilt from the ledger: another model made it"]


# ---- reading through the follower -----------------------------------------------------------------------------------


async def test_a_reader_opens_a_shard_that_died_and_its_entries_come_back(scene: Scene) -> None:
    await scene.remember("one")
    scene.shard.die()
    assert await scene.follower.read(lambda shard: shard.count()) == 0
    await until(lambda: scene.follower.applied == 1)
    assert await scene.follower.read(lambda shard: shard.count()) == 1
    assert scene.shelved() == ["one"]


async def test_a_reader_is_told_when_opening_again_does_not_help(scene: Scene) -> None:
    asked: list[Any] = []

    async def broken(shard: Any) -> int:
        asked.append(shard)
        raise Unavailable("no use", part="index")

    with pytest.raises(Unavailable, match="no use"):
        await scene.follower.read(broken)
    assert len(asked) == 2


async def test_a_wrong_question_is_not_asked_twice(scene: Scene) -> None:
    asked: list[Any] = []

    async def wrong(shard: Any) -> int:
        asked.append(shard)
        raise InvalidArgument("limit", 0, "1 to 200")

    with pytest.raises(InvalidArgument):
        await scene.follower.read(wrong)
    assert (len(asked), scene.shard.opened) == (1, 1)


async def test_an_opening_that_nobody_waits_for_any_more_still_tells_what_the_index_lacks(scene: Scene) -> None:
    for content in ("one", "two"):
        await scene.remember(content)
    scene.shard.die()
    opening, opened = asyncio.Event(), scene.shard.open

    async def slow() -> Any:
        await opening.wait()
        return await opened()

    scene.shard.open = slow  # type: ignore[method-assign]
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(scene.follower.read(lambda shard: shard.count()), 0.02)
    opening.set()
    await until(lambda: scene.shelved() == ["one", "two"])
    await until(lambda: scene.follower.lag == 0)
    assert scene.follower.gaps == 1
    assert await scene.follower.read(lambda shard: shard.count()) == 2


# ---- an index that is away ------------------------------------------------------------------------------------------


async def test_while_the_index_is_away_nobody_asks_it_and_it_is_looked_for_until_it_is_back(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_presence, "AWAY_GRACE_S", 0.0)
    await scene.remember("one")
    scene.shard.die()
    scene.shard.open_faults = [Unavailable("no answer", part="index", retry_after_s=0)] * 5
    with pytest.raises(Unavailable, match="no answer"):
        await scene.follower.read(lambda shard: shard.count())
    assert scene.follower.away == "no answer"
    with pytest.raises(Unavailable, match="no answer"):
        await scene.follower.read(lambda shard: pytest.fail("it was asked"))
    with pytest.raises(Unavailable, match="stored, but not searchable until the index is back: no answer"):
        await scene.follower.wait_for(2)
    await until(lambda: scene.follower.away == "")
    assert scene.shard.open_faults == []
    await until(lambda: scene.follower.applied == 1 and not scene.follower.fault)
    assert scene.shelved() == ["one"]
    assert scene.notices[-2:] == ["index away: no answer", "index back: 1 entry to take in"]


async def test_nobody_waits_for_an_index_whose_machine_is_cut_off_and_its_answer_brings_it_back(idle: Scene) -> None:
    reachable = True

    async def answers() -> bool:
        return reachable

    idle.follower._machine_answers = answers
    await idle.start()
    await idle.remember("one")
    reachable = False
    idle.shard.gate.clear()  # what it was asked is never answered
    written = await idle.published("two")
    with pytest.raises(Unavailable, match="the machine of the index can't be reached"):
        await asyncio.wait_for(idle.follower.wait_for(written), PATIENCE_S)
    with pytest.raises(Unavailable, match="can't be reached"):
        await idle.follower.read(lambda shard: pytest.fail("it was asked"))
    reachable = True
    idle.shard.gate.set()
    await until(lambda: idle.follower.away == "" and idle.follower.lag == 0)
    assert idle.shelved() == ["one", "two"]


async def test_an_index_that_was_only_slow_is_asked_again_also_while_the_follower_is_at_work(scene: Scene) -> None:
    asked, hold = asyncio.Event(), asyncio.Event()
    embed = scene.model.embed

    async def slowly(texts: list[str]) -> Any:
        asked.set()
        await hold.wait()
        return await embed(texts)

    scene.model.embed = slowly  # type: ignore[method-assign]
    written = await scene.published("one")
    await asyncio.wait_for(asked.wait(), PATIENCE_S)
    scene.follower.went_away(Unavailable("it has not answered in time", part="index"))
    await until(lambda: scene.follower.away == "")
    assert await scene.follower.read(lambda shard: shard.count()) == 0
    hold.set()
    await scene.until_indexed(written)


async def test_writers_who_wait_are_told_when_an_outage_lasts_and_not_when_it_was_short(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.shard.open_faults = [Unavailable("no answer", part="index")] * 3
    scene.shard.faults = [Unavailable("no answer", part="index")]
    await scene.remember("one")
    monkeypatch.setattr(index_presence, "AWAY_GRACE_S", 0.0)
    scene.shard.gate.clear()
    written = await scene.published("two")
    waiting = asyncio.create_task(scene.follower.wait_for(written))
    await asyncio.sleep(0)
    scene.shard.open_faults = [Unavailable("no answer", part="index")] * 3
    scene.shard.faults = [Unavailable("no answer", part="index")]
    scene.shard.gate.set()
    with pytest.raises(Unavailable, match="stored, but not searchable"):
        await asyncio.wait_for(waiting, PATIENCE_S)
    await until(lambda: scene.follower.applied == written)
    assert scene.shelved() == ["one", "two"]


async def test_a_start_waits_for_an_index_that_is_away_only_when_it_may_come_later(idle: Scene) -> None:
    idle.shard.open_faults = [Unavailable("no answer", part="index")]
    with pytest.raises(Unavailable, match="no answer"):
        await idle.start()
    idle.shard.open_faults = [Unavailable("no answer", part="index")] * 3
    await idle.follower.start(0, patient=True)
    assert idle.follower.away == "no answer"
    await idle.remember("one")
    assert idle.shelved() == ["one"]
