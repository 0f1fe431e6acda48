"""A model of the intake: one replica of many documents as a pure merge machine, events in, effects out.

The ledger carries out the same rules on SQLite (mnemesh_crdt.intake), and twin.py compares both. The
simulated nodes of tests/mesh run this model.

Two replicas hold the same when they were told the same entries, in any order and any number of times, by streams with
the right to bring them. Nothing here knows a clock, disk or peer. sync/ decides what to send to whom. The rules:

- An entry from elsewhere must be within the grant of its stream, by an agent that the stream may speak for. The named
  node must have signed.

- Then its operations are judged (admission.py), and its document must stay readable.

- A refused entry is quarantined with the reason and never touches a document. Everything built on it is quarantined
  too.

- The same change in another envelope, or by another stream, is judged anew. So nobody keeps a change out by a forgery.
  After the acceptance, its quarantined followers are judged again.

- A change is accepted after all its ancestors. Until then it waits. The number of waiting changes is limited.

- The erasure of a document wins over every change, earlier or later. Nothing is kept, not even in quarantine.

- admission/erasure.py holds the right to erase. A retraction from a stream without relay waits until the beginner of
  the memory is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mnemesh_crdt.admission.admission import Judge, admit
from mnemesh_crdt.admission.budget import within
from mnemesh_crdt.admission.erasure import begun_by, disputed, misshapen, not_granted
from mnemesh_crdt.admission.refusal import Refused
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import ERASURES, RETRACT, Entry, Key, verify
from mnemesh_crdt.document.digest import bucket_of, fingerprint
from mnemesh_crdt.document.document import MemoryDocument, genesis_hash
from mnemesh_crdt.document.shape import DocumentState
from mnemesh_memory.access.grants import PeerGrant, any_matches
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, shorten
from mnemesh_memory.values.limits import PENDING_CHANGES_MAX, QUARANTINE_ENTRIES_MAX

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


Reader: TypeAlias = Callable[[Key, Mapping[str, bytes]], DocumentState]
Verifier: TypeAlias = Callable[[Entry, bytes], None]


@dataclass(slots=True)
class _Log:
    """A document's entries, parents first, with the waiting and the quarantined entries, and the waiters for each
    hash."""

    genesis: str
    entries: dict[str, Entry] = field(default_factory=dict)
    changes: dict[str, bytes] = field(default_factory=dict)
    heads: set[str] = field(default_factory=set)
    pending: dict[str, Entry] = field(default_factory=dict)
    quarantined: dict[str, Kept] = field(default_factory=dict)
    deps: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of waiting and tainted entries
    waiting: dict[str, list[str]] = field(default_factory=dict)

    def missing(self, deps: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(one for one in deps if one not in self.changes and one != self.genesis)

    def wait(self, hash: str, deps: tuple[str, ...]) -> None:
        self.deps[hash] = deps
        for one in self.missing(deps):
            self.waiting.setdefault(one, []).append(hash)

    def is_empty(self) -> bool:
        return not (self.entries or self.pending or self.quarantined)


def read_state(key: Key, changes: Mapping[str, bytes]) -> DocumentState:
    """The content of a document with these changes. Raises DataLoss or FailedPrecondition for an unreadable one."""
    return MemoryDocument(key.id, key.space, *within(key.id, key.space, changes)).state()


class Replica:
    """Holds documents; `handle` is the only way to change it. At most `pending_max` changes wait and `quarantine_max`
    entries are kept apart. Other functions for `judge`, `read` and `verifier` must decide as the defaults do."""

    def __init__(
        self,
        pending_max: int = PENDING_CHANGES_MAX,
        quarantine_max: int = QUARANTINE_ENTRIES_MAX,
        judge: Judge = admit,
        read: Reader = read_state,
        verifier: Verifier = verify,
    ) -> None:
        self.pending_max = pending_max
        self.quarantine_max = quarantine_max
        self._judge = judge
        self._read = read
        self._verify = verifier
        self._logs: dict[Key, _Log] = {}
        self._erased: dict[Key, Entry] = {}
        self._pending = 0
        self._quarantined = 0

    def handle(self, event: Event) -> list[Effect]:
        """Take in one event; the effects are for the shell to carry out, in order."""
        entry = event.entry
        key = Key(entry.space, entry.doc)
        if key in self._erased:
            if entry.type in ERASURES:
                return [Duplicate(key, entry.hash)]
            return [Dropped(key, entry.hash, "its memory was erased")]
        log = self._logs.get(key) or _Log(genesis_hash(key.id, key.space))
        effects = self._keep(key, log, event) if isinstance(event, Kept) else self._receive(key, log, event)
        if log.is_empty():
            self._logs.pop(key, None)
        else:
            self._logs[key] = log
        return effects

    def state(self, key: Key) -> DocumentState | None:
        """The content of the document, or None when this replica has no change of it."""
        log = self._logs.get(key)
        return self._read(key, log.changes) if log and log.changes else None

    def changes(self, key: Key) -> tuple[bytes, ...]:
        """The document's accepted changes, parents first."""
        log = self._logs.get(key)
        return tuple(log.changes.values()) if log else ()

    def entries(self, key: Key) -> tuple[Entry, ...]:
        """The entries of the accepted changes, or the entry that erased the document."""
        if key in self._erased:
            return (self._erased[key],)
        log = self._logs.get(key)
        return tuple(log.entries.values()) if log else ()

    def pending(self) -> tuple[Entry, ...]:
        """The entries that wait for others."""
        return tuple(entry for log in self._logs.values() for entry in log.pending.values())

    def quarantined(self) -> tuple[Kept, ...]:
        """The entries that are kept apart, each with its reason."""
        return tuple(kept for log in self._logs.values() for kept in log.quarantined.values())

    def documents(self) -> tuple[Key, ...]:
        """The documents that hold something, sorted."""
        return tuple(sorted(key for key, log in self._logs.items() if log.changes))

    def erased(self) -> tuple[Key, ...]:
        """The documents that were erased, sorted."""
        return tuple(sorted(self._erased))

    def events(self) -> Iterator[Event]:
        """Events with all accepted entries of this replica. Handing the events to another replica merges the two."""
        yield from (Received(entry) for entry in self._erased.values())
        for log in self._logs.values():
            yield from (Received(entry) for entry in log.entries.values())
            yield from (Received(entry, waited=True) for entry in log.pending.values())

    def digest(self, space: str) -> dict[int, str]:
        """One hash (hex) for each of 4,096 buckets of documents that holds any: equal digests mean equal
        documents, unequal buckets say where to look. Waiting changes do not count."""
        buckets: dict[int, int] = {}
        for key in (*self._logs, *self._erased):
            log = self._logs.get(key)
            if key.space == space and (log is None or log.changes):
                bucket = bucket_of(key.id)
                buckets[bucket] = buckets.get(bucket, 0) ^ fingerprint(key.id, log.heads if log else None)
        return {bucket: f"{value:064x}" for bucket, value in sorted(buckets.items()) if value}

    # ---- one entry ---------------------------------------------------------------------------------------------------

    def _receive(self, key: Key, log: _Log, event: Received) -> list[Effect]:
        entry = event.entry
        believed = not event.waited and (event.grant is None or event.grant.relay)
        if entry.hash in log.entries or (entry.hash in log.pending and not (entry.type == RETRACT and believed)):
            return [Duplicate(key, entry.hash)]
        try:
            self._check_sender(event)
            if entry.type in ERASURES:
                return self._erase_if_known(key, log, entry, believed)
            deps = _deps(entry)
            if log.missing(deps):
                self._judge(key, entry, None)
                return self._hold(key, log, entry, deps)
            self._check_change(key, log, entry)
        except Refused as refused:
            return self._quarantine(key, log, Kept(entry, refused.reason))
        return self._accept(key, log, entry, deps)

    def _check_sender(self, event: Received) -> None:
        """Whether the stream may bring this entry, and the entry is what its node signed. Raises Refused."""
        entry, grant = event.entry, event.grant
        if entry.type in ERASURES and (why := misshapen(entry)):
            raise Refused(why)
        if grant is None:
            return
        if not any_matches(grant.write, entry.space):
            raise Refused(f"space {shorten(entry.space)} is outside of what this peer may write")
        if not grant.may_speak_for(entry.agent):
            raise Refused(f"this peer may not speak for agent {shorten(entry.agent)}")
        if event.signer is None:
            raise Refused(f"the key of node {shorten(entry.node)} was not shown")
        try:
            self._verify(entry, event.signer)
        except DataLoss as error:
            raise Refused(error.message) from error
        if why := not_granted(entry, grant):
            raise Refused(why)

    def _check_change(self, key: Key, log: _Log, entry: Entry) -> None:
        """Whether a change may enter, all that it builds on being here. Raises Refused."""
        head = self._judge(key, entry, log.changes)
        try:
            self._read(key, {**log.changes, head.hash: entry.raw})
        except (DataLoss, FailedPrecondition) as error:
            raise Refused(error.message) from error

    def _accept(self, key: Key, log: _Log, entry: Entry, deps: tuple[str, ...]) -> list[Effect]:
        """Take in a good entry, then each waiter without another missing parent."""
        effects: list[Effect] = []
        ready = [(entry, deps)]
        while ready:
            entry, deps = ready.pop(0)
            self._forget(log, entry.hash)
            log.entries[entry.hash] = entry
            log.changes[entry.hash] = entry.raw
            log.heads.difference_update(deps)
            log.heads.add(entry.hash)
            effects.append(Accepted(key, entry))
            for waiter in log.waiting.pop(entry.hash, ()):
                found = log.pending.get(waiter) or _entry_of(log.quarantined.get(waiter))
                if found is None or waiter not in log.deps:
                    continue
                waiting_for = log.deps[waiter]
                if missing := log.missing(waiting_for):
                    effects += self._wait_on(key, log, waiter, entry.hash, missing)
                    continue
                self._forget(log, waiter)
                try:
                    self._check_change(key, log, found)
                except Refused as refused:
                    effects += self._quarantine(key, log, Kept(found, refused.reason))
                else:
                    ready.append((found, waiting_for))
        return effects + self._retract_waiting(key, log)

    def _wait_on(self, key: Key, log: _Log, hash: str, good: str, missing: tuple[str, ...]) -> list[Effect]:
        """An entry was in quarantine because of a parent that turned out `good`. Now it waits for the parents that are
        still `missing`, or is in quarantine because of another parent. An entry that was durable before always finds
        room."""
        kept = log.quarantined.get(hash)
        if kept is None or kept.root != good:
            return []
        if root := next((one for one in missing if one in log.quarantined), ""):
            log.quarantined[hash] = again = _tainted(kept.entry, root)
            return [Quarantined(key, kept.entry, again.reason, root)]
        del log.quarantined[hash]
        self._quarantined -= 1
        log.pending[hash] = kept.entry
        self._pending += 1
        return [Held(key, kept.entry, missing)]

    def _hold(self, key: Key, log: _Log, entry: Entry, deps: tuple[str, ...]) -> list[Effect]:
        """Let an entry wait, in quarantine when something that it builds on is there."""
        missing = log.missing(deps)
        root = next((one for one in missing if one in log.quarantined), "")
        if root:
            if entry.hash in log.deps:
                return [Duplicate(key, entry.hash)]
            self._forget(log, entry.hash)  # there may be a forged one
            effects = self._quarantine(key, log, _tainted(entry, root))
        elif self._pending >= self.pending_max:
            return [Full(key, entry.hash, self.pending_max)]
        else:
            self._forget(log, entry.hash)
            log.pending[entry.hash] = entry
            self._pending += 1
            effects = [Held(key, entry, missing)]
        if entry.hash in log.pending or entry.hash in log.quarantined:
            log.wait(entry.hash, deps)
        return effects

    def _quarantine(self, key: Key, log: _Log, kept: Kept) -> list[Effect]:
        """Keep an entry apart, with all its waiters, which wait on there."""
        effects: list[Effect] = []
        condemned = [kept]
        while condemned:
            kept = condemned.pop(0)
            hash = kept.entry.hash
            if hash in log.quarantined:
                effects.append(Duplicate(key, hash))
                continue
            if log.pending.pop(hash, None):
                self._pending -= 1
            if self._quarantined >= self.quarantine_max:
                effects.append(Dropped(key, hash, f"{self.quarantine_max} entries are in quarantine; {kept.reason}"))
            else:
                log.quarantined[hash] = kept
                self._quarantined += 1
                effects.append(Quarantined(key, kept.entry, kept.reason, kept.root))
            waiters = [log.pending[one] for one in log.waiting.get(hash, ()) if one in log.pending]
            condemned += [_tainted(waiter, hash) for waiter in waiters]
        return effects

    def _erase_if_known(self, key: Key, log: _Log, entry: Entry, believed: bool) -> list[Effect]:
        """Erase the document. Raises Refused for a retraction by a principal that did not begin the memory. A
        retraction that is not `believed` waits while the beginner is unknown here."""
        began = begun_by(self._read(key, log.changes)) if log.changes else frozenset()
        if why := disputed(entry, began):
            raise Refused(why)
        if began or believed:
            return self._erase(key, log, entry)
        if self._pending >= self.pending_max:
            return [Full(key, entry.hash, self.pending_max)]
        self._forget(log, entry.hash)
        log.pending[entry.hash] = entry
        self._pending += 1
        log.waiting.setdefault(log.genesis, []).append(entry.hash)
        return [Held(key, entry, (log.genesis,))]

    def _retract_waiting(self, key: Key, log: _Log) -> list[Effect]:
        """A part of the document has come, and perhaps its beginner is known now."""
        effects: list[Effect] = []
        for hash in log.waiting.pop(log.genesis, ()):
            if (found := log.pending.get(hash)) is None:
                continue
            self._forget(log, hash)
            try:
                done = self._erase_if_known(key, log, found, believed=False)
            except Refused as refused:
                done = self._quarantine(key, log, Kept(found, refused.reason))
            effects += [one for one in done if not isinstance(one, Held)]
        return effects

    def _erase(self, key: Key, log: _Log, entry: Entry) -> list[Effect]:
        self._forget(log, entry.hash)  # it may have come by a stream that may not erase, before
        gone = (*log.entries, *log.pending, *log.quarantined)
        self._pending -= len(log.pending)
        self._quarantined -= len(log.quarantined)
        for kept in (log.entries, log.changes, log.pending, log.quarantined):
            kept.clear()
        self._erased[key] = entry
        effects: list[Effect] = [Accepted(key, entry)]
        return [*effects, Purged(key, gone)] if gone else effects

    def _keep(self, key: Key, log: _Log, kept: Kept) -> list[Effect]:
        effects = self._quarantine(key, log, kept)
        if kept.root:
            log.wait(kept.entry.hash, _deps(kept.entry))
        return effects

    def _forget(self, log: _Log, hash: str) -> None:
        """It neither waits nor is quarantined any longer."""
        log.deps.pop(hash, None)
        if log.pending.pop(hash, None):
            self._pending -= 1
        if log.quarantined.pop(hash, None):
            self._quarantined -= 1


def _deps(entry: Entry) -> tuple[str, ...]:
    try:
        return read_head(entry.raw).deps
    except DataLoss as error:
        raise Refused(error.message) from error


def _tainted(entry: Entry, root: str) -> Kept:
    return Kept(entry, f"it builds on {root[:16]}, which is in quarantine", root)


def _entry_of(kept: Kept | None) -> Entry | None:
    return kept.entry if kept else None
