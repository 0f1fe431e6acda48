"""Writers that wait until the index has taken in a sequence number."""

from __future__ import annotations

import asyncio
import heapq
import itertools

from mnemesh_memory.values.errors import Unavailable


class Waiting:
    """Waits in the order of their numbers."""

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
