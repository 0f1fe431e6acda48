"""Workers of one kind: each call goes to the least busy worker, and to another when that one is down."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.values.errors import Unavailable

Port = TypeVar("Port")
Answer = TypeVar("Answer")
# A worker whose process died is started anew, so each is asked once more.
ROUNDS = 2


class WorkerPool(Generic[Port]):
    """At least one worker, whose calls may be repeated."""

    def __init__(self, workers: Sequence[Handle[Port]]) -> None:
        assert workers
        self.workers = tuple(workers)
        self._calls = [0] * len(self.workers)

    @property
    def size(self) -> int:
        """How many calls the pool can be busy with at once."""
        return len(self.workers)

    async def ask(self, call: Callable[[Handle[Port]], Awaitable[Answer]]) -> Answer:
        """The answer of a worker. Raises Unavailable when none can answer."""
        gone: Unavailable | None = None
        order = sorted(range(len(self.workers)), key=lambda number: self._calls[number])
        for number in order * ROUNDS:
            self._calls[number] += 1
            try:
                return await call(self.workers[number])
            except Unavailable as error:
                gone = error
            finally:
                self._calls[number] -= 1
        assert gone is not None
        raise gone
