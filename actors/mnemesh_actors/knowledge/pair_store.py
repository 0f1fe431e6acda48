"""`derived/pairs.sqlite`: pairs of an older and a newer memory that may speak of one matter, each with its score.

A node reads each memory beside its nearest older ones at rest (`pair_follower`). Recall reads the question beside the
pairs of its first results. The file holds ids and scores, and no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mnemesh_actors.knowledge.derived_file import ABSENT, DerivedFile
from mnemesh_actors.knowledge.graph_rows import rows_in

VERSION: Final = 1
TABLES: Final = (
    "CREATE TABLE pair (older TEXT, newer TEXT, score REAL NOT NULL, PRIMARY KEY (older, newer)) WITHOUT ROWID",
    "CREATE INDEX pair_newer ON pair (newer)",
    "CREATE TABLE reader (name TEXT)",
)


class ReadPair(NamedTuple):
    """The ids of two memories, and how much speaks for the newer one in the place of the older one (log odds)."""

    older: str
    newer: str
    score: float


class PairStore:
    """Every method is called by one thread at a time."""

    def __init__(self, path: str) -> None:
        self._file = DerivedFile(Path(path), VERSION, TABLES)

    def close(self) -> None:
        """Nothing more is asked."""
        self._file.close()

    def cursor(self) -> tuple[str, int]:
        """The place up to which the log is in the file."""
        return self._file.cursor()

    def keep_cursor(self, incarnation: str, seq: int) -> None:
        """Note the place."""
        self._file.keep_cursor(incarnation, seq)

    def reader(self) -> str:
        """The model that reads the pairs of the file, "" for none."""
        with self._file.reading() as db:
            row = db.execute("SELECT name FROM reader").fetchone()
        return row[0] if row else ""

    def reset(self, reader: str) -> None:
        """Drop everything. From here on `reader` reads."""
        self._file.reset()
        with self._file.changing() as db:
            db.execute("INSERT INTO reader VALUES (?)", (reader,))

    def made(self) -> str:
        """Why the file was made anew since the start, or "". The first one of a node is no news."""
        return "" if self._file.made == ABSENT else self._file.made

    def take(self, ids: Sequence[str], pairs: Sequence[ReadPair], erased: bool) -> None:
        """Put pairs in the place of all former pairs of `ids`. After an erasure no byte of it is left in the file."""
        with self._file.changing() as db:
            db.executemany("DELETE FROM pair WHERE older = ?1 OR newer = ?1", [(id_,) for id_ in ids])
            db.executemany("INSERT OR REPLACE INTO pair VALUES (?, ?, ?)", pairs)
        if erased:
            self._file.fold()

    def newer(self, ids: Sequence[str]) -> list[ReadPair]:
        """The pairs in which one of `ids` is the older memory, the highest score first."""
        with self._file.reading() as db:
            rows = rows_in(db, "SELECT older, newer, score FROM pair WHERE older IN ({})", ids)
        return sorted((ReadPair(*row) for row in rows), key=lambda pair: (-pair.score, pair.newer))
