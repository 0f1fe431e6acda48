"""Entries of the log for consumers: the changed or erased memory, its author and its sender. No texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mnemesh_actors.ledger.store.rows import marks
from mnemesh_crdt.changes.envelope import CHANGE

# One question about a space passes so many numbers of the log. Reading their spaces takes a few milliseconds.
SPAN: Final = 4096


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry. `id` is the memory, `agent` the author, `node` the first node that accepted the entry."""

    seq: int
    id: str
    space: str
    erased: bool
    agent: str
    node: str
    at: int  # ms, by the clock of `node`
    origin: str  # the peer that brought the entry, "" for this node


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Entries up to `seq`, in order. The log of this `incarnation` ends with `head`."""

    entries: tuple[LogEntry, ...]
    seq: int
    head: int
    incarnation: str

    @property
    def ids(self) -> list[str]:
        """The memories that the entries change or erase, each once, in the order of their first entries."""
        return list(dict.fromkeys(entry.id for entry in self.entries))

    @property
    def changed(self) -> list[str]:
        """The memories among `ids` that the page does not erase. A later page may."""
        erased = set(self.erased)
        return [id_ for id_ in self.ids if id_ not in erased]

    @property
    def erased(self) -> list[str]:
        """The memories that the page erases: whatever follows from them has to go."""
        return list(dict.fromkeys(entry.id for entry in self.entries if entry.erased))


def first_entries(db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
    """By id the number of the first change of a memory, and the node that accepted the change."""
    rows = db.execute(
        f"SELECT doc, min(seq), node FROM entry WHERE doc IN ({marks(ids)}) AND type = ? GROUP BY doc", (*ids, CHANGE)
    )
    return {doc: (seq, node) for doc, seq, node in rows}


def latest_time(db: sqlite3.Connection, upto: int) -> int:
    """The latest time of the entries up to `upto` (ms)."""
    return int(db.execute("SELECT coalesce(max(at), 0) FROM entry WHERE seq <= ?", (upto,)).fetchone()[0])


def postponed(db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Those of `ids` that the write guard judges at rest, each with the agent that wrote it and the agent's role."""
    rows = db.execute(f"SELECT doc, agent, role FROM postponed WHERE doc IN ({marks(ids)})", ids)
    return {doc: (agent, role) for doc, agent, role in rows}


def changed_by(db: sqlite3.Connection, ids: Sequence[str], agent: str) -> set[str]:
    """Those of `ids` that the agent has changed."""
    rows = db.execute(f"SELECT doc FROM entry WHERE doc IN ({marks(ids)}) AND agent = ?", (*ids, agent))
    return {doc for (doc,) in rows}


def page(db: sqlite3.Connection, after: int, limit: int, head: int, incarnation: str, space: str = "") -> EntryPage:
    """The next `limit` entries after `after`. With `space` only those of that space, and among SPAN numbers of the
    log: a page may be empty and yet move on."""
    upto = after + SPAN if space else head
    rows = db.execute(
        "SELECT seq, doc, space, type, agent, node, at, origin FROM entry "
        "WHERE seq > ? AND seq <= ? AND (? = '' OR space = ?) ORDER BY seq LIMIT ?",
        (after, upto, space, space, limit),
    ).fetchall()
    entries = tuple(
        LogEntry(seq, doc, space, type_ != CHANGE, agent, node, at, origin)
        for seq, doc, space, type_, agent, node, at, origin in rows
    )
    end = entries[-1].seq if len(entries) == limit else max(after, min(head, upto))
    return EntryPage(entries, end, head, incarnation)
