"""Watching: the changes of spaces in ledger order, at least once, from a cursor on.

The ledger is the log, so nothing is buffered here: a watcher holds one page at most and reads the next one when its
reader has taken it, however far behind that is. It waits for news and never asks in vain.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import replace

from mnemesh_actors.cursor_seal import CursorSeal
from mnemesh_actors.parts import Parts
from mnemesh_memory import limits, watching
from mnemesh_memory.errors import MnemeshError, Overloaded
from mnemesh_memory.model import Caller
from mnemesh_memory.watching import Change, ChangesPage, Watched, WatchQuery

# Watchers never fill the ledger's inbox, however many wake at once.
READS_AT_ONCE_MAX = 4
# After so many entries that none was asked for, a watcher is told how far it has come.
POSITION_EVERY_ENTRIES = 1000
TOUCHED_ENTRIES_MAX = 1000


class Watching:
    """`node_id` tells what was merged from other nodes; `seal` hides the numbers in cursors."""

    def __init__(self, parts: Parts, node_id: str, seal: CursorSeal) -> None:
        self._seal = seal
        self._parts = parts
        self._node_id = node_id
        self._reads = asyncio.Semaphore(READS_AT_ONCE_MAX)
        self._asked: dict[tuple[int, tuple[str, ...]], asyncio.Task[tuple[ChangesPage, int]]] = {}
        self.watchers = 0

    async def watch(self, caller: Caller, given: WatchQuery) -> AsyncGenerator[Watched, None]:
        """First where the stream begins, then each change that passes the filters. Ends by an error only, which
        carries the cursor to resume from. Raises InvalidArgument, OutOfRange for a cursor from the future, and
        Overloaded for one watcher too many."""
        query = watching.checked(given, caller)
        principal = caller.principal
        if query.cursor:
            query = replace(query, cursor=self._seal.opened(query.cursor, principal))
        with self._counted():
            incarnation, head = await self._parts.ledger.position()
            self._parts.news.tell(head)
            positions, reason = watching.begin(query, {incarnation: head})
            at = told = positions[incarnation]
            cursor = self._seal.write(positions, principal)
            yield Watched(type=watching.OPENED, cursor=cursor, spaces=query.spaces, reason=reason)
            try:
                while True:
                    page, heard = await self._page(at, query.spaces)
                    if page.incarnation != incarnation:
                        incarnation, at, told = page.incarnation, 0, 0
                        cursor = self._seal.write({incarnation: 0}, principal)
                        reason = watching.told_anew(incarnation)
                        yield Watched(type=watching.OPENED, cursor=cursor, spaces=query.spaces, reason=reason)
                        continue
                    for change in page.changes:
                        if watching.wanted(change, query):
                            told, cursor = change.seq, self._seal.write({incarnation: change.seq}, principal)
                            yield self._told(change, cursor, query.include_content)
                    at = page.seq
                    if at - told >= POSITION_EVERY_ENTRIES:
                        told, cursor = at, self._seal.write({incarnation: at}, principal)
                        yield Watched(type=watching.POSITION, cursor=cursor)
                    if at >= page.head:
                        # Not only after `at`: the log's end may have been erased since it was told of.
                        await self._parts.news.after(max(at, heard))
                    self._parts.news.check()
            except MnemeshError as error:
                error.fields.setdefault("cursor", cursor)
                raise

    def _told(self, change: Change, cursor: str, with_content: bool) -> Watched:
        shown = change if with_content else replace(change, content="")
        return Watched(type=change.type, cursor=cursor, change=shown, merged=change.node != self._node_id)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self.watchers >= limits.WATCHERS_MAX:
            raise Overloaded("the number of watchers", limits.WATCHERS_MAX, retry_after_s=5.0)
        self.watchers += 1
        try:
            yield
        finally:
            self.watchers -= 1

    async def _page(self, after: int, spaces: tuple[str, ...]) -> tuple[ChangesPage, int]:
        """The next page, and the last number that was known when it was asked for. Who asks the same at the same time
        is given the same: mostly all watchers of a space are. What was committed since is news, and asked for next."""
        key = (after, spaces)
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._read(after, spaces), name="watch-read")
            task.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(task)

    async def _read(self, after: int, spaces: tuple[str, ...]) -> tuple[ChangesPage, int]:
        async with self._reads:
            heard = self._parts.news.head
            page: ChangesPage = await self._parts.ledger.changes(after, spaces, limits.WATCH_PAGE_ENTRIES_MAX)
            return page, heard

    async def touched(self) -> AsyncGenerator[list[str], None]:
        """Ids of memories that changed or were erased since this began, as the log grows: first none, to say that it
        has begun. Ends by an error only."""
        _, at = await self._parts.ledger.position()
        yield []
        epoch = self._parts.news.epoch
        while True:
            if epoch != self._parts.news.epoch:  # the ledger of another machine goes on, with numbers of its own
                epoch = self._parts.news.epoch
                _, at = await self._parts.ledger.position()
            heard = self._parts.news.head
            ids, at = await self._parts.ledger.touched(at, TOUCHED_ENTRIES_MAX)
            if ids:
                yield ids
            else:
                at = max(at, heard)
                await self._parts.news.after(at)

    def _ended(self, key: tuple[int, tuple[str, ...]], task: asyncio.Task[tuple[ChangesPage, int]]) -> None:
        del self._asked[key]
        if not task.cancelled():
            task.exception()  # looked at, because everyone who asked may be gone
