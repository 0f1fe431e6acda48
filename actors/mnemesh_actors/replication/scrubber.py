"""The scrub in the background: a few memories at a time, with pauses, so that bit rot is found before it is read.

It takes at most SHARE of one core and holds the ledger for the time of a few reads. After a whole pass it rests.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import structlog

from mnemesh_actors.ports import LedgerRepair
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.values.errors import MnemeshError

MEMORIES_A_STEP: Final = 4
SHARE: Final = 0.01
FIRST_AFTER_S: Final = 60.0
STEP_EVERY_S: Final = 0.25
REST_S: Final = 6 * 3600.0
log = structlog.get_logger("mnemesh.scrub")


class Scrubber:
    """Scrubs `ledger`, first after `first_after_s`."""

    def __init__(
        self, ledger: Handle[LedgerRepair], first_after_s: float = FIRST_AFTER_S, step_every_s: float = STEP_EVERY_S
    ) -> None:
        self._ledger = ledger
        self._first_after_s = first_after_s
        self._step_every_s = step_every_s
        self._task: asyncio.Task[None] | None = None
        self.passes = asyncio.Semaphore(0)  # one more for each whole pass

    def start(self) -> Scrubber:
        """Begin, in a task of the running loop."""
        self._task = asyncio.create_task(self._scrub(), name="scrub")
        return self

    async def close(self) -> None:
        """Stop. The next start begins at the first memory again."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _scrub(self) -> None:
        await asyncio.sleep(self._first_after_s)
        while True:
            await self._pass()
            self.passes.release()
            await asyncio.sleep(REST_S)

    async def _pass(self) -> None:
        after, loop = "", asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                after = await self._ledger.scrub(after, MEMORIES_A_STEP)
            except MnemeshError as error:
                log.warning("scrub_stalled", reason=error.message)
                return
            if not after:
                return
            await asyncio.sleep(max(self._step_every_s, (loop.time() - began) / SHARE))
