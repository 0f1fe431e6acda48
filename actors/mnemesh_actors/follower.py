"""The one path into the index: in order, takes what commits hand over or reads the ledger's feed,
embeds what is not cached, and applies it to the shard.

Nothing else writes the index. Who must see a write waits here for its sequence number. The shard keeps what it has
applied; after a crash the follower starts again from there, and applying twice changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import structlog

from mnemesh_actors.embedder import Embedder
from mnemesh_actors.handover import Handover
from mnemesh_actors.index_items import IndexItems
from mnemesh_actors.index_presence import SUBJECT, IndexPresence
from mnemesh_actors.ledger.commands import FeedPage
from mnemesh_actors.news import News
from mnemesh_actors.notices import Notice
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.shard import ShardStatus
from mnemesh_memory import limits
from mnemesh_memory.errors import (
    DataLoss,
    DeadlineExceeded,
    DiskFull,
    FailedPrecondition,
    MnemeshError,
    Unavailable,
    count_of,
)

PAGE_ENTRIES_MAX = 256
# A flush holds the interpreter for tens of milliseconds; what it would save is applied again from the ledger.
FLUSH_S = 10.0
RETRY_S = 0.5
Answer = TypeVar("Answer")
log = structlog.get_logger("mnemesh.index")


class IndexFollower(IndexPresence):
    """Follows `ledger` into `shard`. `notice` is told what a person should know (a rebuild, a fault). A writer waits
    for the index at most `wait_s`. `news` tells others how far the ledger is, however that came to be known. Up to
    `page_entries` of the log are taken in at a time. `answers` says whether the machine of the shard can be reached:
    of one that was cut off the runtime itself would know only much later."""

    def __init__(
        self,
        ledger: Handle,
        shard: Handle,
        embedder: Embedder,
        notice: Callable[[str], None],
        wait_s: float = limits.WRITE_TIMEOUT_S,
        news: News | None = None,
        page_entries: int | None = None,
        answers: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        super().__init__(notice, answers)
        self.news = news or News()
        self._page_entries = page_entries
        self._ledger = ledger
        self._shard = shard
        self._embedder = embedder
        self._items = IndexItems(ledger, shard, embedder)
        self._wait_s = wait_s
        self._tasks: list[asyncio.Task[None]] = []
        self._moving = asyncio.Lock()  # what the shard holds and `applied` change together
        self._opening: asyncio.Task[ShardStatus] | None = None
        self._handed = Handover()
        self._bug = ""  # stays until the node is started again
        self._goal = 0  # the ledger's head when the shard was opened last
        self.applied = 0
        self.head = 0
        self.gaps = 0  # how often the shard was opened and held less than the ledger
        self._erased: dict[str, asyncio.Future[None]] = {}  # what is to be taken out before its turn
        self._life = 0  # how often another ledger took over
        self._incarnation = ""  # of the ledger that did
        self._base: tuple[int, int] | None = None  # where the shard has to go on there: see RetrievalShard.rebase

    async def start(self, head: int, patient: bool = False) -> ShardStatus:
        """Open the shard and begin to follow; the ledger's last sequence number is `head`. With `patient` an index
        that is away is looked for later; otherwise that is an error."""
        self.head = head
        self.news.tell(head)  # peers and watchers ask for the log, whether or not the index can be opened
        try:
            status = await self._open()
        except Unavailable as error:
            if not patient:
                raise
            self.went_away(error)
            status = ShardStatus(0, 0)
        self._tasks = [
            asyncio.create_task(self._follow(), name="index-follow"),
            asyncio.create_task(self._flush_often(), name="index-flush"),
        ]
        if self._machine_answers is not None:
            watching = self._watch_machine(self._machine_answers)
            self._tasks.append(asyncio.create_task(watching, name="index-machine"))
        for task in self._tasks:
            task.add_done_callback(self._ended)
        return status

    async def _open(self) -> ShardStatus:
        """Open the shard. One opening at a time, which ends also when all who asked for it gave up: what the shard
        holds then and what is known of it must not part."""
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open_to_the_end(), name="index-open")
            self._opening.add_done_callback(_looked_at)
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
        self._back.set()
        self._news.set()
        return status

    async def _open_shard(self) -> ShardStatus:
        status: ShardStatus
        if self._base is not None:
            with suppress(Unavailable):  # not open: it finds by itself whether what is there follows this ledger
                status = await self._shard.rebase(self._incarnation, *self._base)
                return status
        status = await (self._shard.open(self._incarnation) if self._incarnation else self._shard.open())
        return status

    @property
    def lag(self) -> int:
        """How many ledger entries the index misses."""
        return max(0, self.head - self.applied)

    @property
    def catching_up(self) -> bool:
        """The index has not reached yet what the ledger held when the index was opened."""
        return self.applied < self._goal

    def publish(self, seq: int, fresh: FeedPage | None = None) -> None:
        """The ledger has committed up to `seq`. `fresh` is what its feed would say of that, when the commit has all of
        it at hand: the ledger is then not asked again."""
        self.news.tell(seq)
        if seq <= self.head:
            return
        self.head = seq
        if fresh is not None:
            self._handed.keep(fresh, PAGE_ENTRIES_MAX)
        self._news.set()

    def expect(self, fresh: FeedPage | None) -> None:
        """A commit that is on one machine and not published yet: the index takes it in while a second machine does."""
        if fresh is not None and fresh.seq > self.head:
            self.head = fresh.seq
            self._handed.keep(fresh, PAGE_ENTRIES_MAX)
            self._news.set()

    def move(self, incarnation: str, head: int, known: Callable[[int], int]) -> None:
        """Another ledger goes on, with numbers of its own up to `head`; `known(seq)` says up to which of them all is
        among what the old one had up to `seq`. Who waits is told when everything there is in."""
        if self._base is None:
            before, self.applied = self.applied, known(self.applied)
        else:  # the shard does not even know the numbers of the one before
            before = self.applied = 0
        self._life += 1
        self._incarnation, self._base = incarnation, (self.applied, before)
        self.head = self._goal = head
        self._handed = Handover()
        self._waiting.renumber(head)
        self.news.restart(head)
        self._news.set()

    def look(self) -> None:
        """The ledger may have more than was published: a commit was not answered."""
        self._news.set()

    async def wait_for(self, seq: int) -> None:
        """Return once recall sees everything up to `seq`. Raises DeadlineExceeded after `wait_s`, and Unavailable when
        the index is away for longer or nothing will be indexed any more; the write stays."""
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

    async def _follow(self) -> None:
        moved = True
        while True:
            await self._back.wait()
            if self.applied >= self.head:
                await self._news.wait()
                self._news.clear()
            elif not moved:
                # The ledger gave nothing though more was published: asked again at leisure.
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), RETRY_S)
                self._news.clear()
            if self.away:
                continue
            try:
                moved = await self._step()
                if self._stalled:
                    self._stalled = False
                    self._notice(Notice(SUBJECT, ""))
                self.fault = self._bug
            except DiskFull as error:
                if self.fault != error.message:
                    log.warning("index_waits_for_disk", reason=error.message)
                self.fault = error.message
                await asyncio.sleep(RETRY_S)
            except MnemeshError as error:
                await self._stumble(error)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A bug ended a task: say so everywhere, because nothing will be indexed any more."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        self.fault = self._bug = f"{task.get_name()} ended by a fault of ours: {error!r}; restart the node"
        self._notice(self.fault)
        log.error("index_ended", task=task.get_name(), exc_info=error)
        if task.get_name() != "index-flush":
            self._end_waiting(f"stored, but not indexed: {self.fault}")

    async def _stumble(self, error: MnemeshError) -> None:
        if not self.fault:
            log.warning("index_stalled", reason=error.message)
            self._notice(Notice(SUBJECT, f"index stalled: {error.message}"))
            self._stalled = True
        self.fault = error.message
        await asyncio.sleep(RETRY_S)
        with suppress(MnemeshError):
            await self._reopen()

    async def read(self, ask: Callable[[Handle], Awaitable[Answer]]) -> Answer:
        """What the shard answers to `ask`; one that is closed or found itself damaged is opened again first. Raises
        Unavailable at once while it is away."""
        if self.away:
            raise Unavailable(self.away, part="index")
        try:
            return await ask(self._shard)
        except (Unavailable, DataLoss, FailedPrecondition):
            await self._reopen()
        return await ask(self._shard)

    async def _reopen(self) -> None:
        """Open the shard again: one whose process died has been started anew, closed, and may know less. One that
        can't be opened is away."""
        try:
            await self._open()
        except MnemeshError as error:
            self.went_away(error)
            raise

    async def _step(self) -> bool:
        """Take in one page of the feed; whether there was one."""
        if self._base is not None:
            return await self._rebase(*self._base)
        if self._erased:
            return await self._take_out(dict(self._erased))
        after, life = self.applied, self._life
        page = self._handed.after(after)
        if page is None:
            page = await self._ledger.feed(after, self._page_entries or PAGE_ENTRIES_MAX, self._embedder.generation)
            if life != self._life:
                return True
            self.news.tell(page.head)
        self.head = max(self.head, page.head)
        if page.removed:  # by whomever it was erased
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
        """Take an erased memory out before its turn, which may be far when the index is being made. Whether that was
        done within `wait_s`; in its turn it is done in any case."""
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
            status: ShardStatus = await self._shard.rebase(self._incarnation, seq, before)
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
                        self.went_away(error)  # it is not ours any more

    async def close(self) -> None:
        """Stop following; what is not applied yet is applied at the next start."""
        for task in self._tasks:
            task.cancel()
        if self._looking is not None:
            self._looking.cancel()
        last = [task for task in (self._looking, self._opening) if task is not None]
        await asyncio.gather(*self._tasks, *last, return_exceptions=True)
        self._end_waiting("stored; the node is stopping before the index took it in")

    def _end_waiting(self, why: str) -> None:
        self._over, self.away = why, ""
        for done in self._erased.values():
            done.cancel()
        self._waiting.refuse(why)


def _looked_at(task: asyncio.Task[ShardStatus]) -> None:
    """An opening that failed when nobody waited for it any more is tried again by the next who needs it."""
    if not task.cancelled():
        task.exception()
