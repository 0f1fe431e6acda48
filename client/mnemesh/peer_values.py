"""What the operations on peers answer with: plain values, times as aware datetimes in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """How it stands with one peer. `state` is connecting, connected, offline or refused (token, protocol or identity: a
    person has to see to it); `incoming` says that the peer opened the stream, under the name of its token. `auth` is
    what became of the token at the last contact: accepted, refused or unknown. `lag_s` is for how long one side has not
    had all that the other has for it, 0 while both have it, None when they never had. `comparing`: a comparison that
    somebody waits for is not over. `effective_direction` is what the peer's token leaves of the direction: both,
    push, pull or none; `only_by` the principal whose entries alone are taken from the side that called, "" for
    anyone's; `not_taken` counts entries of this node in the spaces of a peer that is called which it does not take
    because of that. `differs`: in how many memories of the spaces that both sides share the last comparison found them
    not to agree."""

    name: str
    incoming: bool
    target: str
    direction: str
    spaces: tuple[str, ...]
    state: str
    node_id: str
    caught_up: bool
    pending_out: int
    pending_in: int
    cursor_out: int
    cursor_in: int
    last_contact: datetime | None
    last_error: str
    attempts: int
    auth: str
    lag_s: float | None
    comparing: bool
    effective_direction: str
    only_by: str
    not_taken: int
    differs: int


@dataclass(frozen=True, slots=True)
class AddedPeer:
    """A peer that was added or given another token, after the first contact, or after there was none yet. `note` is
    what to know about it, such as that it takes nothing of what this node's owner writes; "" for nothing."""

    peer: PeerStatus
    note: str


@dataclass(frozen=True, slots=True)
class RemovedPeer:
    """The name of a peer that was removed."""

    name: str


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """This node's id and the last number of its log; its peers; how many entries wait for others or are in
    quarantine."""

    node_id: str
    head: int
    peers: tuple[PeerStatus, ...]
    pending: int
    quarantined: int


@dataclass(frozen=True, slots=True)
class Synced:
    """The peers that were called, as they stand now."""

    peers: tuple[PeerStatus, ...]


@dataclass(frozen=True, slots=True)
class QuarantinedEntry:
    """An entry that was not let in, and why. `id` is what it is retried or discarded by; `brought_by` the peer's name
    or that of its token, `peer` the incarnation of its ledger; `builds_on` the refused change because of which it is
    here, "" when it was refused itself."""

    doc: str
    space: str
    hash: str
    agent: str
    node_id: str
    peer: str
    reason: str
    at: datetime
    id: str
    brought_by: str
    builds_on: str


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Some of the entries in quarantine, how many match in all, and where the next page begins, "" for the last."""

    entries: tuple[QuarantinedEntry, ...]
    total: int
    cursor: str


@dataclass(frozen=True, slots=True)
class Retried:
    """How many entries were taken in, with those that waited for them; how many wait now; and how many are in
    quarantine now, everybody's."""

    accepted: int
    waiting: int
    left: int


@dataclass(frozen=True, slots=True)
class Discarded:
    """How many entries were deleted."""

    discarded: int


@dataclass(frozen=True, slots=True)
class PendingEntry:
    """An entry that waits for the change `awaits`; `type` is change or a kind of erasure."""

    id: str
    doc: str
    space: str
    type: str
    hash: str
    agent: str
    node_id: str
    brought_by: str
    awaits: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Pending:
    """Some of the entries that wait, how many match in all, and where the next page begins, "" for the last."""

    entries: tuple[PendingEntry, ...]
    total: int
    cursor: str
