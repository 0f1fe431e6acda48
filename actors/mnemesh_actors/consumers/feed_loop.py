"""The loop of everything that takes in the log: step by step, woken by news, with back-off after errors.

The loop knows neither pages nor where a cursor is kept. A subclass takes one page in each `_step`.
"""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import structlog

from mnemesh_actors.notices import Notice
from mnemesh_actors.runtime.budget import Budget
from mnemesh_memory.values.errors import DiskFull, MnemeshError

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
    """A consumer at work. `notice` hears of faults that a person should know."""

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
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
