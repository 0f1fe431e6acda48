"""A memory in which one Automerge actor wrote two different changes: read as if there were two actors.

Every honest change has a fresh actor. Only a hostile writer repeats an actor, to tell one node ONE and another node
TWO. Automerge loads no document with both changes. A node that kept the first change would differ from others for ever.
So all such changes are kept, and read here without Automerge, by the same rules as Automerge's. The state follows from
the set of changes alone, never from their order.

- Every change has a name. The change with the lowest hash has the name of the actor. Every other change of that actor
  is named by the first 32 digits of its hash.

- Operations and revisions are called by the name of their change.

- A change that names a repeated actor means the one among its ancestors. Admission refuses a change with two ancestors
  of one actor.

- A writer builds on one branch only. Below `x/ends`, the new revision names revisions of other branches as ended.

- Below `x/removed/ACTOR`, the change names tags, links and votes of other branches to take away. Both use hashes.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from mnemesh_crdt.changes.chunk import ChangeHead, read_head
from mnemesh_crdt.changes.operations import DELETE, MAKE_MAP, ChangeContent, OpId, Scalar, read_operations
from mnemesh_crdt.document.shape import COLLECTIONS, ENDS, GENESIS_KEYS, rank
from mnemesh_memory.values.errors import DataLoss, InvalidArgument

REMOVED: Final = "x/removed/"
NAME_HEX: Final = 32
_HOMES: Final[Mapping[OpId, str]] = {
    (counter, "0" * NAME_HEX): name for counter, name in enumerate(GENESIS_KEYS, 1) if name in COLLECTIONS
}
_OF_ALL: Final = ("tags", "links")  # what everybody may remove
_OF_ONE: Final = "feedback"

Live: TypeAlias = "dict[OpId, Scalar | None]"  # what stands at a key; None: a map
Grown: TypeAlias = "dict[str, Scalar | Grown]"


def names(actors: Mapping[str, str]) -> dict[str, str]:
    """The name of each change of a document, by hash; `actors` are their actors (hex) by hash (hex)."""
    lowest: dict[str, str] = {}
    for hash in sorted(actors, reverse=True):
        lowest[actors[hash]] = hash
    if len(lowest) == len(actors):
        return dict(actors)
    taken = {hash[:NAME_HEX] for hash in actors}  # an actor that copies the name of another change gives way to it
    return {
        hash: actor if lowest[actor] == hash and actor not in taken else hash[:NAME_HEX]
        for hash, actor in actors.items()
    }


def repeat_an_actor(changes: Iterable[bytes]) -> bool:
    """Whether two different changes among these have one actor. False when one is unreadable."""
    try:
        actors = {head.hash: head.actor for head in map(read_head, changes)}
    except DataLoss:
        return False
    return len(set(actors.values())) < len(actors)


def closure(heads: Mapping[str, ChangeHead], hashes: Iterable[str]) -> set[str]:
    """These changes and all their ancestors."""
    closed: set[str] = set()
    todo = list(hashes)
    while todo:
        hash = todo.pop()
        if hash in heads and hash not in closed:
            closed.add(hash)
            todo += heads[hash].deps
    return closed


@dataclass(frozen=True, slots=True)
class _Said:
    """One change with its name. `carries` are, as bits, its renamed ancestors, and itself when renamed."""

    change: ChangeContent
    name: str
    carries: int


@dataclass(slots=True)
class _Place:
    """A map of the document: what stands at each of its keys."""

    keys: dict[str, Live] = field(default_factory=dict)


class Equivocation:
    """The changes of memory `id` in `space`, some of which repeat an actor. Raises DataLoss when one is damaged or
    builds on a change that is not there."""

    def __init__(self, id: str, space: str, genesis: str, changes: Iterable[bytes]) -> None:
        self._id = id
        self._space = space
        self._genesis = genesis
        self._changes = {head.hash: (head, raw) for raw in changes for head in (read_head(raw),)}
        self._heads = {hash: head for hash, (head, _) in self._changes.items()}
        self._names = names({hash: head.actor for hash, head in self._heads.items()})
        self._by_name = {hash[:NAME_HEX]: hash for hash in self._heads}
        self.renamed = {hash: name for hash, name in sorted(self._names.items()) if name != self._heads[hash].actor}
        self._bits = {hash: bit for bit, hash in enumerate(self.renamed)}
        self._by_bit = list(self._bits)
        self._masks: dict[str, int] = {}  # of each actor with such changes: their bits
        for hash, bit in self._bits.items():
            actor = self._heads[hash].actor
            self._masks[actor] = self._masks.get(actor, 0) | 1 << bit
        self._said: dict[str, _Said] = {}
        self._places: dict[OpId | None, _Place] = {home: _Place() for home in (None, *_HOMES)}
        for hash in self._in_order():
            self._read(hash)
        self._remove()

    def heads(self) -> tuple[str, ...]:
        """Hashes (hex, sorted) of the changes that no other builds on."""
        built_on = {dep for head in self._heads.values() for dep in head.deps}
        return tuple(sorted(self._heads.keys() - built_on))

    def tree(self) -> Grown:
        """The document as Automerge would tell it if the actors were different."""
        grown: Grown = {"v": 1, "id": self._id, "space": self._space}
        for home, name in _HOMES.items():
            grown[name] = self._revisions(home) if name == "rev" else self._grown(home)
        return grown

    def put_by(self, collection: str) -> dict[str, OpId]:
        """The last operation, by counter and name, that stands at each key of a collection."""
        place = self._places[next(home for home, name in _HOMES.items() if name == collection)]
        return {key: max(live) for key, live in place.keys.items() if live}

    def base(self, revision: str) -> tuple[bytes, ...]:
        """Changes that load together, for a writer to build on. The `revision`, unless "", is among them. All other
        changes enter if they fit, in their order of arrival. Raises InvalidArgument for an unknown revision."""
        chosen = closure(self._heads, [self._hash_of(revision)] if revision else ())
        actors = {self._heads[hash].actor for hash in chosen}
        for hash in self._in_order(by_hash=False):
            head = self._heads[hash]
            if hash not in chosen and head.actor not in actors and chosen.issuperset(set(head.deps) - {self._genesis}):
                chosen.add(hash)
                actors.add(head.actor)
        return tuple(raw for hash, (_, raw) in self._changes.items() if hash in chosen)

    def abroad(self, revision: str, base: Collection[bytes]) -> tuple[str, str]:
        """A revision as a writer on `base` names it: the id there and "", or "" and the id for `x/ends`."""
        hash = self._hash_of(revision)
        number = rank(revision)[0]
        if self._changes[hash][1] in base:
            return f"{number}@{self._heads[hash].actor}", ""
        return "", f"{number}@{hash[:NAME_HEX]}"

    def puts(self, collection: str, keys: Iterable[str], base: Iterable[bytes]) -> list[str]:
        """The operations at these keys of a collection that `base` lacks, in the form of `x/removed/`."""
        here = {self._names[read_head(raw).hash] for raw in base}
        hashes = {name: hash for hash, name in self._names.items()}
        place = self._places[next(home for home, name in _HOMES.items() if name == collection)]
        return [
            f"{counter}@{hashes[name][:NAME_HEX]}"
            for key in keys
            for counter, name in place.keys.get(key, {})
            if name not in here
        ]

    # ---- reading the changes ---------------------------------------------------------------------------------------

    def _hash_of(self, revision: str) -> str:
        name = rank(revision)[1]
        carrier = next((hash for hash, other in self._names.items() if other == name), "")
        if not carrier:
            raise InvalidArgument("parents", revision, "revisions of this memory")
        return carrier

    def _in_order(self, *, by_hash: bool = True) -> list[str]:
        """The changes, parents first. Of several the lowest hash is first, or the first to arrive."""
        place = {hash: number for number, hash in enumerate(sorted(self._heads) if by_hash else self._heads)}
        hashes = list(place)
        waits: dict[str, int] = {}
        followers: dict[str, list[str]] = {}
        for hash, head in self._heads.items():
            needed = [dep for dep in set(head.deps) if dep != self._genesis]
            waits[hash] = len(needed)
            for dep in needed:
                followers.setdefault(dep, []).append(hash)
        ready = [place[hash] for hash, count in waits.items() if not count]
        heapq.heapify(ready)
        order: list[str] = []
        while ready:
            hash = hashes[heapq.heappop(ready)]
            order.append(hash)
            for follower in followers.get(hash, ()):
                waits[follower] -= 1
                if not waits[follower]:
                    heapq.heappush(ready, place[follower])
        if len(order) != len(self._heads):
            raise DataLoss(
                f"memory {self._id}: a change builds on one that is not there; the log is incomplete", field="document"
            )
        return order

    def _read(self, hash: str) -> None:
        head, raw = self._changes[hash]
        carries = 0
        for dep in head.deps:
            carries |= self._said[dep].carries if dep in self._said else 0
        carries |= 1 << self._bits[hash] if hash in self._bits else 0
        said = self._said[hash] = _Said(read_operations(raw), self._names[hash], carries)
        for counter, operation in enumerate(said.change.operations, said.change.first):
            home = operation.object
            place = self._places.get(home if home is None or home in _HOMES else self._meant(said, home))
            if place is None:
                continue  # within a map of a newer version, which nobody reads here
            live = place.keys.setdefault(operation.key, {})
            for replaced in operation.replaced:
                live.pop(self._meant(said, replaced), None)
            id = (counter, said.name)
            if operation.action == MAKE_MAP:
                self._places[id] = _Place()
            if operation.action != DELETE:
                live[id] = operation.value

    def _meant(self, said: _Said, id: OpId) -> OpId:
        """An operation by the name of its change, as the writer of `said` meant it."""
        counter, actor = id
        if bit := (said.carries & self._masks.get(actor, 0)).bit_length():
            return counter, self._names[self._by_bit[bit - 1]]
        return id

    def _remove(self) -> None:
        """Take away what changes of one branch removed in others. A vote goes only when the removing change puts
        another vote in its place: admission has proved the same writer."""
        stands: dict[OpId, tuple[str, Live]] = {}
        for home, name in _HOMES.items():
            if name in (*_OF_ALL, _OF_ONE):
                for live in self._places[home].keys.values():
                    stands |= dict.fromkeys(live, (name, live))
        for said in list(self._said.values()):
            for id in self._named_removed(said):
                name, live = stands.get(id, ("", {}))
                if name in _OF_ALL or (id[1] != said.name and any(writer == said.name for _, writer in live)):
                    live.pop(id, None)

    def _named_removed(self, said: _Said) -> list[OpId]:
        removed: list[OpId] = []
        for counter, operation in enumerate(said.change.operations, said.change.first):
            if operation.object is None and operation.key.startswith(REMOVED) and operation.action == MAKE_MAP:
                for named in self._places[counter, said.name].keys:
                    number, _, hash = named.partition("@")
                    if number.isascii() and number.isdigit() and len(number) < NAME_HEX and hash in self._by_name:
                        removed.append((int(number), self._names[self._by_name[hash]]))
        return removed

    # ---- what they say together ------------------------------------------------------------------------------------

    def _grown(self, home: OpId) -> Grown:
        grown: Grown = {}
        for key, live in self._places[home].keys.items():
            if live:
                last = max(live)
                value = live[last]
                grown[key] = self._grown(last) if value is None else value
        return grown

    def _revisions(self, home: OpId) -> Grown:
        """All revisions, each by the name of its change."""
        named = {name: self._said[hash] for hash, name in self._names.items()}
        grown: dict[str, Grown] = {}
        for key, live in self._places[home].keys.items():
            for id in live:
                grown[f"{rank(key)[0]}@{id[1]}"] = self._grown(id)
        for revision, fields in grown.items():
            said = named[rank(revision)[1]]
            parents = fields.pop("parents", {})
            ends = fields.pop(ENDS, {})
            meant = [self._parent(said, parent) for parent in parents] if isinstance(parents, dict) else []
            meant += [self._end(end) for end in ends] if isinstance(ends, dict) else []
            present = dict.fromkeys(parent for parent in meant if parent in grown)
            if present:
                fields["parents"] = {parent: position for position, parent in enumerate(present)}
        return dict(grown)

    def _parent(self, said: _Said, parent: str) -> str:
        number, actor = rank(parent)
        return f"{number}@{self._meant(said, (0, actor))[1]}"

    def _end(self, end: str) -> str:
        """The revision named by an item of `x/ends`, "" when it is not here."""
        try:
            number, hash = rank(end)
        except DataLoss:
            return ""
        return f"{number}@{self._names[self._by_name[hash]]}" if hash in self._by_name else ""
