"""The base of a ledger's sides: its parts, its transactions, and the repair of its view, with an alarm."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import structlog

from mnemesh_actors.ledger.integrity import alarms
from mnemesh_actors.ledger.integrity.file_identity import FileIdentity
from mnemesh_actors.ledger.integrity.incarnation import HighWater
from mnemesh_actors.ledger.integrity.scrub import Scrub, damage_told, repair_told
from mnemesh_actors.ledger.store.commit_notes import Cursors, Uses
from mnemesh_actors.ledger.store.faults import explained, salvage_advice
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_actors.ledger.store.rows import RowDamaged
from mnemesh_actors.storage.disk import DiskRoom
from mnemesh_crdt.intake.intake import Intake

log = structlog.get_logger("mnemesh.ledger")


class LedgerSide:
    """Base of the sides of Ledger, whose constructor sets every attribute."""

    path: Path
    _db: sqlite3.Connection
    _room: DiskRoom
    _journal: Journal
    _scrub: Scrub
    _intake: Intake
    _uses: Uses
    _cursors: Cursors
    _files: FileIdentity
    _mark: HighWater
    _incarnation: str
    _unfolded: bool  # an erasure may have left pages in the write-ahead log

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of the writes inside are stored, or none."""
        self._files.check()
        with explained(self.path, "nothing was stored"):
            try:
                with self._journal.transaction():
                    yield
                    last = self._journal.last_seq()
                self._mark.write(self._incarnation, last)
            except BaseException as error:  # boundary: undone, then raised again
                self._journal.tally.undone()
                if isinstance(error, RowDamaged):
                    self.mend(error)  # for the next attempt
                raise

    def mend(self, error: Exception) -> bool:
        """Make damaged rows of the view anew from the log, with an alarm. Returns whether anything changed. A row that
        the log can't make anew is kept aside. Within a transaction nothing happens: its end mends."""
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
        """Whether the log of any of these memories is damaged, and nobody knew. The notice names them."""
        with explained(self.path, "the view is as it was"):
            damaged = self._scrub.look(ids)
            self._tell([])
            return damaged

    def scrub(self, after: str, limit: int) -> str:
        """Compare the next `limit` memories after the id `after` with the log, and mend them. Returns the last id, ""
        at the end."""
        with explained(self.path, "the view is as it was"):
            damaged, last = self._scrub.step(after, limit)
            if damaged:
                self._tell(self._scrub.remake(damaged))
            return last

    def _mend_indexes(self) -> None:
        if self._scrub.indexes_damaged():
            self._tell(["an index of the view", *self._scrub.mend()])

    def _damage(self) -> tuple[str, ...]:
        """The notice of damage in the log. It stands as long as the damage does: nobody acknowledges it."""
        hopeless = self._scrub.damage()
        return (damage_told(hopeless, salvage_advice(self.path)),) if hopeless else ()

    def _tell(self, mended: Sequence[str], restored: Sequence[str] = ()) -> None:
        if self._scrub.fresh and not self._db.in_transaction:
            with self._journal.transaction():
                self._scrub.count_as_told()
            log.error("ledger_log_damaged", notice=self._damage()[0])
        if not mended and not restored:
            return
        alarm = repair_told(mended, restored, alarms.acknowledging(self.path))
        log.error("ledger_view_damaged", alarm=alarm)
        try:
            alarms.add(self.path.parent, alarm)
        except OSError as error:  # the log has the alarm, and the rows are mended all the same
            log.error("alarm_not_written", reason=error.strerror)
