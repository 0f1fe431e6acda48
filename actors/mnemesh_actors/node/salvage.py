"""A new ledger of what is sound in a damaged one.

Entries are taken in as from another ledger of the same node: with signatures, and each after its parents. An entry on
top of a lost change waits until a peer brings that change. Cursors into the logs of peers are not taken over, so these
are read from the beginning. Entries put aside come again with them. The new ledger is a new incarnation: its own log is
read anew by others too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from mnemesh_actors.ledger.integrity import salvage_reader
from mnemesh_actors.ledger.integrity.salvage_reader import Row, UnreadEntry, Wreck
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.ledger.store import schema
from mnemesh_actors.replication.replica_streams import ALL
from mnemesh_actors.storage.data_directory import load_key
from mnemesh_crdt.changes.envelope import node_id_of, verify
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss, Unavailable

# Tables that can not be made of the log: columns, and the key of the order. Erasures that are known, but for their own
# entry; idempotency keys; uses of memories.
BESIDE: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "erased": (("doc", "space", "hashes"), ("doc", "space")),
    "idempotency": (("agent", "key", "fingerprint", "id", "action", "at"), ("agent", "key")),
    "activity": (("id", "accesses", "last_used"), ("id",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """An entry missing from the new log, by its number in the old one. `doc` is its memory, "" when unknown. `left`:
    something of that memory is in the new log."""

    seq: int
    doc: str
    why: str
    left: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """The entries and active memories of the new ledger, the lost entries, and the tables beside the log that were read
    only in part."""

    entries: int
    memories: int
    lost: tuple[Lost, ...]
    partly: tuple[str, ...]


def salvage(source: Path, target: Path, key_file: Path, node_id: str, now: int) -> Salvaged:
    """Make the ledger file `target`, which does not exist yet, of the readable part of `source`. Nobody writes
    `source`, which is left as it is. Raises DataLoss when nothing can be read, FailedPrecondition for a newer format,
    Unavailable when the disk fails."""
    public = load_key(key_file).public_key().public_bytes_raw()
    rows: list[tuple[int, str, str, str, int]] = []  # number, hash, memory, origin, receipt of what was handed over
    lost: list[Lost] = []
    with salvage_reader.opened(source) as old:
        keys = {**old.keys(), node_id_of(public): public}
        with closing(Ledger(str(target), str(key_file), node_id)) as ledger:
            sound = _sound(old, keys, lost)
            while group := list(islice(sound, limits.BATCH_ITEMS_MAX)):
                entries = tuple(row.entry for row in group)
                ledger.take_in(IncomingEntries(peer=node_id, origin="", grant=ALL, entries=entries, keys=keys), now)
                rows += [(row.seq, row.entry.hash, row.entry.doc, row.origin, row.received) for row in group]
        beside = {table: old.rows(table, *read) for table, read in BESIDE.items()}
    with closing(schema.connect(target)) as db:
        lost += _not_taken(db, rows)
        _complete(db, rows, {table: kept for table, (kept, _) in beside.items()})
    with closing(Ledger(str(target), str(key_file), node_id)) as ledger:  # which makes the view anew
        status = ledger.status()
    with closing(schema.read_only(target)) as db:
        (count,) = db.execute("SELECT count(*) FROM entry").fetchone()
        left = {doc for (doc,) in db.execute("SELECT DISTINCT doc FROM entry")}
    named = (Lost(seq=loss.seq, doc=loss.doc, why=loss.why, left=loss.doc in left) for loss in lost)
    return Salvaged(
        entries=count,
        memories=status.memories,
        lost=tuple(sorted(named, key=lambda loss: loss.seq)),
        partly=tuple(table for table, (_, whole) in beside.items() if not whole),
    )


def _sound(old: Wreck, keys: Mapping[str, bytes], lost: list[Lost]) -> Iterator[Row]:
    """The entries whose bytes are as written; the reasons for the others go to `lost`."""
    for row in old.entries():
        if isinstance(row, UnreadEntry):
            lost.append(Lost(seq=row.seq, doc=row.doc, why=row.why))
            continue
        if key := keys.get(row.entry.node):
            try:
                verify(row.entry, key)
            except DataLoss as error:
                lost.append(Lost(seq=row.seq, doc=row.entry.doc, why=error.message))
                continue
        yield row


def _not_taken(db: sqlite3.Connection, rows: Iterable[tuple[int, str, str, str, int]]) -> Iterator[Lost]:
    """Entries handed over that are not in the log, each with the reason."""
    here = {hash for (hash,) in db.execute("SELECT hash FROM entry")}
    waits = {hash for (hash,) in db.execute("SELECT hash FROM pending")}
    refused = dict(db.execute("SELECT hash, reason FROM quarantine"))
    for seq, digest, doc, _, _ in rows:
        hash = bytes.fromhex(digest)
        if hash in here:
            continue
        if hash in waits:
            why = "it builds on a lost change, and waits for a peer to bring that one"
        else:
            why = refused.get(hash, "it is an entry of an erased memory, or there is no room for more that waits")
        yield Lost(seq=seq, doc=doc, why=why)


def _complete(
    db: sqlite3.Connection,
    rows: Iterable[tuple[int, str, str, str, int]],
    beside: Mapping[str, Sequence[tuple[object, ...]]],
) -> None:
    """When and from whom entries came, and what is not in the log."""
    try:
        db.execute("BEGIN IMMEDIATE")
        came = [(origin, received, bytes.fromhex(digest)) for _, digest, _, origin, received in rows]
        db.executemany("UPDATE entry SET origin = ?, received = ? WHERE hash = ?", came)
        waits = {hash for (hash,) in db.execute("SELECT hash FROM pending")}
        db.executemany(
            "UPDATE pending SET origin = ?, received = ? WHERE hash = ?", [row for row in came if row[2] in waits]
        )
        for table, stored in beside.items():
            places = ", ".join("?" * len(BESIDE[table][0]))
            filled = [row for row in stored if None not in row]  # no column of theirs may be empty
            db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({places})", filled)
        # The writer of a lost memory may write again with the same key. A key without a fingerprint is that of an
        # erasure.
        db.execute("DELETE FROM idempotency WHERE length(fingerprint) > 0 AND id NOT IN (SELECT doc FROM entry)")
        db.execute("DELETE FROM meta WHERE key = 'view_version'")
        db.execute("COMMIT")
    except sqlite3.Error as error:
        raise Unavailable(f"the new ledger was not written ({error})", part="ledger") from error
