"""Watchers: every change in order and at least once, woken by news, and nothing left behind by one that goes."""

from __future__ import annotations

import asyncio
import base64
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from follower_scene import Scene, until
from ledger_builders import AGENT, OTHER_SPACE, SPACE, START, Pen

from mnemesh_actors.runtime.bell import LogHead
from mnemesh_actors.watch import watch_operations as watching_module
from mnemesh_actors.watch.cursor_seal import CursorSeal
from mnemesh_actors.watch.watch_operations import Watching
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, OutOfRange, Overloaded, Unavailable
from mnemesh_memory.values.model import Caller, Memory
from mnemesh_memory.watch import watch_values
from mnemesh_memory.watch.watch_values import Watched, WatchQuery

CALLER = Caller(AGENT, "owner", default_space=SPACE)
NODE = "this-node"
SEAL = CursorSeal(Ed25519PrivateKey.from_private_bytes(bytes(32)))
PATIENCE_S = 60.0
Stream = AsyncGenerator[Watched, None]


class Post:
    """A watch over a scene's ledger. `reads` counts the questions that reached it."""

    def __init__(self, scene: Scene, pen: Pen) -> None:
        self.pen = pen
        self.news = scene.follower.news
        self.reads = 0
        self.before_read: Callable[[], None] = lambda: None
        self._changes = scene.ledger.changes
        vars(scene.ledger)["changes"] = self._counted
        parts = scene.parts(news=self.news)
        self.commits, self.watching = parts.commits, Watching(parts, NODE, SEAL)

    async def _counted(self, *args: Any) -> Any:
        self.reads += 1
        self.before_read()
        return await self._changes(*args)

    async def write(self, content: str, pen: Pen | None = None, **fields: Any) -> Memory:
        done = await self.commits.submit((pen or self.pen).create(content, **fields))
        return done.memory

    @asynccontextmanager
    async def watch(self, **fields: Any) -> AsyncIterator[Stream]:
        """A stream that has begun: its first message is taken, and kept as `opened`."""
        async with aclosing(self.watching.watch(CALLER, WatchQuery(**fields))) as stream:
            self.opened = await soon(anext(stream))
            assert self.opened.type == watch_values.OPENED
            yield stream


async def soon(awaitable: Any) -> Any:
    return await asyncio.wait_for(awaitable, PATIENCE_S)


async def take(stream: Stream, number: int) -> list[Watched]:
    return [await soon(anext(stream)) for _ in range(number)]


def contents(told: list[Watched]) -> list[str]:
    return [one.change.content for one in told if one.change]


def place(cursor: str) -> dict[str, int]:
    return watch_values.read_cursor(SEAL.opened(cursor, CALLER.principal))


def watch_reads() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task.get_name() == "watch-read"]


@pytest.fixture
def post(scene: Scene) -> Post:
    return Post(scene, scene.home.pen)


async def test_without_asking_for_it_no_text_is_sent(post: Post) -> None:
    async with post.watch() as stream:
        await post.write("a text", title="its title")
        (told,) = await take(stream, 1)
        assert (told.change.content, told.change.title) == ("", "its title")


async def test_from_the_start_all_is_told_in_order_across_pages(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WATCH_PAGE_ENTRIES_MAX", 3)
    texts = [f"memory {number}" for number in range(10)]
    for text in texts:
        await post.write(text)
    async with post.watch(from_start=True, include_content=True) as stream:
        told = await take(stream, 10)
        assert contents(told) == texts
        assert [one.change.seq for one in told if one.change] == list(range(1, 11))


async def test_a_watch_resumes_after_any_message_and_misses_nothing(post: Post) -> None:
    for number in range(5):
        await post.write(f"memory {number}")
    async with post.watch(from_start=True, include_content=True) as stream:
        told = await take(stream, 5)
    for position, message in enumerate(told):
        await post.write(f"later {position}")
        async with post.watch(cursor=message.cursor, include_content=True) as stream:
            rest = await take(stream, 5 - position)
            assert contents(rest)[: 4 - position] == contents(told)[position + 1 :]


async def test_the_cursor_of_the_first_message_resumes_a_watch_that_heard_nothing(post: Post) -> None:
    async with post.watch():
        cursor = post.opened.cursor
    memory = await post.write("meanwhile")
    async with post.watch(cursor=cursor) as stream:
        (told,) = await take(stream, 1)
        assert told.change.id == memory.id


async def test_other_spaces_and_other_kinds_and_own_writes_are_left_out(post: Post) -> None:
    other = Pen(agent="owner/other", now=post.pen.now + 1000)
    await post.write("elsewhere", space=OTHER_SPACE)
    await post.write("mine", kind="decision")
    await post.write("a fact", other)
    await post.write("a decision", other, kind="decision")
    async with post.watch(from_start=True, kinds=("decision",), not_agent=AGENT, include_content=True) as stream:
        assert contents(await take(stream, 1)) == ["a decision"]


async def test_a_watcher_of_a_quiet_space_learns_how_far_the_log_has_come(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching_module, "POSITION_EVERY_ENTRIES", 3)
    async with post.watch(spaces=("quiet",)) as stream:
        waiting = asyncio.ensure_future(anext(stream))
        for number in range(6):
            await post.write(f"noise {number}")
        told = await soon(waiting)
        assert (told.type, told.change) == (watch_values.POSITION, None)
        assert max(place(told.cursor).values()) >= 3


async def test_what_another_node_accepted_first_is_called_merged(post: Post) -> None:
    async with post.watch() as stream:
        await post.write("from elsewhere")
        (told,) = await take(stream, 1)
        assert told.merged
        post.watching._node_id = told.change.node
        await post.write("from here")
        (told,) = await take(stream, 1)
        assert not told.merged


async def test_a_write_between_the_page_and_the_wait_is_not_slept_over(post: Post) -> None:
    async with post.watch(include_content=True) as stream:
        waiting = asyncio.ensure_future(anext(stream))
        written: list[asyncio.Task[Memory]] = []

        def write() -> None:
            if not written:
                written.append(asyncio.ensure_future(post.write("just now")))

        post.before_read = write
        await post.write("first")
        assert (await soon(waiting)).change.content == "first"
        assert contents(await take(stream, 1)) == ["just now"]


async def test_an_idle_watcher_asks_nothing(post: Post) -> None:
    async with post.watch() as stream:
        waiting = asyncio.ensure_future(anext(stream))
        await post.write("one")
        await soon(waiting)
        waiting = asyncio.ensure_future(anext(stream))
        await until(lambda: not watch_reads() and bool(post.news._bell._waiters))
        before = post.reads
        for _ in range(100):
            await asyncio.sleep(0)
        assert post.reads == before
        waiting.cancel()
        await asyncio.wait((waiting,))


async def test_watchers_that_ask_the_same_share_one_question(post: Post) -> None:
    for number in range(20):
        await post.write(f"memory {number}")
    before = post.reads
    query = WatchQuery(from_start=True)
    streams = [post.watching.watch(CALLER, query) for _ in range(50)]
    told = await soon(asyncio.gather(*(take(stream, 21) for stream in streams)))
    places = [[place(one.cursor) for one in each] for each in told]
    assert all(each == places[0] for each in places)
    assert post.reads - before < 50
    for stream in streams:
        await stream.aclose()


async def test_eight_writers_and_many_watchers_all_hear_all_in_the_same_order(post: Post) -> None:
    pens = [Pen(agent=f"owner/w{number}", now=START + number * 10_000) for number in range(8)]

    async def write(pen: Pen) -> None:
        for number in range(25):
            await post.write(f"{pen.agent} {number}", pen)

    streams = [post.watching.watch(CALLER, WatchQuery(include_content=True)) for _ in range(30)]
    for stream in streams:
        await soon(anext(stream))
    listening = [asyncio.ensure_future(take(stream, 200)) for stream in streams]
    await soon(asyncio.gather(*(write(pen) for pen in pens)))
    heard = [contents(each) for each in await soon(asyncio.gather(*listening))]
    assert all(each == heard[0] for each in heard)
    assert sorted(heard[0]) == sorted(f"{pen.agent} {number}" for pen in pens for number in range(25))
    for pen in pens:  # the writes of each writer come in their order
        own = [text for text in heard[0] if text.startswith(pen.agent + " ")]
        assert own == [f"{pen.agent} {number}" for number in range(25)]
    for stream in streams:
        await stream.aclose()
    assert post.watching.watchers == 0


async def test_a_watcher_that_goes_leaves_no_task_and_no_place_behind(post: Post) -> None:
    before = asyncio.all_tasks()
    for wait in (True, False):
        stream = post.watching.watch(CALLER, WatchQuery())
        await soon(anext(stream))
        waiting = asyncio.ensure_future(anext(stream))
        if wait:
            for _ in range(20):
                await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait((waiting,))
        await stream.aclose()
    while reads := watch_reads():
        await soon(asyncio.wait(reads))
    assert post.watching.watchers == 0
    assert asyncio.all_tasks() == before
    assert post.watching._asked == {}


async def test_one_watcher_too_many_is_refused_until_one_leaves(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WATCHERS_MAX", 1)
    async with post.watch():
        with pytest.raises(Overloaded) as caught:
            await anext(post.watching.watch(CALLER, WatchQuery()))
        assert caught.value.fields["limit"] == 1
    async with post.watch():
        assert post.watching.watchers == 1


async def test_when_the_node_stops_every_watch_ends_and_says_where_to_go_on(post: Post) -> None:
    async with post.watch() as stream:
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        post.news.end("the node is stopping")
        with pytest.raises(Unavailable) as caught:
            await soon(waiting)
        assert caught.value.fields["cursor"] == post.opened.cursor


async def test_a_ledger_that_fails_ends_the_watch_with_its_error_and_the_cursor(post: Post) -> None:
    async with post.watch() as stream:
        waiting = asyncio.ensure_future(anext(stream))

        def fail() -> None:
            raise Unavailable("the ledger is away", part="ledger")

        post.before_read = fail
        await post.write("one")
        with pytest.raises(Unavailable, match="away") as caught:
            await soon(waiting)
        assert caught.value.fields["cursor"] == post.opened.cursor


async def test_a_cursor_that_is_none_or_lies_in_the_future_opens_nothing(post: Post) -> None:
    async with post.watch():
        (incarnation,) = place(post.opened.cursor)
    future = SEAL.write({incarnation: 99}, CALLER.principal)
    for query, error in ((WatchQuery(cursor="nonsense"), InvalidArgument), (WatchQuery(cursor=future), OutOfRange)):
        with pytest.raises(error) as caught:
            await anext(post.watching.watch(CALLER, query))
    told = caught.value.message + str(caught.value.fields.get("limit", ""))
    assert not any(char.isdigit() for char in told), "where the log ends is nobody's business"
    assert post.watching.watchers == 0


async def test_a_restored_directory_is_told_from_its_beginning_and_says_so(post: Post) -> None:
    await post.write("one")
    stranger = SEAL.write({"f" * 32: 12}, CALLER.principal)
    async with post.watch(cursor=stranger, include_content=True) as stream:
        assert "from its beginning" in post.opened.reason
        assert contents(await take(stream, 1)) == ["one"]


async def test_a_cursor_tells_nobody_how_much_is_written(post: Post) -> None:
    for number in range(3):
        await post.write(f"memory {number}")
    async with post.watch() as stream:
        await post.write("one more")
        (told,) = await take(stream, 1)
    for cursor in (post.opened.cursor, told.cursor):
        with pytest.raises(InvalidArgument):
            watch_values.read_cursor(cursor)
        assert place(cursor)


async def test_two_cursors_do_not_tell_whether_anything_was_written_between_them(post: Post) -> None:
    cursors = []
    for number in range(12):
        async with post.watch():
            cursors.append(post.opened.cursor)
        if number != 3:
            await post.write(f"memory {number}")
    assert place(cursors[3]) == place(cursors[4])
    assert cursors[3] != cursors[4]
    assert len(set(map(len, cursors))) == 1


def test_the_longest_cursor_of_a_ledger_is_as_long_as_the_shortest() -> None:
    shortest, longest = (SEAL.write({"f" * 32: seq}, CALLER.principal) for seq in (0, 2**63 - 1))
    assert len(shortest) == len(longest) <= limits.WATCH_CURSOR_CHARS_MAX
    assert place(longest) == {"f" * 32: 2**63 - 1}


def test_a_cursor_of_a_node_that_sealed_without_a_nonce_still_holds() -> None:
    sealed = "dDV64-tesaVHNliTNcjJrOIbDdaQvUqrddx2vI5rI-6_01gTpCenQH_-YF3eV1-mrgWOtFbHpYb1p2SrYXwpmobYR1I96jcHWt4xlx6u"
    earlier = "w1." + sealed
    assert place(earlier) == {"f" * 32: 12}
    assert watch_values.read_cursor(SEAL.opened(earlier, "ana")) == {}


@pytest.mark.parametrize("size", [0, 10, 16, 32])
def test_a_cursor_that_is_too_short_for_a_nonce_says_nothing(size: int) -> None:
    sealed = bytes(size)
    whole = base64.urlsafe_b64encode(zlib.crc32(sealed).to_bytes(4, "big") + sealed).decode().rstrip("=")
    assert place("w2." + whole) == {}


async def test_the_cursor_of_another_principal_or_of_an_older_version_begins_anew(post: Post) -> None:
    await post.write("one")
    async with post.watch() as _:
        (incarnation,) = place(post.opened.cursor)
    for cursor in (SEAL.write({incarnation: 99}, "ana"), watch_values.write_cursor({incarnation: 99})):
        async with post.watch(cursor=cursor, include_content=True) as stream:
            assert "from its beginning" in post.opened.reason
            assert contents(await take(stream, 1)) == ["one"]


async def test_memories_that_change_are_named_as_the_log_grows(post: Post) -> None:
    await post.write("before")
    async with aclosing(post.watching.touched()) as ids:
        assert await soon(anext(ids)) == []
        waiting = asyncio.ensure_future(anext(ids))
        one = await post.write("one")
        assert await soon(waiting) == [one.id]


async def test_an_end_of_the_log_that_was_erased_is_not_asked_for_again_and_again(post: Post) -> None:
    await post.write("one")
    async with post.watch() as stream, aclosing(post.watching.touched()) as ids:
        await soon(anext(ids))
        waiting = [asyncio.ensure_future(anext(stream)), asyncio.ensure_future(anext(ids))]
        post.news.tell(5)  # of which nothing is left
        await until(lambda: post.reads > 0 and not watch_reads() and bool(post.news._bell._waiters))
        before = post.reads
        for _ in range(100):
            await asyncio.sleep(0)
        assert post.reads == before
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)


async def test_news_wake_everyone_who_waits_and_nobody_else() -> None:
    news = LogHead(3)
    await soon(news.after(2))
    waiting = [asyncio.ensure_future(news.after(seq)) for seq in (3, 4)]
    await asyncio.sleep(0)
    news.tell(3)
    news.tell(4)
    await soon(waiting[0])
    assert not waiting[1].done()
    news.tell(9)
    await soon(waiting[1])
