"""Erasing a memory for good: everything that is kept of it goes, its id and the hashes of its changes stay.

The entry that says so is signed and travels to every node; whoever has it drops late copies. After the commit the
write-ahead log is folded into the file and cut to nothing, because it still holds the pages of before; in the file,
`secure_delete` has overwritten what was freed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence, Set
from dataclasses import dataclass

from mnemesh_actors.ledger.commit.commands import Command
from mnemesh_actors.ledger.peers.replica_keys import twin_of, twins
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_crdt.admission.erasure import begun_by, kind_of_erasure
from mnemesh_crdt.changes.envelope import ERASURES, Entry
from mnemesh_crdt.intake.replica_events import Key
from mnemesh_memory.access.grants import EVERY_SPACE, any_matches, principal_of
from mnemesh_memory.values.errors import NotFound, PermissionDenied


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase(Command):
    """Erase memory `id` for good. Unless `as_admin`, only who began it may. What an admin began itself it retracts, as
    everybody does: other nodes believe that of it without taking it for an admin. Outside of the spaces that `within`
    covers nothing is there."""

    id: str
    as_admin: bool = False
    within: tuple[str, ...] = (EVERY_SPACE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """What an erasure did: entry number `seq`, `changes` that went, 0 when it was erased before. `folded`: no byte of
    it is left in the write-ahead log either; when somebody else reads the file, that comes with a later write. `alone`
    says why no second machine of a replicated ledger has erased it yet, "" when one has, or when there is but one.
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
    began = begun_by(journal.load(key).state())
    if not (type_ := kind_of_erasure(command.agent, began, as_admin=command.as_admin)):
        raise _denied(command.agent, key, began)
    _drop_aside(db, command.id)
    seq, changes = journal.erase(journal.erasure(key, type_, command), command.actor)
    return Gone(id=command.id, space=space, seq=seq, changes=changes, type=type_)


def _drop_aside(db: sqlite3.Connection, id_: str) -> int:
    """What waits or was refused under this id, whatever space it claims: an id is that of one memory, and these bytes
    may be of its text. Whoever erases here says so; what a peer erases in one space lets wait what waits in another.
    Returns how many there were."""
    tables = ("pending", "quarantine")
    return sum(db.execute(f"DELETE FROM {table} WHERE doc = ?", (id_,)).rowcount for table in tables)


def follow(db: sqlite3.Connection, peer: str, entries: Sequence[Entry]) -> int:
    """Of a batch that was taken in from `peer` (the name of its cursors): what was erased at another ledger of this
    node was erased here, so that it takes here, too, what waits under the id. What that one only carries on from a peer
    does not. Returns how many there were that waited or were refused."""
    erasures = [one for one in entries if one.type in ERASURES]
    if not erasures or not (brings := twin_of(peer)):
        return 0
    own = {brings, *twins(db)}
    here = "SELECT 1 FROM erased WHERE doc = ? AND space = ?"
    ids = {one.doc for one in erasures if one.node in own and db.execute(here, (one.doc, one.space)).fetchone()}
    return sum(_drop_aside(db, id_) for id_ in sorted(ids))


def not_to_erase(db: sqlite3.Connection, journal: Journal, ids: Sequence[str], agent: str) -> dict[str, str]:
    """Why `agent`, who is no admin, may not erase those of the memories `ids` that are here and not its own, by id."""
    marks = ", ".join("?" * len(ids))
    refused = {}
    for id_, space in db.execute(f"SELECT id, space FROM memory WHERE id IN ({marks})", tuple(ids)).fetchall():
        key = Key(space, id_)
        began = begun_by(journal.load(key).state())
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
    """The space of a memory of which nothing is here yet but changes that wait or were refused, for an admin; with
    changes that claim several spaces, the first that there is for this one."""
    if not command.as_admin:
        return None
    for table in ("pending", "quarantine"):
        for (space,) in db.execute(f"SELECT space FROM {table} WHERE doc = ? ORDER BY id", (command.id,)):
            if any_matches(command.within, space):
                return (str(space),)
    return None


def fold(db: sqlite3.Connection) -> bool:
    """Bring the write-ahead log into the file and cut it; False when somebody reads the file just now, or when the disk
    does not take it: what was written before is durable all the same."""
    try:
        busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.OperationalError:
        return False
    return not busy
