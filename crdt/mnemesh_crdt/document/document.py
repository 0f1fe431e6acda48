"""One memory as one Automerge document. The only module that knows Automerge.

Each rule here answers a measured trap of the library:

- Every document starts with the same genesis change, computed from (id, space) with a fixed actor. Nobody stores or
  sends that change. Without it, two creations of one id hide each other's revisions.

- Every change has a fresh actor of 16 random bytes, given by the caller. A reused actor makes a log unloadable.

- Maps and scalars only, and only `load`, `transaction`, `get_changes` and reads. Texts, lists, counters, timestamps,
  bytes, `diff()` and `save()` are never used.

- A panic of the library is a BaseException and leaves its object unusable. The object is dropped and made again from
  the changes, which are the truth.

- Changes that repeat an actor never load together. equivocation.py reads their content. Automerge holds only the
  branch that a write builds on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final, NamedTuple, TypeVar

from mnemesh_crdt.changes.chunk import chunk_of, open_change, read_head, read_uleb
from mnemesh_crdt.document.equivocation import REMOVED, Equivocation, repeat_an_actor
from mnemesh_crdt.document.shape import (
    COLLECTIONS,
    ENDS,
    FORCED,
    FORMAT_MAJOR,
    MARK,
    AutomergeChange,
    DocumentState,
    Edit,
    Tree,
    Written,
    link_key,
    next_revision_id,
    positions,
    revision_tree,
    state_of,
    vote_tree,
)
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss, InvalidArgument
from mnemesh_memory.values.model import RevisionFields

AUTOMERGE_VERSION: Final = "1.0.0rc1"


def _require_automerge() -> None:
    try:
        installed = version("automerge")
    except PackageNotFoundError:
        installed = "not installed"
    if installed != AUTOMERGE_VERSION:
        raise ImportError(
            f"Mnemesh needs automerge {AUTOMERGE_VERSION}; found: {installed} (0.1.2 is an unrelated stub). "
            f"Run: pip install 'automerge=={AUTOMERGE_VERSION}'"
        )


_require_automerge()  # before the import below, which would fail on the stub without saying what to do

from automerge.core import ROOT, Document, ObjType, ScalarType, Transaction  # noqa: E402

__all__ = [
    "AutomergeChange",
    "DocumentState",
    "Edit",
    "MemoryDocument",
    "RevisionFields",
    "UnreadChanges",
    "genesis_hash",
]

GENESIS_ACTOR: Final = bytes(16)
ACTOR_BYTES: Final = 16
# Smaller changes are logged as they are: they compress better together, on the wire.
DEFLATE_OVER_BYTES: Final = 4096
GENESIS_KEPT: Final = 512  # first changes that are not made again, 250 bytes each
_NOTHING_YET: Final[Written] = {name: {} for name in COLLECTIONS}
_PANIC: Final = "PanicException"  # of pyo3_runtime, which can not be imported
R = TypeVar("R")


class UnreadChanges(NamedTuple):
    """The part of a log beyond the reading limit (budget.py): the number of its changes, and the hashes of the whole
    log's heads."""

    changes: int
    heads: frozenset[str]


class MemoryDocument:
    """The document of memory `id` in `space`, made from its logged changes, duplicates allowed. They come in the order
    of a log, parents first. Any order is right when no actor is repeated. The changes that budget.py left out are
    `unread`.

    Not thread-safe. Raises DataLoss when a change is damaged or builds on one that is not there.
    """

    def __init__(self, id: str, space: str, changes: Iterable[bytes] = (), unread: UnreadChanges | None = None) -> None:
        self.id = id
        self.space = space
        self.unread = unread
        self.changes = list(changes)
        self._document: Document | None
        self._equivocation: Equivocation | None  # in the place of the document when an actor is repeated
        self._document, self._equivocation = self._taken(self.changes)

    def write(self, edit: Edit, actor: bytes) -> AutomergeChange | None:
        """Apply `edit` as one change by `actor` (16 random bytes, never used before); None when nothing
        changes.

        Raises InvalidArgument when a parent is unknown, parents are over limits.REVISIONS_MAX or the change would be
        over limits.CHANGE_BYTES_MAX; the document is then as it was. Creating a memory takes about 0.05 ms.
        """
        if len(actor) != ACTOR_BYTES or actor == GENESIS_ACTOR:
            raise ValueError(f"an actor is {ACTOR_BYTES} random bytes")
        if self._equivocation is not None:
            return self._write_on_a_branch(self._equivocation, edit, actor)
        change = self._written(self._open(), edit, actor)
        if change is not None:
            self.changes.append(change.raw)
        return change

    def _write_on_a_branch(self, equivocation: Equivocation, edit: Edit, actor: bytes) -> AutomergeChange | None:
        """Write on changes that load together; what ends in other branches is named there."""
        said = edit.revision
        base = equivocation.base(said.parents[0] if said is not None and said.parents else "")
        ends: tuple[str, ...] = ()
        if said is not None:
            named = [equivocation.abroad(parent, base) for parent in said.parents]
            ends = tuple(end for _, end in named if end)
            edit = replace(edit, revision=replace(said, parents=tuple(here for here, _ in named if here)))
        links = {link_key(link) for link in edit.links_remove}.difference(map(link_key, edit.links_put))
        removed = equivocation.puts("tags", set(edit.tags_remove).difference(edit.tags_put), base)
        removed += equivocation.puts("links", links, base)
        removed += equivocation.puts("feedback", [edit.vote[0]] if edit.vote else [], base)
        # Peers accept so many keys of one change: the map itself and its names, beside the keys of `x/ends`. The next
        # removal names the rest.
        room = limits.NEWER_KEYS_MAX - 1 - (len(ends) + 1 if ends else 0)
        change = self._written(self._load(list(base)), edit, actor, ends, sorted(removed)[:room])
        self._document = None
        if change is not None:
            self.changes.append(change.raw)
            self._equivocation = self._said_together(self.changes)
        return change

    def _written(
        self, document: Document, edit: Edit, actor: bytes, ends: tuple[str, ...] = (), removed: Iterable[str] = ()
    ) -> AutomergeChange | None:
        self._document = None  # until the change is found in order; else it is made again from the log
        before = document.get_heads()
        document.set_actor(actor)
        self._guarded("can not be written", lambda: _transact(document, edit, actor.hex(), ends, removed))
        written = document.get_changes(before)
        if not written:
            self._document = document
            return None
        (change,) = written
        if change.seq != 1:
            raise ValueError(f"actor {actor.hex()} wrote to memory {self.id} before; each change needs a fresh one")
        inflated = bytes(change.raw_bytes)
        raw = bytes(change.bytes) if len(inflated) > DEFLATE_OVER_BYTES else inflated
        if len(raw) > limits.CHANGE_BYTES_MAX or len(inflated) > limits.CHANGE_INFLATED_BYTES_MAX:
            most = f"{limits.CHANGE_INFLATED_BYTES_MAX} bytes, {limits.CHANGE_BYTES_MAX} compressed"
            size = f"{len(inflated)} bytes, {len(raw)} compressed"
            raise InvalidArgument("change", size, f"all fields together take at most {most}")
        self._document = document
        if self.unread is not None:
            heads = self.unread.heads.difference(bytes(dep).hex() for dep in change.deps)
            self.unread = self.unread._replace(heads=heads | {bytes(change.hash).hex()})
        return AutomergeChange(hash=bytes(change.hash).hex(), raw=raw, actor=actor.hex())

    def merge(self, changes: Iterable[bytes]) -> None:
        """Take in changes made elsewhere, duplicates allowed, in such an order as a new document is made of.

        Raises DataLoss for a damaged change and for a missing parent, and then takes in nothing.
        """
        merged = list(dict.fromkeys([*self.changes, *changes]))
        self._document, self._equivocation = self._taken(merged)
        self.changes = merged

    def state(self) -> DocumentState:
        """The present content of the document.

        Raises DataLoss when it breaks the shape of a memory, FailedPrecondition when a newer major version of
        Mnemesh wrote it.
        """
        if self._equivocation is not None:
            state = state_of(self.id, self.space, self._equivocation.tree())
            state = replace(state, renamed=self._equivocation.renamed)
        else:
            document = self._open()
            state = state_of(self.id, self.space, self._guarded("can not be read", lambda: _tree(document, ROOT)))
        if len(state.tags) > limits.TAGS_SHOWN_MAX or len(state.links) > limits.LINKS_SHOWN_MAX:
            state = replace(state, put_by={name: self.put_by(name) for name in ("tags", "links")})
        if self.unread is None:
            return state
        read = frozenset(read_head(raw).hash for raw in self.changes)
        return replace(state, unread=self.unread.changes, read=read)

    def put_by(self, name: str) -> dict[str, tuple[int, str]]:
        """The operation (counter and actor in hex) that put each key of a collection. A later operation has seen an
        earlier one, or doesn't know of it."""
        if self._equivocation is not None:
            return self._equivocation.put_by(name)
        document = self._open()

        def read() -> dict[str, tuple[int, str]]:
            home = _collection(document, name)
            put_by = {}
            for key in document.keys(home):
                put = document.get(home, key)
                if put is not None:
                    put_by[key] = _operation_id(put[1])
            return put_by

        return self._guarded("can not be read", read)

    def heads(self) -> tuple[str, ...]:
        """Hashes (hex, sorted) of the changes that no other builds on, unread ones too; the genesis hash when there are
        none."""
        if self.unread is not None:
            return tuple(sorted(self.unread.heads))
        if self._equivocation is not None:
            return self._equivocation.heads()
        return tuple(sorted(bytes(head).hex() for head in self._open().get_heads()))

    def _open(self) -> Document:
        if self._document is None:
            self._document = self._load(self.changes)
        return self._document

    def _taken(self, changes: list[bytes]) -> tuple[Document | None, Equivocation | None]:
        """The changes as one document, or as an Equivocation when they repeat an actor. The library notices a repeated
        actor, but only with parents first. So a memory without such changes costs nothing more."""
        if not changes:
            return _genesis(self.id, self.space), None
        try:
            return self._load(changes), None
        except DataLoss:
            if not repeat_an_actor(changes):
                raise
        return None, self._said_together(changes)

    def _said_together(self, changes: Iterable[bytes]) -> Equivocation:
        return Equivocation(self.id, self.space, genesis_hash(self.id, self.space), changes)

    def _load(self, changes: list[bytes]) -> Document:
        if b"" in changes:
            raise DataLoss(f"memory {self.id}: one of its changes is empty; the log is damaged", field="document")
        log = b"".join([_genesis_change(self.id, self.space)[1], *changes])
        return self._guarded("can not be loaded", lambda: Document.load(log))

    def _guarded(self, problem: str, call: Callable[[], R]) -> R:
        try:
            return call()
        except BaseException as error:  # boundary: a panic is a BaseException. Others are raised again.
            # The library raises a bare Exception for unreadable bytes. All else is a bug of ours.
            if type(error) is Exception or type(error).__name__ == _PANIC:
                raise DataLoss(
                    f"memory {self.id}: its document {problem} ({error}); the log is incomplete or damaged. "
                    "Nothing was changed; restore it from a backup or a peer",
                    field="document",
                    value=self.id,
                ) from error
            raise


def genesis_hash(id: str, space: str) -> str:
    """Hash (hex) of the change that every replica computes for memory `id` in `space`; first changes build on
    it."""
    return _genesis_change(id, space)[0]


def _genesis(id: str, space: str) -> Document:
    document = Document(actor_id=GENESIS_ACTOR)
    with document.transaction() as transaction:
        _put(transaction, ROOT, {"v": FORMAT_MAJOR, "id": id, "space": space, **_NOTHING_YET})
    return document


# Each change needs the genesis several times on its way.
@lru_cache(maxsize=GENESIS_KEPT)
def _genesis_change(id: str, space: str) -> tuple[str, bytes]:
    """Its hash (hex) and its bytes."""
    name = id.encode()
    frame = _genesis_frame(len(name), space)
    if len(frame) == 2:
        return chunk_of(name.join(frame))
    change = _genesis(id, space).get_changes([])[0]
    return bytes(change.hash).hex(), bytes(change.raw_bytes)


# Having Automerge make it takes longer than reading a small document.
@lru_cache(maxsize=GENESIS_KEPT)
def _genesis_frame(size: int, space: str) -> tuple[bytes, ...]:
    """The bytes before and after the id in the body of a first change. The rest of the body depends only on the id's
    length. Anything but two parts means that the place is unknown."""
    stand_in = "\x7f" * size
    body = open_change(bytes(_genesis(stand_in, space).get_changes([])[0].raw_bytes))[1]
    return tuple(body.split(stand_in.encode())) if size else ()


def _transact(document: Document, edit: Edit, actor: str, ends: tuple[str, ...], removed: Iterable[str]) -> None:
    """`ends` and `removed` are revisions and operations of branches that are not in `document`."""
    with document.transaction() as transaction:
        if edit.revision is not None:
            revisions = _collection(transaction, "rev")
            parents = (*edit.revision.parents, *ends)
            if len(parents) > limits.REVISIONS_MAX:  # peers would not let it in
                raise InvalidArgument(
                    "parents", len(parents), f"at most {limits.REVISIONS_MAX} versions at once; purge the memory"
                )
            for parent in edit.revision.parents:
                if transaction.get(revisions, parent) is None:
                    raise InvalidArgument("parents", parent, "revisions of this memory")
            name = next_revision_id(parents, actor)
            newer: dict[str, str | int | Written] = {MARK: edit.mark} if edit.mark else {}
            if edit.forced:
                newer[FORCED] = 1
            if ends:
                newer[ENDS] = positions(ends)
            _put(transaction, revisions, {name: {**revision_tree(edit.revision), **newer}})
        if edit.tags_put or edit.tags_remove:
            _renew(transaction, "tags", edit.tags_put, edit.tags_remove, edit.at)
        if edit.links_put or edit.links_remove:
            put, remove = map(link_key, edit.links_put), map(link_key, edit.links_remove)
            _renew(transaction, "links", put, remove, edit.at)
        if edit.vote is not None:
            writer, useful = edit.vote
            _put(transaction, _collection(transaction, "feedback"), {writer: vote_tree(useful)})
        if gone := positions(tuple(removed)):
            _put(transaction, ROOT, {f"{REMOVED}{actor}": gone})


def _renew(transaction: Transaction, name: str, put: Iterable[str], remove: Iterable[str], at: int) -> None:
    """Delete `remove`, then put `put`, each with a new value. Putting an equal value is no operation in Automerge, and
    a concurrent removal would win."""
    times = _collection(transaction, name)
    put_keys = dict.fromkeys(put)
    for key in dict.fromkeys(remove):
        if key not in put_keys and transaction.get(times, key) is not None:
            transaction.delete(times, key)
    for key in put_keys:
        current = transaction.get(times, key)
        old = current[0][1] if current is not None and isinstance(current[0], tuple) else None
        transaction.put(times, key, ScalarType.Int, max(at, old + 1) if isinstance(old, int) else at)


def _operation_id(external: bytes) -> tuple[int, str]:
    """Counter and actor (hex) of an operation in the library's form. The form is a byte, the actor's length and bytes,
    the actor's position and the counter, with numbers as unsigned LEB128."""
    size, at = read_uleb(external, 1)
    _, counter_at = read_uleb(external, at + size)
    return read_uleb(external, counter_at)[0], external[at : at + size].hex()


def _collection(transaction: Transaction | Document, name: str) -> bytes:
    value = transaction.get(ROOT, name)
    if value is None or isinstance(value[0], tuple):
        raise DataLoss(f"{name!r} is not a map; its document is damaged", field=name)
    return value[1]


def _put(transaction: Transaction, parent: bytes, tree: Written) -> None:
    for key, value in tree.items():
        if not key:
            raise ValueError("Automerge has no empty keys; attributes and list items are not empty")
        if isinstance(value, Mapping):
            _put(transaction, transaction.put_object(parent, key, ObjType.Map), value)
        elif isinstance(value, str):
            transaction.put(parent, key, ScalarType.Str, value)
        elif isinstance(value, int):
            transaction.put(parent, key, ScalarType.Int, value)
        else:
            transaction.put(parent, key, ScalarType.F64, value)


def _tree(document: Document, parent: bytes) -> Tree:
    tree: dict[str, object] = {}
    for key, (value, child) in zip(document.keys(parent), document.values(parent), strict=True):
        tree[key] = value[1] if isinstance(value, tuple) else _tree(document, child)
    return tree
