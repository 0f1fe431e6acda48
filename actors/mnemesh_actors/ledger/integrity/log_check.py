"""Whether each entry of a log is what was written: SQLite checks the structure of its pages, and not their content.

Imports no engine, so that the doctor can ask as well.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from mnemesh_actors.ledger.store.faults import damaged
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import CHANGE, erase_hash
from mnemesh_memory.values.errors import DataLoss


def unsound(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """The number of each entry that does not fit its hash, and the reason, in the order of the log."""
    for seq, *stored in db.execute("SELECT seq, hash, raw, type, doc, space, agent, node FROM entry ORDER BY seq"):
        if why := fault(*stored):
            yield seq, why


def fault(digest: object, raw: object, type_: object, *named: object) -> str:
    """The reason why an entry of these columns (hash, raw, type; doc, space, agent, node) does not fit its hash, or "".
    A damaged row may hold values of any kind."""
    names = [name for name in (type_, *named) if isinstance(name, str)]
    if len(names) <= len(named) or not isinstance(raw, bytes):
        return "its columns are of another kind"
    try:
        actual = read_head(raw).hash if type_ == CHANGE else erase_hash(*names)
    except DataLoss as error:
        return error.message
    return "" if bytes.fromhex(actual) == digest else "its change has another hash"


def check_log(db: sqlite3.Connection, path: Path) -> None:
    """Raise DataLoss for the first entry that is not sound."""
    for seq, why in unsound(db):
        raise damaged(path, f"entry {seq}: {why}")
