"""The table of triggers follows the log. It lives in memory and is filled anew at every start.

A start asks the ledger for the triggers alone, so a long log costs nothing.
"""

from __future__ import annotations

from dataclasses import replace

from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.ports import LedgerPort
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.access.grants import EVERY_SPACE
from mnemesh_memory.policy.triggers import FIRED_TAG, TAG, TriggerTable
from mnemesh_memory.values import limits
from mnemesh_memory.values.model import ListQuery


async def fill(table: TriggerTable, ledger: Handle[LedgerPort]) -> None:
    """Put every armed trigger of the ledger into the table."""
    table.clear()
    table.position = await ledger.position()
    query = ListQuery(
        within=(EVERY_SPACE,), tags_any=(TAG,), tags_none=(FIRED_TAG,), order="oldest", limit=limits.LIST_LIMIT_MAX
    )
    while True:
        page = await ledger.page(query)
        for memory in page.memories:
            table.take(memory)
        if not page.cursor:
            return
        query = replace(query, cursor=page.cursor)


class TriggerFollower:
    """A consumer that keeps its own cursor, together with the table."""

    def __init__(self, table: TriggerTable, ledger: Handle[LedgerPort]) -> None:
        self._table = table
        self._ledger = ledger

    async def take(self, page: EntryPage) -> None:
        """Take in a page: every changed memory is looked at as it is now."""
        changed = page.changed
        marked = await self._ledger.tagged(changed, TAG) if changed else []
        for id_ in set(page.ids) - {memory.id for memory in marked}:
            self._table.end(id_)
        for memory in marked:
            self._table.take(memory)

    async def reset(self) -> None:
        """Another log goes on."""
        await fill(self._table, self._ledger)

    async def cursor(self, name: str) -> tuple[str, int]:
        """The place up to which the table knows the log."""
        return self._table.position

    async def keep_cursor(self, name: str, incarnation: str, seq: int) -> None:
        """Note the place."""
        self._table.position = (incarnation, seq)
