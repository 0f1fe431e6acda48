"""Entries put aside, for a person to look at: the waiting and the refused ones.

Lists and removes; who may be believed is decided in exchange and in the intake.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mnemesh_actors.ledger.store.entry_rows import COLUMNS, entry_of
from mnemesh_actors.ledger.store.rows import marks
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_crdt.intake.arrivals import Brought
from mnemesh_crdt.intake.shelf import QUARANTINE

LISTED = "doc, space, type, hash, x'' AS raw, agent, node, signature, at, origin, received, awaited, sender"
_WROTE_BEFORE: Final = "its actor wrote before; every change has a fresh actor"


@dataclass(frozen=True, slots=True, kw_only=True)
class PutAside:
    """An entry without its change, of `size` bytes. `sender` brought it (see sender_of) from the log `origin` at
    `received` (ms). `reason` says why the entry was refused, "" for a waiting one. `awaited` names the change that it
    waits for or fell with, "" for none."""

    id: int
    entry: Entry
    size: int
    sender: str
    origin: str
    received: int
    awaited: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Some of one table: entries in `space`, or below it when it ends in /*, and from `sender`. "" for any."""

    space: str = ""
    sender: str = ""

    @property
    def where(self) -> tuple[str, list[object]]:
        """As a condition and its values."""
        parts, values = ["1"], list[object]()
        if self.space.endswith("/*"):
            # In the order of SQLite's texts "0" is what follows "/".
            parts.append("space >= ? AND space < ?")
            values += [self.space[:-1], self.space[:-2] + "0"]
        elif self.space:
            parts.append("space = ?")
            values.append(self.space)
        if self.sender:
            parts.append("sender = ?")
            values.append(self.sender)
        return " AND ".join(parts), values


@dataclass(frozen=True, slots=True)
class AsidePage:
    """Some of the `total` entries that match. `after` is where the next page begins, 0 when there is none."""

    entries: tuple[PutAside, ...]
    total: int
    after: int


def page(db: sqlite3.Connection, table: str, which: Which, after: int, limit: int, newest: bool) -> AsidePage:
    """Entries after number `after` in the order of their coming, or against it when `newest`. 0 for the beginning."""
    where, values = which.where
    total = int(db.execute(f"SELECT count(*) FROM {table} WHERE {where}", values).fetchone()[0])
    reason = "reason" if table == QUARANTINE else "''"
    if after:
        where, values = f"{where} AND id {'<' if newest else '>'} ?", [*values, after]
    rows = db.execute(
        f"SELECT {LISTED}, id, length(raw), {reason} FROM {table} WHERE {where} "
        f"ORDER BY id {'DESC' if newest else 'ASC'} LIMIT ?",
        (*values, limit + 1),
    ).fetchall()
    entries = tuple(
        PutAside(
            id=id_,
            entry=entry_of(entry),
            size=size,
            sender=sender,
            origin=origin,
            received=received,
            awaited=awaited.hex() if awaited else "",
            reason=why,
        )
        for *entry, origin, received, awaited, sender, id_, size, why in rows[:limit]
    )
    return AsidePage(entries, total, entries[-1].id if len(rows) > limit else 0)


def numbers(db: sqlite3.Connection, table: str, which: Which, after: int, limit: int) -> list[int]:
    """Numbers over `after` of entries that match, the oldest first."""
    where, values = which.where
    rows = db.execute(f"SELECT id FROM {table} WHERE {where} AND id > ? ORDER BY id LIMIT ?", (*values, after, limit))
    return [int(number) for (number,) in rows]


def outdated(db: sqlite3.Connection, rules: int, limit: int) -> list[int]:
    """Numbers of changes that other rules of admission than these refused. Before rules had numbers, a rule refused the
    second change of an actor here, so the first to come decided. Its refusals count too."""
    rows = db.execute(
        "SELECT id FROM quarantine WHERE (rules > 0 AND rules <> ?) OR reason = ? ORDER BY id LIMIT ?",
        (rules, _WROTE_BEFORE, limit),
    )
    return [int(number) for (number,) in rows]


def take_out(db: sqlite3.Connection, ids: Sequence[int], senders: Sequence[str] | None) -> list[Brought]:
    """Remove these from the quarantine, as far as one of `senders` brought them, None for anyone. Returns the removed
    entries."""
    where, values = f"id IN ({marks(ids)})", list[object](ids)
    if senders is not None:
        where, values = f"{where} AND sender IN ({marks(senders)})", [*values, *senders]
    rows = db.execute(f"SELECT {COLUMNS}, key FROM quarantine WHERE {where} ORDER BY id", values).fetchall()
    db.execute(f"DELETE FROM quarantine WHERE {where}", values)
    return [Brought(entry_of(row), row[9], row[10], row[12], row[13]) for row in rows]


def remove(db: sqlite3.Connection, table: str, ids: Sequence[int]) -> int:
    """Delete these. Returns how many there were."""
    return db.execute(f"DELETE FROM {table} WHERE id IN ({marks(ids)})", tuple(ids)).rowcount


def remove_all(db: sqlite3.Connection, table: str, which: Which) -> int:
    """Delete all that match. Returns how many there were."""
    where, values = which.where
    return db.execute(f"DELETE FROM {table} WHERE {where}", values).rowcount


def sender_of(peer: str) -> str:
    """The sender behind a name of cursors: the principal of its token, or for a node called from here a colon and the
    node's id. Each has a share of what is put aside."""
    return peer.rpartition(":")[0] or peer
