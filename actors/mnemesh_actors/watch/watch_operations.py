"""Watches: the changes of spaces in ledger order, at least once, from a cursor on.

A watch is a reader of the log whose cursor the client holds. The ledger is the log, so nothing is buffered here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from mnemesh_actors.consumers.feed_loop import LogReader
from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.watch.cursor_seal import CursorSeal
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import MnemeshError, Overloaded
from mnemesh_memory.values.model import Caller
from mnemesh_memory.watch import watch_values
from mnemesh_memory.watch.watch_values import Change, ChangesPage, Watched, WatchQuery

# Watchers never fill the ledger's inbox, however many wake at once.
READS_AT_ONCE_MAX = 4
# The most entries of a step for the MCP sessions that follow resources.
TOUCHED_ENTRIES_MAX = 1000
# After so many entries of other spaces, a watcher is told how far it has come.
POSITION_EVERY_ENTRIES = 1000


class Watching:
    """`node_id` tells own entries from merged ones. `seal` hides the numbers in cursors."""

    def __init__(self, parts: NodePorts, node_id: str, seal: CursorSeal) -> None:
        self._seal = seal
        self._parts = parts
        self._node_id = node_id
        self._reads = asyncio.Semaphore(READS_AT_ONCE_MAX)
        self._asked: dict[tuple[int, int, tuple[str, ...]], asyncio.Task[ChangesPage]] = {}
        self.watchers = 0

    async def watch(self, caller: Caller, given: WatchQuery) -> AsyncGenerator[Watched, None]:
        """First the beginning of the stream, then each change that passes the filters. Only an error ends the stream,
        and carries the cursor to resume from. Raises InvalidArgument, OutOfRange for a cursor from the future, and
        Overloaded for one watcher too many."""
        query = watch_values.checked(given, caller)
        principal = caller.principal
        if query.cursor:
            query = replace(query, cursor=self._seal.opened(query.cursor, principal))
        with self._counted():
            incarnation, head = await self._parts.ledger.position()
            self._parts.news.tell(head)
            positions, reason = watch_values.begin(query, {incarnation: head})
            last = positions[incarnation]
            reader = LogReader(self._parts.news, partial(self._page, query.spaces), incarnation, last)
            cursor = self._seal.write(positions, principal)
            yield Watched(type=watch_values.OPENED, cursor=cursor, spaces=query.spaces, reason=reason)
            try:
                while True:
                    page = await reader.next()
                    if page is None:
                        if reader.incarnation != incarnation:
                            incarnation, last = reader.incarnation, 0
                            cursor = self._seal.write({incarnation: 0}, principal)
                            reason = watch_values.told_anew(incarnation)
                            yield Watched(type=watch_values.OPENED, cursor=cursor, spaces=query.spaces, reason=reason)
                        continue
                    for change in page.changes:
                        if watch_values.wanted(change, query):
                            last, cursor = change.seq, self._seal.write({incarnation: change.seq}, principal)
                            yield self._watched(change, cursor, query.include_content)
                    reader.passed(page)
                    if reader.seq - last >= POSITION_EVERY_ENTRIES:
                        last, cursor = reader.seq, self._seal.write({incarnation: reader.seq}, principal)
                        yield Watched(type=watch_values.POSITION, cursor=cursor)
            except MnemeshError as error:
                error.fields.setdefault("cursor", cursor)
                raise

    def _watched(self, change: Change, cursor: str, with_content: bool) -> Watched:
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

    async def _page(self, spaces: tuple[str, ...], after: int) -> ChangesPage:
        """The next page. Watchers that ask the same after the same news share one question: mostly all watchers of a
        space do."""
        key = (self._parts.news.head, after, spaces)
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._read(after, spaces), name="watch-read")
            task.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(task)

    async def _read(self, after: int, spaces: tuple[str, ...]) -> ChangesPage:
        async with self._reads:
            return await self._parts.ledger.changes(after, spaces, limits.WATCH_PAGE_ENTRIES_MAX)

    async def touched(self) -> AsyncGenerator[list[str], None]:
        """Ids of memories that change or are erased from now on. An empty list says that any memory may have changed:
        at the beginning, and when the ledger of another machine goes on. Only an error ends the stream."""
        reader = LogReader(self._parts.news, self._entries, *await self._parts.ledger.position())
        yield []
        while True:
            page = await reader.next()
            if page is None:
                reader.set(*await self._parts.ledger.position())
                yield []
            else:
                if page.entries:
                    yield page.ids
                reader.passed(page)

    async def _entries(self, after: int) -> EntryPage:
        return await self._parts.ledger.entries(after, TOUCHED_ENTRIES_MAX)

    def _ended(self, key: tuple[int, int, tuple[str, ...]], task: asyncio.Task[ChangesPage]) -> None:
        del self._asked[key]
        if not task.cancelled():
            task.exception()  # looked at, because everyone who asked may be gone
