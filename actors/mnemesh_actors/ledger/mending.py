"""The side of the ledger that repairs its view: rows made anew from the log, and an alarm that says so."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import structlog

from mnemesh_actors.ledger import alarms
from mnemesh_actors.ledger.faults import explained
from mnemesh_actors.ledger.rows import RowDamaged
from mnemesh_actors.ledger.scrub import Scrub, damage_told

log = structlog.get_logger("mnemesh.ledger")


class Mending:
    """Mixed into Ledger, which has the connection and the scrub."""

    path: Path
    _db: sqlite3.Connection
    _scrub: Scrub

    def mend(self, found: Exception) -> bool:
        """Make damaged rows of the view anew from the log, with an alarm; whether there were any. False for a row that
        the log can't mend, and within a transaction, whose end mends it."""
        hopeless = isinstance(found, RowDamaged) and found.id in self._scrub.hopeless
        if hopeless or self._db.in_transaction:
            return False
        with explained(self.path, "the view is as it was"):
            mended = self._scrub.mend()
            self._tell(mended)
        return bool(mended)

    def scrub(self, after: str, limit: int) -> str:
        """Compare the next `limit` memories after the id `after` with the log, and mend them; the last id, "" at the
        end."""
        with explained(self.path, "the view is as it was"):
            damaged, last = self._scrub.step(after, limit)
            if damaged:
                self._tell(self._scrub.remake(damaged))
            return last

    def _mend_indexes(self) -> None:
        if self._scrub.indexes_damaged():
            self._tell(["an index of the view", *self._scrub.mend()])

    def _tell(self, mended: Sequence[str]) -> None:
        hopeless = self._scrub.told()
        if not mended and not hopeless:
            return
        told = damage_told(mended, hopeless)
        log.error("ledger_view_damaged", alarm=told)
        try:
            alarms.add(self.path.parent, told)
        except OSError as error:  # the log has it; what was mended is mended all the same
            log.error("alarm_not_written", reason=error.strerror)
