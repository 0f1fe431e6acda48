"""A consumer follows the log by a durable cursor: entries in order, each at least once, erasures among them.

A consumer is one class and one row of `consumer_table.py`. `ConsumerRunner` does the rest. Rules.

1. The cursor moves after `take` has returned, so a kill at any point loses nothing and may repeat pages.
2. A cursor means something in one incarnation of the log. In another log the consumer begins anew, after `reset`.
3. When the ledger of another machine goes on, the cursor moves to what that ledger is known to have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from mnemesh_actors.consumers.consumer_table import CONSUMERS, ConsumerParts, ConsumerRow
from mnemesh_actors.consumers.feed_loop import FeedLoop, LogReader, Waiting
from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.ports import Consumer, CursorStore, LedgerFeed
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.bell import LogHead
from mnemesh_actors.runtime.budget import Budget, Foreground, Rest
from mnemesh_memory.values.errors import DataLoss, MnemeshError
from mnemesh_memory.values.model_status import ConsumerStatus

# The pause after which a node counts as idle for a consumer that lingers.
QUIET_S: Final = 0.1


class ConsumerRunner(FeedLoop):
    """Leads `consumer` through the log of `ledger`, up to `page_entries` at a time. `news` tells how far the log is."""

    def __init__(
        self,
        name: str,
        consumer: Consumer,
        ledger: Handle[LedgerFeed],
        news: LogHead,
        notice: Callable[[str], None],
        page_entries: int,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(name, notice, budget)
        self._consumer = consumer
        self._ledger = ledger
        self._bell = news
        self._page_entries = page_entries
        self._store: CursorStore | Handle[LedgerFeed] = consumer if isinstance(consumer, CursorStore) else ledger
        self._reader: LogReader[EntryPage] | None = None  # once the cursor was read
        self._moves = 0  # how often the ledger of another machine went on
        self._anew = False  # the consumer has to drop what is of another log
        self._unkept = False  # the cursor moved since it was kept
        self._waiting = Waiting()

    def start(self) -> None:
        """Begin to follow. A ledger or a store that does not answer yet is asked again."""
        self.head = self._bell.head
        self._bell.listen(self._heard)
        self._begin(self._follow(), "follow")
        self.look()

    async def close(self) -> None:
        """Stop. The next start goes on from the cursor."""
        self._bell.unlisten(self._heard)
        await super().close()

    def move(self, incarnation: str, head: int, known: Callable[[int], int]) -> None:
        """The ledger of another machine goes on, with numbers of its own up to `head`. Its entries up to `known(seq)`
        are among the entries of the former ledger up to `seq`."""
        self._moves += 1
        self.head = head
        if self._reader is not None:
            self.applied = known(self.applied)
            self._reader.set(incarnation, self.applied)
            self._unkept = True
        self.look()

    def again(self) -> None:
        """The store of the consumer may know less than was kept: its cursor is read again."""
        self._moves += 1
        self._reader = None
        self.applied = 0
        self.look()

    async def _stumble(self, error: MnemeshError) -> None:
        if isinstance(error, DataLoss) and self._store is self._consumer:
            self.again()
        await super()._stumble(error)

    def _heard(self) -> None:
        self.head = max(self.head, self._bell.head)
        # A writer waits for the index and its answer, and for none of these.
        self._budget.afterwards(self.look)

    async def _step(self) -> bool:
        reader, moves = self._reader, self._moves
        if reader is None:
            return await self._find_cursor()
        if self._anew:
            await self._consumer.reset()
            self._anew = False
        page = await reader.read()
        if moves != self._moves:
            return True
        if page is None:
            self._anew, self.applied = True, 0
            return True
        moved = page.seq > reader.seq
        if page.entries:
            await self._consumer.take(page)
            if moves != self._moves:
                return True
        reader.passed(page)
        self.applied, self.head = page.seq, max(reader.head, page.seq)
        if moved or self._unkept:
            self._unkept = True  # until it is kept
            await self._store.keep_cursor(self.name, page.incarnation, page.seq)
            self._unkept = moves != self._moves
        self._waiting.reached(self.applied)
        return moved

    async def behind(self, wait_s: float) -> int:
        """How many of the entries that are known now are not taken in after `wait_s` seconds at most."""
        goal = max(self.head, self._bell.head)
        if self._reader is None or self.applied < goal:
            self._budget.hurry()
            self.look()
            with suppress(TimeoutError):
                await self._waiting.until(goal, wait_s)
        return max(0, goal - self.applied)

    async def _find_cursor(self) -> bool:
        moves = self._moves
        incarnation, head = await self._ledger.position()
        known, seq = await self._store.cursor(self.name)
        if moves == self._moves:
            self._anew = known != incarnation
            self.applied, self.head = 0 if self._anew else seq, head
            self._reader = LogReader(self._bell, self._ask, incarnation, self.applied)
            if not (self._anew and head):
                self._waiting.reached(self.applied)
        return True

    async def _ask(self, after: int) -> EntryPage:
        # Few are asked for where few are known: the ledger answers at once.
        known = self.head - after
        return await self._ledger.entries(after, min(known, self._page_entries) if known > 0 else self._page_entries)


class ConsumerSet:
    """The consumers of a node, started, moved, shown and stopped together: every row of `rows`."""

    def __init__(
        self,
        parts: ConsumerParts,
        news: LogHead,
        foreground: Foreground,
        notice: Callable[[str], None],
        rows: Sequence[ConsumerRow] = CONSUMERS,
    ) -> None:
        rest = Rest()
        made = [(row, consumer) for row in rows if (consumer := row.make(parts)) is not None]
        self._filled = [consumer for row, consumer in made if row.filled]
        if loose := [row.name for row, consumer in made if row.filled and not isinstance(consumer, CursorStore)]:
            raise TypeError(f"{', '.join(loose)}: a filled consumer keeps its own cursor")
        self.runners = tuple(
            ConsumerRunner(
                row.name,
                consumer,
                parts.ledger,
                news,
                notice,
                row.page_entries,
                Budget(foreground, row.share, min(QUIET_S, row.linger_s), row.linger_s, rest if row.linger_s else None),
            )
            for row, consumer in made
        )

    async def start(self) -> None:
        """Begin to follow, once the tables in memory know the whole log."""
        for consumer in self._filled:
            await consumer.reset()
        for runner in self.runners:
            runner.start()

    def move(self, incarnation: str, head: int, known: Callable[[int], int]) -> None:
        """Another ledger goes on. See ConsumerRunner.move."""
        for runner in self.runners:
            runner.move(incarnation, head, known)

    def again(self, name: str) -> None:
        """The store of that consumer may know less than was kept. See ConsumerRunner.again."""
        for runner in self.runners:
            if runner.name == name:
                runner.again()

    async def behind(self, name: str, wait_s: float) -> int:
        """How many entries that consumer has not taken in after `wait_s` seconds at most. See ConsumerRunner.behind."""
        return max([await runner.behind(wait_s) for runner in self.runners if runner.name == name], default=0)

    def status(self) -> list[ConsumerStatus]:
        """How far each one is."""
        return [status_of(runner.name, runner) for runner in self.runners]

    async def close(self) -> None:
        """Stop. The next start goes on from the cursors."""
        for runner in self.runners:
            await runner.close()


def status_of(name: str, loop: FeedLoop) -> ConsumerStatus:
    """How far the consumer is."""
    return ConsumerStatus(name=name, seq=loop.applied, lag=loop.lag, state=loop.fault or "ok")
