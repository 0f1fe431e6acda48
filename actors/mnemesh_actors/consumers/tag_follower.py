"""A table of the memories with one tag follows the log. It lives in memory and is filled anew at every start.

A start asks the ledger for the tagged memories alone, so a long log costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.ports import LedgerRead
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.access.grants import EVERY_SPACE
from mnemesh_memory.values import limits
from mnemesh_memory.values.model import ListQuery, Memory


class TagTable(Protocol):
    """The table. `position` is the incarnation and number up to which the log was read."""

    position: tuple[str, int]

    def clear(self) -> None:
        """Forget everything."""

    def take(self, memory: Memory) -> None:
        """The memory as it is now."""

    def end(self, id_: str) -> None:
        """The memory has the tag no longer."""


class TagFollower:
    """A consumer that keeps its own cursor, together with the table. A filling leaves out memories with a tag of
    `without`."""

    def __init__(self, table: TagTable, ledger: Handle[LedgerRead], tag: str, without: Sequence[str] = ()) -> None:
        self._table = table
        self._ledger = ledger
        self._tag = tag
        self._without = without

    async def take(self, page: EntryPage) -> None:
        """Take in a page: every changed memory is looked at as it is now."""
        changed = page.changed
        marked = await self._ledger.tagged(changed, self._tag) if changed else []
        for id_ in set(page.ids) - {memory.id for memory in marked}:
            self._table.end(id_)
        for memory in marked:
            self._table.take(memory)

    async def reset(self) -> None:
        """Every memory of the ledger with the tag comes into the table: after a start, and when another log goes on."""
        self._table.clear()
        self._table.position = await self._ledger.position()
        query = ListQuery(
            within=(EVERY_SPACE,),
            tags_any=(self._tag,),
            tags_none=tuple(self._without),
            order="oldest",
            limit=limits.LIST_LIMIT_MAX,
        )
        while True:
            page = await self._ledger.page(query)
            for memory in page.memories:
                self._table.take(memory)
            if not page.cursor:
                return
            query = replace(query, cursor=page.cursor)

    async def cursor(self, name: str) -> tuple[str, int]:
        """The place up to which the table knows the log."""
        return self._table.position

    async def keep_cursor(self, name: str, incarnation: str, seq: int) -> None:
        """Note the place."""
        self._table.position = (incarnation, seq)
