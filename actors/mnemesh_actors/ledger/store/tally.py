"""How much of the log each principal wrote here, and each peer brought: for their quotas.

The usage of principals is counted in memory: one query for the first question, then only new entries. No write pays for
that. The usage of peers is kept in a table, written with each batch, because entries do not name the peer.
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

    def now(self) -> dict[str, Usage]:
        """The entries of each principal in the log."""
        (last,) = self._db.execute("SELECT coalesce(max(seq), 0) FROM entry").fetchone()
        if last > self._upto:
            self._add(1, _RANGE, self._upto, last)
            self._upto = last
        return dict(self._used)

    def erasing(self, doc: str, space: str) -> None:
        """The entries of a memory are about to be deleted."""
        if self._upto:  # otherwise nobody has asked yet, and who asks later will not see them
            self.now()
            self._add(-1, "doc = ?1 AND space = ?2", doc, space)

    def undone(self) -> None:
        """A transaction was rolled back: the next question counts anew."""
        self._upto, self._used = 0, {}

    def _add(self, sign: int, where: str, *values: int | str) -> None:
        for principal, memories, size in self._db.execute(
            f"SELECT {_PRINCIPAL}, count(*) FILTER (WHERE {_FIRST}), sum(length(raw)) FROM entry "
            f"WHERE {where} AND received = 0 GROUP BY 1",
            values,
        ).fetchall():
            self._used[principal] = self._used.get(principal, NOTHING).and_also(sign * memories, sign * size)


def bring(db: sqlite3.Connection, sender: str, first: int, last: int) -> Usage:
    """Add the entries from `first` to `last` to the usage of a peer. Returns its usage until now."""
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
    """The usage of each peer, by the ledger's name of its sender."""
    return {sender: Usage(*rest) for sender, *rest in db.execute("SELECT sender, memories, bytes FROM brought")}
