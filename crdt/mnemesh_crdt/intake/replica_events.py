"""The events of a replica of documents, and its answers: values only, made and read by its shell.

An arrived entry is Received, an entry that was kept apart before a restart is Kept. The answers tell the fate of the
entry and of its waiters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from mnemesh_crdt.changes.envelope import Entry
from mnemesh_memory.access.grants import PeerGrant


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """A document: a memory id in a space (the same id in two spaces is two documents)."""

    space: str
    id: str


# Events


@dataclass(frozen=True, slots=True)
class Received:
    """Event: an entry arrived, perhaps twice, perhaps early. `grant` is the grant of its stream and `signer` the raw
    public key of its node. Both are None for a trusted entry: written here, or read from the own log. `waited`: the
    entry was Held before a restart."""

    entry: Entry
    grant: PeerGrant | None = None
    signer: bytes | None = None
    waited: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """Event, after a restart: this was quarantined before, for that reason, or for building on `root`."""

    entry: Entry
    reason: str
    root: str = ""


# Effects


@dataclass(frozen=True, slots=True)
class Accepted:
    """Effect: log and publish this entry, which is neither waiting nor quarantined any more. Its waiters follow as
    effects of their own."""

    key: Key
    entry: Entry


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Effect: nothing to do, the entry is here, waits or is quarantined already."""

    key: Key
    hash: str


@dataclass(frozen=True, slots=True)
class Held:
    """Effect: keep the entry; it waits for the `missing` hashes, a retraction for any beginning of its memory."""

    key: Key
    entry: Entry
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Full:
    """Effect: the change would have to wait, but `limit` wait already; stop the stream and send it again
    later."""

    key: Key
    hash: str
    limit: int


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Effect: keep the entry apart, and no longer with those that wait. `root` is the hash of its quarantined ancestor,
    "" when the entry itself was refused."""

    key: Key
    entry: Entry
    reason: str
    root: str = ""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Effect: keep nothing of it: a late copy of an erased document, or one more than the quarantine holds."""

    key: Key
    hash: str
    reason: str


@dataclass(frozen=True, slots=True)
class Purged:
    """Effect: delete everything that is kept of these entries of the document: accepted, waiting, quarantined."""

    key: Key
    hashes: tuple[str, ...]


Event: TypeAlias = Received | Kept
Effect: TypeAlias = Accepted | Duplicate | Held | Full | Quarantined | Dropped | Purged
