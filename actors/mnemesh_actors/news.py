"""The bell of a node: wakes everyone who waits for entries after a sequence number. It says that there is something to
read and never what; whoever is woken reads the ledger. Nothing is kept and nothing runs while nobody writes.
"""

from __future__ import annotations

import asyncio

from mnemesh_memory.errors import Unavailable


class News:
    """`head` is the last sequence number that is known to be committed."""

    def __init__(self, head: int = 0) -> None:
        self.head = head
        self._bell = asyncio.Event()
        self._over = ""

    def tell(self, head: int) -> None:
        """The ledger has committed up to `head`."""
        if head > self.head:
            self.head = head
            self._ring()

    async def after(self, seq: int) -> None:
        """Return once there is something after `seq`. Raises Unavailable when there will be no more news."""
        while self.head <= seq and not self._over:
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
