"""How often and when memories were used: local to this node, never synced, lost at most since the last write.

A use is noted in memory and written with the next commit, so that a read costs no fsync and fails with no disk. How
far each consumer has come in the log, by name. A cursor means something in one incarnation of the log only.

A cursor is noted in memory and written with the next commit, which saves an fsync. After many entries without a commit
the cursor is written at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from mnemesh_actors.ledger.store.rows import marks

PENDING_MAX = 4096


class Uses:
    """`pending` holds (accesses, last use in ms) by id, not yet on disk. Beyond PENDING_MAX the uses furthest back are
    lost."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.pending: dict[str, tuple[int, int]] = {}

    def note(self, ids: Sequence[str], now: int) -> None:
        """Count one use of each at `now` (ms)."""
        for id_ in ids:
            # Taken out and put back, so that the order is that of the last use.
            count, last = self.pending.pop(id_, (0, 0))
            self.pending[id_] = (count + 1, max(last, now))
        while len(self.pending) > PENDING_MAX:
            del self.pending[next(iter(self.pending))]

    def of(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """(accesses, last use in ms) by id. Those never used are absent."""
        rows = self._db.execute(
            f"SELECT id, accesses, last_used FROM activity WHERE id IN ({marks(ids)})", tuple(ids)
        ).fetchall()
        accesses = {row[0]: (row[1], row[2]) for row in rows}
        for id_ in ids:
            if id_ in self.pending:
                (count, last), (stored, stored_last) = self.pending[id_], accesses.get(id_, (0, 0))
                accesses[id_] = (stored + count, max(stored_last, last))
        return accesses

    def write(self) -> None:
        """Add what is pending to the file, inside the caller's transaction, who then clears it."""
        if self.pending:
            self._db.executemany(
                "INSERT INTO activity VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                "accesses = accesses + excluded.accesses, last_used = max(last_used, excluded.last_used)",
                [(id_, count, last) for id_, (count, last) in self.pending.items()],
            )


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
        """Put what is pending into the file, inside the caller's transaction, who then clears it."""
        self._db.executemany(
            "INSERT OR REPLACE INTO consumer (name, incarnation, seq) VALUES (?, ?, ?)",
            [(name, incarnation, seq) for name, (incarnation, seq) in self.pending.items()],
        )
