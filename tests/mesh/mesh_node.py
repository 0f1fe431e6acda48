"""A node as the simulator sees it: a disk, the losses of a crash, and the ledger's duties in their order.

The shell around the product's own intake and `Stream`. The disk is a shelf in memory. A transaction works on a copy of
the disk and does admit, append, view, commit, publish, acknowledge; `crash_before` names the duty before which the node
dies. The commit puts the copy in place. Nothing but the last commit is on the disk after a crash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Final
from unittest.mock import patch

from memory_shelf import MemoryShelf
from mirror import Mirror

from mnemesh_crdt.admission.admission import admit
from mnemesh_crdt.admission.ancestry import GENESIS
from mnemesh_crdt.admission.erasure import begun_by, kind_of_erasure
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import CHANGE, ERASURES, Entry, Key, Refused, erase_hash, node_id_of, signing_bytes
from mnemesh_crdt.changes.operations import DELETE, ChangeOperation, OpId, read_operations
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.digest import bucket_of
from mnemesh_crdt.document.document import Edit, MemoryDocument
from mnemesh_crdt.document.equivocation import NAME_HEX, REMOVED, closure
from mnemesh_crdt.document.shape import GENESIS_KEYS, DocumentState
from mnemesh_crdt.intake import intake as rules
from mnemesh_crdt.intake.arrivals import Brought, Loaded, TakenIn, read_document
from mnemesh_crdt.intake.intake import Intake
from mnemesh_crdt.sync.greeting import Me
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
NOW: Final = 1_700_000_000_000  # when anything is received


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


@dataclass(slots=True)
class Memo:
    """The answers of the pure functions, shared by the nodes of one world: a change is judged once, not per node.

    LOSE_UNLINK is a bug of these functions.
    """

    bug: str = ""
    judged: dict[tuple[Key, Entry, bool], Any] = field(default_factory=dict)
    loaded: dict[tuple[Key, frozenset[str]], Loaded] = field(default_factory=dict)
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

    def read(self, key: Key, changes: Mapping[str, bytes]) -> Loaded:
        at = (key, frozenset(changes))
        if at not in self.loaded:
            document, state = read_document(key, changes)
            if self.bug == LOSE_UNLINK and any(len(read_head(raw).deps) > 1 for raw in changes.values()):
                state = _with_every_link(state, changes.values())
            self.loaded[at] = document, state
        return self.loaded[at]

    def links(self, key: Key, changes: Mapping[str, bytes]) -> set[str]:
        """As `standing_links`."""
        at = (key, frozenset(changes))
        if at not in self.standing:
            self.standing[at] = standing_links(changes.values())
        return self.standing[at]

    def memory(self, key: Key, changes: Mapping[str, bytes]) -> Memory | None:
        at = (key, frozenset(changes))
        if at not in self.memories:
            self.memories[at] = revisions.materialise(self.read(key, changes)[1])
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


def _link_operations(changes: Iterable[bytes]) -> Iterator[tuple[OpId, ChangeOperation]]:
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


def planted(bug: str) -> AbstractContextManager[object]:
    """While a world with BELIEVE_AUTHORS is played, the intake asks nobody who began a memory."""
    if bug != BELIEVE_AUTHORS:
        return nullcontext()
    return patch.object(rules, "disputed", lambda entry, began: "")


class Disk(MemoryShelf):
    """What survives. `reach` is told of each duty that is done here."""

    def __init__(self, incarnation: str, memo: Memo) -> None:
        super().__init__()
        self.incarnation = incarnation
        self.memo = memo
        self.view: dict[Key, Memory] = {}
        self.cursors: dict[tuple[str, str], int] = {}  # by peer and feed
        self.mirror: Mirror | None = None  # a ledger's shelf that must come to the same
        self.reach: Callable[[str], None] = lambda duty: None

    def backup(self, incarnation: str) -> Disk:
        other = self.copy()
        other.incarnation = incarnation
        other.mirror = self.mirror and self.mirror.copy()
        return other

    def append(self, loaded: Loaded, brought: Sequence[tuple[Brought, str]], *, new: bool) -> int:
        self.reach("append")
        last = super().append(loaded, brought, new=new)
        self.reach("view")
        key = Key(loaded[0].space, loaded[0].id)
        memory = self.memo.memory(key, self.raws(key))
        if memory is not None:
            self.view[key] = memory
        return last

    def lose(self, key: Key) -> None:
        self.reach("append")
        super().lose(key)
        self.reach("view")
        self.view.pop(key, None)

    def knows(self, key: Key, hash: str) -> bool:
        """Whether a cursor may stand behind this entry."""
        waits = any(one.brought.entry.hash == hash for one in self.pending.values())
        return hash in self.seqs or waits or self.heads.get(key, ()) is None or self.is_refused(key, hash)

    def cursors_of(self, peer: str) -> dict[str, int]:
        return {feed: seq for (known, feed), seq in self.cursors.items() if known == peer}

    def kept(self) -> Iterable[Entry]:
        """Every entry whose bytes lie somewhere here."""
        yield from (one.entry for one in self.log.values())
        yield from (one.brought.entry for one in (*self.pending.values(), *self.quarantine.values()))


def key_of(entry: Entry) -> Key:
    return Key(entry.space, entry.doc)


class Node:
    """`publish` is told of each commit."""

    def __init__(self, number: int, memo: Memo, skew_ms: int, bug: str = "") -> None:
        self.number = number
        self.memo = memo
        self.skew_ms = skew_ms
        self.bug = bug
        self.agent = f"p{number}/cli"
        self.key = hashlib.sha256(b"node %d" % number).digest()
        self.id = node_id_of(self.key)
        self.lives = 0
        self.disk = Disk(f"n{number}-0", memo)
        self.disk.keep_key(self.id, self.key, "")
        self.up = True
        self.crash_before = ""
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
        """Go on with what is on the disk."""
        if self.bug == DROP_TOMBSTONE:
            for key in self.disk.erased():
                del self.disk.heads[key]
        self.up = True

    def restore(self, backup: Disk) -> None:
        """Start from a copy of an earlier disk: another life."""
        self.lives += 1
        self.disk = backup.backup(f"n{self.number}-{self.lives}")
        self.start()

    def _reach(self, duty: str) -> None:
        if self.crash_before == duty:
            self.crash_before = ""
            raise Crash(duty)

    # ---- the ledger's duties -----------------------------------------------------------------------------------------

    def _commit(
        self,
        work: Callable[[Intake], object],
        acknowledge: Callable[[], None],
        cursor: tuple[str, str, int] | None = None,
    ) -> None:
        self.transactions += 1
        self._reach("admit")
        staged = self.disk.copy()
        staged.reach = self._reach
        intake = Intake(shelf=staged, judge=self.memo.judge, read=self.memo.read, verify=check_signature)
        outcome = work(intake)
        if cursor is not None:
            peer, feed, seq = cursor
            staged.cursors[peer, feed] = seq
        if self.bug == EARLY_ACK:
            acknowledge()
        self._reach("commit")
        staged.reach = lambda duty: None
        if not (self.bug == SKIP_SAVE and self.transactions % SKIPPED_SAVE_EVERY == 0):
            self.disk = staged
        if staged.mirror is not None:
            other = staged.mirror.follow(work, intake)
            apart = [f"{outcome} and {other}"] if outcome != other else []
            if apart := [*apart, *staged.mirror.differences(staged, intake)]:
                raise Violation(f"node {self.number} differs from the ledger: {'; '.join(apart)}")
        self._reach("publish")
        self.publish(self)
        self._reach("acknowledge")
        if self.bug != EARLY_ACK:
            acknowledge()

    def write(self, key: Key, edit: Edit | None, actor: bytes, acknowledge: Callable[[Entry], None]) -> bool:
        """A client's write. False when there is nothing to do."""
        if edit is None:
            return False
        changes = self.disk.raws(key)
        if self.bug == REUSE_ACTOR and changes:
            actor = hashlib.sha256(f"{self.id} {key.id} {len(changes)}".encode()).digest()[:16]
        change = MemoryDocument(key.id, key.space, changes.values()).write(edit, actor)
        if change is None:
            return False
        entry = self.signed(key, CHANGE, change.hash, change.raw)
        loaded = self.memo.read(key, {**changes, change.hash: change.raw})
        brought = [(Brought(entry, "", NOW), actor.hex())]
        self._commit(lambda intake: intake.shelf.append(loaded, brought, new=not changes), lambda: acknowledge(entry))
        return True

    def taken(self, key: Key) -> bool:
        """Whether a new memory may not have this id. Admission.taken must say the same."""
        found = bool(self.disk.entries(key)) or (self.is_retracted(key) and self.bug != BEGIN_RETRACTED)
        if self.disk.mirror is not None and self.disk.mirror.taken(key.id) != found:
            said = "free, the node that it is taken" if found else "taken, the node that it is free"
            raise Violation(f"node {self.number}: the ledger says that id {key.id[-4:]} is {said}")
        return found

    def is_retracted(self, key: Key) -> bool:
        """Whether a retraction waits here for the memory."""
        waiting = [one.brought.entry for one in self.disk.pending.values()]
        return any(one.type in ERASURES and key_of(one) == key for one in waiting)

    def erase(self, key: Key, acknowledge: Callable[[Entry], None]) -> None:
        state = self.state(key)
        began = begun_by(state) if state else frozenset()
        entry = self.erasure(key, kind_of_erasure(self.agent, began, as_admin=True))
        self._commit(lambda intake: intake.shelf.erase(Brought(entry, "", NOW)), lambda: acknowledge(entry))

    def erasure(self, key: Key, type: str) -> Entry:
        return self.signed(key, type, erase_hash(type, key.id, key.space, self.agent, self.id), b"")

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
        def work(intake: Intake) -> TakenIn:
            return intake.take_in(origin, grant, entries, keys, NOW, peer)

        self._commit(work, acknowledge, (peer, feed, last_seq))

    # ---- reads -------------------------------------------------------------------------------------------------------

    def state(self, key: Key) -> DocumentState | None:
        changes = self.disk.raws(key)
        return self.memo.read(key, changes)[1] if changes else None

    def memory(self, key: Key) -> Memory | None:
        changes = self.disk.raws(key)
        return self.memo.memory(key, changes) if changes else None

    def page(self, ask: Ask) -> Read:
        disk = self.disk
        entries: list[Entry] = []
        end = disk.head
        for seq, one in disk.log.items():
            if seq > ask.after and one.origin != ask.not_from and any_matches(ask.patterns, one.entry.space):
                entries.append(one.entry)
                if len(entries) == PAGE:
                    end = seq
                    break
        return Read(after=ask.after, entries=tuple(entries), last_seq=end, head=disk.head, keys=self._keys(entries))

    def again(self, ask: Reask) -> Reread:
        wanted = [
            (seq, one.entry)
            for seq, one in self.disk.log.items()
            if seq > ask.after and one.entry.space == ask.space and bucket_of(one.entry.doc) in ask.buckets
        ]
        some = wanted[:PAGE]
        entries = tuple(entry for _, entry in some)
        last_seq = some[-1][0] if some else self.disk.head
        named = {"last_seq": last_seq, "done": len(wanted) <= PAGE, "keys": self._keys(entries)}
        return Reread(space=ask.space, after=ask.after, entries=entries, **named)

    def measured(self, patterns: tuple[str, ...]) -> Measured:
        spaces = {key.space for key in self.disk.heads if any_matches(patterns, key.space)}
        return Measured(patterns, {space: self.disk.digest(space) for space in sorted(spaces)})

    def news(self) -> News:
        return News(self.disk.head)

    def _keys(self, entries: Iterable[Entry]) -> Mapping[str, bytes]:
        return self.disk.node_keys({one.node for one in entries})
