"""Actors in this process: a thread each, a bounded inbox each, no Ray.

A hop to a thread and back costs more than the shortest calls themselves, and such a call holds the interpreter anyway.
A call that an actor names `quick` therefore runs in the caller's thread whenever the actor has nothing else to do. The
other calls go through a queue of our own. An executor of the standard library costs a tenth of a millisecond more for a
hop, and a write makes several hops.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeAlias

from mnemesh_actors.runtime.base import ANYWHERE, Actor, Args, Handle, Machine, Place, Port
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import Overloaded, Unavailable
from mnemesh_memory.values.model_status import ActorStatus

HERE = "127.0.0.1"
# The time for which a thread of Python keeps the interpreter when another one waits. The model wants the interpreter
# for moments only, several times a call. Beside a thread that never rests a question took 19 ms with 5 ms (the
# default), 12 with 1.
SWITCH_S = 0.001

Call: TypeAlias = tuple[asyncio.AbstractEventLoop, asyncio.Future[Any], Callable[[], Any]]


class LocalHandle(Handle[Port]):
    """One object, one call at a time, in order of arrival. More than `inbox_messages_max` waiting calls are refused,
    not queued. To be used from one event loop."""

    def __init__(self, name: str, inbox_messages_max: int = limits.INBOX_MESSAGES_MAX) -> None:
        self.name = name
        self.type = ""
        self._inbox_messages_max = inbox_messages_max
        self._inbox: SimpleQueue[Call | None] = SimpleQueue()
        # No thread outlives a process that ends in a hurry; `shut` waits for it.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()
        self._actor: Any = None
        self._quick: Callable[[str, tuple[Any, ...]], bool] = _never
        # Held by whoever is inside the object: a call whose caller has given up is inside though nobody waits for it.
        self._turn = threading.Lock()
        self._waiting = 0
        self._closed = False

    async def construct(self, cls: Callable[[*Args], Port], *args: *Args) -> None:
        """Build the object in its own thread. When that fails, or is not waited for, nothing stays behind."""
        self.type = cls.__name__
        try:
            await self._queued(partial(self._make, cls, args))
        except BaseException:  # boundary: nobody will have this handle
            self._closed = True
            self._inbox.put((asyncio.get_running_loop(), asyncio.Future(), self._close))
            self._inbox.put(None)
            raise
        self._quick = getattr(self._actor, "quick", _never)

    def _make(self, cls: Callable[[*Args], Port], args: tuple[*Args]) -> None:
        self._actor = cls(*args)
        if arrive := getattr(self._actor, "arrive", None):
            arrive(HERE)

    def _close(self) -> None:
        if close := getattr(self._actor, "close", None):
            close()

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        if method.startswith("_"):
            raise AttributeError(method)
        bound = partial(self._call, method)
        # The handle has no state of that name, so the bound call can be kept: the hot path then skips __getattr__.
        self.__dict__[method] = bound
        return bound

    async def _call(self, method: str, *args: Any) -> Any:
        if self._closed:
            raise Unavailable(f"{self.name} is closed", part=self.name)
        # A caller that has given up makes room, but the call stays in the queue until its turn.
        if self._waiting >= self._inbox_messages_max or self._inbox.qsize() >= 2 * self._inbox_messages_max:
            raise Overloaded(f"inbox of {self.name}", self._inbox_messages_max)
        work = partial(getattr(self._actor, method), *args)
        if not self._waiting and self._quick(method, args) and self._turn.acquire(blocking=False):
            try:
                return work()
            finally:
                self._turn.release()
        self._waiting += 1
        try:
            return await self._queued(work)
        finally:
            self._waiting -= 1

    def _queued(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """The result of `work` in the actor's thread. A caller that stops waiting before its turn has called the work
        off."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._inbox.put((loop, future, work))
        return future

    def _work(self) -> None:
        while (call := self._inbox.get()) is not None:
            self._answer(*call)
            del call  # nothing is held while nothing is to be done

    def _answer(self, loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], work: Callable[[], Any]) -> None:
        def in_turn() -> Any:
            with self._turn:
                return work()

        if not future.cancelled():
            answer(loop, future, in_turn)

    async def shut(self) -> None:
        """Let what was accepted finish, close the object, end the thread. An object that can wait for another process
        is told first, outside its queue."""
        if self._closed:
            return
        self._closed = True
        if interrupt := getattr(self._actor, "interrupt", None):
            interrupt()
        try:
            await asyncio.shield(self._queued(self._close))
        finally:
            self._inbox.put(None)
            self._thread.join()


class LocalRuntime:
    """The embedded default. Actors end in the reverse order of their making."""

    name = "local"

    def __init__(self) -> None:
        self._handles: list[LocalHandle[object]] = []
        sys.setswitchinterval(SWITCH_S)

    async def spawn(
        self, name: str, cls: Callable[[*Args], Actor], *args: *Args, place: Place = ANYWHERE
    ) -> LocalHandle[Actor]:
        handle: LocalHandle[Actor] = LocalHandle(name)
        await handle.construct(cls, *args)
        self._handles.append(handle)
        return handle

    async def machines(self) -> tuple[Machine, ...]:
        return (Machine("", HERE),)

    async def answers(self, handle: Handle[object]) -> bool:
        return True

    async def lost(self) -> str:
        return ""

    async def drop(self, handle: Handle[object]) -> None:
        assert isinstance(handle, LocalHandle)
        self._handles.remove(handle)
        await handle.shut()

    async def actors(self) -> tuple[ActorStatus, ...]:
        return tuple(
            ActorStatus(name=handle.name, type=handle.type, pid=os.getpid(), state="ready") for handle in self._handles
        )

    async def close(self) -> None:
        async with AsyncExitStack() as last:  # one that fails to close keeps no other open
            for handle in self._handles:
                last.push_async_callback(handle.shut)
            self._handles.clear()


def answer(loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], work: Callable[[], Any]) -> None:
    """Do `work` in this thread, and hand the result or the error to the future of a loop in another thread."""
    try:
        settled = partial(_settle, future, work(), None)
    except BaseException as error:  # noqa: BLE001  boundary: whatever it is, the caller gets it
        settled = partial(_settle, future, None, error)
    with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
        loop.call_soon_threadsafe(settled)


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return  # nobody waits any more
    if isinstance(error, StopIteration):  # which no future takes
        error = RuntimeError(f"a call was ended by {error!r}")
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _never(method: str, args: tuple[Any, ...]) -> bool:
    return False
