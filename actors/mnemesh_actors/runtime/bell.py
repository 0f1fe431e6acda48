"""The bell of a log: wakes everyone who waits for entries after a sequence number. The bell carries no content;
whoever wakes up reads the ledger. Nothing is kept and nothing runs while nobody writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mnemesh_memory.values.errors import Unavailable


class LogHead:
    """`head` is the last sequence number of a log that is known to be committed, or acknowledged. It grows until the
    numbers begin anew, and wakes who waits for more."""

    def __init__(self, head: int = 0) -> None:
        self.head = head
        self._bell = asyncio.Event()
        self._over = ""
        self.epoch = 0  # how often the numbers began anew
        self._listeners: list[Callable[[], None]] = []

    def tell(self, head: int) -> None:
        """The log is committed, or acknowledged, up to `head`."""
        if head > self.head:
            self.head = head
            self._ring()

    def restart(self, head: int) -> None:
        """The log is another one from now on, with numbers of its own up to `head`: wake everyone."""
        self.epoch += 1
        self.head = head
        self._ring()

    def listen(self, heard: Callable[[], None]) -> None:
        """Call `heard` at all news from now on."""
        self._listeners.append(heard)

    def unlisten(self, heard: Callable[[], None]) -> None:
        """Call `heard` no more, if it is called at all."""
        if heard in self._listeners:
            self._listeners.remove(heard)

    async def after(self, seq: int) -> None:
        """Return once there is something after `seq`, or the numbers began anew. Raises Unavailable when there will be
        no more news."""
        epoch = self.epoch
        while self.head <= seq and epoch == self.epoch and not self._over:
            await self._bell.wait()
        self.check()

    def check(self) -> None:
        """Raises Unavailable when there will be no more news."""
        if self._over:
            raise Unavailable(self._over, part="node")

    def end(self, why: str) -> None:
        """Wake everyone for the last time."""
        self._over = why
        self._ring()

    def _ring(self) -> None:
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()
        for heard in self._listeners:
            heard()
