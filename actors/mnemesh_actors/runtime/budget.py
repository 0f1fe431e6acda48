"""Work in the background that makes room for operations that somebody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from typing import Final

from mnemesh_actors.runtime.tasks import first_done

# A step that hung is no reason to rest for as long.
REST_MAX_S: Final = 10.0
# While a step of another budget is under way, the end of its rest is not known yet.
LOOK_S: Final = 0.05
# The longest time for which operations that follow each other hold up the calls of `afterwards`.
AFTERWARDS_S: Final = 0.05


class Foreground:
    """Counts the operations of a node that somebody waits for."""

    def __init__(self) -> None:
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._last: float | None = None  # end of the last operation, by the clock of the loop
        self._calls: dict[Callable[[], None], None] = {}  # to be made when no operation is under way
        self._limit: asyncio.TimerHandle | None = None

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
                self._make_calls()

    def afterwards(self, call: Callable[[], None]) -> None:
        """Make `call` once, as soon as no operation is under way, or after AFTERWARDS_S."""
        if not self._under_way:
            call()
            return
        if not self._calls:
            self._limit = asyncio.get_running_loop().call_later(AFTERWARDS_S, self._make_calls)
        self._calls[call] = None

    def _make_calls(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
        calls, self._calls = self._calls, {}
        for call in calls:
            call()

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


class Rest:
    """The pause after a step of background work. Budgets with one rest in common share the time that is left."""

    def __init__(self) -> None:
        self._until = 0.0  # by the clock of the loop
        self._working = 0
        self._began = 0.0  # the last step

    def left_s(self) -> float:
        """Seconds to its end, 0 when it is over. While a step is under way, the time to the next look."""
        now = asyncio.get_running_loop().time()
        least = LOOK_S if self._working and now - self._began < REST_MAX_S else 0.0
        return max(least, self._until - now)

    @contextmanager
    def after(self, share: float) -> Iterator[None]:
        """One step is done inside, and costs a rest that leaves it `share` of the time."""
        loop = asyncio.get_running_loop()
        self._began = began = loop.time()
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1
            ended = loop.time()
            self._until = max(self._until, ended + min(REST_MAX_S, (ended - began) * (1 / share - 1)))


class Budget:
    """Limits background work to `share` of the time while operations are under way. An idle node sets no limit, and
    with `quiet_s` it is idle only after such a time: the pause between two questions of one client is none. Each step
    waits up to `linger_s` for an idle node, so that work which comes meanwhile is done in the same step. Budgets that
    linger take turns in the time that they are given by a common `rest`."""

    def __init__(
        self,
        foreground: Foreground | None = None,
        share: float = 1.0,
        quiet_s: float = 0.0,
        linger_s: float = 0.0,
        rest: Rest | None = None,
    ) -> None:
        assert 0 < share <= 1
        self._quiet_s = quiet_s
        self._linger_s = linger_s
        self._wanted = asyncio.Event()
        self._foreground = foreground or Foreground()
        self._share = share
        self._rest = rest or Rest()
        self._one = asyncio.Lock()

    async def turn(self) -> None:
        """Return when the next step may begin: at the latest after the rest that the last step costs, or when somebody
        waits for the step."""
        if not self._linger_s:
            await self._foreground.idle(self._rest.left_s(), self._quiet_s)
            return
        wait_s = self._rest.left_s() + self._linger_s  # another budget that waits already goes first
        while not self._wanted.is_set() and wait_s:
            await first_done(self._foreground.idle(wait_s, self._quiet_s), self._wanted.wait())
            wait_s = 0.0 if self._foreground.idle_for() >= self._quiet_s else self._rest.left_s()
        self._wanted.clear()

    def hurry(self) -> None:
        """Somebody waits for the next step, so it does not linger."""
        self._wanted.set()

    def afterwards(self, call: Callable[[], None]) -> None:
        """Make `call` once the operations under way have ended. See Foreground."""
        self._foreground.afterwards(call)

    def step(self) -> AbstractContextManager[None]:
        """One step is done inside. The longer a step takes, the longer is the rest."""
        return self._rest.after(self._share)

    @asynccontextmanager
    async def slice(self) -> AsyncIterator[None]:
        """One step in its turn. No two slices are done at once."""
        async with self._one:
            await self.turn()
            with self.step():
                yield
