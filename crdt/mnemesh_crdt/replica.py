"""One replica of many documents, as a pure merge machine: events in, effects out.

Two replicas that were told the same events, in any order and any number of times, hold the same. Nothing here
knows a clock, disk or peer; what to send to whom is decided elsewhere. Three rules:
- a change is taken in only after all changes that it builds on, and only if its document can be read with it;
- until then it waits, and so many may wait at most;
- erasing a document wins over every change of it, before or after.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from mnemesh_crdt.chunk import ChangeHead, read_head
from mnemesh_crdt.document import MemoryDocument, genesis_hash
from mnemesh_crdt.shape import Change, DocumentState
from mnemesh_memory.errors import DataLoss, FailedPrecondition
from mnemesh_memory.limits import PENDING_CHANGES_MAX

_BUCKET_BITS: Final = 12


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """A document: a memory id in a space (the same id in two spaces is two documents)."""

    space: str
    id: str


@dataclass(frozen=True, slots=True)
class Received:
    """Event: the bytes of a change arrived, from here or elsewhere, perhaps twice, perhaps early."""

    key: Key
    raw: bytes


@dataclass(frozen=True, slots=True)
class Erased:
    """Event: the document is to be erased for good."""

    key: Key


@dataclass(frozen=True, slots=True)
class Accepted:
    """Effect: log and publish this change; changes that waited for it follow as effects of their own."""

    key: Key
    change: Change


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Effect: nothing to do, the change is here or waits already."""

    key: Key
    hash: str


@dataclass(frozen=True, slots=True)
class Held:
    """Effect: keep the bytes; the change waits for the `missing` hashes."""

    key: Key
    hash: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Full:
    """Effect: the change would have to wait, but `limit` wait already; stop the stream and send it again
    later."""

    key: Key
    hash: str
    limit: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Effect: the bytes are damaged or would damage their document. `hash` is "" when they are no change at
    all."""

    key: Key
    hash: str
    reason: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """Effect: a late copy of an erased document; keep nothing of it."""

    key: Key
    hash: str


@dataclass(frozen=True, slots=True)
class Purged:
    """Effect: delete everything that is kept of these changes of the document, waiting ones too."""

    key: Key
    hashes: tuple[str, ...]


Event: TypeAlias = Received | Erased
Effect: TypeAlias = Accepted | Duplicate | Held | Full | Refused | Dropped | Purged


@dataclass(slots=True)
class _Log:
    """A document's changes, each after those that it builds on; the ones that wait, and who waits for a hash."""

    genesis: str
    changes: dict[str, bytes] = field(default_factory=dict)
    heads: set[str] = field(default_factory=set)
    pending: dict[str, tuple[ChangeHead, bytes]] = field(default_factory=dict)
    waiting: dict[str, list[str]] = field(default_factory=dict)

    def missing(self, head: ChangeHead) -> tuple[str, ...]:
        return tuple(one for one in head.deps if one not in self.changes and one != self.genesis)


class Replica:
    """Holds documents; `handle` is the only way to change it. At most `pending_max` changes wait."""

    def __init__(self, pending_max: int = PENDING_CHANGES_MAX) -> None:
        self.pending_max = pending_max
        self._logs: dict[Key, _Log] = {}
        self._erased: set[Key] = set()
        self._pending = 0

    def handle(self, event: Event) -> list[Effect]:
        """Take in one event; the effects are for the shell to carry out, in order."""
        return self._receive(event.key, event.raw) if isinstance(event, Received) else self._erase(event.key)

    def state(self, key: Key) -> DocumentState | None:
        """What the document holds, or None when this replica has no change of it."""
        changes = self.changes(key)
        return MemoryDocument(key.id, key.space, changes).state() if changes else None

    def changes(self, key: Key) -> tuple[bytes, ...]:
        """The document's accepted changes; each comes after those that it builds on."""
        log = self._logs.get(key)
        return tuple(log.changes.values()) if log else ()

    def documents(self) -> tuple[Key, ...]:
        """The documents that hold something, sorted."""
        return tuple(sorted(key for key, log in self._logs.items() if log.changes))

    def events(self) -> Iterator[Event]:
        """Events that tell another replica all that this one knows: merging is handing them over."""
        yield from (Erased(key) for key in sorted(self._erased))
        for key, log in self._logs.items():
            yield from (Received(key, raw) for raw in log.changes.values())
            yield from (Received(key, raw) for _, raw in log.pending.values())

    def digest(self, space: str) -> dict[int, str]:
        """One hash (hex) for each of 4,096 buckets of documents that holds any: equal digests mean equal
        documents, unequal buckets say where to look. Waiting changes do not count."""
        buckets: dict[int, int] = {}
        for key in (*self._logs, *self._erased):
            log = self._logs.get(key)
            if key.space == space and (log is None or log.changes):
                bucket = bucket_of(key.id)
                buckets[bucket] = buckets.get(bucket, 0) ^ _fingerprint(key.id, log.heads if log else None)
        return {bucket: f"{value:064x}" for bucket, value in sorted(buckets.items()) if value}

    def _receive(self, key: Key, raw: bytes) -> list[Effect]:
        try:
            head = read_head(raw)
        except DataLoss as error:
            return [Refused(key, "", error.message)]
        if key in self._erased:
            return [Dropped(key, head.hash)]
        log = self._logs.get(key) or _Log(genesis_hash(key.id, key.space))
        if head.hash in log.changes or head.hash in log.pending:
            return [Duplicate(key, head.hash)]
        missing = log.missing(head)
        if missing and self._pending >= self.pending_max:
            return [Full(key, head.hash, self.pending_max)]
        self._logs[key] = log
        if missing:
            log.pending[head.hash] = (head, raw)
            for one in missing:
                log.waiting.setdefault(one, []).append(head.hash)
            self._pending += 1
            return [Held(key, head.hash, missing)]
        return self._take_in(key, log, head, raw)

    def _take_in(self, key: Key, log: _Log, head: ChangeHead, raw: bytes) -> list[Effect]:
        """Accept or refuse `head`, then each change that waited for it and now waits for nothing."""
        effects: list[Effect] = []
        ready = [(head, raw)]
        while ready:
            head, raw = ready.pop(0)
            effect = _judge(key, log, head, raw)
            effects.append(effect)
            for waiter in log.waiting.pop(head.hash, ()):
                if waiter not in log.pending:
                    continue  # refused meanwhile for another change that it builds on
                if isinstance(effect, Refused) or not log.missing(log.pending[waiter][0]):
                    ready.append(log.pending.pop(waiter))
                    self._pending -= 1
        if not (log.changes or log.pending):
            del self._logs[key]
        return effects

    def _erase(self, key: Key) -> list[Effect]:
        if key in self._erased:
            return []
        self._erased.add(key)
        log = self._logs.pop(key, None)
        if log is None:
            return []
        self._pending -= len(log.pending)
        return [Purged(key, (*log.changes, *log.pending))]


def bucket_of(id: str) -> int:
    """The digest's bucket of a memory id, 0 to 4,095."""
    return int.from_bytes(hashlib.sha256(id.encode()).digest()[:2], "big") >> (16 - _BUCKET_BITS)


def _judge(key: Key, log: _Log, head: ChangeHead, raw: bytes) -> Accepted | Refused:
    """A change is good when what it builds on is here and its document can be read with it."""
    if missing := log.missing(head):
        return Refused(key, head.hash, f"it builds on {missing[0]}, which was not accepted")
    if head.seq != 1:
        return Refused(key, head.hash, "its actor wrote before; every change has a fresh actor")
    try:
        MemoryDocument(key.id, key.space, [*log.changes.values(), raw]).state()
    except (DataLoss, FailedPrecondition) as error:
        return Refused(key, head.hash, error.message)
    log.changes[head.hash] = raw
    log.heads.difference_update(head.deps)
    log.heads.add(head.hash)
    return Accepted(key, Change(hash=head.hash, raw=raw, actor=head.actor))


def _fingerprint(id: str, heads: set[str] | None) -> int:
    """sha256 of a document's id and its heads, or of its id alone when it is erased."""
    return int.from_bytes(hashlib.sha256("\n".join([id, *sorted(heads or ())]).encode()).digest(), "big")
