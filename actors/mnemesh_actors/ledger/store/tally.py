"""How much of the log each principal wrote here, and each peer brought: for their quotas.

What principals wrote is counted in memory: by one query when it is first asked for, then by what came since. No write
pays for that. What peers brought is kept in a table, written with the batch that brings it, because entries do not name
the peer.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from mnemesh_memory.values.quotas import NOTHING, Usage

_PRINCIPAL: Final = "substr(agent, 1, instr(agent || '/', '/') - 1)"
_FIRST: Final = (
    "type = 'change' AND NOT EXISTS "
    "(SELECT 1 FROM entry AS earlier WHERE earlier.doc = entry.doc AND earlier.seq < entry.seq)"
)
_RANGE: Final = "seq > ?1 AND seq <= ?2"


class Tally:
    """Usage by principal up to an entry of the log. `db` is the ledger's connection."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._upto = 0
        self._used: dict[str, Usage] = {}
        self._changed = False  # by a transaction that has not ended

    def now(self) -> dict[str, Usage]:
        """What each principal has in the log."""
        (last,) = self._db.execute("SELECT coalesce(max(seq), 0) FROM entry").fetchone()
        if last > self._upto:
            for principal, memories, size in self._db.execute(
                f"SELECT {_PRINCIPAL}, count(*) FILTER (WHERE {_FIRST}), sum(length(raw)) FROM entry "
                f"WHERE {_RANGE} AND received = 0 GROUP BY 1",
                (self._upto, last),
            ):
                self._used[principal] = self._used.get(principal, NOTHING).and_also(memories, size)
            self._upto = last
        return dict(self._used)

    def erasing(self, doc: str, space: str) -> None:
        """The entries of a memory are about to be deleted."""
        if not self._upto:
            return  # nobody has asked yet, and who asks later will not see them
        self.now()
        self._changed = True
        for principal, memories, size in self._db.execute(
            f"SELECT {_PRINCIPAL}, count(*) FILTER (WHERE {_FIRST}), sum(length(raw)) FROM entry "
            "WHERE doc = ? AND space = ? AND received = 0 GROUP BY 1",
            (doc, space),
        ).fetchall():
            self._used[principal] = self._used.get(principal, NOTHING).and_also(-memories, -size)

    def kept(self) -> None:
        """The transaction is on disk."""
        self._changed = False

    def undone(self) -> None:
        """The transaction was rolled back."""
        if self._changed:
            self._upto, self._used, self._changed = 0, {}, False


def bring(db: sqlite3.Connection, sender: str, first: int, last: int) -> Usage:
    """Add the entries from `first` to `last` to what a peer brought; all that it brought until now."""
    memories, size = db.execute(
        f"SELECT count(*) FILTER (WHERE {_FIRST}), coalesce(sum(length(raw)), 0) FROM entry WHERE {_RANGE}",
        (first - 1, last),
    ).fetchone()
    row = db.execute(
        "INSERT INTO brought VALUES (?1, ?2, ?3) ON CONFLICT (sender) DO UPDATE SET "
        "memories = memories + ?2, bytes = bytes + ?3 RETURNING memories, bytes",
        (sender, memories, size),
    ).fetchall()
    return Usage(*row[0])


def brought(db: sqlite3.Connection) -> dict[str, Usage]:
    """What each peer brought in all, by the name under which the ledger knows its senders."""
    return {sender: Usage(*rest) for sender, *rest in db.execute("SELECT sender, memories, bytes FROM brought")}
