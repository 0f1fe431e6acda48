"""The record of consolidation: runs with their steps, and how far each space was read. Ids and counts, no text.

    run        one row a run of a space
    step       one row a step, older than the step's change
    watermark  one row a space, with incarnation and entry of the log

The record is derived. Without the file, each space is read anew and a run finds nothing that was done already. `undo`
needs the steps, which a new record gets from the log. A damaged file is put aside and begun anew.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from mnemesh_actors.storage.file_format import Migrations, migrate, settled
from mnemesh_memory.consolidation.steps import DONE, RUNNING, UNDONE, Run, Step
from mnemesh_memory.values.errors import Unavailable

FILE: Final = "sleep.sqlite"
DAMAGED: Final = ".damaged"
BUSY_TIMEOUT_S: Final = 5.0
# Runs kept for a space. The steps of older ones can't be undone any more.
RUNS_MAX: Final = 500
RESTORED: Final = "restored from the log"  # no name of a space
INSERT_STEP: Final = "INSERT INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


def _first(db: sqlite3.Connection) -> None:
    db.execute(
        """CREATE TABLE run (
             id TEXT PRIMARY KEY, space TEXT NOT NULL, by TEXT NOT NULL, state TEXT NOT NULL,
             started_at INTEGER NOT NULL, ended_at INTEGER, read INTEGER NOT NULL) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX run_space ON run (space, started_at)")
    db.execute(
        """CREATE TABLE step (
             run TEXT NOT NULL, number INTEGER NOT NULL, action TEXT NOT NULL, id TEXT NOT NULL, others TEXT NOT NULL,
             tags TEXT NOT NULL, why TEXT NOT NULL, domain TEXT NOT NULL, state TEXT NOT NULL,
             PRIMARY KEY (run, number)) WITHOUT ROWID"""
    )
    db.execute(
        """CREATE TABLE watermark (
             space TEXT PRIMARY KEY, incarnation TEXT NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID"""
    )


MIGRATIONS: Final[Migrations] = (_first,)


class SleepRecord:
    """The actor over the file `path`."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        try:
            self._db = _opened(self._path)
        except sqlite3.DatabaseError:
            self._path.replace(self._path.with_suffix(DAMAGED))
            for end in ("-wal", "-shm"):
                with suppress(FileNotFoundError):
                    Path(f"{path}{end}").unlink()
            self._db = _opened(self._path)

    def new(self) -> bool:
        """Whether nobody has written here and nothing was restored."""
        (runs,) = self._db.execute("SELECT count(*) FROM run").fetchone()
        return not runs and self.watermark(RESTORED) == ("", 0)

    def restore(self, runs: Sequence[Run]) -> None:
        """Keep runs out of the log, all or none."""
        with self._db:
            for run in runs:
                self._insert(run)
                self._db.executemany(INSERT_STEP, _rows(run.id, 0, run.steps))
            self._db.execute("INSERT OR REPLACE INTO watermark VALUES (?, 'restored', 1)", (RESTORED,))

    def begin(self, run: Run) -> None:
        """Keep a new run."""
        with self._db:
            self._insert(run)
            old = self._db.execute(
                "SELECT id FROM run WHERE space = ? ORDER BY started_at DESC, id DESC LIMIT -1 OFFSET ?",
                (run.space, RUNS_MAX),
            ).fetchall()
            for (id_,) in old:
                self._db.execute("DELETE FROM step WHERE run = ?", (id_,))
                self._db.execute("DELETE FROM run WHERE id = ?", (id_,))

    def plan(self, run: str, read: int, steps: Sequence[Step]) -> int:
        """Keep planned steps, after `read` more memories. The number of the first."""
        (first,) = self._db.execute("SELECT count(*) FROM step WHERE run = ?", (run,)).fetchone()
        with self._db:
            self._db.execute("UPDATE run SET read = read + ? WHERE id = ?", (read, run))
            self._db.executemany(INSERT_STEP, _rows(run, int(first), steps))
        return int(first)

    def _insert(self, run: Run) -> None:
        row = (run.id, run.space, run.by, run.state, run.started_at, run.ended_at, run.read)
        self._db.execute("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def mark(self, run: str, states: Mapping[int, tuple[str, str]]) -> None:
        """Keep what became of steps: by number the state, and a remark."""
        with self._db:
            self._db.executemany(
                "UPDATE step SET state = ?, why = why || ? WHERE run = ? AND number = ?",
                [(state, remark, run, number) for number, (state, remark) in states.items()],
            )

    def end(self, run: str, state: str, at: int) -> None:
        """Keep that a run ended, or was undone."""
        with self._db:
            self._db.execute("UPDATE run SET state = ?, ended_at = ? WHERE id = ?", (state, at, run))

    def unfinished(self, space: str) -> Run | None:
        """The run of the space that was not ended."""
        row = self._db.execute("SELECT id FROM run WHERE space = ? AND state = ?", (space, RUNNING)).fetchone()
        return self.find(row[0]) if row else None

    def find(self, run: str) -> Run | None:
        """A run with its steps in order."""
        row = self._db.execute("SELECT * FROM run WHERE id = ?", (run,)).fetchone()
        if row is None:
            return None
        steps = self._db.execute(
            "SELECT action, id, others, tags, why, domain, state FROM step WHERE run = ? ORDER BY number", (run,)
        )
        return replace(_run(row), steps=tuple(_step(step) for step in steps))

    def runs(self, limit: int) -> list[Run]:
        """The latest runs of all spaces with their steps, newest first."""
        rows = self._db.execute("SELECT id FROM run ORDER BY started_at DESC, id DESC LIMIT ?", (limit,)).fetchall()
        kept = (self.find(id_) for (id_,) in rows)
        return [run for run in kept if run is not None]

    def watermark(self, space: str) -> tuple[str, int]:
        """Incarnation and entry up to which the space is consolidated; ("", 0) for a new one."""
        row = self._db.execute("SELECT incarnation, seq FROM watermark WHERE space = ?", (space,)).fetchone()
        return (row[0], row[1]) if row else ("", 0)

    def keep_watermark(self, space: str, incarnation: str, seq: int) -> None:
        """Keep how far the space is consolidated."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO watermark VALUES (?, ?, ?)", (space, incarnation, seq))

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


def _opened(path: Path) -> sqlite3.Connection:
    if not path.exists():
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        except OSError as error:
            raise Unavailable(f"{path} can't be made: {error.strerror}", part="sleep") from error
    db = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
    try:
        settled(db, path, MIGRATIONS, ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"))
        migrate(db, MIGRATIONS)
        db.execute("SELECT count(*) FROM run").fetchone()
    except BaseException:  # boundary: closed, then raised again
        db.close()
        raise
    return db


def _rows(run: str, first: int, steps: Sequence[Step]) -> list[tuple[object, ...]]:
    return [
        (run, first + at, step.action, step.id, json.dumps(step.others), json.dumps(step.tags), step.why, step.domain,
         step.state)
        for at, step in enumerate(steps)
    ]  # fmt: skip


def _run(row: Sequence[object]) -> Run:
    id_, space, by, state, started_at, ended_at, read = row
    assert state in (RUNNING, DONE, UNDONE)
    return Run(
        id=str(id_), space=str(space), by=str(by), state=str(state), started_at=int(str(started_at)),
        ended_at=None if ended_at is None else int(str(ended_at)), read=int(str(read)),
    )  # fmt: skip


def _step(row: Sequence[str]) -> Step:
    action, id_, others, tags, why, domain, state = row
    return Step(
        action=action, id=id_, others=tuple(json.loads(others)), why=why, domain=domain, tags=tuple(json.loads(tags)),
        state=state,
    )  # fmt: skip
