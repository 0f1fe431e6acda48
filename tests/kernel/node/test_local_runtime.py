"""Actors in threads: one call at a time, in order, at most so many waiting, and everything closed at the end."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import weakref
from collections.abc import AsyncIterator

import pytest

from mnemesh_actors.runtime.base import Place
from mnemesh_actors.runtime.local import SWITCH_S, LocalHandle, LocalRuntime
from mnemesh_memory.values.errors import InvalidArgument, NotFound, Overloaded, Unavailable
from mnemesh_memory.values.limits import INBOX_MESSAGES_MAX

PATIENCE_S = 60.0


class Diary:
    """Records its calls, their threads, and any overlap of two calls."""

    def __init__(self, lines: list[str], name: str = "diary", broken: str = "") -> None:
        if broken == "construct":
            raise InvalidArgument("diary", name, "a diary that can be opened")
        self.lines = lines
        self.name = name
        self.broken = broken
        self.gate = threading.Event()
        self.started = threading.Event()
        self.inside = 0
        self.thread = threading.get_ident()
        lines.append(f"{name} opened")

    def write(self, line: str) -> str:
        self.inside += 1
        assert self.inside == 1, "two calls at a time"
        self.lines.append(line)
        self.inside -= 1
        return line.upper()

    def wait(self, line: str) -> str:
        self.started.set()
        assert self.gate.wait(PATIENCE_S)
        return self.write(line)

    def threads(self) -> tuple[int, int]:
        return self.thread, threading.get_ident()

    def jot(self, line: str) -> int:
        """A quick call, but for a long line."""
        self.write(line)
        return threading.get_ident()

    def quick(self, method: str, args: tuple[str, ...]) -> bool:
        return method == "jot" and len(args[0]) < 9

    def fail(self, key: str) -> None:
        raise NotFound("memory", key)

    def close(self) -> None:
        self.lines.append(f"{self.name} closed")
        if self.broken == "close":
            raise Unavailable(f"{self.name} does not close", part=self.name)


class Line(str):
    """Text that a weak reference can point at."""


class Plain:
    """An actor without a close."""

    def ask(self) -> int:
        return 42


@pytest.fixture
async def runtime() -> AsyncIterator[LocalRuntime]:
    made = LocalRuntime()
    yield made
    await made.close()


async def gated(runtime: LocalRuntime) -> tuple[LocalHandle, Diary, asyncio.Task[str]]:
    """An actor that is busy until its gate opens."""
    handle = await runtime.spawn("diary-0", Diary, [])
    actor: Diary = handle._actor
    task = asyncio.ensure_future(handle.wait("first"))
    await asyncio.to_thread(actor.started.wait, PATIENCE_S)
    return handle, actor, task


async def opens_late(actor: Diary) -> None:
    """Nobody is let in before the gate opens."""
    await asyncio.sleep(0)
    assert actor.lines == ["diary opened"]
    actor.gate.set()


async def test_calls_run_one_at_a_time_in_the_order_of_their_arrival(runtime: LocalRuntime) -> None:
    handle, actor, first = await gated(runtime)
    calls = [asyncio.ensure_future(handle.write(str(number))) for number in range(200)]
    await opens_late(actor)
    async with asyncio.timeout(PATIENCE_S):
        assert await asyncio.gather(first, *calls) == ["FIRST", *(str(number) for number in range(200))]
    assert actor.lines == ["diary opened", "first", *(str(number) for number in range(200))]


async def test_an_actor_lives_in_one_thread_of_its_own(runtime: LocalRuntime) -> None:
    one = await runtime.spawn("one", Diary, [])
    two = await runtime.spawn("two", Diary, [])
    made_in, called_in = await one.threads()
    assert made_in == called_in != threading.get_ident()
    assert (await two.threads())[0] != made_in


async def test_a_quick_call_to_an_idle_actor_stays_in_the_callers_thread_unlike_others(runtime: LocalRuntime) -> None:
    handle = await runtime.spawn("diary-0", Diary, [])
    assert await handle.jot("short") == threading.get_ident()
    assert await handle.jot("a long line") != threading.get_ident()


async def test_who_waits_for_the_interpreter_gets_it_soon(runtime: LocalRuntime) -> None:
    assert sys.getswitchinterval() == pytest.approx(SWITCH_S)


async def test_a_quick_call_keeps_its_place_behind_those_that_came_before(runtime: LocalRuntime) -> None:
    handle, actor, first = await gated(runtime)
    calls = [asyncio.ensure_future(call) for call in (handle.write("second"), handle.jot("third"), handle.jot("4th"))]
    await opens_late(actor)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(first, *calls)
    assert actor.lines == ["diary opened", "first", "second", "third", "4th"]


async def test_a_call_whose_caller_has_gone_is_still_alone_in_its_actor(runtime: LocalRuntime) -> None:
    handle, actor, first = await gated(runtime)
    first.cancel()
    await asyncio.wait((first,), timeout=PATIENCE_S)
    quick = asyncio.ensure_future(handle.jot("quick"))
    await opens_late(actor)
    async with asyncio.timeout(PATIENCE_S):
        assert await quick != threading.get_ident()
    assert actor.lines == ["diary opened", "first", "quick"]


async def test_a_failed_quick_call_lets_the_next_one_in(runtime: LocalRuntime) -> None:
    handle = await runtime.spawn("diary-0", Diary, [])
    actor: Diary = handle._actor
    actor.inside = 1  # as if somebody were there: the call fails
    with pytest.raises(AssertionError):
        await handle.jot("no")
    actor.inside = 0
    assert await handle.jot("yes") == threading.get_ident()


async def test_more_waiting_calls_than_the_inbox_holds_are_refused(runtime: LocalRuntime) -> None:
    handle, actor, first = await gated(runtime)
    calls = [asyncio.ensure_future(handle.write(str(number))) for number in range(INBOX_MESSAGES_MAX - 1)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded) as caught:
        await handle.write("one too many")
    assert caught.value.fields["limit"] == INBOX_MESSAGES_MAX
    assert "diary-0" in caught.value.message
    actor.gate.set()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(first, *calls)
        assert await handle.write("room again") == "ROOM AGAIN"
    assert "one too many" not in actor.lines


async def test_an_error_of_the_actor_reaches_the_caller_whole(runtime: LocalRuntime) -> None:
    handle = await runtime.spawn("diary-0", Diary, [])
    with pytest.raises(NotFound) as caught:
        await handle.fail("key-7")
    assert caught.value.fields["value"] == "'key-7'"
    assert await handle.write("after it") == "AFTER IT"


async def test_status_lists_the_actors_with_type_and_process(runtime: LocalRuntime) -> None:
    await runtime.spawn("one", Diary, [], place=Place(pinned=True))
    await runtime.spawn("two", Plain)
    assert [(actor.name, actor.type, actor.pid, actor.state) for actor in await runtime.actors()] == [
        ("one", "Diary", os.getpid(), "ready"),
        ("two", "Plain", os.getpid(), "ready"),
    ]


class Settler:
    """An actor that wants to know where it is."""

    def __init__(self) -> None:
        self.address = ""

    def arrive(self, address: str) -> None:
        self.address = address

    def where(self) -> str:
        return self.address


async def test_an_actor_is_told_the_address_of_its_machine_before_it_is_asked(runtime: LocalRuntime) -> None:
    handle = await runtime.spawn("settler-0", Settler)
    (here,) = await runtime.machines()
    assert await handle.where() == here.address


async def test_closing_finishes_what_was_accepted_and_then_closes_in_reverse_order() -> None:
    runtime, lines = LocalRuntime(), list[str]()
    await runtime.spawn("first", Diary, lines, "first")
    handle = await runtime.spawn("second", Diary, lines, "second")
    await runtime.spawn("plain", Plain)
    accepted = [asyncio.ensure_future(handle.write(str(number))) for number in range(3)]
    await asyncio.sleep(0)
    await asyncio.wait_for(runtime.close(), PATIENCE_S)
    assert lines == ["first opened", "second opened", "0", "1", "2", "second closed", "first closed"]
    assert await asyncio.gather(*accepted) == ["0", "1", "2"]
    assert await runtime.actors() == ()


async def test_a_closed_actor_is_unavailable_and_closing_twice_is_fine() -> None:
    runtime, lines = LocalRuntime(), list[str]()
    handle = await runtime.spawn("diary-0", Diary, lines)
    await runtime.close()
    await runtime.close()
    await handle.shut()
    with pytest.raises(Unavailable, match="diary-0 is closed"):
        await handle.jot("late")  # a quick call
    assert lines == ["diary opened", "diary closed"]


async def test_an_actor_that_does_not_close_keeps_no_other_open() -> None:
    runtime, lines = LocalRuntime(), list[str]()
    await runtime.spawn("ledger", Diary, lines, "ledger")
    await runtime.spawn("shard", Diary, lines, "shard", "close")
    with pytest.raises(Unavailable, match="shard does not close"):
        await runtime.close()
    assert lines[-2:] == ["shard closed", "ledger closed"]


async def test_closing_leaves_no_thread_behind() -> None:
    runtime = LocalRuntime()
    for number in range(3):
        await (await runtime.spawn(f"kept-alive-{number}", Diary, [])).write("x")
    await runtime.close()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("kept-alive-")] == []


async def test_an_actor_that_cannot_be_made_says_why_and_leaves_nothing_behind(runtime: LocalRuntime) -> None:
    with pytest.raises(InvalidArgument, match="can be opened"):
        await runtime.spawn("never-made", Diary, [], "x", "construct")
    assert await runtime.actors() == ()
    for thread in [thread for thread in threading.enumerate() if thread.name == "never-made"]:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


class SlowlyMade:
    """An actor that is made when the test lets it."""

    begun, gate, made, closed = (threading.Event() for _ in range(4))

    def __init__(self) -> None:
        self.begun.set()
        assert self.gate.wait(PATIENCE_S)
        self.made.set()

    def close(self) -> None:
        self.closed.set()


async def test_an_actor_whose_making_nobody_waits_for_any_more_is_closed_when_it_is_made(runtime: LocalRuntime) -> None:
    making = asyncio.ensure_future(runtime.spawn("slow", SlowlyMade))
    assert await asyncio.to_thread(SlowlyMade.begun.wait, PATIENCE_S)
    making.cancel()
    await asyncio.wait((making,), timeout=PATIENCE_S)
    assert await runtime.actors() == ()
    SlowlyMade.gate.set()
    assert await asyncio.to_thread(SlowlyMade.closed.wait, PATIENCE_S)
    assert SlowlyMade.made.is_set()


async def test_a_caller_who_goes_frees_its_place_in_the_inbox() -> None:
    handle = LocalHandle("small", inbox_messages_max=2)
    await handle.construct(Diary, [])
    actor: Diary = handle._actor
    busy = asyncio.ensure_future(handle.wait("first"))
    gone = asyncio.ensure_future(handle.write("never"))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    last = asyncio.ensure_future(handle.write("last"))
    await asyncio.sleep(0)
    actor.gate.set()
    async with asyncio.timeout(PATIENCE_S):
        assert await asyncio.gather(busy, last) == ["FIRST", "LAST"]
    assert actor.lines == ["diary opened", "first", "last"]
    await handle.shut()


def test_an_attribute_of_python_is_not_taken_for_a_method() -> None:
    handle = LocalHandle("any")
    with pytest.raises(AttributeError):
        handle._private  # noqa: B018  the look-up is what is tested
    assert not hasattr(handle, "__len__")


async def test_callers_who_gave_up_fill_the_inbox_to_twice_its_limit_and_no_further() -> None:
    handle = LocalHandle("small", inbox_messages_max=4)
    await handle.construct(Diary, [])
    actor: Diary = handle._actor
    busy = asyncio.ensure_future(handle.wait("first"))
    await asyncio.to_thread(actor.started.wait, PATIENCE_S)
    refused = 0
    for _ in range(20):
        call = asyncio.ensure_future(handle.write("never"))
        await asyncio.sleep(0)
        call.cancel()
        (answer,) = await asyncio.gather(call, return_exceptions=True)
        refused += isinstance(answer, Overloaded)
    assert refused == 12
    actor.gate.set()
    async with asyncio.timeout(PATIENCE_S):
        assert await busy == "FIRST"
        await handle._queued(int)  # which comes after those who gave up
        assert await handle.write("room again") == "ROOM AGAIN"
    await handle.shut()


class Ending:
    """An actor whose call ends as an iterator does."""

    def end(self) -> None:
        raise StopIteration("of nothing")


async def test_a_call_that_ends_as_an_iterator_does_reaches_its_caller(runtime: LocalRuntime) -> None:
    handle = await runtime.spawn("ending", Ending)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(handle.end(), PATIENCE_S)


async def test_an_actor_that_rests_holds_nothing_of_a_call_that_was_called_off(runtime: LocalRuntime) -> None:
    handle, actor, first = await gated(runtime)
    line = Line("of a call whose caller has gone")
    gone, last = asyncio.ensure_future(handle.write(line)), weakref.ref(line)
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait((gone,), timeout=PATIENCE_S)
    del line, gone
    actor.gate.set()
    async with asyncio.timeout(PATIENCE_S):
        await first
        while last() is not None:  # a thread that comes to rest tells nobody
            gc.collect()
            await asyncio.sleep(0)
