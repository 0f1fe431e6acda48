"""The index as a consumer: embeds texts without cached vectors, and applies pages of the log to the shard, in order.

Nothing else writes the index. Pages come from commits that hand them over, or from the ledger's feed. A writer that
must be searchable waits here for its sequence number. The shard itself keeps the cursor, beside what it has applied.
After a crash the follower goes on from there, and applying twice changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import structlog

from mnemesh_actors.consumers.handover import Handover
from mnemesh_actors.consumers.index_items import IndexItems
from mnemesh_actors.consumers.index_presence import SUBJECT, IndexPresence
from mnemesh_actors.embedding.embedder import Embedder
from mnemesh_actors.index.shard import ShardStatus
from mnemesh_actors.ledger.commands import FeedPage
from mnemesh_actors.notices import Notice
from mnemesh_actors.ports import IndexPort, LedgerFeed
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.bell import LogHead
from mnemesh_actors.runtime.tasks import looked_at
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import (
    DataLoss,
    DeadlineExceeded,
    FailedPrecondition,
    MnemeshError,
    Unavailable,
    count_of,
)

# A flush holds the interpreter for tens of milliseconds. Unflushed entries are applied again from the ledger.
FLUSH_S = 10.0
# The most entries of a step.
PAGE_ENTRIES = 256
Answer = TypeVar("Answer")
log = structlog.get_logger("mnemesh.index")


class IndexFollower(IndexPresence):
    """Follows `ledger` into `shard`. A writer waits for the index at most `wait_s`. `news` tells others how far the
    ledger is, however that came to be known."""

    def __init__(
        self,
        ledger: Handle[LedgerFeed],
        shard: Handle[IndexPort],
        embedder: Embedder,
        notice: Callable[[str], None],
        wait_s: float = limits.WRITE_TIMEOUT_S,
        news: LogHead | None = None,
        page_entries: int = PAGE_ENTRIES,
        answers: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        super().__init__(notice, answers)
        self.news = news or LogHead()
        self._page_entries = page_entries
        self._ledger = ledger
        self._shard = shard
        self._embedder = embedder
        self._items = IndexItems(ledger, shard, embedder)
        self._wait_s = wait_s
        self._moving = asyncio.Lock()  # what the shard holds and `applied` change together
        self._opening: asyncio.Task[ShardStatus] | None = None
        self._handed = Handover()
        self._goal = 0  # the ledger's head when the shard was opened last
        self.gaps = 0  # how often the shard was opened and held less than the ledger
        self._erased: dict[str, asyncio.Future[None]] = {}  # memories to be taken out before their turn
        self._life = 0  # how often another ledger took over
        self._incarnation = ""  # of the ledger that took over
        self._base: tuple[int, int] | None = None  # the place to go on from there: see RetrievalShard.rebase

    async def start(self, head: int, patient: bool = False) -> ShardStatus:
        """Open the shard and begin to follow. The ledger's last sequence number is `head`. With `patient` an index
        that is away is no error and is looked for later."""
        self.head = head
        self.news.tell(head)  # peers and watchers ask for the log, whether or not the index can be opened
        try:
            status = await self._open()
        except Unavailable as error:
            if not patient:
                raise
            self.went_away(error)
            status = ShardStatus(0, 0)
        self._begin(self._follow(), "follow")
        self._begin(self._flush_often(), "flush")
        if self._machine_answers is not None:
            self._begin(self._watch_machine(self._machine_answers), "machine")
        return status

    async def _open(self) -> ShardStatus:
        """Open the shard, once at a time. An opening ends also when everyone who asked for it gave up: the shard and
        `applied` must not part."""
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open_to_the_end(), name="index-open")
            self._opening.add_done_callback(looked_at)  # the next reader tries again
        return await asyncio.shield(self._opening)

    async def _open_to_the_end(self) -> ShardStatus:
        async with self._moving:
            life = self._life
            status = await self._open_shard()
            if life != self._life:
                raise Unavailable("another ledger took over while the index was opened", part="index")
            self.applied, self._base = status.seq, None
        if status.seq < self.head:
            self._goal = self.head
            self.gaps += 1
        if status.rebuilt and status.rebuilt != "absent":
            self._notice(f"index rebuilt from the ledger: {status.rebuilt}")
        if self.away:
            log.info("index_back", seq=status.seq, behind=self.lag, looks=self._looks)
            self._notice(Notice(SUBJECT, f"index back: {count_of(self.lag, 'entry')} to take in"))
        self.away, self._looks, self._asked_for = "", 0, 0.0
        self._able.set()
        self._news.set()
        return status

    async def _open_shard(self) -> ShardStatus:
        status: ShardStatus
        if self._base is not None:
            with suppress(Unavailable):  # not open: opening it compares the ledgers
                status = await self._shard.rebase(self._incarnation, *self._base)
                return status
        status = await (self._shard.open(self._incarnation) if self._incarnation else self._shard.open())
        return status

    @property
    def catching_up(self) -> bool:
        """The index has not reached the head that the ledger had when the index was opened."""
        return self.applied < self._goal

    def publish(self, seq: int, fresh: FeedPage | None = None) -> None:
        """The ledger has committed up to `seq`. `fresh` is the page that its feed would give, if the commit has all of
        the page at hand. Then nobody asks the ledger again."""
        self.news.tell(seq)
        if seq <= self.head:
            return
        self.head = seq
        if fresh is not None:
            self._handed.keep(fresh, self._page_entries)
        self._news.set()

    def expect(self, fresh: FeedPage | None) -> None:
        """Take in a commit that is on one machine only, not published yet, while a second machine does so too."""
        if fresh is not None and fresh.seq > self.head:
            self.head = fresh.seq
            self._handed.keep(fresh, self._page_entries)
            self._news.set()

    def move(self, incarnation: str, head: int, known: Callable[[int], int]) -> None:
        """Another ledger goes on, with numbers of its own up to `head`. Its entries up to `known(seq)` are among the
        entries of the former ledger up to `seq`. Waiting writers are told when everything there is in."""
        if self._base is None:
            before, self.applied = self.applied, known(self.applied)
        else:  # the shard does not even know the numbers of the former ledger
            before = self.applied = 0
        self._life += 1
        self._incarnation, self._base = incarnation, (self.applied, before)
        self.head = self._goal = head
        self._handed = Handover()
        self._waiting.renumber(head)
        self.news.restart(head)
        self._news.set()

    async def wait_for(self, seq: int) -> None:
        """Return once recall sees everything up to `seq`. Raises DeadlineExceeded after `wait_s`. Raises Unavailable
        when the index is away for longer, or nothing will be indexed any more. The write stays."""
        if seq <= self.applied:
            return
        if self._over:
            raise Unavailable(self._over, part="index")
        if self._long_away:
            raise Unavailable(self._told_away, part="index")
        try:
            await self._waiting.until(seq, self._wait_s)
        except TimeoutError:
            raise DeadlineExceeded(
                f"stored, but the index has not taken it in within {self._wait_s:g} s "
                f"({self.fault or 'it is behind'}); use wait=durable to return earlier",
                part="index",
            ) from None

    def _broke(self, task: str) -> None:
        if task != "index-flush":
            self._end_waiting(f"stored, but not indexed: {self.fault}")

    async def _stumble(self, error: MnemeshError) -> None:
        await super()._stumble(error)
        with suppress(MnemeshError):
            await self._reopen()

    async def read(self, ask: Callable[[Handle[IndexPort]], Awaitable[Answer]]) -> Answer:
        """The answer of the shard to `ask`. A closed or damaged shard is opened again first. Raises Unavailable at once
        while the shard is away."""
        if self.away:
            raise Unavailable(self.away, part="index")
        try:
            return await ask(self._shard)
        except (Unavailable, DataLoss, FailedPrecondition):
            await self._reopen()
        return await ask(self._shard)

    async def _reopen(self) -> None:
        """Open the shard again: a shard whose process died is closed and may know less. Failing that, the index is
        away."""
        try:
            await self._open()
        except MnemeshError as error:
            self.went_away(error)
            raise

    async def _step(self) -> bool:
        if self._base is not None:
            return await self._rebase(*self._base)
        if self._erased:
            return await self._take_out(dict(self._erased))
        after, life = self.applied, self._life
        page = self._handed.after(after)
        if page is None:
            page = await self._ledger.feed(after, self._page_entries, self._embedder.generation)
            if life != self._life:
                return True
            self.news.tell(page.head)
        self.head = max(self.head, page.head)
        if page.removed:  # by this node or another
            self._embedder.forget()
        if page.seq > after:
            items, others = await self._items.of(page), await self._items.followers(page)
            async with self._moving:
                if life != self._life:
                    return True
                await self._items.give(page, items, others, after)
                if life != self._life:
                    return True
                self.applied = page.seq
        self._waiting.reached(self.applied)
        return page.seq > after

    async def take_out(self, id_: str) -> bool:
        """Take an erased memory out before its turn, which may be far while the index is made. Returns whether `wait_s`
        was enough. The memory leaves in its turn in any case."""
        if self._over:
            return False
        done = self._erased.setdefault(id_, asyncio.get_running_loop().create_future())
        self._news.set()
        await asyncio.wait((done,), timeout=self._wait_s)
        return done.done() and not done.cancelled()

    async def _take_out(self, erased: dict[str, asyncio.Future[None]]) -> bool:
        life, page = self._life, FeedPage((), {}, self.applied, self.head, tuple(erased))
        others = await self._items.followers(page)
        async with self._moving:
            if life == self._life:
                await self._items.give(page, [], others, self.applied)
                for id_, done in erased.items():
                    del self._erased[id_]
                    done.set_result(None)
        return True

    async def _rebase(self, seq: int, before: int) -> bool:
        """Bring the shard to the numbers of the ledger that took over."""
        async with self._moving:
            life = self._life
            status = await self._shard.rebase(self._incarnation, seq, before)
            if life == self._life:
                self.applied, self._base = status.seq, None
        self._waiting.reached(self.applied)
        return True

    async def _flush_often(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_S)
            if not self.away:
                try:
                    await self._shard.flush()
                except MnemeshError as error:
                    log.warning("index_flush_failed", reason=error.message)
                    if isinstance(error, FailedPrecondition):
                        self.went_away(error)  # the index is not ours any more

    async def close(self) -> None:
        """Stop following; what is not applied yet is applied at the next start."""
        if self._looking is not None:
            self._looking.cancel()
        await super().close()
        last = [task for task in (self._looking, self._opening) if task is not None]
        await asyncio.gather(*last, return_exceptions=True)
        self._end_waiting("stored; the node is stopping before the index took it in")

    def _end_waiting(self, why: str) -> None:
        self._over, self.away = why, ""
        for done in self._erased.values():
            done.cancel()
        self._waiting.refuse(why)
