"""The format of a file of a data directory. A file of a newer format is refused before anything in the file is changed.

Of a SQLite file the format is how many migrations of a list have run on the file, as `PRAGMA user_version` counts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from mnemesh_memory.values.errors import FailedPrecondition

Migrations: TypeAlias = Sequence[Callable[[sqlite3.Connection], None]]


def format_of(db: sqlite3.Connection) -> int:
    """The number of migrations that have run."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def refuse_newer(known: int, version: int, path: Path) -> None:
    """Raise FailedPrecondition for a format that this code does not know."""
    if version > known:
        raise FailedPrecondition(
            f"{path} has format {version}, this version reads up to {known}; nothing was changed. "
            "Install a newer mnemesh, or start with another data directory",
            field="data_dir",
            value=str(version),
            limit=str(known),
        )


def settled(db: sqlite3.Connection, path: Path, known: Migrations, pragmas: Iterable[str]) -> int:
    """The format of a file that was just opened, with the `pragmas` of the connection set. Raises FailedPrecondition
    for a newer file."""
    version = format_of(db)
    refuse_newer(len(known), version, path)
    for pragma in pragmas:
        db.execute(f"PRAGMA {pragma}")
    return version


def migrate(db: sqlite3.Connection, migrations: Migrations) -> None:
    """Run those of `migrations` that have not run yet, each in a transaction."""
    for number in range(format_of(db), len(migrations)):
        db.execute("BEGIN IMMEDIATE")
        migrations[number](db)
        db.execute(f"PRAGMA user_version = {number + 1}")
        db.execute("COMMIT")
