"""The table of neighbours in time follows the log. It lives in memory and is built anew at every start.

Entries of the log say all that is needed: memory, space, author and time. No text is read.
"""

from __future__ import annotations

from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_memory.policy.dynamics.engram import EngramTable


class EngramFollower:
    """A consumer that keeps its own cursor, together with the table."""

    def __init__(self, table: EngramTable) -> None:
        self._table = table

    async def take(self, page: EntryPage) -> None:
        """Take in a page. The first entry of a memory begins it; further ones change nothing here."""
        for entry in page.entries:
            if entry.erased:
                self._table.end(entry.id)
            else:
                self._table.take(entry.id, entry.space, entry.agent, entry.at)

    async def reset(self) -> None:
        """Another log goes on, or the first page comes."""
        self._table.clear()

    async def cursor(self, name: str) -> tuple[str, int]:
        """The place up to which the table knows the log."""
        return self._table.position

    async def keep_cursor(self, name: str, incarnation: str, seq: int) -> None:
        """Note the place."""
        self._table.position = (incarnation, seq)
