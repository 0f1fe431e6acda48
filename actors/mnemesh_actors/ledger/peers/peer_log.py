"""Pages of entries, keys and cursors: the words to peers about this log, and the reading of theirs.

Reads and keeps records; what an entry is worth is decided in the intake.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from mnemesh_actors.ledger.integrity.log_check import fault
from mnemesh_actors.ledger.store.entry_rows import count, entry_of
from mnemesh_actors.ledger.store.rows import marks
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_memory.access.grants import any_matches, principal_of
from mnemesh_memory.values import limits

# Numbers of the log that one question looks through.
SPAN = 4_096
ENTRY = "doc, space, type, hash, raw, agent, node, signature, at"
# The weight of an entry on its way beside its change: names, hash and signature.
ENTRY_BYTES = 256


@dataclass(frozen=True, slots=True)
class SyncPage:
    """Entries in the order of the log. Everything up to `last_seq` was looked at. `head` is the log's last number.
    `keys` are the raw public keys of the nodes that signed them. `done`: nothing of what was asked for comes after."""

    entries: tuple[Entry, ...]
    last_seq: int
    head: int
    keys: Mapping[str, bytes] = field(default_factory=dict)
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """How many entries wait for what they build on, how many are quarantined, how many memories are erased."""

    pending: int
    quarantined: int
    erased: int


@dataclass(frozen=True, slots=True)
class Order:
    """Of the spaces under `offered`, the node `node_id` takes those under `takes`, and only entries of the principal
    `only_by`, unless ""."""

    node_id: str
    offered: tuple[str, ...]
    takes: tuple[str, ...]
    only_by: str

    def leaves(self, space: str, agent: str) -> bool:
        """Whether an entry is offered and not taken."""
        taken = any_matches(self.takes, space) and self.only_by in ("", principal_of(agent))
        return any_matches(self.offered, space) and not taken


@dataclass(frozen=True, slots=True)
class Untaken:
    """How many entries up to the number `last` a peer does not take. `done` at the end of the log. `erased`: among all
    were erasures, so that earlier ones may be gone."""

    number: int
    last: int
    done: bool
    erased: bool


def page(
    db: sqlite3.Connection, after: int, patterns: Sequence[str], not_from: str, entries_max: int, bytes_max: int
) -> SyncPage:
    """Entries after `after` in spaces under `patterns`, without those from `not_from` ("" for nobody). At most
    `entries_max`, and `bytes_max` or one. The log is looked through SPAN numbers at a time."""
    head = _head(db)
    end = min(head, after + SPAN)
    covered = cache(partial(any_matches, patterns))
    rows = db.execute(
        "SELECT seq, space, origin, length(raw) FROM entry WHERE seq > ? AND seq <= ? ORDER BY seq", (after, end)
    )
    sizes = (
        (seq, length) for seq, space, origin, length in rows if covered(space) and not (not_from and origin == not_from)
    )
    chosen, left = _chosen(sizes, entries_max, bytes_max)
    if left is not None:
        end = left - 1
    entries = _entries(db, chosen)
    return SyncPage(entries, max(after, end), head, _keys(db, entries), done=end >= head)


def resend(
    db: sqlite3.Connection, space: str, buckets: Sequence[int], after: int, entries_max: int, bytes_max: int
) -> SyncPage:
    """Entries after `after` of documents in these `buckets` of a space's digest, whoever brought them."""
    rows = db.execute(
        "SELECT e.seq, length(e.raw) FROM document d JOIN entry e ON e.doc = d.doc AND e.space = d.space "
        f"WHERE d.space = ? AND d.bucket IN ({marks(buckets)}) AND e.seq > ? ORDER BY e.seq LIMIT ?",
        (space, *buckets, after, entries_max + 1),
    ).fetchall()
    chosen, left = _chosen(rows, entries_max, bytes_max)
    entries = _entries(db, chosen)
    last = chosen[-1] if chosen else after
    return SyncPage(entries, last, _head(db), _keys(db, entries), done=left is None)


def _chosen(sizes: Iterable[tuple[int, int]], entries_max: int, bytes_max: int) -> tuple[list[int], int | None]:
    """The first of these (number, bytes of the change) for one page, at least one, and the next number, if any."""
    chosen: list[int] = []
    size = 0
    for seq, length in sizes:
        size += length + ENTRY_BYTES
        if chosen and (size > bytes_max or len(chosen) == entries_max):
            return chosen, seq
        chosen.append(seq)
    return chosen, None


def spaces(db: sqlite3.Connection, patterns: Sequence[str]) -> list[str]:
    """Spaces under `patterns` with a document, erased ones included."""
    rows = db.execute(
        # Jumps from one space to the next in the index, instead of reading all documents.
        "WITH RECURSIVE one(space) AS (SELECT min(space) FROM digest UNION ALL "
        "SELECT (SELECT min(space) FROM digest WHERE space > one.space) FROM one WHERE one.space IS NOT NULL) "
        "SELECT space FROM one WHERE space IS NOT NULL"
    )
    return [space for (space,) in rows if any_matches(patterns, space)]


def untaken(db: sqlite3.Connection, after: int, order: Order) -> Untaken:
    """The count of entries that a peer does not take among the next SPAN numbers over `after`. Entries from its own
    logs are not counted."""
    head = _head(db)
    end = min(head, after + SPAN)
    rows = db.execute(
        "SELECT space, agent, type = 'change', count(*) FROM entry "
        "WHERE seq > ? AND seq <= ? AND substr(origin, 1, ?) <> ? GROUP BY 1, 2, 3",
        (after, end, len(order.node_id) + 1, f"{order.node_id}/"),
    ).fetchall()
    number = sum(number for space, agent, _, number in rows if order.leaves(space, agent))
    return Untaken(number, max(after, end), done=end >= head, erased=not all(change for _, _, change, _ in rows))


def keep_key(db: sqlite3.Connection, node: str, key: bytes) -> None:
    """Keep the raw public key of a node."""
    db.execute("INSERT OR IGNORE INTO node_key (node, key) VALUES (?, ?)", (node, key))


def cursors(db: sqlite3.Connection, peer: str) -> dict[str, int]:
    """How far the feeds of the node `peer` were read, by feed."""
    return dict(db.execute("SELECT incarnation, seq FROM peer_cursor WHERE peer = ?", (peer,)))


def save_cursor(db: sqlite3.Connection, peer: str, feed: str, seq: int, now: int) -> int:
    """Note that `feed` of `peer` was read up to `seq`, never back; what is noted now. Of more than SYNC_CURSORS_MAX the
    longest unused is forgotten: its feed would be read anew."""
    db.execute(
        "INSERT INTO peer_cursor VALUES (?, ?, ?, ?) ON CONFLICT (peer, incarnation) DO UPDATE SET "
        "seq = max(seq, excluded.seq), at = excluded.at",
        (peer, feed, seq, now),
    )
    db.execute(
        "DELETE FROM peer_cursor WHERE peer = ?1 AND incarnation NOT IN "
        "(SELECT incarnation FROM peer_cursor WHERE peer = ?1 ORDER BY at DESC, incarnation = ?2 DESC LIMIT ?3)",
        (peer, feed, limits.SYNC_CURSORS_MAX),
    )
    return cursor(db, peer, feed)


def cursor(db: sqlite3.Connection, peer: str, feed: str) -> int:
    """How far `feed` of `peer` was read, 0 when it never was."""
    row = db.execute("SELECT seq FROM peer_cursor WHERE peer = ? AND incarnation = ?", (peer, feed)).fetchone()
    return int(row[0]) if row else 0


def backlog(db: sqlite3.Connection) -> Backlog:
    """The counts of entries put aside."""
    return Backlog(pending=count(db, "pending"), quarantined=count(db, "quarantine"), erased=count(db, "erased"))


def _entries(db: sqlite3.Connection, numbers: Sequence[int]) -> tuple[Entry, ...]:
    """Those of these numbers that are sound: a damaged entry goes to nobody. A comparison sends it once it is
    restored."""
    rows = db.execute(f"SELECT {ENTRY} FROM entry WHERE seq IN ({marks(numbers)}) ORDER BY seq", tuple(numbers))
    return tuple(entry_of(row) for row in rows if not fault(*row[3:5], row[2], *row[:2], *row[5:7]))


def _keys(db: sqlite3.Connection, entries: Iterable[Entry]) -> dict[str, bytes]:
    nodes = tuple({entry.node for entry in entries})
    return dict(db.execute(f"SELECT node, key FROM node_key WHERE node IN ({marks(nodes)})", nodes))


def _head(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT max(seq) FROM entry").fetchone()[0] or 0)
