"""The file of memories that are used together, `derived/access.sqlite`: ids, spaces and counts, no words.

No log holds these counts. A file that is lost or damaged begins anew, and `made` says so. An empty mark beside the file
tells a lost one from the first of a node.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from mnemesh_actors.knowledge.derived_file import ABSENT, DerivedFile
from mnemesh_memory.access import grants
from mnemesh_memory.maps.rooms import CoAccess, Used, forward_weight
from mnemesh_memory.values.errors import DataLoss

PAIRS_MAX: Final = 100_000  # beyond, the weightless tenth goes
KEPT_SHARE: Final = 0.9
VERSION: Final = 1
MARK_SUFFIX: Final = ".kept"
LOST: Final = "it was deleted while no node ran"
TABLES: Final = (
    "CREATE TABLE place (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, space TEXT NOT NULL)",
    "CREATE TABLE pair (one INTEGER NOT NULL, other INTEGER NOT NULL, weight REAL NOT NULL, count INTEGER NOT NULL,"
    " PRIMARY KEY (one, other)) WITHOUT ROWID",
)
_ADD: Final = """INSERT INTO pair SELECT one.number, other.number, ?, ? FROM place one, place other
    WHERE one.id = ? AND other.id = ?
    ON CONFLICT DO UPDATE SET weight = weight + excluded.weight, count = count + excluded.count"""


class AccessStore:
    """Every method is called by one thread at a time."""

    def __init__(self, path: str, pairs_max: int = PAIRS_MAX) -> None:
        self._file = DerivedFile(Path(path), VERSION, TABLES)
        self._pairs_max = pairs_max
        self._mark = Path(path).with_suffix(MARK_SUFFIX)
        self._counted = self._mark.exists()  # An earlier run has kept counts.

    def close(self) -> None:
        """Nothing more is asked."""
        self._file.close()

    def made(self) -> str:
        """Why the counts began anew since the start, or "". The first file of a node is no news."""
        if self._file.made == ABSENT:
            return LOST if self._counted else ""
        return self._file.made

    def add(self, pairs: Mapping[tuple[Used, Used], int], now: int, weight: float = 1.0) -> None:
        """Count pairs that were used together; each time weighs `weight`."""
        weight_now = weight * forward_weight(now)
        try:
            self._add(pairs, weight_now)
        except DataLoss:  # the file is new
            self._file.reset()
            self._add(pairs, weight_now)
        self._mark.touch(0o600)

    def pairs(self, within: Sequence[str], around: Sequence[str] = ()) -> CoAccess:
        """The pairs with both memories in spaces of `within`, and with a memory of `around` unless that is empty."""
        try:
            with self._file.reading() as db:
                return _pairs(db, within, around)
        except DataLoss:  # by now an empty one lies there
            with self._file.reading() as db:
                return _pairs(db, within, around)

    def _add(self, pairs: Mapping[tuple[Used, Used], int], weight: float) -> None:
        with self._file.changing() as db:
            used = {memory for pair in pairs for memory in pair}
            db.executemany("INSERT OR IGNORE INTO place (id, space) VALUES (?, ?)", sorted(used))
            db.executemany(
                _ADD, [(weight * count, count, one[0], other[0]) for (one, other), count in sorted(pairs.items())]
            )
            (held,) = db.execute("SELECT count(*) FROM pair").fetchone()
            if held > self._pairs_max:
                excess = held - int(self._pairs_max * KEPT_SHARE)
                chosen = db.execute("SELECT one, other FROM pair ORDER BY weight LIMIT ?", (excess,)).fetchall()
                db.executemany("DELETE FROM pair WHERE one = ? AND other = ?", chosen)
                db.execute("DELETE FROM place WHERE number NOT IN (SELECT one FROM pair UNION SELECT other FROM pair)")


def _pairs(db: sqlite3.Connection, within: Sequence[str], around: Sequence[str]) -> CoAccess:
    spaces = [space for (space,) in db.execute("SELECT DISTINCT space FROM place") if grants.any_matches(within, space)]
    marks = ", ".join("?" * len(spaces))
    places = db.execute(f"SELECT number, id FROM place WHERE space IN ({marks}) ORDER BY id", spaces).fetchall()
    at = {number: place for place, (number, _) in enumerate(places)}
    near = frozenset(around)
    named = [number for number, id_ in places if id_ in near]
    touching = ", ".join("?" * len(named))
    where = f" WHERE one IN ({touching}) OR other IN ({touching})" if around else ""
    stored = db.execute(f"SELECT one, other, weight, count FROM pair{where}", named * 2 if around else ())
    rows = [row for row in stored if row[0] in at and row[1] in at]
    return CoAccess(
        ids=tuple(id_ for _, id_ in places),
        ends=np.array([at[row[0]] for row in rows], np.int64),
        others=np.array([at[row[1]] for row in rows], np.int64),
        weights=np.array([row[2] for row in rows], np.float64),
        counts=np.array([row[3] for row in rows], np.int64),
    )
