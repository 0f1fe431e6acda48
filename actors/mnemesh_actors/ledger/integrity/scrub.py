"""The scrub: whether the view says what the log says, row by row, and rows made anew where it does not.

A memory with damaged entries is `hopeless`: a notice names it until they are restored. Its row is served while sound,
and kept aside when damaged. Its digest says that nothing is held, so that a peer sends the memory again after a
comparison. A damaged entry is sent to nobody, and is only ever written over by the change that its hash names.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from typing import Any, Final

from mnemesh_actors.ledger.integrity.log_check import fault
from mnemesh_actors.ledger.store import rows
from mnemesh_actors.ledger.store.journal import Journal, shown, viewed
from mnemesh_actors.ledger.store.rows import RowDamaged
from mnemesh_crdt.admission.budget import within
from mnemesh_crdt.changes.envelope import CHANGE, Entry, Key
from mnemesh_crdt.document.document import MemoryDocument
from mnemesh_crdt.document.revisions import materialise
from mnemesh_memory.access.grants import any_matches
from mnemesh_memory.values.errors import DataLoss

# Tables that follow from the log and are read through indexes.
DERIVED: Final = ("memory", "text_hash", "link", "file_reference", "document")
NAMED_MAX: Final = 8
LOG_DAMAGED: Final = "damaged on disk"  # the state of a ledger with damage in its log
_DOCS: Final = "SELECT DISTINCT doc, space FROM entry WHERE type = 'change'"


class ViewComparison:
    """The view beside the log. Changes nothing. `db` is a connection to the ledger."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def counts(self) -> tuple[int, int]:
        """How many entries the log has, and how many rows the view."""
        entries, memories = self._db.execute(
            "SELECT (SELECT count(*) FROM entry), (SELECT count(*) FROM memory)"
        ).fetchone()
        return int(entries), int(memories)

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
        changes = self._changes(id_, space)
        for seq, *stored in changes:
            if why := fault(*stored):
                raise DataLoss(f"entry {seq}: {why}", field="id", value=id_)
        log = {row[1].hex(): row[2] for row in changes}
        return MemoryDocument(id_, space, *within(id_, space, log)), changes[-1][0] if changes else 0

    def _changes(self, id_: str, space: str) -> list[tuple[Any, ...]]:
        """The number of each change of a memory, and its columns as checking.fault takes them."""
        return self._db.execute(
            "SELECT seq, hash, raw, type, doc, space, agent, node FROM entry "
            "WHERE doc = ? AND space = ? AND type = 'change' ORDER BY seq",
            (id_, space),
        ).fetchall()

    def _expected(self, id_: str, space: str) -> tuple[object, ...] | None:
        document, seq = self._sound(id_, space)
        memory = viewed(self._db, shown(self._db, document.state()))
        return None if memory is None else rows.to_row(memory, seq)


class Scrub(ViewComparison):
    """`db` is the ledger's connection. `hopeless` are ids of memories that the log can't mend, with the reason."""

    def __init__(self, db: sqlite3.Connection, journal: Journal) -> None:
        super().__init__(db)
        self._journal = journal
        self.hopeless: dict[str, str] = {}
        # The hash of the first damaged change of each, when its entry still names one.
        self.awaited: dict[str, str] = {}
        self.fresh: list[str] = []  # of the hopeless ones, those that nobody was told of

    def count_as_told(self) -> None:
        """The hopeless ones are told of. From now on the digests of the new ones say that nothing is held."""
        fresh, self.fresh = self.fresh, []
        for id_ in fresh:
            self._journal.digest.change(Key(self._space_of(id_), id_), ())

    def _sound_again(self, key: Key) -> None:
        """A memory whose log is whole again is made anew in the view. Raises DataLoss when it is not."""
        loaded = self._sound(key.id, key.space)
        self.hopeless.pop(key.id, None)
        self.awaited.pop(key.id, None)
        self._db.execute("DELETE FROM damaged_memory WHERE id = ?", (key.id,))
        self._journal.remake(*loaded)

    def damage(self) -> dict[str, str]:
        """The hopeless memories with the reasons, without memories that were erased since."""
        for id_ in [id_ for id_ in self.hopeless if not self._space_of(id_)]:
            del self.hopeless[id_]
            self.awaited.pop(id_, None)
        return self.hopeless

    def look(self, ids: Iterable[str]) -> bool:
        """Whether the log of any of these is damaged, and nobody knew."""
        before = len(self.fresh)
        for id_ in ids:
            self._load(id_, self._space_of(id_))
        return len(self.fresh) > before

    def lost(self, ids: Sequence[str], patterns: Sequence[str] | None = None) -> list[str]:
        """Those of `ids` that neither the log nor the view can give. Beyond `patterns` of spaces nothing is there to be
        lost. Raises RowDamaged for the first that the log can bring back into the view."""
        lost = []
        for id_ in ids:
            space = self._space_of(id_)
            if not space or not (patterns is None or any_matches(patterns, space)):
                continue
            if self._db.execute("SELECT 1 FROM memory WHERE id = ?", (id_,)).fetchone():
                continue
            loaded = None if id_ in self.hopeless else self._load(id_, space)
            if loaded is None:
                lost.append(id_)
            elif materialise(loaded[0].state()) is not None:
                raise RowDamaged(id_)
        return lost

    def lost_past(self, ids: Iterable[str], patterns: Sequence[str]) -> list[str]:
        """The part of `ids` with a log known as damaged, in spaces that one of `patterns` covers."""
        return [id_ for id_ in ids if id_ in self.hopeless and any_matches(patterns, self._space_of(id_))]

    def lost_in(self, patterns: Sequence[str]) -> list[str]:
        """The lost memories among the hopeless ones, in spaces that one of `patterns` covers."""
        return self.lost(list(self.hopeless), patterns) if self.hopeless else []

    def restore(self, entries: Iterable[Entry]) -> list[Key]:
        """Write good copies over damaged changes. The memories that are sound again, in the view, too. A copy with the
        hash in the damaged entry is good, whoever sends it."""
        restored = []
        for entry in entries:
            if entry.doc in self.awaited and entry.type == CHANGE and self._written_over(entry):
                key = Key(entry.space, entry.doc)
                with suppress(DataLoss):  # another of its changes is damaged, too
                    self._sound_again(key)
                    restored.append(key)
        return restored

    def _written_over(self, copy: Entry) -> bool:
        """The bytes of a damaged change are found by its hash, and a damaged hash by the bytes."""
        digest, changes = bytes.fromhex(copy.hash), self._changes(copy.doc, copy.space)
        held = any(hash == digest for _, hash, *_ in changes)
        for seq, *stored in changes:
            named = stored[0] == digest or (stored[1] == copy.raw and not held)
            if named and fault(*stored) and not fault(digest, copy.raw, *stored[2:]):
                self._db.execute("UPDATE entry SET hash = ?, raw = ? WHERE seq = ?", (digest, copy.raw, seq))
                return True
        return False

    def indexes_damaged(self) -> bool:
        """Whether an index of the view does not fit its table. The pages themselves were looked at before."""
        return any(self._db.execute(f"PRAGMA integrity_check({name})").fetchone()[0] != "ok" for name in DERIVED)

    def mend(self) -> list[str]:
        """Make all rows anew that do not fit their checksums, and all missing rows. Returns the ids. A row that the log
        can't make anew is kept aside, where nobody meets it."""
        with self._journal.transaction():
            for name in DERIVED:
                self._db.execute(f"REINDEX {name}")
            self._drop_damaged()
            missing = self._db.execute(f"{_DOCS} AND NOT EXISTS (SELECT 1 FROM memory WHERE id = doc)").fetchall()
            return self._remade(missing)

    def remake(self, damaged: Sequence[tuple[str, str]]) -> list[str]:
        """Make the rows of these (id, space) anew. Returns the ids of the rows made."""
        with self._journal.transaction():
            mended = self._remade(damaged)
            self._db.execute("REINDEX memory")
            return mended

    def step(self, after: str, limit: int) -> tuple[list[tuple[str, str]], str]:
        """Compare the next `limit` memories after the id `after` with the log: (id, space) of those that differ, and
        the last id, "" at the end."""
        docs = self._db.execute(f"{_DOCS} AND doc > ? ORDER BY doc LIMIT ?", (after, limit)).fetchall()
        damaged = [(id_, space) for id_, space in docs if id_ not in self.hopeless and self.differs(id_, space)]
        return damaged, docs[-1][0] if len(docs) == limit else ""

    def _drop_damaged(self) -> None:
        for (number,) in self._db.execute("SELECT rowid FROM memory NOT INDEXED").fetchall():
            id_ = self._damaged(number)
            if id_ is None:
                continue
            if self._load(id_, self._space_of(id_)) is None:
                self._db.execute("INSERT INTO damaged_memory SELECT * FROM memory WHERE rowid = ?", (number,))
            self._db.execute("DELETE FROM memory WHERE rowid = ?", (number,))
        # Removed rows may have left their keys behind.
        self._db.execute("REINDEX memory")

    def _damaged(self, number: int) -> str | None:
        """The id in a damaged row, None for a sound row."""
        try:
            row = self._db.execute(f"SELECT {rows.COLUMNS} FROM memory WHERE rowid = ?", (number,)).fetchone()
        except sqlite3.OperationalError:  # bytes that are no text
            stored = self._db.execute("SELECT CAST(id AS BLOB) FROM memory WHERE rowid = ?", (number,)).fetchone()
            return str(bytes(stored[0] or b"").decode("utf-8", "replace"))
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
        """The document and the number of its last entry. None, and hopeless, when the log is damaged there. An id that
        the log does not know is an empty document."""
        try:
            return self._sound(id_, space)
        except DataLoss as error:
            if id_ not in self.hopeless:
                self.hopeless[id_] = error.message
                self.fresh.append(id_)
                bad = [stored for _, *stored in self._changes(id_, space) if fault(*stored)]
                if bad and isinstance(bad[0][0], bytes):
                    self.awaited[id_] = bad[0][0].hex()
            return None


def repair_told(mended: Sequence[str], restored: Sequence[str], acknowledge: str) -> str:
    """The alarm for a person. `acknowledge` is the command that ends it."""
    parts = []
    for ids, how in ((mended, "made anew from the log"), (restored, "restored from what a peer sent")):
        if ids:
            parts.append(f"damaged on disk, and {how}: {', '.join(ids[:NAMED_MAX])}{_more(ids)}")
    return f"{'; '.join(parts)}. Check the disk; `{acknowledge}` ends this notice"


def damage_told(hopeless: Mapping[str, str], salvage: str) -> str:
    """The notice that stands as long as the log is damaged. `salvage` is the last way out."""
    named = "; ".join(f"{id_} ({why})" for id_, why in list(hopeless.items())[:NAMED_MAX])
    return (
        f"damaged on disk in the log, and left out where the view has no sound row: {named}{_more(hopeless)}. "
        f"`mnemesh sync now` brings back what a peer holds, and this notice ends. Otherwise restore a backup, or "
        f"{salvage}. Check the disk"
    )


def _more(ids: Sized) -> str:
    return f" and {len(ids) - NAMED_MAX} more" if len(ids) > NAMED_MAX else ""
