"""The scrub: whether the view says what the log says, row by row, and rows made anew where it does not.

The log is the truth and is never changed here. A memory whose entries are damaged too is `hopeless`: it is named in an
error and an alarm, and nothing is served of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final

from mnemesh_actors.ledger import rows
from mnemesh_actors.ledger.checking import fault
from mnemesh_actors.ledger.journal import Journal, shown
from mnemesh_actors.ledger.rows import RowDamaged
from mnemesh_crdt.budget import within
from mnemesh_crdt.document import MemoryDocument
from mnemesh_crdt.revisions import materialise
from mnemesh_memory.errors import DataLoss
from mnemesh_memory.grants import any_matches

# What follows from the log and is read through indexes.
DERIVED: Final = ("memory", "text_hash", "link", "document")
NAMED_MAX: Final = 8
_DOCS: Final = "SELECT DISTINCT doc, space FROM entry WHERE type = 'change'"


class Comparison:
    """The view beside the log; changes nothing. `db` is a connection to the ledger."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def damaged(self) -> Iterator[tuple[str, str]]:
        """Each memory of which the view differs from the log, and why, as of one moment. Looks at all of them."""
        self._db.execute("BEGIN")
        try:
            for id_, space in self._db.execute(f"{_DOCS} ORDER BY doc").fetchall():
                try:
                    self._sound(id_, space)
                except DataLoss as error:
                    yield id_, f"its log is damaged: {error.message}"
                    continue
                if self.differs(id_, space):
                    yield id_, "the view differs from the log"
            for (id_,) in self._db.execute(
                "SELECT id FROM memory WHERE NOT EXISTS (SELECT 1 FROM entry WHERE doc = memory.id)"
            ).fetchall():
                yield str(id_), "the log does not know it"
        finally:
            self._db.execute("ROLLBACK")

    def differs(self, id_: str, space: str) -> bool:
        """Whether the view says other things of a memory than the log, or an index does not lead to it."""
        try:
            expected = self._expected(id_, space)
        except DataLoss:
            return True
        try:
            row = self._db.execute(f"SELECT {rows.COLUMNS} FROM memory WHERE id = ?", (id_,)).fetchone()
            if expected is None or row is None:
                return (expected is None) != (row is None)
            same = row[rows.SEQ] == expected[rows.SEQ] and rows.from_row(row) == rows.from_row(expected)
        except (RowDamaged, sqlite3.OperationalError):
            return True
        listed = self._db.execute(
            "SELECT 1 FROM memory INDEXED BY memory_space WHERE space = ? AND state = ? AND created_at = ? AND id = ?",
            (row[1], row[5], row[8], id_),
        ).fetchone()
        return not same or listed is None

    def _sound(self, id_: str, space: str) -> tuple[MemoryDocument, int]:
        found = self._db.execute(
            "SELECT seq, hash, raw, type, doc, space, agent, node FROM entry "
            "WHERE doc = ? AND space = ? AND type = 'change' ORDER BY seq",
            (id_, space),
        ).fetchall()
        for seq, *stored in found:
            if why := fault(*stored):
                raise DataLoss(f"entry {seq}: {why}", field="id", value=id_)
        log = {row[1].hex(): row[2] for row in found}
        return MemoryDocument(id_, space, *within(id_, space, log)), found[-1][0] if found else 0

    def _expected(self, id_: str, space: str) -> tuple[object, ...] | None:
        document, seq = self._sound(id_, space)
        memory = materialise(shown(self._db, document.state()))
        return None if memory is None else rows.to_row(memory, seq)


class Scrub(Comparison):
    """`db` is the ledger's connection. `hopeless` are ids of memories that the log can't mend, with the reason."""

    def __init__(self, db: sqlite3.Connection, journal: Journal) -> None:
        super().__init__(db)
        self._journal = journal
        self.hopeless: dict[str, str] = {}
        self.fresh: list[str] = []  # of those, the ones that nobody was told of

    def told(self) -> dict[str, str]:
        """The hopeless ones that were not told yet, with the reasons."""
        told, self.fresh = {id_: self.hopeless[id_] for id_ in self.fresh}, []
        return told

    def refuse_lost(self, ids: Sequence[str], within: Sequence[str] | None = None) -> None:
        """Raise RowDamaged for the first of `ids` that the log knows and the view should hold and does not. Beyond
        `within`, patterns of spaces, nothing is there to be lost."""
        for id_ in ids:
            entry = self._db.execute("SELECT space FROM entry WHERE doc = ? AND type = 'change'", (id_,)).fetchone()
            if entry is None or not (within is None or any_matches(within, entry[0])):
                continue
            held = self._db.execute("SELECT 1 FROM memory WHERE id = ?", (id_,)).fetchone()
            if held is None and (id_ in self.hopeless or self._expected(id_, entry[0]) is not None):
                raise RowDamaged(id_)

    def indexes_damaged(self) -> bool:
        """Whether an index of the view does not fit its table. The pages themselves were looked at before."""
        return any(self._db.execute(f"PRAGMA integrity_check({name})").fetchone()[0] != "ok" for name in DERIVED)

    def mend(self) -> list[str]:
        """Make all rows anew that do not fit their checksums, and all that are missing; their ids."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._journal.digest.begin()
            for name in DERIVED:
                self._db.execute(f"REINDEX {name}")
            self._drop_damaged()
            missing = self._db.execute(f"{_DOCS} AND NOT EXISTS (SELECT 1 FROM memory WHERE id = doc)").fetchall()
            mended = self._remade(missing)
            self._journal.digest.write()
            self._db.execute("COMMIT")
        except BaseException:  # boundary: undone, then raised again
            self._db.execute("ROLLBACK")
            raise
        return mended

    def remake(self, damaged: Sequence[tuple[str, str]]) -> list[str]:
        """Make the rows of these (id, space) anew; the ids of those that could be."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._journal.digest.begin()
            mended = self._remade(damaged)
            self._db.execute("REINDEX memory")
            self._journal.digest.write()
            self._db.execute("COMMIT")
        except BaseException:  # boundary: undone, then raised again
            self._db.execute("ROLLBACK")
            raise
        return mended

    def step(self, after: str, limit: int) -> tuple[list[tuple[str, str]], str]:
        """Compare the next `limit` memories after the id `after` with the log: (id, space) of those that differ, and
        the last id, "" at the end."""
        found = self._db.execute(f"{_DOCS} AND doc > ? ORDER BY doc LIMIT ?", (after, limit)).fetchall()
        damaged = [(id_, space) for id_, space in found if id_ not in self.hopeless and self.differs(id_, space)]
        return damaged, found[-1][0] if len(found) == limit else ""

    def _drop_damaged(self) -> None:
        for (number,) in self._db.execute("SELECT rowid FROM memory NOT INDEXED").fetchall():
            id_ = self._damaged(number)
            if id_ is not None and self._load(id_, self._space_of(id_)) is not None:
                self._db.execute("DELETE FROM memory WHERE rowid = ?", (number,))
        # What was removed may have left its keys behind.
        self._db.execute("REINDEX memory")

    def _damaged(self, number: int) -> str | None:
        """What a damaged row says that its id is; None for a sound row."""
        try:
            row = self._db.execute(f"SELECT {rows.COLUMNS} FROM memory WHERE rowid = ?", (number,)).fetchone()
        except sqlite3.OperationalError:  # bytes that are no text
            found = self._db.execute("SELECT CAST(id AS BLOB) FROM memory WHERE rowid = ?", (number,)).fetchone()
            return str(bytes(found[0] or b"").decode("utf-8", "replace"))
        return None if rows.checksum(row[:-1]) == row[-1] else str(row[0])

    def _space_of(self, id_: str) -> str:
        row = self._db.execute("SELECT space FROM entry WHERE doc = ? AND type = 'change'", (id_,)).fetchone()
        return str(row[0]) if row else ""

    def _remade(self, damaged: Sequence[tuple[str, str]]) -> list[str]:
        mended = []
        for id_, space in damaged:
            loaded = self._load(id_, space)
            if loaded is not None and materialise(loaded[0].state()) is not None:
                self._journal.remake(*loaded)
                mended.append(id_)
        return mended

    def _load(self, id_: str, space: str) -> tuple[MemoryDocument, int] | None:
        """The document and the number of its last entry; None, and hopeless, when the log is damaged there. An id that
        the log does not know is an empty document."""
        try:
            return self._sound(id_, space)
        except DataLoss as error:
            if id_ not in self.hopeless:
                self.hopeless[id_] = error.message
                self.fresh.append(id_)
            return None


def damage_told(mended: Sequence[str], hopeless: dict[str, str]) -> str:
    """What a person is told."""
    parts = []
    if mended:
        more = f" and {len(mended) - NAMED_MAX} more" if len(mended) > NAMED_MAX else ""
        parts.append(f"damaged on disk, and made anew from the log: {', '.join(mended[:NAMED_MAX])}{more}")
    if hopeless:
        named = "; ".join(f"{id_} ({why})" for id_, why in list(hopeless.items())[:NAMED_MAX])
        parts.append(f"damaged on disk in the log as well, and not served: {named}. Restore a backup")
    return f"{'; '.join(parts)}. Check the disk; `mnemesh doctor --acknowledge` ends this notice"
