"""The table of files that memories name: a part of the view, by which a changed file leads to its memories."""

from __future__ import annotations

import json
import posixpath
import sqlite3
from collections.abc import Sequence

from mnemesh_memory.policy.file_references import recorded
from mnemesh_memory.values.model import Memory


def keep(db: sqlite3.Connection, memory: Memory, *, new: bool) -> None:
    """The rows of a memory, in place of those it had. `new` had none."""
    if not new:
        db.execute("DELETE FROM file_reference WHERE doc = ?", (memory.id,))
    rows = {(memory.space, *posixpath.split(reference.path), memory.id) for reference in recorded(memory.attrs)}
    if rows:
        db.executemany("INSERT INTO file_reference VALUES (?, ?, ?, ?)", sorted(rows))


def folders(db: sqlite3.Connection, space: str, limit: int) -> list[str]:
    """Up to `limit` folders with files that memories of the space name."""
    rows = db.execute(
        "SELECT DISTINCT folder FROM file_reference WHERE space = ? ORDER BY folder LIMIT ?", (space, limit)
    )
    return [folder for (folder,) in rows]


def naming(db: sqlite3.Connection, space: str, paths: Sequence[str]) -> list[str]:
    """Ids of the memories of the space that name one of these files."""
    ids: dict[str, None] = {}
    for path in paths:
        rows = db.execute(
            "SELECT doc FROM file_reference WHERE space = ? AND folder = ? AND name = ?",
            (space, *posixpath.split(path)),
        )
        ids.update((id_, None) for (id_,) in rows)
    return list(ids)


def all_naming(db: sqlite3.Connection, space: str, after: str, limit: int) -> list[str]:
    """Ids of up to `limit` memories of the space that name files, in order from the id `after` on."""
    rows = db.execute(
        "SELECT DISTINCT doc FROM file_reference WHERE doc > ? AND space = ? ORDER BY doc LIMIT ?",
        (after, space, limit),
    )
    return [id_ for (id_,) in rows]


def last_entries(db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, int]:
    """By id the number of the last entry of each of these memories that is active."""
    rows = db.execute(
        "SELECT id, seq FROM memory WHERE id IN (SELECT value FROM json_each(?)) AND state = 'active'",
        (json.dumps(list(ids)),),
    )
    return {str(id_): int(seq) for id_, seq in rows}
