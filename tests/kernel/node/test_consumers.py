"""The contract of everything that follows the log: in order, at least once, across kills, errors and other ledgers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from consumer_subjects import PAGE_ENTRIES, Bookkeeper, IndexSubject, RunnerSubject, Subject, Tally, read_all
from follower_scene import PATIENCE_S, Scene, played, until
from ledger_builders import Home
from structlog.testing import capture_logs

from mnemesh_actors.consumers import feed_loop
from mnemesh_actors.consumers.consumer import ConsumerSet, status_of
from mnemesh_actors.consumers.consumer_table import CONSUMERS, INDEX, NEXT_INDEX, ConsumerParts, ConsumerRow
from mnemesh_actors.consumers.feed_loop import LogReader
from mnemesh_actors.consumers.judge_parts import JudgeParts
from mnemesh_actors.ledger.feeds import entry_feed
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store.commit_notes import UNWRITTEN_ENTRIES_MAX
from mnemesh_actors.runtime.bell import LogHead
from mnemesh_actors.runtime.budget import REST_MAX_S, Budget, Foreground, Rest
from mnemesh_memory.values.errors import DiskFull, Unavailable
from mnemesh_memory.values.model import Memory

MAKERS: dict[str, Callable[[Scene], Any]] = {
    "ledger": lambda scene: RunnerSubject(scene, Tally, Foreground()),
    "own store": lambda scene: RunnerSubject(scene, Bookkeeper, Foreground()),
    "index": IndexSubject,
}
POINTS_MIN = 10


@pytest.fixture
async def scene(home: Home, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    monkeypatch.setattr(feed_loop, "RETRY_S", 0.0)
    async with played(home) as made:
        yield made


@pytest.fixture(params=MAKERS)
async def subject(request: pytest.FixtureRequest, scene: Scene) -> AsyncIterator[Subject]:
    made = MAKERS[request.param](scene)
    yield made
    await made.kill()


async def erase(scene: Scene, memory: Memory) -> int:
    return int((await scene.ledger.erase(scene.home.pen.erase(memory.id, as_admin=True))).seq)


async def history(scene: Scene) -> int:
    """New, changed, forgotten and erased memories; the log's end."""
    pen, made = scene.home.pen, []
    for number in range(6):
        made.append((await scene.write(pen.create(f"text {number}"))).memory)
    await scene.write(pen.revise(made[0], content="another text"), pen.forget(made[1]))
    await erase(scene, made[2])
    await scene.write(pen.create("the last text"))
    return await erase(scene, made[3])


async def caught_up(subject: Subject, seq: int) -> None:
    subject.publish(seq)
    await until(lambda: subject.loop.applied == seq and not getattr(subject.loop, "_unkept", False))


async def test_everything_is_taken_in_once_and_in_order_while_nothing_fails(scene: Scene, subject: Subject) -> None:
    last = await history(scene)
    await subject.start()
    await caught_up(subject, last)
    assert subject.texts() == await read_all(scene.ledger)
    later = (await scene.write(scene.home.pen.create("later"))).seq
    await caught_up(subject, later)
    assert subject.texts() == await read_all(scene.ledger)
    pages = list(subject.pages())
    assert pages == sorted(set(pages))
    assert pages[-1] == later


@pytest.mark.parametrize("maker", MAKERS)
async def test_after_a_kill_at_any_point_nothing_is_missing(scene: Scene, maker: str) -> None:
    last = await history(scene)
    for crash_at in itertools.count(1):
        subject: Subject = MAKERS[maker](scene)
        await subject.start()
        subject.points.crash_at = crash_at
        subject.publish(last)
        await ended(subject, last)
        crashed = subject.points.reached.is_set()
        await subject.kill()
        await subject.start()
        await caught_up(subject, last)
        assert subject.texts() == await read_all(scene.ledger), f"killed at point {crash_at}"
        await subject.kill()
        if not crashed:
            break
    assert crash_at > POINTS_MIN


async def ended(subject: Subject, seq: int) -> None:
    await until(lambda: subject.points.reached.is_set() or subject.loop.applied == seq)


async def test_a_start_goes_on_from_the_cursor(scene: Scene, subject: Subject) -> None:
    last = await history(scene)
    await subject.start()
    await caught_up(subject, last)
    if isinstance(subject, IndexSubject):
        await subject.scene.shard.flush()
    await subject.kill()
    await subject.start()
    later = (await scene.write(scene.home.pen.create("later"))).seq
    await caught_up(subject, later)
    assert list(subject.pages()) == [later]


async def test_a_memory_that_is_erased_goes_whether_or_not_it_was_taken_in(scene: Scene, subject: Subject) -> None:
    await subject.start()
    known = await scene.write(scene.home.pen.create("known"))
    await caught_up(subject, known.seq)
    unknown = await scene.write(scene.home.pen.create("unknown"))
    for memory in (unknown.memory, known.memory):
        gone = await erase(scene, memory)
    await caught_up(subject, gone)
    assert subject.texts() == {}


@pytest.mark.parametrize("known", [0, 3, 99])
async def test_the_ledger_of_another_machine_goes_on_where_both_agree(
    scene: Scene, subject: Subject, known: int
) -> None:
    last = await history(scene)
    await subject.start()
    await caught_up(subject, last)
    before = dict(subject.texts())
    with Home.for_one_example() as other_home:
        async with played(other_home) as other:
            made = [await other.write(other_home.pen.create(f"elsewhere {number}")) for number in range(last + 3)]
            incarnation, head = await other.ledger.position()
            relay: Any = subject.scene.ledger if isinstance(subject, IndexSubject) else subject.ledger  # type: ignore[attr-defined]
            relay.ledger, former = other.ledger, relay.ledger
            subject.move(incarnation, head, known)
            assert subject.loop.lag == head - min(known, last)
            await caught_up(subject, head)
            assert subject.loop.lag == 0
            new = {done.memory.id: done.memory.content for done in made if done.seq > min(known, last)}
            assert subject.texts() == before | new
            await subject.kill()
            if isinstance(subject, RunnerSubject):
                await subject.start()
                await caught_up(subject, (await other.write(other_home.pen.create("one more"))).seq)
                assert subject.pages() == [head + 1], "the cursor moved over for good"
                await subject.kill()
            relay.ledger = former


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("consumer", [Tally, Bookkeeper])
async def test_in_a_log_with_another_incarnation_a_consumer_begins_anew(
    scene: Scene, consumer: type[Tally], running: bool
) -> None:
    subject = RunnerSubject(scene, consumer, Foreground())
    await subject.start()
    await caught_up(subject, await history(scene))
    assert subject.tally.resets == 1, "a new consumer begins with nothing"
    with Home.for_one_example() as other_home:
        async with played(other_home) as other:
            last = (await other.write(other_home.pen.create("elsewhere"))).seq
            if not running:
                await subject.kill()
            subject.ledger.ledger = other.ledger
            if not running:
                await subject.start()
            subject.publish(subject.news.head + 1)
            await until(lambda: subject.loop.applied == last)
            assert (subject.texts(), subject.tally.resets) == (await read_all(other.ledger), 2)
            await subject.kill()


async def test_after_errors_the_same_page_comes_again_after_growing_pauses_and_is_told_once(
    scene: Scene, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[int] = []
    monkeypatch.setattr(feed_loop, "pause_s", lambda failures: pauses.append(failures) or 0.0)
    last = await history(scene)
    subject.points.faults = [Unavailable("busy", part="test")] * 4
    with capture_logs() as lines:
        await subject.start()
        await caught_up(subject, last)
    name = subject.loop.name
    assert pauses == [1, 2, 3, 4]
    assert [text for text in subject.notices if text] == [f"{name} stalled: busy"]
    assert [line["event"] for line in lines].count("consumer_stalled") == 1
    assert (subject.loop.fault, subject.texts()) == ("", await read_all(scene.ledger))
    subject.points.faults = [DiskFull(0, 1), Unavailable("busy", part="test")]
    await caught_up(subject, (await scene.write(scene.home.pen.create("later"))).seq)
    assert pauses == [1, 2, 3, 4, 1], "a success ends the row"


def test_pauses_double_up_to_a_bound() -> None:
    assert feed_loop.pause_s(0) == 0
    for failures in range(1, 2000):
        longest = min(feed_loop.RETRY_MAX_S, feed_loop.RETRY_S * 2 ** min(failures - 1, 60))
        assert longest / 2 <= feed_loop.pause_s(failures) <= longest <= feed_loop.RETRY_MAX_S


async def test_the_lag_is_the_number_of_entries_that_are_not_taken_in(scene: Scene, subject: Subject) -> None:
    await subject.start()
    await caught_up(subject, (await scene.write(scene.home.pen.create("one"))).seq)
    subject.points.gate.clear()
    last = (await scene.write(*(scene.home.pen.create(f"more {number}") for number in range(5)))).seq
    subject.publish(last)
    await until(lambda: subject.loop.lag == 5)
    shown = status_of("shown", subject.loop)
    assert (shown.name, shown.seq, shown.lag, shown.state) == ("shown", 1, 5, "ok")
    subject.points.gate.set()
    await caught_up(subject, last)
    assert subject.loop.lag == 0


async def test_a_bug_is_told_and_stays_told(scene: Scene, subject: Subject) -> None:
    await subject.start()
    subject.points.faults = [TypeError("a bug of ours")]
    subject.publish((await scene.write(scene.home.pen.create("one"))).seq)
    await until(lambda: "a bug of ours" in subject.loop.fault)
    assert "restart the node" in status_of("shown", subject.loop).state
    assert [text for text in subject.notices if "a bug of ours" in text]


# ---- the budget -----------------------------------------------------------------------------------------------------


async def test_a_consumer_with_a_small_share_rests_while_somebody_waits_and_only_then(scene: Scene) -> None:
    foreground = Foreground()
    subject = RunnerSubject(scene, Tally, foreground, share=0.000_001)
    await subject.start()
    await asyncio.wait_for(caught_up(subject, await history(scene)), REST_MAX_S / 2)
    pages = list(subject.pages())
    with foreground.operation(), foreground.operation():
        for _ in range(20):  # a step that had begun ends
            await scene.ledger.position()
        last = (await scene.write(scene.home.pen.create("later"))).seq
        subject.publish(last)
        for _ in range(200):
            await scene.ledger.position()
        assert (list(subject.pages()), subject.loop.lag) == (pages, 1)
    await asyncio.wait_for(caught_up(subject, last), REST_MAX_S / 2)
    assert subject.texts() == await read_all(scene.ledger)
    await subject.kill()


@pytest.mark.parametrize(
    ("share", "step_s", "rest_s"), [(0.25, 2.0, 6.0), (0.5, 1.0, 1.0), (0.01, 5.0, REST_MAX_S), (1.0, 7.0, 0.0)]
)
async def test_a_rest_is_in_proportion_to_the_step_and_bounded(
    monkeypatch: pytest.MonkeyPatch, share: float, step_s: float, rest_s: float
) -> None:
    now, rests = 100.0, []

    class Busy(Foreground):
        async def idle(self, limit_s: float, quiet_s: float = 0.0) -> None:
            rests.append(limit_s)

    budget = Budget(Busy(), share)
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    with budget.step():
        now += step_s
    await budget.turn()
    now += rest_s
    await budget.turn()
    assert rests == pytest.approx([rest_s, 0.0]), "and what lies back is no reason to rest"


async def test_news_waits_for_the_end_of_an_operation_but_not_for_long() -> None:
    budget, told = Budget(foreground := Foreground()), asyncio.Event()
    with foreground.operation():
        budget.afterwards(told.set)
        assert not told.is_set()
        await asyncio.wait_for(told.wait(), REST_MAX_S)
        told.clear()
        budget.afterwards(told.set)
    assert told.is_set()


async def test_a_step_that_lingers_begins_at_once_when_somebody_waits_for_it() -> None:
    foreground = Foreground()
    budget = Budget(foreground, 0.5, quiet_s=REST_MAX_S, linger_s=REST_MAX_S)
    with foreground.operation():
        turn = asyncio.ensure_future(budget.turn())
        await asyncio.sleep(0)
        assert not turn.done()
        budget.hurry()
        await asyncio.wait_for(turn, REST_MAX_S / 2)


async def test_budgets_with_one_rest_share_the_time_that_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waits = 100.0, []

    class Busy(Foreground):
        async def idle(self, limit_s: float, quiet_s: float = 0.0) -> None:
            nonlocal now
            waits.append(limit_s)
            now += limit_s

        def idle_for(self) -> float:
            return 0.0

    rest, linger_s = Rest(), 0.5
    graph, judge = (Budget(Busy(), 0.25, 0.1, linger_s, rest) for _ in range(2))
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    with graph.step():
        now += 2.0
    await judge.turn()
    assert waits == pytest.approx([6.0 + linger_s]), "the rest of the other one's step"
    with judge.step():
        await graph.turn()
        assert sum(waits[1:]) == pytest.approx(REST_MAX_S, abs=1.0), "a step that hangs holds up nobody for ever"


async def test_a_pause_between_two_questions_is_no_idleness(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses, waited = iter([0.02, 0.0, 0.1]), []

    class Asked(Foreground):
        def idle_for(self) -> float:
            return next(pauses)

    async def waits(wait_s: float) -> None:
        waited.append(wait_s)

    monkeypatch.setattr(asyncio, "sleep", waits)
    await Asked().idle(10.0, 0.1)
    assert waited == pytest.approx([0.08, 0.1])


# ---- cursors and pages of the ledger --------------------------------------------------------------------------------


def test_the_ledger_keeps_cursors_across_a_kill_and_refuses_those_of_another_log(home: Home) -> None:
    ledger = home.open()
    incarnation, _ = ledger.position()

    def on_disk() -> list[tuple[Any, ...]]:
        return home.sql("SELECT name, incarnation, seq FROM consumer")

    assert ledger.cursor("judge") == ("", 0)
    ledger.keep_cursor("judge", "f" * 32, 5)
    assert ledger.cursor("judge") == ("", 0)
    ledger.keep_cursor("judge", incarnation, 5)
    assert on_disk() == [("judge", incarnation, 5)], "the first one at once"
    ledger.keep_cursor("judge", incarnation, 7)
    assert (ledger.cursor("judge"), on_disk()) == ((incarnation, 7), [("judge", incarnation, 5)])
    ledger.commit([home.pen.create("one")])
    assert on_disk() == [("judge", incarnation, 7)], "the others with the next commit"
    ledger.keep_cursor("judge", incarnation, 7 + UNWRITTEN_ENTRIES_MAX)
    assert on_disk() == [("judge", incarnation, 7 + UNWRITTEN_ENTRIES_MAX)], "or when much was taken in since"
    ledger.keep_cursor("judge", incarnation, 2000)
    ledger.close()
    assert on_disk() == [("judge", incarnation, 2000)]
    with home.opened() as again:
        assert again.cursor("judge") == (incarnation, 2000)


def test_a_directory_without_the_table_of_cursors_opens_and_keeps_them(home: Home) -> None:
    with home.opened() as ledger:
        ledger.commit([home.pen.create("one")])
    home.rewrite_in_format(13)
    with home.opened() as ledger:
        incarnation, head = ledger.position()
        assert (head, ledger.cursor("judge")) == (1, ("", 0))
        ledger.keep_cursor("judge", incarnation, 1)
        assert ledger.cursor("judge") == (incarnation, 1)


def test_a_page_of_entries_names_who_wrote_and_what_is_erased(home: Home, ledger: Ledger) -> None:
    results = ledger.commit([home.pen.create("one"), home.pen.create("two")])
    one, two = (done.memory for done in results if not isinstance(done, Exception))
    asked = home.pen.erase(one.id, as_admin=True)
    ledger.erase(asked)
    page = ledger.entries(0, 64)
    assert (page.changed, page.erased, page.seq, page.head) == ([two.id], [one.id], 3, 3)
    assert [(entry.id, entry.erased, entry.agent, entry.origin) for entry in page.entries] == [
        (two.id, False, asked.agent, ""), (one.id, True, asked.agent, ""),
    ]  # fmt: skip
    assert ledger.entries(0, 1).seq == 2, "the entry of an erased memory is no more"


def test_pages_of_one_space_pass_the_entries_of_others_a_stretch_of_the_log_at_a_time(
    home: Home, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_feed, "SPAN", 3)
    spaces = ["one", "other", "other", "other", "other", "one", "one", "other"]
    ledger.commit([home.pen.create(f"text {number}", space=space) for number, space in enumerate(spaces)])
    pages, after = [], 0
    while after < len(spaces):
        pages.append(ledger.entries(after, 1, "one"))
        after = pages[-1].seq
    assert [[entry.seq for entry in page.entries] for page in pages] == [[1], [], [6], [7], []]
    assert {page.head for page in pages} == {len(spaces)}


# ---- readers without a durable cursor -------------------------------------------------------------------------------


async def test_a_reader_gives_a_page_again_until_it_was_taken_and_never_asks_in_vain(scene: Scene) -> None:
    last, asked, news = await history(scene), 0, LogHead()

    async def ask(after: int) -> Any:
        nonlocal asked
        asked += 1
        return await scene.ledger.entries(after, PAGE_ENTRIES)

    reader = LogReader(news, ask, (await scene.ledger.position())[0], 0)
    seqs: list[int] = []
    while reader.seq < last:
        page, again = await reader.read(), await reader.next()
        assert page == again, "not taken yet"
        seqs += [entry.seq for entry in page.entries]
        reader.passed(page)
    assert seqs == sorted(set(seqs))
    news.tell(last)
    waiting, before = asyncio.ensure_future(reader.next()), asked
    for _ in range(50):
        await scene.ledger.position()
    assert asked == before
    news.tell((await scene.write(scene.home.pen.create("later"))).seq)
    page = await asyncio.wait_for(waiting, PATIENCE_S)
    assert page is not None and page.seq == last + 1  # noqa: PT018


async def test_a_reader_says_that_another_log_goes_on_and_begins_it(scene: Scene) -> None:
    last, news = await history(scene), LogHead()
    reader = LogReader(news, lambda after: scene.ledger.entries(after, 99), "f" * 32, last)
    assert await asyncio.wait_for(reader.next(), PATIENCE_S) is None
    assert (reader.incarnation, reader.seq) == ((await scene.ledger.position())[0], 0)
    page = await asyncio.wait_for(reader.next(), PATIENCE_S)
    assert page.seq == last
    reader.passed(page)
    news.restart(last)
    assert await asyncio.wait_for(reader.next(), PATIENCE_S) is not None, "the numbers began anew: it asks"


# ---- the table ------------------------------------------------------------------------------------------------------


def test_names_of_consumers_are_their_own() -> None:
    assert len({row.name for row in (INDEX, NEXT_INDEX, *CONSUMERS)}) == 2 + len(CONSUMERS)
    assert all(row.page_entries > 0 and 0 < row.share <= 1 for row in CONSUMERS)


async def test_one_class_and_one_row_are_a_consumer_of_the_node(scene: Scene) -> None:
    made: list[Tally] = []

    def make(parts: ConsumerParts) -> Tally:
        made.append(RunnerSubject(scene, Tally, Foreground()).tally)
        return made[0]

    row = ConsumerRow(name="tally", page_entries=3, share=0.5, make=make)
    nobody: Any = None  # whom the judge would ask, had two writers written at once here
    judge = JudgeParts(ledger=scene.ledger, embedder=nobody, index=nobody, commit=nobody, clock=nobody, entropy=nobody)
    news = LogHead(await history(scene))
    parts = ConsumerParts(
        ledger=scene.ledger, judge=judge, notice=scene.notices.append, clock=lambda: 0, publish=news.tell
    )
    consumers = ConsumerSet(parts, news, Foreground(), scene.notices.append, (*CONSUMERS, row))
    await consumers.start()
    await until(lambda: not any(status.lag for status in consumers.status()) and bool(made[0].pages))
    assert made[0].texts == await read_all(scene.ledger)
    assert max(map(len, made[0].pages)) == 3
    await consumers.close()
    with pytest.raises(TypeError, match="tally: a filled consumer keeps its own cursor"):
        ConsumerSet(parts, news, Foreground(), scene.notices.append, (replace(row, filled=True),))
