"""The side of the ledger that repairs its view: rows made anew from the log, and an alarm that says so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import structlog

from mnemesh_actors.ledger.integrity import alarms
from mnemesh_actors.ledger.integrity.faults import explained
from mnemesh_actors.ledger.integrity.scrub import Scrub, damage_told
from mnemesh_actors.ledger.store.journal import Journal

log = structlog.get_logger("mnemesh.ledger")


class Mending:
    """Mixed into Ledger, which has the connection and the scrub."""

    path: Path
    _db: sqlite3.Connection
    _journal: Journal
    _scrub: Scrub

    def mend(self, found: Exception) -> bool:
        """Make damaged rows of the view anew from the log, with an alarm; whether anything changed. Rows that the log
        can't make anew are kept aside. False within a transaction, whose end mends."""
        if self._db.in_transaction:
            return False
        with explained(self.path, "the view is as it was"):
            before = self._aside()
            mended = self._scrub.mend()
            changed = bool(mended) or self._aside() > before
            self._tell(mended)
            return changed

    def _aside(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM damaged_memory").fetchone()[0])

    def _hurt(self, ids: Iterable[str]) -> bool:
        """Whether the log of any of these is damaged, and nobody knew; everybody is told."""
        with explained(self.path, "the view is as it was"):
            found = self._scrub.look(ids)
            self._tell([])
            return found

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

    def _tell(self, mended: Sequence[str], restored: Sequence[str] = ()) -> None:
        hopeless: dict[str, str] = {}
        if self._scrub.fresh and not self._db.in_transaction:
            rehashed, hopeless = self._judged()
            mended = [*mended, *rehashed]
        if not mended and not hopeless and not restored:
            return
        told = damage_told(mended, hopeless, restored, alarms.acknowledging(self.path))
        log.error("ledger_view_damaged", alarm=told)
        try:
            alarms.add(self.path.parent, told)
        except OSError as error:  # the log has it; what was mended is mended all the same
            log.error("alarm_not_written", reason=error.strerror)

    def _judged(self) -> tuple[list[str], dict[str, str]]:
        """Of the memories whose log was found damaged: those that are sound again, and those that are not, with the
        reasons."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._journal.digest.begin()
            rehashed, hopeless = self._scrub.rehash(), self._scrub.told()
            self._journal.digest.write()
            self._db.execute("COMMIT")
        except BaseException:  # boundary: undone, then raised again
            self._db.execute("ROLLBACK")
            raise
        return rehashed, hopeless
