"""Outages of the index: noticing them, refusing writers who wait too long, and looking for the index.

Knows nothing of what the index holds.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from mnemesh_actors.consumers.feed_loop import FeedLoop, Waiting, pause_s
from mnemesh_actors.notices import Notice
from mnemesh_memory.values.errors import MnemeshError, Unavailable

# The longest pause that the server of an index may ask for.
RETRY_AFTER_MAX_S = 60.0
# A restart is waited for, an outage is told.
AWAY_GRACE_S = 3.0
# How often the machine of an index that lives elsewhere is looked at.
MACHINE_WATCH_S = 0.5
# An opening that takes longer goes on, and the next look waits for it again.
LOOK_S = 5.0
SUBJECT = "index"  # of what is told of it
log = structlog.get_logger("mnemesh.index")


class IndexPresence(FeedLoop):
    """`answers` says whether the machine of the index can be reached: the runtime itself notices only much later that a
    machine was cut off."""

    def __init__(self, notice: Callable[[str], None], answers: Callable[[], Awaitable[bool]] | None) -> None:
        super().__init__(SUBJECT, notice)
        self._machine_answers = answers
        self._waiting = Waiting()
        self._over = ""  # why nothing more will be indexed
        self._looking: asyncio.Task[None] | None = None
        self._away_since = 0.0
        self._looks = 0  # how often the index was looked for since
        self._asked_for = 0.0  # the pause that its server asked for, in s
        self.away = ""  # why the index can't be asked, until it is opened again

    @abstractmethod
    async def _reopen(self) -> None:
        """Open the index again. Raises MnemeshError."""

    async def _watch_machine(self, answers: Callable[[], Awaitable[bool]]) -> None:
        while True:
            await asyncio.sleep(MACHINE_WATCH_S)
            if not self.away and not await answers() and not self.away:
                self.went_away(Unavailable("the machine of the index can't be reached", part="index"))
                # No writer waits, not even the moment that a restart takes.
                self._away_since -= AWAY_GRACE_S
                self._waiting.refuse(self._told_away)

    def went_away(self, error: MnemeshError) -> None:
        """The index can't be asked, or does not answer. Nobody asks it until it is back."""
        if self._over:
            return  # nobody would look for it
        if not self.away:
            self._away_since = asyncio.get_running_loop().time()
            log.warning("index_away", reason=error.message)
            self._notice(Notice(SUBJECT, f"index away: {error.message}"))
        self._stalled = False
        self.away = self.fault = error.message
        self._asked_for = min(RETRY_AFTER_MAX_S, error.fields.get("retry_after_s", 0.0))
        self._able.clear()
        self._news.set()
        if self._looking is None or self._looking.done():
            # Beside the loop, which may be embedding for long.
            self._looking = asyncio.create_task(self._look_for_it(), name="index-look")
            self._looking.add_done_callback(self._ended)

    @property
    def _long_away(self) -> bool:
        return bool(self.away) and asyncio.get_running_loop().time() - self._away_since >= AWAY_GRACE_S

    async def _look_for_it(self) -> None:
        """Open the shard again, after pauses, until that works. Writers who wait are told when it takes long."""
        while self.away:
            await asyncio.sleep(max(pause_s(self._looks), self._asked_for))
            self._looks += 1
            with suppress(MnemeshError, TimeoutError):
                await asyncio.wait_for(self._reopen(), LOOK_S)
            if self._long_away:
                self._waiting.refuse(self._told_away)

    @property
    def _told_away(self) -> str:
        return f"stored, but not searchable until the index is back: {self.away}"
