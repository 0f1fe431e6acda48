"""How far each consumer has come in the log, by name. A cursor means something in one incarnation of the log only.

A cursor is noted in memory and written with the next commit, which saves an fsync. After many entries without a commit
the cursor is written at once.
"""

from __future__ import annotations

import sqlite3
from typing import Final

# A consumer takes in at most about so many entries again after a kill.
UNWRITTEN_ENTRIES_MAX: Final = 1024


class Cursors:
    """The table `consumer` of one ledger. `pending` holds cursors that are not on disk yet."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.pending: dict[str, tuple[str, int]] = {}

    def read(self, name: str) -> tuple[str, int]:
        """The incarnation and the last entry that the consumer has taken in. ("", 0) for a new consumer."""
        if name in self.pending:
            return self.pending[name]
        row = self._db.execute("SELECT incarnation, seq FROM consumer WHERE name = ?", (name,)).fetchone()
        return ("", 0) if row is None else (str(row[0]), int(row[1]))

    def note(self, name: str, incarnation: str, seq: int) -> bool:
        """Keep a cursor. Returns whether it is time to write it."""
        self.pending[name] = (incarnation, seq)
        row = self._db.execute("SELECT incarnation, seq FROM consumer WHERE name = ?", (name,)).fetchone()
        return row is None or row[0] != incarnation or abs(seq - row[1]) >= UNWRITTEN_ENTRIES_MAX

    def write(self) -> None:
        """Put what is pending into the file, inside the caller's transaction. `written` drops it."""
        self._db.executemany(
            "INSERT OR REPLACE INTO consumer (name, incarnation, seq) VALUES (?, ?, ?)",
            [(name, incarnation, seq) for name, (incarnation, seq) in self.pending.items()],
        )

    def written(self) -> None:
        """The transaction is on disk."""
        self.pending.clear()
