"""The ancestors of a change, read from their bytes only as far as somebody asks.

Knows nothing of other changes here, so every replica comes to the same judgement.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from mnemesh_crdt.changes.chunk import ChangeHead, read_head
from mnemesh_crdt.changes.envelope import Refused
from mnemesh_crdt.changes.operations import MAKE_MAP, ChangeContent, ChangeOperation, OpId, read_operations
from mnemesh_crdt.document.document import GENESIS_ACTOR
from mnemesh_crdt.document.shape import COLLECTIONS, GENESIS_KEYS

Path: TypeAlias = "tuple[str, ...]"

GENESIS: Final = GENESIS_ACTOR.hex()
GENESIS_PATHS: Final[Mapping[OpId | None, Path]] = {
    None: (),
    **{(counter, GENESIS): (name,) for counter, name in enumerate(GENESIS_KEYS, 1) if name in COLLECTIONS},
}

REVISIONS: Final[OpId] = (1 + GENESIS_KEYS.index("rev"), GENESIS)  # the operation that made the map of revisions

# Heads of changes by hash. A hash never changes its meaning, so one table serves all documents.
_HEADS: Final[OrderedDict[str, ChangeHead]] = OrderedDict()
_HEADS_MAX: Final = 65_536
_DEPS_KEPT_MAX: Final = 64  # of one change; a change with more is read again


def _head_of(hash: str, raw: bytes) -> ChangeHead:
    """The head of an accepted change, read once. Many new changes walk through the same ancestors. If each of them
    inflated all ancestors again, one writer could hold up everybody."""
    known = _HEADS.get(hash)
    if known is None:
        known = read_head(raw)
        if len(known.deps) <= _DEPS_KEPT_MAX:
            _HEADS[hash] = known
            if len(_HEADS) > _HEADS_MAX:
                _HEADS.popitem(last=False)
    return known


class Changes(dict[str, bytes]):
    """A document's changes by hash, with their actors. For most new changes no look at the others is needed."""

    def __init__(self, changes: Mapping[str, bytes] = MappingProxyType({}), actors: Iterable[str] = ()) -> None:
        super().__init__(changes)
        known = list(actors)
        self._actors = set(known)
        self._repeated = len(self._actors) < len(known)

    def enter(self, head: ChangeHead, raw: bytes) -> None:
        """Add an accepted change."""
        self._repeated |= head.actor in self._actors
        self._actors.add(head.actor)
        self[head.hash] = raw

    def rule_out(self, head: ChangeHead) -> bool:
        """Whether no actor can have two changes among this change and its ancestors. The ancestors of each of them were
        checked on entry."""
        return head.actor not in self._actors and (len(head.deps) == 1 or not self._repeated)


def _check_actors(head: ChangeHead, earlier: Mapping[str, bytes]) -> None:
    """Raises Refused when an actor has two changes among this change and its ancestors: no honest writer could have
    loaded these. Other changes of the document don't matter: an actor may be repeated there (equivocation.py)."""
    if isinstance(earlier, Changes) and earlier.rule_out(head):
        return
    seen, met, todo = {head.actor}, set[str](), list(head.deps)
    while todo:
        hash = todo.pop()
        if hash in met or hash not in earlier:
            continue
        met.add(hash)
        ancestor = _head_of(hash, earlier[hash])
        if ancestor.actor in seen:
            raise Refused("an actor wrote twice in what it builds on; every change has a fresh actor")
        seen.add(ancestor.actor)
        todo += ancestor.deps


class Ancestry:
    """The ancestors of the change with `head`. `earlier` are its document's changes by hash, `genesis` is the hash of
    the document's first change. Raises Refused when an ancestor is missing, or the actor wrote before.

    `last` is the largest counter of an operation; `is_empty` when it builds on the first change alone.
    """

    def __init__(self, genesis: str, head: ChangeHead, earlier: Mapping[str, bytes]) -> None:
        self._genesis = genesis
        self._earlier = earlier
        self._read: dict[str, ChangeContent] = {}  # by actor
        self._met: dict[str, bytes] = {}  # by actor
        self._seen: set[str] = set()
        self._next: list[str] = []
        _check_actors(head, earlier)
        self.last = len(GENESIS_KEYS)
        self.is_empty = True
        for dep in head.deps:
            self._seen.add(dep)
            if dep == genesis:
                continue
            self.is_empty = False
            change = read_operations(self._raw(dep))
            self._read[change.head.actor] = change
            self._follow(change.head.deps)
            self.last = max(self.last, change.last)

    def change(self, actor: str) -> ChangeContent | None:
        """The one change of `actor`, if it is built on."""
        while actor not in self._read and actor not in self._met and self._next:
            raw = self._raw(self._next.pop())
            head = read_head(raw)
            self._met[head.actor] = raw
            self._follow(head.deps)
        if actor not in self._read and actor in self._met:
            self._read[actor] = read_operations(self._met[actor])
        return self._read.get(actor)

    def operation(self, id: OpId) -> ChangeOperation | None:
        """The operation with this id, if it is built on."""
        counter, actor = id
        change = self.change(actor)
        if change is None or not change.first <= counter <= change.last:
            return None
        return change.operations[counter - change.first]

    def path(self, object: OpId | None) -> Path:
        """Where the map is that operation `object` made. Raises Refused when no operation did."""
        path: list[str] = []
        here = object
        while here is not None and here not in GENESIS_PATHS:
            made = self.operation(here)
            if made is None or made.action != MAKE_MAP:
                raise Refused(f"it changes a map that is not there ({here[0]}@{here[1]})")
            path.append(made.key)
            here = made.object
        return (*GENESIS_PATHS[here], *reversed(path))

    def _follow(self, deps: tuple[str, ...]) -> None:
        for dep in deps:
            if dep not in self._seen and dep != self._genesis:
                self._seen.add(dep)
                self._next.append(dep)

    def _raw(self, hash: str) -> bytes:
        if hash not in self._earlier:
            raise Refused(f"it builds on {hash[:16]}, which is not here")
        return self._earlier[hash]
