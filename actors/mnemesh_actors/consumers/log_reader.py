"""A position in the log that is kept nowhere: the reader under watches, MCP subscriptions and durable consumers.

A reader holds one page at most, however far behind it is. It waits for news and never asks in vain.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from mnemesh_actors.runtime.bell import News


class LogPage(Protocol):
    """Some of the log: entries up to `seq`, of a log with this incarnation that ends with `head`."""

    @property
    def seq(self) -> int: ...

    @property
    def head(self) -> int: ...

    @property
    def incarnation(self) -> str: ...


Page = TypeVar("Page", bound=LogPage)


class LogReader(Generic[Page]):
    """Reads pages by `ask(after)`. The position moves when a page was taken, so each entry comes at least once."""

    def __init__(self, news: News, ask: Callable[[int], Awaitable[Page]], incarnation: str, seq: int) -> None:
        self._news = news
        self._ask = ask
        self.incarnation = incarnation
        self.seq = seq
        self.head = max(seq, news.head)
        self._asked = False  # whether the log was read to its end, with nothing new since
        self._heard = 0  # the news when the log was asked last
        self._epoch = news.epoch

    async def next(self) -> Page | None:
        """The page after the position, once there is one to be expected. See `read`. Raises Unavailable when the node
        stops."""
        if self._asked and self._epoch == self._news.epoch:
            # Not only after the position: the end of the log may have been erased since the news.
            await self._news.after(max(self.seq, self._heard))
        self._news.check()
        return await self.read()

    async def read(self) -> Page | None:
        """The page after the position. None when another log goes on: the position is its beginning then, unless
        somebody has set it meanwhile."""
        self._asked, self._heard, self._epoch = False, self._news.head, self._news.epoch
        page = await self._ask(self.seq)
        if self._epoch != self._news.epoch:
            return None
        if page.incarnation != self.incarnation:
            self.set(page.incarnation, 0)
            return None
        # News that came while the log was read are about entries that the page does not know.
        self.head = max(page.head, self.seq) if self._heard == self._news.head else self._news.head
        return page

    def passed(self, page: Page) -> None:
        """The page was taken."""
        self.seq = page.seq
        self._asked = page.seq >= page.head

    def set(self, incarnation: str, seq: int) -> None:
        """Go on in that log after that entry."""
        self.incarnation, self.seq, self._asked = incarnation, seq, False
