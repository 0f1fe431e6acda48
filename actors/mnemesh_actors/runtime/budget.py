"""Work in the background that makes room for operations that somebody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

# A step that hung is no reason to rest for as long.
REST_MAX_S: Final = 10.0


class Foreground:
    """Counts the operations of a node that somebody waits for."""

    def __init__(self) -> None:
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._last: float | None = None  # end of the last operation, by the clock of the loop

    def idle_for(self) -> float:
        """Seconds since the last operation ended, 0 while one is under way."""
        if self._under_way:
            return 0.0
        now = asyncio.get_running_loop().time()
        if self._last is None:
            self._last = now
        return now - self._last

    @contextmanager
    def operation(self) -> Iterator[None]:
        """One operation is under way inside."""
        self._under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            self._last = asyncio.get_running_loop().time()
            if not self._under_way:
                self._idle.set()

    async def idle(self, limit_s: float, quiet_s: float = 0.0) -> None:
        """Return once no operation is under way, with `quiet_s` for so long, or after `limit_s`."""
        end = asyncio.get_running_loop().time() + limit_s
        while (left := end - asyncio.get_running_loop().time()) > 0:
            if self._under_way:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._idle.wait(), left)
            if not quiet_s or (missing := quiet_s - self.idle_for()) <= 0:
                return
            await asyncio.sleep(min(left, missing))


class Budget:
    """Limits background work to `share` of the time while operations are under way. An idle node sets no limit, and
    with `quiet_s` it is idle only after such a time: the pause between two questions of one client is none. Each step
    waits up to `linger_s` for an idle node, so that work which comes meanwhile is done in the same step."""

    def __init__(
        self, foreground: Foreground | None = None, share: float = 1.0, quiet_s: float = 0.0, linger_s: float = 0.0
    ) -> None:
        assert 0 < share <= 1
        self._quiet_s = quiet_s
        self._linger_s = linger_s
        self._wanted = asyncio.Event()
        self._foreground = foreground or Foreground()
        self._share = share
        self._rests_until = 0.0  # by the clock of the loop
        self._one = asyncio.Lock()

    async def turn(self) -> None:
        """Return when the next step may begin: at the latest after the rest that the last step costs, or when somebody
        waits for the step."""
        limit = self._rests_until - asyncio.get_running_loop().time()
        if not self._linger_s:
            await self._foreground.idle(limit, self._quiet_s)
        elif not self._wanted.is_set():
            await self._quiet_or_wanted(max(limit, self._linger_s))
        self._wanted.clear()

    async def _quiet_or_wanted(self, limit_s: float) -> None:
        quiet = asyncio.ensure_future(self._foreground.idle(limit_s, self._quiet_s))
        wanted = asyncio.ensure_future(self._wanted.wait())
        try:
            await asyncio.wait((quiet, wanted), return_when=asyncio.FIRST_COMPLETED)
        finally:
            quiet.cancel()
            wanted.cancel()

    def hurry(self) -> None:
        """Somebody waits for the next step, so it does not linger."""
        self._wanted.set()

    @contextmanager
    def step(self) -> Iterator[None]:
        """One step is done inside. The longer a step takes, the longer is the rest."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            yield
        finally:
            ended = loop.time()
            self._rests_until = ended + min(REST_MAX_S, (ended - began) * (1 / self._share - 1))

    @asynccontextmanager
    async def slice(self) -> AsyncIterator[None]:
        """One step in its turn. No two slices are done at once."""
        async with self._one:
            await self.turn()
            with self.step():
                yield
