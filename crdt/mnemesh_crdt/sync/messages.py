"""The messages between two nodes, and between a stream's state machine and its shell. Values only.

A *feed* holds the entries of one node's log for another node, in order. Its spaces are those that the sender grants and
the receiver wants. Its name is `incarnation/scope`, where the scope stands for the spaces and agents. When any of these
change, the feed has another name without a cursor, and is read from its beginning. So a cursor never stands behind an
entry that its reader was not yet allowed to see. To a receiver the name is opaque. The part before the slash says where
an entry came from. The feed `incarnation/repair` carries entries that a comparison found missing. Its numbers count the
batches of one stream and mean nothing in the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mnemesh_crdt.changes.envelope import Entry
from mnemesh_crdt.sync.proof import Claim
from mnemesh_memory.access.grants import PeerGrant

# Number of a digest's bucket, 0 to 4,095, to its hash in hex; empty buckets are left out.
Buckets: TypeAlias = Mapping[int, str]


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A message, an event or an effect that consists of a number."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The first message of both sides.

    `protocol` is major * 1000 + minor; `key` the raw public key whose hash `node_id` is. `wants` are the patterns of
    spaces of the wanted entries, `only_by` the only principal of their agents, "" for anyone. `cursors` say how far it
    durably read feeds of the other node; `nonce` is random, for the other's Proof; `life` names the process.
    """

    protocol: int
    node_id: str
    key: bytes
    incarnation: str
    wants: tuple[str, ...]
    only_by: str
    cursors: Mapping[str, int]
    nonce: bytes
    life: str

    @property
    def origin(self) -> str:
        """The name under which this node's entries are filed: the proved id and the claimed incarnation, so that no
        node takes the place of another."""
        return f"{self.node_id}/{self.incarnation}"


@dataclass(frozen=True, slots=True)
class Proof:
    """The second message of both sides, the dialer's first: the ed25519 signature of what proof.py says, by the key of
    the Hello before."""

    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The entries of `feed` with numbers over `after` and at most `last_seq`. Missing numbers are not for the receiver.
    `head` is the last number of the sender's log; equal to `last_seq` when all was said, which a batch without entries
    says too. `keys` are the raw public keys of nodes that signed entries and that this stream has not named before."""

    feed: str
    after: int
    last_seq: int
    head: int
    entries: tuple[Entry, ...]
    keys: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ack:
    """All of `feed` up to `seq` is committed, durably waiting or quarantined here; `full`: no room for more now."""

    feed: str
    seq: int
    full: bool = False


@dataclass(frozen=True, slots=True)
class Digest:
    """The sender's buckets of a space that the receiver may read. The receiver asks for missing entries with Resend."""

    space: str
    buckets: Buckets


@dataclass(frozen=True, slots=True)
class DigestsEnd:
    """The sender said its digests, for the `number`th time on this stream. `back`: the receiver is to compare as well.
    `serves`: the last end of the receiver that asked so before the sender's comparison began, 0 for none."""

    number: int
    back: bool = False
    serves: int = 0


class Compared(_Numbered):
    """The sender has looked at the receiver's digests up to end `number`, and has asked for missing entries."""


@dataclass(frozen=True, slots=True)
class Resend:
    """The `number`th wish on this stream: send the entries in these buckets of a space again."""

    number: int
    space: str
    buckets: tuple[int, ...]


class Resent(_Numbered):
    """The entries of the receiver's wishes up to `number` were sent again, and are acknowledged."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the sender ends the stream; both nodes stay up. `code` is one of greeting.REFUSALS."""

    code: str
    reason: str


class Ping(_Numbered):
    """A question to who is alive, answered with Pong of the same number, 0 to 2**63 - 1."""


class Pong(_Numbered):
    """The answer to Ping."""


Comparing: TypeAlias = Digest | DigestsEnd | Compared | Resend | Resent
Message: TypeAlias = Hello | Proof | Batch | Ack | Comparing | Ping | Pong | Refusal


# Events: what happened, told by the shell -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The stream stands. `role` is dialer or listener; `head` the last number of the own log; `nonce` NONCE_BYTES that
    nobody could foresee. A dialer gives its saved `cursors` at once, a listener after Meet."""

    role: str
    head: int
    nonce: bytes
    cursors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Met:
    """The answer to Meet: the saved cursors in that peer's feeds."""

    cursors: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Proved:
    """The answer to Prove: the node's signature."""

    signature: bytes


@dataclass(frozen=True, slots=True)
class Admitted:
    """The answer to Admit: why the stream is refused as a copy's, or ""."""

    reason: str = ""


class Probe(_Numbered):
    """Somebody wants to know whether the other side is alive: Alive with this number says so."""


@dataclass(frozen=True, slots=True)
class Got:
    """A message arrived."""

    message: Message


@dataclass(frozen=True, slots=True)
class Misread:
    """Something arrived that is no message; `reason` says why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The answer to Ask: entries with numbers over `after`, and how far the log was looked through (`last_seq`, at most
    `head`). `keys` are the public keys of the nodes in `entries`."""

    after: int
    entries: tuple[Entry, ...]
    last_seq: int
    head: int
    keys: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Took:
    """The answer to TakeIn: its batch is durably here, together with the cursor; or, when `full`, no more may wait and
    the cursor stays. `refused` of its entries were quarantined."""

    feed: str
    last_seq: int
    full: bool = False
    refused: int = 0


@dataclass(frozen=True, slots=True)
class News:
    """The own log grew; `head` is its last number."""

    head: int


@dataclass(frozen=True, slots=True)
class Compare:
    """It is time to tell the peer digests (after connecting, unless that was done within the hour, hourly, and when a
    person asks). `back`: the peer is to tell as well, or nothing comes back here."""

    back: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """The answer to Measure with the same patterns: the digest of each space that any of them covers."""

    patterns: tuple[str, ...]
    digests: Mapping[str, Buckets]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """The answer to Reask: entries, whoever brought them, over `after` up to `last_seq`; `done`: there are no more."""

    space: str
    after: int
    entries: tuple[Entry, ...]
    last_seq: int
    done: bool
    keys: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Granted:
    """The grant of the other side is now this one. A changed grant ends the stream, which is then opened anew at
    once."""

    grant: PeerGrant


@dataclass(frozen=True, slots=True)
class Tick:
    """Some time passed, enough for an answer (say 10 s). The only clock that the machine knows."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The stream is gone, whatever the reason."""

    reason: str = ""


Opening: TypeAlias = Opened | Met | Admitted | Proved | Probe
Event: TypeAlias = Opening | Got | Misread | Read | Took | News | Compare | Measured | Reread | Granted | Tick | Closed


# Effects: what the shell is to do -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """Give the message to the stream."""

    message: Message


@dataclass(frozen=True, slots=True)
class Meet:
    """Look up the saved cursors of this node's feeds and say Met. The node has not proved its identity yet."""

    node_id: str


@dataclass(frozen=True, slots=True)
class Admit:
    """The peer has proved its identity. Say Admitted, once it is known whether another process has that identity,
    too."""

    node_id: str
    life: str


class Alive(_Numbered):
    """The other side has answered the Probe of this number."""


@dataclass(frozen=True, slots=True)
class Prove:
    """Sign the bytes of `claim` (proof.py) with this node's key and say Proved."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Ask:
    """Read a page of the own log and say Read: entries over `after` in spaces covered by `patterns`, at most
    BATCH_ITEMS_MAX and BATCH_BYTES_MAX. Entries from the log `not_from` (Hello.origin) are left out."""

    after: int
    patterns: tuple[str, ...]
    not_from: str


@dataclass(frozen=True, slots=True)
class TakeIn:
    """Take the batch in, judged by `grant`, save the cursor `batch.feed` -> `batch.last_seq` of that node in the same
    commit, and say Took. Entries come from `origin`, the peer's log (Hello.origin)."""

    batch: Batch
    node_id: str
    origin: str
    grant: PeerGrant


@dataclass(frozen=True, slots=True)
class Measure:
    """Say Measured with the digests of the spaces that any of `patterns` covers."""

    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reask:
    """Read the entries of these buckets' documents and say Reread; bounds as with Ask."""

    space: str
    buckets: tuple[int, ...]
    after: int


@dataclass(frozen=True, slots=True)
class Close:
    """End the stream, after what was given to Send before. `code` is "" when the other side ended it."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How the stream stands now; said when it changed.

    `phase` is new, greeting, open or closed. The peer takes entries of spaces that `takes` covers, a part of `wants`,
    and of the principal `only_by` alone unless "". The peer has the log durably up to `acked` of `head`. We have read
    its log up to `taken` of `peer_head`. `sending` batches are under way. `compared` Compare events are over, by the
    last of which the two differ in `differs` memories.
    """

    phase: str = "new"
    node_id: str = ""
    takes: tuple[str, ...] = ()
    wants: tuple[str, ...] = ()
    only_by: str = ""
    head: int = 0
    acked: int = 0
    sending: int = 0
    peer_head: int = 0
    taken: int = 0
    caught_up: bool = False
    compared: int = 0
    differs: int = 0
    code: str = ""
    reason: str = ""


Effect: TypeAlias = Send | Meet | Admit | Alive | Prove | Ask | TakeIn | Measure | Reask | Close | Status
