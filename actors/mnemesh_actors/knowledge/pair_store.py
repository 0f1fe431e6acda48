"""`derived/pairs.sqlite`: pairs of an older and a newer memory that may speak of one matter, each with its score.

A node reads each memory beside its nearest older ones at rest (`consumers/pair_follower`). Recall reads the question
beside the pairs of its first result. The file holds ids, names of spaces, scores and digests of what was read, and no
text of a memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mnemesh_actors.knowledge.derived_file import DerivedFile, DerivedStore
from mnemesh_actors.knowledge.graph_rows import rows_in

VERSION: Final = 3
TABLES: Final = (
    "CREATE TABLE pair (older TEXT, newer TEXT, score REAL NOT NULL, PRIMARY KEY (older, newer)) WITHOUT ROWID",
    "CREATE INDEX pair_newer ON pair (newer)",
    "CREATE TABLE seen (id TEXT PRIMARY KEY, space TEXT NOT NULL, digest BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX seen_space ON seen (space)",
    "CREATE TABLE reader (name TEXT NOT NULL)",
)
# Of one memory so many newer ones are told, the likeliest.
NEWER_TOLD_MAX: Final = 16
# Memories of a space are counted up to here.
COUNTED_MAX: Final = 10_000


class ReadPair(NamedTuple):
    """The ids of two memories, and how much speaks for the newer one in the place of the older one (log odds)."""

    older: str
    newer: str
    score: float


class SeenMemory(NamedTuple):
    """A memory whose pairs were read: its space, and a digest of what they depend on."""

    space: str
    digest: bytes


class PairStore(DerivedStore):
    """Every method is called by one thread at a time."""

    def __init__(self, path: str) -> None:
        super().__init__(DerivedFile(Path(path), VERSION, TABLES))

    def reader(self) -> str:
        """The model that reads the pairs of the file, "" once a memory passed without one."""
        with self._file.reading() as db:
            row = db.execute("SELECT name FROM reader").fetchone()
        return row[0] if row else ""

    def read_by(self, reader: str) -> None:
        """From here on this model reads."""
        with self._file.changing() as db:
            db.execute("DELETE FROM reader")
            db.execute("INSERT INTO reader VALUES (?)", (reader,))

    def reset(self, reader: str) -> None:
        """Drop everything. From here on this model reads."""
        self._file.reset()
        self.read_by(reader)

    def seen(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The digests of what was read of these memories."""
        with self._file.reading() as db:
            return dict(rows_in(db, "SELECT id, digest FROM seen WHERE id IN ({})", ids))

    def take(
        self, seen: Mapping[str, SeenMemory], gone: Sequence[str], pairs: Sequence[ReadPair], erased: bool
    ) -> None:
        """Put pairs in the place of all former pairs of the memories that were `seen` or are `gone`. After an erasure
        no byte of it is left in the file."""
        with self._file.changing() as db:
            ids = [(id_,) for id_ in (*seen, *gone)]
            db.executemany("DELETE FROM pair WHERE older = ?1 OR newer = ?1", ids)
            db.executemany("DELETE FROM seen WHERE id = ?", ids)
            db.executemany("INSERT INTO seen VALUES (?, ?, ?)", [(id_, *one) for id_, one in seen.items()])
            db.executemany("INSERT OR REPLACE INTO pair VALUES (?, ?, ?)", pairs)
        if erased:
            self._file.fold()

    def newer(self, id_: str) -> list[ReadPair]:
        """The pairs in which a memory is the older one, the highest scores first."""
        with self._file.reading() as db:
            rows = db.execute(
                "SELECT older, newer, score FROM pair WHERE older = ? ORDER BY score DESC, newer DESC LIMIT ?",
                (id_, NEWER_TOLD_MAX),
            ).fetchall()
        return [ReadPair(*row) for row in rows]

    def counted(self, space: str) -> int:
        """Of how many memories of a space the pairs were read, at most COUNTED_MAX."""
        with self._file.reading() as db:
            asked = "SELECT count(*) FROM (SELECT 1 FROM seen WHERE space = ? LIMIT ?)"
            return int(db.execute(asked, (space, COUNTED_MAX)).fetchone()[0])
