"""Whether each entry of a log is what was written: SQLite checks the structure of its pages, and not their content.

Imports no engine, so that the doctor can ask as well.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mnemesh_actors.ledger.store.faults import damaged
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import CHANGE, erase_hash
from mnemesh_memory.values.errors import DataLoss

# A damaged row whose damage is in the bytes of its change or in its hash.
_NAMED_CHANGE: Final = (
    "SELECT doc FROM entry WHERE seq = ? AND type = ? AND typeof(doc) = 'text' AND typeof(space) = 'text' "
    "AND typeof(agent) = 'text' AND typeof(node) = 'text' "
    "AND typeof(raw) = 'blob' AND typeof(hash) = 'blob' AND length(hash) = 32"
)


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


def damaged_memories(db: sqlite3.Connection, path: Path) -> list[str]:
    """The ids of the memories with a damaged change. Raises DataLoss for the first other damage: only a change that its
    row still names can come back from a peer."""
    ids: dict[str, None] = {}
    for seq, why in unsound(db):
        row = db.execute(_NAMED_CHANGE, (seq, CHANGE)).fetchone()
        if row is None:
            raise damaged(path, f"entry {seq}: {why}")
        ids[row[0]] = None
    return list(ids)
