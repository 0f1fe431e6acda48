"""Workers of one kind: each call goes to the least busy worker, and to another when that worker is down or late.

A worker on a machine that was cut off says nothing for the half minute until Ray gives the worker up. After a moment of
patience another worker is asked as well, and the first answer counts (a hedged request: Dean and Barroso, The Tail at
Scale, 2013).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.values.errors import Unavailable

Port = TypeVar("Port")
Answer = TypeVar("Answer")


class WorkerPool(Generic[Port]):
    """At least one worker, whose calls may be repeated. A worker is late `patience_s` after a call of weight 1, None
    where workers can't be cut off. Each worker is asked up to `rounds` times, for a dead process is started anew."""

    def __init__(self, workers: Sequence[Handle[Port]], patience_s: float | None = None, rounds: int = 2) -> None:
        assert workers
        self.workers = tuple(workers)
        self._patience_s = patience_s
        self._rounds = rounds
        self._calls = [0] * len(self.workers)
        self._late = [0] * len(self.workers)  # calls of each worker that another worker was asked, too
        self._under_way: set[asyncio.Task[Any]] = set()

    @property
    def size(self) -> int:
        """How many calls the pool can be busy with at once."""
        return len(self.workers)

    @property
    def apart(self) -> bool:
        """Whether the workers are processes of their own, mostly on machines of their own."""
        return self._patience_s is not None

    async def ask(self, call: Callable[[Handle[Port]], Coroutine[Any, Any, Answer]], weight: float = 1.0) -> Answer:
        """The answer of the worker with the least to do. Raises Unavailable when no worker can answer."""
        order = sorted(range(self.size), key=lambda number: (self._late[number], self._calls[number])) * self._rounds
        if self._patience_s is not None and len(order) > 1:
            return await self._first(order, self._patience_s * weight, call)
        gone: Unavailable | None = None
        for number in order:
            self._calls[number] += 1
            try:
                return await call(self.workers[number])
            except Unavailable as error:
                gone = error
            finally:
                self._calls[number] -= 1
        assert gone is not None
        raise gone

    async def _first(
        self, order: Sequence[int], patience_s: float, call: Callable[[Handle[Port]], Coroutine[Any, Any, Answer]]
    ) -> Answer:
        """The first answer of the workers in `order`. Each is asked when those before are late or can't answer."""
        gone: Unavailable | None = None
        waiting: dict[asyncio.Task[Answer], int] = {}
        left = iter(order)
        while (number := next(left, None)) is not None or waiting:
            if number is not None:
                waiting[self._begun(number, call(self.workers[number]))] = number
            patience = None if number is None else patience_s
            done, _ = await asyncio.wait(waiting, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if not done and number is not None:
                self._is_late(number, next(task for task, of in waiting.items() if of == number))
            for task in done:
                del waiting[task]
                try:
                    return task.result()
                except Unavailable as error:
                    gone = error
        assert gone is not None
        raise gone

    def _begun(self, number: int, call: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        """A call that continues without a caller: its worker is busy from now on until the answer."""
        task = asyncio.create_task(call, name="worker-call")
        self._calls[number] += 1
        self._under_way.add(task)
        task.add_done_callback(partial(self._ended, number))
        return task

    def _ended(self, number: int, task: asyncio.Task[Any]) -> None:
        self._calls[number] -= 1
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be left who reads it

    def _is_late(self, number: int, task: asyncio.Task[Any]) -> None:
        """Until it answers, the others are asked before it."""

        def answered(_: asyncio.Task[Any]) -> None:
            self._late[number] -= 1

        self._late[number] += 1
        task.add_done_callback(answered)
