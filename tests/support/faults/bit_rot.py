"""Bit rot in the file of a closed ledger, below SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def flip_change(ledger: Path, seq: int) -> None:
    """One bit in the middle of the change of entry `seq`."""
    with closing(sqlite3.connect(ledger)) as db:
        (raw,) = db.execute("SELECT raw FROM entry WHERE seq = ?", (seq,)).fetchone()
    data = bytearray(ledger.read_bytes())
    at = data.index(raw) + len(raw) // 2
    assert data.find(raw, at) == -1
    data[at] ^= 1
    ledger.write_bytes(data)
