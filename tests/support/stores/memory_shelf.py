"""The shelf of the intake in memory: a few dictionaries of unchanging values, so that a copy is a snapshot.

The contract suite (tests/kernel/merge/test_shelf_contract.py) holds it to the promises of the one on SQLite. The
simulated nodes run the product's intake on it, and so do the tests of the intake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

from mnemesh_crdt.changes.envelope import ERASURES, Entry, Key
from mnemesh_crdt.document.digest import bucket_of, fingerprint
from mnemesh_crdt.intake.arrivals import Brought, Loaded
from mnemesh_crdt.intake.shelf import NODE_KEY, PENDING, QUARANTINE, Unstorable


@dataclass(frozen=True, slots=True)
class Logged:
    seq: int
    entry: Entry
    origin: str
    actor: str


@dataclass(frozen=True, slots=True)
class Aside:
    brought: Brought
    awaited: str
    reason: str
    rules: int


class MemoryShelf:
    """`log` is in order, `documents` the same by document. `heads` are those of each document, None when erased."""

    def __init__(self) -> None:
        self.head = 0
        self.log: dict[int, Logged] = {}
        self.documents: dict[Key, tuple[Logged, ...]] = {}
        self.seqs: dict[str, int] = {}  # of entries by hash
        self.heads: dict[Key, frozenset[str] | None] = {}
        self.numbers = 0
        self.pending: dict[int, Aside] = {}
        self.quarantine: dict[int, Aside] = {}
        self.keys: dict[str, tuple[bytes, str]] = {}  # with the sender

    def copy(self) -> Self:
        other = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict):
                setattr(other, name, dict(value))
        return other

    # ---- the log

    def logged(self, ids: Collection[str]) -> Iterator[tuple[Key, str, str]]:
        for key in self._here(ids):
            yield from ((key, one.entry.hash, one.actor) for one in self.documents.get(key, ()))

    def homes(self, ids: Collection[str]) -> Iterator[tuple[Key, bool]]:
        return ((key, self.heads[key] is None) for key in sorted(self._here(ids)))

    def _here(self, ids: Collection[str]) -> list[Key]:
        return [key for key in self.heads if key.id in ids]

    def changes(self, id: str) -> dict[str, bytes]:
        return {hash: raw for key in self._here({id}) for hash, raw in self.raws(key).items()}

    def append(self, loaded: Loaded, brought: Sequence[tuple[Brought, str]], *, new: bool) -> int:
        if known := [one.entry.hash for one, _ in brought if one.entry.hash in self.seqs]:
            raise Unstorable(f"{known} are in the log")
        document = loaded[0]
        key = Key(document.space, document.id)
        assert new == (key not in self.heads)
        for one, actor in brought:
            self._append(key, one, actor)
        self.heads[key] = frozenset(document.heads())
        return self.head

    def _append(self, key: Key, one: Brought, actor: str) -> None:
        self.head += 1
        self.seqs[one.entry.hash] = self.head
        self.log[self.head] = logged = Logged(self.head, one.entry, one.origin, actor)
        self.documents[key] = (*self.documents.get(key, ()), logged)

    def erase(self, erasure: Brought) -> int:
        key = Key(erasure.entry.space, erasure.entry.doc)
        self.lose(key)
        self.pending = {n: one for n, one in self.pending.items() if _key(one) != key}
        self.quarantine = {n: one for n, one in self.quarantine.items() if one.brought.entry.doc != key.id}
        self.heads[key] = None
        self._append(key, erasure, "")
        return self.head

    def lose(self, key: Key) -> None:
        """Everything of a document in the log, as a bad disk loses it."""
        for one in self.documents.pop(key, ()):
            del self.log[one.seq], self.seqs[one.entry.hash]
        self.heads.pop(key, None)

    # ---- waiting and refused entries

    def waiting(self, ids: Collection[str]) -> list[tuple[Key, str]]:
        return [(_key(one), one.brought.entry.hash) for one in self.pending.values() if one.brought.entry.doc in ids]

    def put(self, table: str, brought: Brought, awaited: str, reason: str = "", rules: int = 0) -> None:
        entry = brought.entry
        assert table == QUARANTINE or not any(
            one.brought.entry.hash == entry.hash and _key(one) == Key(entry.space, entry.doc)
            for one in self.pending.values()
        )
        self.numbers += 1
        self._table(table)[self.numbers] = Aside(brought, awaited, reason, rules)

    def take(self, table: str, key: Key, awaited: str) -> list[Brought]:
        kept = self._table(table)
        taken = {n: one for n, one in kept.items() if one.awaited == awaited and _key(one) == key}
        for number in taken:
            del kept[number]
        return [one.brought for one in taken.values()]

    def is_refused(self, key: Key, hash: str, fell_as: bytes | None = None) -> bool:
        return any(fell_as is None or one.awaited for one in self.refused(key, hash, fell_as).values())

    def refused(self, key: Key, hash: str, signature: bytes | None = None) -> dict[int, Aside]:
        """The refused copies of an entry, by number."""
        return {
            number: one
            for number, one in self.quarantine.items()
            if one.brought.entry.hash == hash and _key(one) == key and signature in (None, one.brought.entry.signature)
        }

    def drop_refused(self, key: Key, hash: str, signature: bytes | None = None) -> list[str]:
        return [self.quarantine.pop(number).brought.sender for number in self.refused(key, hash, signature)]

    def drop_oldest(self, table: str, sender: str, *, erasures: bool = False) -> None:
        kept = self._table(table)
        del kept[next(n for n, one in kept.items() if one.brought.sender == sender and erasures <= _erases(one))]

    def greediest(self, table: str, *, erasures: bool = False) -> str:
        kept = self._table(table).values()
        counts = Counter(one.brought.sender for one in kept if erasures <= _erases(one))
        return min(counts, key=lambda sender: (-counts[sender], sender))

    def count(self, table: str, sender: str | None = None, *, erasures: bool | None = None) -> int:
        if table == NODE_KEY:
            return sum(sender in (None, by) for _, by in self.keys.values())
        kept = self._table(table).values()
        return sum(sender in (None, one.brought.sender) and erasures in (None, _erases(one)) for one in kept)

    def _table(self, table: str) -> dict[int, Aside]:
        return {PENDING: self.pending, QUARANTINE: self.quarantine}[table]

    # ---- keys of nodes

    def node_keys(self, nodes: Collection[str]) -> Mapping[str, bytes]:
        return {node: self.keys[node][0] for node in nodes if node in self.keys}

    def keep_key(self, node: str, key: bytes, sender: str) -> None:
        self.keys[node] = key, sender

    # ---- for those who look

    def logged_entries(self) -> list[Entry]:
        return [one.entry for one in self.log.values()]

    def entries(self, key: Key) -> tuple[Entry, ...]:
        return tuple(one.entry for one in self.documents.get(key, ()))

    def raws(self, key: Key) -> dict[str, bytes]:
        """The changes of a document by hash."""
        return {one.hash: one.raw for one in self.entries(key) if one.type not in ERASURES}

    def memories(self) -> list[Key]:
        """The documents that hold something, sorted."""
        return sorted(key for key, heads in self.heads.items() if heads is not None)

    def erased(self) -> list[Key]:
        return sorted(key for key, heads in self.heads.items() if heads is None)

    def digest(self, space: str) -> dict[int, str]:
        """One hash (hex) for each bucket of documents that holds any."""
        buckets: dict[int, int] = {}
        for key, heads in self.heads.items():
            if key.space == space:
                bucket = bucket_of(key.id)
                buckets[bucket] = buckets.get(bucket, 0) ^ fingerprint(key.id, set(heads or ()))
        return {bucket: f"{value:064x}" for bucket, value in sorted(buckets.items()) if value}

    def holdings(self) -> dict[str, Any]:
        """Everything that is kept, in the form of sqlite_holdings."""
        return {
            "log": [(one.seq, one.entry, one.origin, one.actor) for one in self.log.values()],
            "documents": {(*_pair(key), heads is None) for key, heads in self.heads.items()},
            "pending": [(one.brought, one.awaited) for one in self.pending.values()],
            "quarantine": [(one.brought, one.awaited, one.reason, one.rules) for one in self.quarantine.values()],
            "keys": {(node, *kept) for node, kept in self.keys.items()},
            "digests": {space: self.digest(space) for space in {key.space for key in self.heads}},
        }


def _pair(key: Key) -> tuple[str, str]:
    return key.id, key.space


def _key(one: Aside) -> Key:
    return Key(one.brought.entry.space, one.brought.entry.doc)


def _erases(one: Aside) -> bool:
    return one.brought.entry.type in ERASURES
