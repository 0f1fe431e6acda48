"""Batch while busy: calls that arrive while an actor works go to it together in the next call. No timer.

An idle actor gets a single item at once, so a lone caller pays nothing (Triton's dynamic batching with zero delay).
Urgent items go before the others, in calls of their own; a bounded number of such calls in a row, so that none starves.
An actor with several calls at once keeps one of them for urgent items, always or while there are any.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mnemesh_actors.runtime.tasks import begin_beside
from mnemesh_memory.values.errors import Overloaded

Item = TypeVar("Item")
Result = TypeVar("Result")
URGENT_CALLS_MAX = 4


@dataclass(eq=False)
class Batcher(Generic[Item, Result]):
    """Gathers items for `call`, which takes a list and returns one result an item, in order.

    `items_max` bounds one call, `urgent_max` one of urgent items, `waiting_max` each queue (Overloaded beyond). At most
    `calls_max` calls are under way. One is kept for urgent items until `kept_s` after the last of them. With `size`, a
    call has items of at most `size_max` together, or there is one. A result that is an exception is raised to its own
    caller only. An exception of the call itself goes to every caller of the batch.
    """

    name: str
    call: Callable[[list[Item]], Awaitable[Sequence[Result | Exception]]]
    items_max: int
    waiting_max: int
    size: Callable[[Item], int] | None = None
    size_max: int = 0
    urgent_max: int | None = None
    calls_max: int = 1
    kept_s: float = math.inf
    _queue: deque[tuple[Item, asyncio.Future[Result]]] = field(default_factory=deque, init=False)
    _urgent: deque[tuple[Item, asyncio.Future[Result]]] = field(default_factory=deque, init=False)
    _urgent_calls: int = field(default=0, init=False)
    _urgent_at: float = field(default=-math.inf, init=False)  # when the last urgent item came
    _usual: int = field(default=0, init=False)  # calls without urgent items that are under way
    _lanes: int = field(default=0, init=False)  # tasks that make calls in turn
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    async def submit(self, item: Item, urgent: bool = False) -> Result:
        """The result for `item`. Cancelling the caller does not undo a call that has started."""
        if urgent:
            self._urgent_at = asyncio.get_running_loop().time()
        future = self._enqueue(item, self._urgent if urgent else self._queue)
        self._start()
        return await future

    async def idle(self, limit_s: float) -> None:
        """Return once nothing is under way, or after `limit_s`."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=limit_s)

    async def submit_many(self, items: Sequence[Item]) -> list[Result | BaseException]:
        """Results in order; an item that failed gives its exception."""
        waiting = [self._enqueue(item, self._queue) for item in items]
        self._start()
        return await asyncio.gather(*waiting, return_exceptions=True)

    def _enqueue(self, item: Item, queue: deque[tuple[Item, asyncio.Future[Result]]]) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        if len(queue) >= self.waiting_max:
            # Not raised: earlier items of the same list are on their way.
            future.set_exception(Overloaded(self.name, self.waiting_max))
            return future
        queue.append((item, future))
        return future

    def _start(self) -> None:
        """One more call at a time, if there is something for it to take."""
        if self._lanes < self.calls_max and (self._urgent or self._usual_may_go):
            self._lanes += 1
            begin_beside(self._tasks, self._run(), self.name)

    @property
    def _usual_may_go(self) -> bool:
        if not self._queue or self._usual >= self.calls_max:
            return False
        return self._usual < max(1, self.calls_max - 1) or not self._keeps_one()

    def _keeps_one(self) -> bool:
        """Whether the last free call waits for an urgent item."""
        return math.isinf(self.kept_s) or asyncio.get_running_loop().time() < self._urgent_at + self.kept_s

    @property
    def _share(self) -> int:
        """Of the usual items that wait, as many as leave the same number to each call that may begin now; the first is
        taken already."""
        free = self.calls_max - self._keeps_one() - self._usual
        return math.ceil((len(self._queue) + 1) / max(1, free))

    def _take(self) -> tuple[list[tuple[Item, asyncio.Future[Result]]], bool]:
        """The items of the next call, and whether they are urgent; none when none may go now."""
        usual_may_go = self._usual_may_go
        if not self._urgent and not usual_may_go:
            return [], False
        urgent = bool(self._urgent) and (not usual_may_go or self._urgent_calls < URGENT_CALLS_MAX)
        self._urgent_calls = self._urgent_calls + 1 if urgent else 0
        queue = self._urgent if urgent else self._queue
        taken, size = [queue.popleft()], 0
        items_max = (self.urgent_max or self.items_max) if urgent else min(self.items_max, self._share)
        while queue and len(taken) < items_max:
            if self.size is not None:
                size += self.size(taken[-1][0])
                if size + self.size(queue[0][0]) > self.size_max:
                    break
            taken.append(queue.popleft())
        return taken, urgent

    async def _run(self) -> None:
        while True:
            taken, urgent = self._take()
            if not taken:
                self._lanes -= 1
                return
            live = [pair for pair in taken if not pair[1].done()]
            if not live:
                continue
            self._usual += not urgent
            self._start()
            await self._answer(live)
            self._usual -= not urgent

    async def _answer(self, live: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        """One call, and each of its results to the waiting caller."""
        try:
            results = await self.call([item for item, _ in live])
            if len(results) != len(live):
                raise ValueError(f"{self.name}: {len(results)} results for {len(live)} items")
        except Exception as error:  # noqa: BLE001  boundary: every caller of the batch gets the error itself
            for _, future in live:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(live, results, strict=True):
            if future.done():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)
