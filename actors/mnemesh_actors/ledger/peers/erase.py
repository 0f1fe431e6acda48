"""Erasing a memory for good: everything goes but the id and the hashes of its changes.

The entry that says so is signed and travels to every node; whoever has it drops late copies. The write-ahead log still
holds the pages of before. After the commit it is folded into the file and cut to nothing. In the file, `secure_delete`
has overwritten the freed pages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence, Set
from dataclasses import dataclass

from mnemesh_actors.ledger.commands import Command
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_actors.ledger.store.replica_cursors import twin_of, twins
from mnemesh_actors.ledger.store.rows import marks
from mnemesh_crdt.admission.erasure import begun_by, kind_of_erasure
from mnemesh_crdt.changes.envelope import ERASURES, Entry, Key
from mnemesh_memory.access.grants import EVERY_SPACE, any_matches, principal_of
from mnemesh_memory.values.errors import DataLoss, NotFound, PermissionDenied


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase(Command):
    """Erase memory `id` for good. Unless `as_admin`, only who began it may. An admin retracts its own memories, as
    everybody does: other nodes accept a retraction without taking the sender for an admin. Outside of the spaces that
    `within` covers nothing is there."""

    id: str
    as_admin: bool = False
    within: tuple[str, ...] = (EVERY_SPACE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The outcome of an erasure: entry number `seq`, and the count of erased `changes`, 0 when the memory was erased
    before. `folded`: no byte of it is left in the write-ahead log either. When somebody else reads the file, that comes
    with a later write. `alone` says why no second machine of a replicated ledger has erased the memory yet, or "".
    `type` is that of the entry, ERASE or RETRACT."""

    id: str
    space: str
    seq: int
    changes: int
    type: str
    folded: bool = True
    alone: str = ""


def carry_out(db: sqlite3.Connection, journal: Journal, command: Erase) -> Gone:
    """Erase, inside the caller's transaction. Raises NotFound, PermissionDenied."""
    row = db.execute("SELECT space FROM memory WHERE id = ?", (command.id,)).fetchone()
    if row is None:
        erasure = "SELECT space, seq, type FROM entry WHERE doc = ? AND type <> 'change'"
        done = db.execute(erasure, (command.id,)).fetchone()
        if done is not None and any_matches(command.within, done[0]):
            if command.as_admin:  # what came since, and claims another space
                _drop_aside(db, command.id)
            return Gone(id=command.id, space=done[0], seq=done[1], changes=0, type=done[2])
        row = done or _only_waiting(db, command)
    if row is None or not any_matches(command.within, row[0]):
        raise NotFound("memory", command.id)
    space = str(row[0])
    key = Key(space, command.id)
    began = _begun(journal, key, command.as_admin)
    if not (type_ := kind_of_erasure(command.agent, began, as_admin=command.as_admin)):
        raise _denied(command.agent, key, began)
    _drop_aside(db, command.id)
    seq, changes = journal.erase(journal.erasure(key, type_, command), command.actor)
    return Gone(id=command.id, space=space, seq=seq, changes=changes, type=type_)


def _begun(journal: Journal, key: Key, as_admin: bool) -> Set[str]:
    """The principals that began a memory; none for an admin and a damaged memory, which an admin may erase. Raises
    DataLoss for others."""
    try:
        return begun_by(journal.load(key).state())
    except DataLoss:
        if as_admin:
            return frozenset()
        raise


def _drop_aside(db: sqlite3.Connection, id_: str) -> int:
    """Delete the waiting and refused entries under this id, in every space: an id belongs to one memory, and these
    bytes may be of its text. A person who erases here decides so. An erasure by a peer in one space leaves the waiting
    entries of others. Returns how many there were."""
    tables = ("pending", "quarantine")
    return sum(db.execute(f"DELETE FROM {table} WHERE doc = ?", (id_,)).rowcount for table in tables)


def follow(db: sqlite3.Connection, peer: str, entries: Sequence[Entry]) -> int:
    """Treat a batch from another ledger of this node like an erasure here: entries waiting under an erased id go, too.
    `peer` is the name of its cursors. An erasure that this ledger only passes on from a peer does not count. Returns
    how many there were that waited or were refused."""
    erasures = [entry for entry in entries if entry.type in ERASURES]
    if not erasures or not (brings := twin_of(peer)):
        return 0
    own = {brings, *twins(db)}
    here = "SELECT 1 FROM erased WHERE doc = ? AND space = ?"
    ids = {gone.doc for gone in erasures if gone.node in own and db.execute(here, (gone.doc, gone.space)).fetchone()}
    return sum(_drop_aside(db, id_) for id_ in sorted(ids))


def not_to_erase(db: sqlite3.Connection, journal: Journal, ids: Sequence[str], agent: str) -> dict[str, str]:
    """The reason why `agent`, no admin, may not erase, by id of the present memories among `ids` that others began."""
    refused = {}
    for id_, space in db.execute(f"SELECT id, space FROM memory WHERE id IN ({marks(ids)})", tuple(ids)).fetchall():
        key = Key(space, id_)
        try:
            began = _begun(journal, key, as_admin=False)
        except DataLoss as error:
            refused[id_] = error.message
            continue
        if not kind_of_erasure(agent, began, as_admin=False):
            refused[id_] = _denied(agent, key, began).message
    return refused


def _denied(agent: str, key: Key, began: Set[str]) -> PermissionDenied:
    return PermissionDenied(
        principal_of(agent),
        f"erase {key.id}, begun by {', '.join(sorted(began))},",
        "what it began itself; an admin may erase all",
        space=key.space,
    )


def _only_waiting(db: sqlite3.Connection, command: Erase) -> tuple[str] | None:
    """For an admin: the space of a memory with nothing here but waiting or refused changes. When these claim several
    spaces, the first that the admin may know."""
    if not command.as_admin:
        return None
    for table in ("pending", "quarantine"):
        for (space,) in db.execute(f"SELECT space FROM {table} WHERE doc = ? ORDER BY id", (command.id,)):
            if any_matches(command.within, space):
                return (str(space),)
    return None


def fold(db: sqlite3.Connection) -> bool:
    """Bring the write-ahead log into the file and cut it. False when somebody reads the file just now, or the disk
    fails. Earlier writes are durable all the same."""
    try:
        busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.OperationalError:
        return False
    return not busy
