"""An entry as a row and back: of the log, and of the waiting and the refused ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from mnemesh_crdt.changes.envelope import Entry
from mnemesh_crdt.intake.arrivals import Brought

COLUMNS: Final = "doc, space, type, hash, raw, agent, node, signature, at, origin, received, awaited, sender"
PLACES: Final = ", ".join("?" * 13)
_FIELDS: Final = tuple(field.name for field in fields(Entry))


def entry_of(row: Sequence[Any]) -> Entry:
    """The entry of a row that begins as COLUMNS does."""
    return Entry(**dict(zip(_FIELDS, row, strict=False)) | {"hash": row[3].hex()})


def values_of(entry: Entry) -> tuple[Any, ...]:
    """The first columns of COLUMNS."""
    return tuple(bytes.fromhex(entry.hash) if name == "hash" else getattr(entry, name) for name in _FIELDS)


def aside_row(brought: Brought, awaited: str) -> tuple[Any, ...]:
    """COLUMNS of an entry that waits for the change `awaited`, or fell with it."""
    waits_for = bytes.fromhex(awaited) if awaited else None
    return (*values_of(brought.entry), brought.origin, brought.received, waits_for, brought.sender)


def count(db: sqlite3.Connection, what: str, *values: object) -> int:
    """Rows of a table, or of a part of it."""
    return int(db.execute(f"SELECT count(*) FROM {what}", values).fetchone()[0])
