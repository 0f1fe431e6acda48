"""A node as the simulator sees it: a disk, the losses of a crash, and the ledger's duties in their order.

The shell around the model of the intake and the real `Stream` carries out their effects, on a disk of a few
dictionaries. A transaction does admit, append, view, commit, publish, acknowledge; `crash_before` names the duty before
which the node dies. Nothing but the last commit is on the disk then.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from replica_model import (
    Accepted,
    Dropped,
    Duplicate,
    Effect,
    Held,
    Kept,
    Purged,
    Quarantined,
    Received,
    Replica,
    read_state,
)
from twin import Twin

from mnemesh_crdt.admission.admission import admit
from mnemesh_crdt.admission.ancestry import GENESIS
from mnemesh_crdt.admission.erasure import begun_by, kind_of_erasure
from mnemesh_crdt.admission.refusal import Refused
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import CHANGE, ERASURES, Entry, Key, erase_hash, node_id_of, signing_bytes
from mnemesh_crdt.changes.operations import DELETE, Operation, OpId, read_operations
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.digest import bucket_of
from mnemesh_crdt.document.document import Edit, MemoryDocument
from mnemesh_crdt.document.equivocation import NAME_HEX, REMOVED, closure
from mnemesh_crdt.document.shape import GENESIS_KEYS, DocumentState
from mnemesh_crdt.sync.handshake import Me
from mnemesh_crdt.sync.messages import Ask, Measured, News, Read, Reask, Reread
from mnemesh_crdt.sync.proof import Claim, proof_bytes
from mnemesh_crdt.sync.stream import Stream
from mnemesh_memory.access.grants import PeerGrant, any_matches
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import Link, Memory

DUTIES: Final = ("admit", "append", "view", "commit", "publish", "acknowledge")
SKIP_SAVE: Final = "skip the save"
REUSE_ACTOR: Final = "reuse an actor id"
DROP_TOMBSTONE: Final = "drop a tombstone"
EARLY_ACK: Final = "ack before commit"
BELIEVE_HELLO: Final = "believe a Hello without a proof"
BELIEVE_AUTHORS: Final = "let anybody retract anything"
BELIEVE_VOTERS: Final = "let anybody rate and pin for another"
LOSE_UNLINK: Final = "lose an unlink at a merge"
KEYS_ONCE: Final = "say a key once a stream"
BELIEVE_BEGINNERS: Final = "let anybody begin anything"
BEGIN_RETRACTED: Final = "begin what is retracted elsewhere"
BUGS: Final = (
    *(SKIP_SAVE, REUSE_ACTOR, DROP_TOMBSTONE, EARLY_ACK, BELIEVE_HELLO, BELIEVE_AUTHORS, BELIEVE_VOTERS),
    *(LOSE_UNLINK, KEYS_ONCE, BELIEVE_BEGINNERS, BEGIN_RETRACTED),
)
LINKS: Final = (1 + GENESIS_KEYS.index("links"), GENESIS)  # the operation that made the map of links
PAGE: Final = 6  # entries a batch, so that even a short life fills windows
SKIPPED_SAVE_EVERY: Final = 7


class Violation(AssertionError):
    """An invariant does not hold."""


class Crash(Exception):
    """The node dies here."""


def sign(key: bytes, entry_fields: tuple[str, str, str, str, str, str]) -> bytes:
    """A stand-in for ed25519 that costs a microsecond; anyone could make it, nobody here does but the key's node."""
    return hashlib.sha512(key + signing_bytes(*entry_fields)).digest()


def prove(key: bytes, claim: Claim) -> bytes:
    """A stand-in as `sign` is."""
    return hashlib.sha256(key + proof_bytes(claim)).digest()


def believe(claim: Claim, key: bytes, signature: bytes) -> None:
    """Believe whoever says Hello."""


def check_proof(claim: Claim, key: bytes, signature: bytes) -> None:
    if node_id_of(key) != claim.node_id or prove(key, claim) != signature:
        raise DataLoss("bad proof", field="signature")


def check_signature(entry: Entry, key: bytes) -> None:
    covered = (entry.doc, entry.space, entry.type, entry.hash, entry.agent, entry.node)
    if node_id_of(key) != entry.node or sign(key, covered) != entry.signature:
        raise DataLoss("bad signature", field="signature")


Twin.verify = staticmethod(check_signature)


@dataclass(slots=True)
class Memo:
    """The answers of the pure functions, shared by the nodes of one world: a change is judged once, not per node.

    LOSE_UNLINK is a bug of these functions.
    """

    bug: str = ""
    judged: dict[tuple[Key, Entry, bool], Any] = field(default_factory=dict)
    states: dict[tuple[Key, frozenset[str]], DocumentState] = field(default_factory=dict)
    memories: dict[tuple[Key, frozenset[str]], Memory | None] = field(default_factory=dict)
    standing: dict[tuple[Key, frozenset[str]], set[str]] = field(default_factory=dict)

    def judge(self, key: Key, entry: Entry, earlier: Mapping[str, bytes] | None) -> Any:
        at = (key, entry, earlier is None)
        if at not in self.judged:
            self.judged[at] = self._judge(key, entry, earlier)
        return self.judged[at]

    def _judge(self, key: Key, entry: Entry, earlier: Mapping[str, bytes] | None) -> Any:
        try:
            return admit(key, entry, earlier)
        except Refused as refused:
            believed = {BELIEVE_VOTERS: "belongs to another", BELIEVE_BEGINNERS: "can begin in"}.get(self.bug)
            if believed is None or believed not in refused.reason:
                raise
            return read_head(entry.raw)

    def read(self, key: Key, changes: Mapping[str, bytes]) -> DocumentState:
        at = (key, frozenset(changes))
        if at not in self.states:
            state = read_state(key, changes)
            if self.bug == LOSE_UNLINK and any(len(read_head(raw).deps) > 1 for raw in changes.values()):
                state = _with_every_link(state, changes.values())
            self.states[at] = state
        return self.states[at]

    def links(self, key: Key, changes: Mapping[str, bytes]) -> set[str]:
        """As `standing_links`."""
        at = (key, frozenset(changes))
        if at not in self.standing:
            self.standing[at] = standing_links(changes.values())
        return self.standing[at]

    def memory(self, key: Key, changes: Mapping[str, bytes]) -> Memory | None:
        at = (key, frozenset(changes))
        if at not in self.memories:
            self.memories[at] = revisions.materialise(self.read(key, changes))
        return self.memories[at]


def standing_links(changes: Collection[bytes]) -> set[str]:
    """The keys of the links that stand after `changes`, worked out without Automerge.

    A link stands when nobody who saw the put took the link away or put it anew. A change of a repeated actor means the
    change that it builds on. It names links to take away elsewhere by the hash of their change.
    """
    known = {head.hash: head for raw in changes for head in (read_head(raw),)}
    found = list(_link_operations(changes))
    gone = {
        (counter, change.hash)
        for (_, hash), one in found
        for counter, actor in one.replaced
        for change in known.values()
        if change.actor == actor and change.hash in closure(known, [hash])
    }
    names = {name for raw in changes for name in _removed_elsewhere(raw)}
    return {
        one.key
        for (counter, hash), one in found
        if one.action != DELETE and (counter, hash) not in gone and f"{counter}@{hash[:NAME_HEX]}" not in names
    }


def _removed_elsewhere(raw: bytes) -> Iterable[str]:
    change = read_operations(raw)
    homes = {
        (counter, change.head.actor)
        for counter, one in enumerate(change.operations, change.first)
        if one.object is None and one.key.startswith(REMOVED)
    }
    return [one.key for one in change.operations if one.object in homes]


def _link_operations(changes: Iterable[bytes]) -> Iterator[tuple[OpId, Operation]]:
    for raw in changes:
        change = read_operations(raw)
        for counter, operation in enumerate(change.operations, change.first):
            if operation.object == LINKS:
                yield (counter, change.head.hash), operation


def _with_every_link(state: DocumentState, changes: Iterable[bytes]) -> DocumentState:
    """`state` with every link that somebody ever put."""
    keys = sorted({one.key for _, one in _link_operations(changes) if one.action != DELETE})
    at = {Link(*key.split(":", 1)): 0 for key in keys}
    return replace(state, links=tuple(at), linked_at={**at, **state.linked_at})


class Gullible(Replica):
    """Asks nobody who began a memory."""

    def _erase_if_known(self, key: Key, log: Any, entry: Entry, believed: bool) -> list[Effect]:
        return self._erase(key, log, entry)


@dataclass(slots=True)
class Disk:
    """What survives. `log` is seq -> (entry, the log that brought it, "" for here)."""

    incarnation: str
    head: int = 0
    log: dict[int, tuple[Entry, str]] = field(default_factory=dict)
    seqs: dict[str, int] = field(default_factory=dict)  # of entries by hash
    pending: dict[str, tuple[Entry, str]] = field(default_factory=dict)
    quarantine: dict[tuple[Key, str], Kept] = field(default_factory=dict)
    aside_from: dict[tuple[Key, str], str] = field(default_factory=dict)  # the logs that brought what is in quarantine
    erased: dict[Key, int] = field(default_factory=dict)
    view: dict[Key, Memory] = field(default_factory=dict)
    cursors: dict[str, dict[str, int]] = field(default_factory=dict)
    keys: dict[str, bytes] = field(default_factory=dict)
    twin: Twin | None = None  # a real ledger that must come to the same

    def copy(self, incarnation: str) -> Disk:
        tables: Any = {name: dict(table) for name in self.__slots__ if isinstance(table := getattr(self, name), dict)}
        tables["cursors"] = {peer: dict(cursors) for peer, cursors in self.cursors.items()}
        return Disk(incarnation, self.head, **tables, twin=self.twin and self.twin.copy())

    def knows(self, key: Key, hash: str) -> bool:
        """Whether a cursor may stand behind this entry."""
        known = hash in self.seqs or hash in self.pending
        return known or key in self.erased or (key, hash) in self.quarantine

    def append(self, entry: Entry, origin: str, is_first: bool) -> None:
        origin = self.taken_off(entry, origin, is_first)
        self.head += 1
        self.log[self.head] = (entry, origin)
        self.seqs[entry.hash] = self.head
        if entry.type in ERASURES:
            self.erased[key_of(entry)] = self.head

    def hold(self, entry: Entry, origin: str, is_first: bool) -> None:
        self.pending[entry.hash] = (entry, self.taken_off(entry, origin, is_first))

    def set_aside(self, key: Key, kept: Kept, origin: str, is_first: bool) -> None:
        origin = self.taken_off(kept.entry, origin, is_first)
        self.quarantine[key, kept.entry.hash] = kept
        self.aside_from[key, kept.entry.hash] = origin

    def taken_off(self, entry: Entry, origin: str, is_first: bool) -> str:
        """The log that brought an entry, which is no longer pending or in quarantine.

        `origin` brought the first entry. The first entry moved the others, which other logs may have brought.
        """
        at = (key_of(entry), entry.hash)
        self.quarantine.pop(at, None)
        aside_from = self.aside_from.pop(at, "")
        _, waited_from = self.pending.pop(entry.hash, (entry, aside_from))
        return origin if is_first else waited_from

    def purge(self, key: Key, hashes: Iterable[str]) -> None:
        self.view.pop(key, None)
        for hash in hashes:
            self.log.pop(self.seqs.pop(hash, 0), None)
            self.pending.pop(hash, None)
            self.quarantine.pop((key, hash), None)
            self.aside_from.pop((key, hash), None)

    def origins(self) -> dict[str, str]:
        """The log that brought an entry, by the hash of each entry that is logged or pending."""
        return {entry.hash: origin for entry, origin in (*self.log.values(), *self.pending.values())}

    def kept(self) -> Iterable[Entry]:
        """Every entry whose bytes lie somewhere here."""
        yield from (entry for entry, _ in self.log.values())
        yield from (entry for entry, _ in self.pending.values())
        yield from (kept.entry for kept in self.quarantine.values())


def key_of(entry: Entry) -> Key:
    return Key(entry.space, entry.doc)


class Node:
    """`streams` are the standing ones by the other node's number; `tell` gives a stream an event."""

    def __init__(self, number: int, memo: Memo, skew_ms: int, bug: str = "") -> None:
        self.number = number
        self.memo = memo
        self.skew_ms = skew_ms
        self.bug = bug
        self.agent = f"p{number}/cli"
        self.key = hashlib.sha256(b"node %d" % number).digest()
        self.id = node_id_of(self.key)
        self.lives = 0
        self.disk = Disk(f"n{number}-0")
        self.disk.keys[self.id] = self.key
        self.up = True
        self.crash_before = ""
        self.streams: dict[int, Stream] = {}
        self.jobs: dict[int, deque[Any]] = {}
        self.publish: Callable[[Node], None] = lambda node: None
        self.transactions = 0
        self.start()

    @property
    def me(self) -> Me:
        return Me(node_id=self.id, key=self.key, incarnation=self.disk.incarnation, life=self.disk.incarnation)

    def stream(self, grant: PeerGrant, expects: str = "") -> Stream:
        """One side of a stream."""
        return Stream(self.me, grant, expects=expects, check=believe if self.bug == BELIEVE_HELLO else check_proof)

    # ---- life --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Make the replica again from the disk."""
        kind = Gullible if self.bug == BELIEVE_AUTHORS else Replica
        self.replica = kind(judge=self.memo.judge, read=self.memo.read, verifier=check_signature)
        for entry, _ in self.disk.log.values():
            if not (self.bug == DROP_TOMBSTONE and entry.type in ERASURES):
                self.replica.handle(Received(entry))
        for entry, _ in self.disk.pending.values():
            self.replica.handle(Received(entry, waited=True))
        for kept in self.disk.quarantine.values():
            self.replica.handle(kept)
        self.up = True

    def restore(self, backup: Disk) -> None:
        """Start from a copy of an earlier disk: another life."""
        self.lives += 1
        self.disk = backup.copy(f"n{self.number}-{self.lives}")
        self.start()

    def _reach(self, duty: str) -> None:
        if self.crash_before == duty:
            self.crash_before = ""
            raise Crash(duty)

    # ---- the ledger's duties -----------------------------------------------------------------------------------------

    def _commit(
        self,
        events: Sequence[Received],
        origin: str,
        acknowledge: Callable[[list[Effect]], None],
        cursor: tuple[str, str, int] | None = None,
        keys: Mapping[str, bytes] | None = None,
    ) -> None:
        self.transactions += 1
        self._reach("admit")
        effects: list[Effect] = []
        released: set[int] = set()  # positions of entries that an earlier one let in
        for event in events:
            more = self.replica.handle(event)
            released |= {len(effects) + place for place in range(1, len(more))}
            effects += more
        self._reach("append")
        staged: list[Callable[[Disk], None]] = []
        touched: set[Key] = set()
        for place, effect in enumerate(effects):
            self._stage(effect, origin, place not in released, staged, touched)
        self._reach("view")
        for key in sorted(touched):
            memory = self.memory(key)
            if memory is not None:
                staged.append(lambda disk, key=key, memory=memory: disk.view.__setitem__(key, memory))
        if cursor is not None:
            peer, feed, seq = cursor
            staged.append(lambda disk: disk.cursors.setdefault(peer, {}).__setitem__(feed, seq))
        if self.bug == EARLY_ACK:
            acknowledge(effects)
        self._reach("commit")
        # As a ledger does: what a batch shows is kept for entries that are, and else shown in vain.
        kept = {effect.entry.node for effect in effects if isinstance(effect, Accepted | Held)}
        self.disk.keys |= {node: key for node, key in (keys or {}).items() if node in kept}
        if not (self.bug == SKIP_SAVE and self.transactions % SKIPPED_SAVE_EVERY == 0):
            for put in staged:
                put(self.disk)
        if self.disk.twin is not None:
            self.disk.twin.commit(events, origin, keys or {})
            if apart := self.disk.twin.differences(self.replica, self.disk.origins()):
                raise Violation(f"node {self.number}: the ledger differs from the model: {'; '.join(apart)}")
        self._reach("publish")
        self.publish(self)
        self._reach("acknowledge")
        if self.bug != EARLY_ACK:
            acknowledge(effects)

    def _stage(
        self,
        effect: Effect,
        origin: str,
        is_first: bool,
        staged: list[Callable[[Disk], None]],
        touched: set[Key],
    ) -> None:
        match effect:
            case Accepted(key, entry):
                staged.append(lambda disk: disk.append(entry, origin, is_first))
                touched.add(key)
            case Held(key, entry, _):
                staged.append(lambda disk: disk.hold(entry, origin, is_first))
            case Quarantined(key, entry, reason, root):
                staged.append(lambda disk: disk.set_aside(key, Kept(entry, reason, root), origin, is_first))
            case Purged(key, hashes):
                staged.append(lambda disk: disk.purge(key, hashes))
            case Duplicate() | Dropped():
                pass
            case _:
                raise Violation(f"node {self.number}: unexpected {effect}")

    def write(self, key: Key, edit: Edit | None, actor: bytes, acknowledge: Callable[[Entry], None]) -> bool:
        """A client's write; False when there is nothing to do."""
        if edit is None:
            return False
        changes = self.replica.changes(key)
        if self.bug == REUSE_ACTOR and changes:
            actor = hashlib.sha256(f"{self.id} {key.id} {len(changes)}".encode()).digest()[:16]
        change = MemoryDocument(key.id, key.space, changes).write(edit, actor)
        if change is None:
            return False
        self._write_entry(self.signed(key, CHANGE, change.hash, change.raw), acknowledge)
        return True

    def taken(self, key: Key) -> bool:
        """Whether a new memory may not have this id; see Admission.taken, which must say the same."""
        retracted = any(entry.type in ERASURES and key_of(entry) == key for entry in self.replica.pending())
        found = bool(self.replica.entries(key)) or (retracted and self.bug != BEGIN_RETRACTED)
        if self.disk.twin is not None and self.disk.twin.taken(key.id) != found:
            said = "free, the model that it is taken" if found else "taken, the model that it is free"
            raise Violation(f"node {self.number}: the ledger says that id {key.id[-4:]} is {said}")
        return found

    def erase(self, key: Key, acknowledge: Callable[[Entry], None]) -> None:
        state = self.replica.state(key)
        began = begun_by(state) if state else frozenset()
        self._write_entry(self.erasure(key, kind_of_erasure(self.agent, began, as_admin=True)), acknowledge)

    def erasure(self, key: Key, type: str) -> Entry:
        return self.signed(key, type, erase_hash(type, key.id, key.space, self.agent, self.id), b"")

    def _write_entry(self, entry: Entry, acknowledge: Callable[[Entry], None]) -> None:
        def done(effects: list[Effect]) -> None:
            if not effects or effects[0] != Accepted(key_of(entry), entry):
                raise Violation(f"node {self.number}: its own write of {entry.doc} is not accepted: {effects[:1]}")
            acknowledge(entry)

        self._commit([Received(entry)], "", done)

    def signed(self, key: Key, type: str, hash: str, raw: bytes) -> Entry:
        """An entry of this node."""
        covered = (key.id, key.space, type, hash, self.agent, self.id)
        return Entry(
            doc=key.id, space=key.space, type=type, hash=hash, raw=raw, agent=self.agent, node=self.id,
            signature=sign(self.key, covered), at=self.skew_ms,
        )  # fmt: skip

    def take_in(
        self,
        peer: str,
        origin: str,
        grant: PeerGrant,
        feed: str,
        last_seq: int,
        entries: tuple[Entry, ...],
        keys: Mapping[str, bytes],
        acknowledge: Callable[[], None],
    ) -> None:
        proven = {node: key for node, key in keys.items() if node_id_of(key) == node}
        known = proven | self.disk.keys
        events = [Received(entry, grant, known.get(entry.node)) for entry in entries]
        self._commit(events, origin, lambda _: acknowledge(), (peer, feed, last_seq), proven)

    # ---- reads -------------------------------------------------------------------------------------------------------

    def memory(self, key: Key) -> Memory | None:
        logged = {entry.hash: entry.raw for entry in self.replica.entries(key) if entry.raw}
        return self.memo.memory(key, logged) if logged else None

    def page(self, ask: Ask) -> Read:
        disk = self.disk
        entries: list[Entry] = []
        end = disk.head
        for seq, (entry, origin) in disk.log.items():
            if seq > ask.after and origin != ask.not_from and any_matches(ask.patterns, entry.space):
                entries.append(entry)
                if len(entries) == PAGE:
                    end = seq
                    break
        return Read(after=ask.after, entries=tuple(entries), last_seq=end, head=disk.head, keys=self._keys(entries))

    def again(self, ask: Reask) -> Reread:
        wanted = [
            (seq, entry)
            for seq, (entry, _) in self.disk.log.items()
            if seq > ask.after and entry.space == ask.space and bucket_of(entry.doc) in ask.buckets
        ]
        some = wanted[:PAGE]
        entries = tuple(entry for _, entry in some)
        last_seq = some[-1][0] if some else self.disk.head
        named = {"last_seq": last_seq, "done": len(wanted) <= PAGE, "keys": self._keys(entries)}
        return Reread(space=ask.space, after=ask.after, entries=entries, **named)

    def measured(self, patterns: tuple[str, ...]) -> Measured:
        spaces = {entry.space for entry, _ in self.disk.log.values() if any_matches(patterns, entry.space)}
        return Measured(patterns, {space: self.replica.digest(space) for space in sorted(spaces)})

    def news(self) -> News:
        return News(self.disk.head)

    def _keys(self, entries: Iterable[Entry]) -> dict[str, bytes]:
        return {one.node: self.disk.keys[one.node] for one in entries if one.node in self.disk.keys}
