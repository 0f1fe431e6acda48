"""Readers of the log: the loop of a consumer, a position that is kept nowhere, and writers that wait for the index.

The loop knows neither pages nor the place of a cursor. A subclass takes one page in each `_step`.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar

import structlog

from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.notices import Notice
from mnemesh_actors.runtime.bell import LogHead
from mnemesh_actors.runtime.budget import Budget
from mnemesh_actors.runtime.tasks import cancelled
from mnemesh_memory.values.errors import DiskFull, MnemeshError, Unavailable
from mnemesh_memory.watch.watch_values import ChangesPage

RETRY_S = 0.5
# The pauses between failed attempts double up to this.
RETRY_MAX_S = 5.0
log = structlog.get_logger("mnemesh.consumers")


def pause_s(failures: int) -> float:
    """The pause after so many failures in a row. Chance keeps several consumers apart."""
    if not failures:
        return 0.0
    longest = min(RETRY_MAX_S, RETRY_S * 2.0 ** min(failures - 1, 30))
    return random.uniform(longest / 2, longest)


class FeedLoop(ABC):
    """A consumer at work: step by step, woken by news, with back-off after errors. `notice` hears of faults that a
    person should know."""

    def __init__(self, name: str, notice: Callable[[str], None], budget: Budget | None = None) -> None:
        self.name = name
        self.applied = 0  # the last entry that was taken in
        self.head = 0  # the last entry of the log, as far as is known
        self.fault = ""
        self._notice = notice
        self._budget = budget or Budget()
        self._news = asyncio.Event()
        self._able = asyncio.Event()  # cleared while nothing can be taken in
        self._able.set()
        self._tasks: list[asyncio.Task[None]] = []
        self._stalled = False  # a fault was told, and no step has succeeded since
        self._failures = 0  # in a row
        self._bug = ""  # stays until the node is started again

    @property
    def lag(self) -> int:
        """How many entries of the log are not taken in yet."""
        return max(0, self.head - self.applied)

    def look(self) -> None:
        """The log may hold more than was told of."""
        self._news.set()

    def _begin(self, work: Coroutine[Any, Any, None], task: str) -> None:
        self._tasks.append(asyncio.create_task(work, name=f"{self.name}-{task}"))
        self._tasks[-1].add_done_callback(self._ended)

    async def _follow(self) -> None:
        moved = True
        while True:
            await self._able.wait()
            if not self.lag:
                await self._news.wait()
                self._news.clear()
            elif not moved:
                # The log gave nothing though it is known to hold more: asked again at leisure.
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), RETRY_S)
                self._news.clear()
            await self._budget.turn()
            if not self._able.is_set():
                continue
            try:
                with self._budget.step():
                    moved = await self._step()
            except DiskFull as error:
                if self.fault != error.message:
                    log.warning("consumer_waits_for_disk", consumer=self.name, reason=error.message)
                self.fault = error.message
                await asyncio.sleep(RETRY_S)
            except MnemeshError as error:
                await self._stumble(error)
            else:
                if self._stalled:
                    self._stalled = False
                    self._notice(Notice(self.name, ""))
                self._failures, self.fault = 0, self._bug

    @abstractmethod
    async def _step(self) -> bool:
        """Take in one page of the log. Returns whether there was one."""

    async def _stumble(self, error: MnemeshError) -> None:
        """Tell of the error once, then pause."""
        if not self.fault:
            log.warning("consumer_stalled", consumer=self.name, reason=error.message)
            self._notice(Notice(self.name, f"{self.name} stalled: {error.message}"))
            self._stalled = True
        self.fault = error.message
        self._failures += 1
        await asyncio.sleep(pause_s(self._failures))

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A bug ended a task: everybody is told, because nothing restarts the task."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        self.fault = self._bug = f"{task.get_name()} ended by a fault of ours: {error!r}; restart the node"
        self._notice(self.fault)
        log.error("consumer_ended", consumer=self.name, task=task.get_name(), exc_info=error)
        self._broke(task.get_name())

    def _broke(self, task: str) -> None:  # noqa: B027  most consumers have nobody who waits
        """A bug ended `task`."""

    async def close(self) -> None:
        """Stop. The next start goes on from the cursor."""
        await cancelled(*self._tasks)


Page = TypeVar("Page", EntryPage, ChangesPage)


class LogReader(Generic[Page]):
    """The reader under watches, MCP subscriptions and durable consumers. It reads pages by `ask(after)`, holds one page
    at most, waits for news and never asks in vain. The position moves when a page was taken, so each entry comes at
    least once."""

    def __init__(self, news: LogHead, ask: Callable[[int], Awaitable[Page]], incarnation: str, seq: int) -> None:
        self._news = news
        self._ask: Callable[[int], Awaitable[Page]] = ask
        self.incarnation = incarnation
        self.seq = seq
        self.head = max(seq, news.head)
        self._asked = False  # whether the log was read to its end, with nothing new since
        self._heard = 0  # the news when the log was asked last
        self._epoch = news.epoch

    async def next(self) -> Page | None:
        """The page after the position, once there is one to be expected. See `read`. Raises Unavailable when the node
        stops."""
        if self._asked and self._epoch == self._news.epoch:
            # Not only after the position: the end of the log may have been erased since the news.
            await self._news.after(max(self.seq, self._heard))
        self._news.check()
        return await self.read()

    async def read(self) -> Page | None:
        """The page after the position. None when another log goes on: the position is its beginning then, unless
        somebody has set it meanwhile."""
        self._asked, self._heard, self._epoch = False, self._news.head, self._news.epoch
        page = await self._ask(self.seq)
        if self._epoch != self._news.epoch:
            return None
        if page.incarnation != self.incarnation:
            self.set(page.incarnation, 0)
            return None
        # News that came while the log was read are about entries that the page does not know.
        self.head = max(page.head, self.seq) if self._heard == self._news.head else self._news.head
        return page

    def passed(self, page: Page) -> None:
        """The page was taken."""
        self.seq = page.seq
        self._asked = page.seq >= page.head

    def set(self, incarnation: str, seq: int) -> None:
        """Go on in that log after that entry."""
        self.incarnation, self.seq, self._asked = incarnation, seq, False


class Waiting:
    """Writers that wait until the index has taken in a sequence number, in the order of their numbers."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._waiting)

    async def until(self, seq: int, limit_s: float) -> None:
        """Return once `seq` is reached. Raises TimeoutError, and what `refuse` was told."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (seq, next(self._numbers), future)
        heapq.heappush(self._waiting, entry)
        try:
            await asyncio.wait_for(future, limit_s)
        finally:
            # A long fault would otherwise gather waiters that gave up.
            if future.cancelled() and entry in self._waiting:
                self._waiting.remove(entry)
                heapq.heapify(self._waiting)

    def reached(self, seq: int) -> None:
        """Everything up to `seq` is in."""
        while self._waiting and self._waiting[0][0] <= seq:
            _, _, future = heapq.heappop(self._waiting)
            if not future.done():
                future.set_result(None)

    def renumber(self, seq: int) -> None:
        """The numbers are others from now on: everyone waits for `seq`."""
        self._waiting = [(seq, number, future) for _, number, future in self._waiting]

    def refuse(self, why: str) -> None:
        """It will not be reached, or not soon."""
        for _, _, future in self._waiting:
            if not future.done():
                future.set_exception(Unavailable(why, part="index"))
        self._waiting.clear()
