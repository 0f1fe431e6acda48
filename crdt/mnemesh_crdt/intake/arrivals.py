"""The values of the intake: an entry with its sender, the knowledge of one document, and the outcome of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from mnemesh_crdt.admission.ancestry import Changes
from mnemesh_crdt.admission.budget import within
from mnemesh_crdt.changes.chunk import ChangeHead
from mnemesh_crdt.changes.envelope import Entry, Key
from mnemesh_crdt.document.document import MemoryDocument
from mnemesh_crdt.document.shape import DocumentState
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition

Loaded: TypeAlias = tuple[MemoryDocument, DocumentState]
# `read_document`, or another function that reads the same.
Reader: TypeAlias = Callable[[Key, Mapping[str, bytes]], Loaded]
# The outcomes of an entry.
COUNTED: Final = ("accepted", "duplicates", "held", "quarantined", "dropped", "erased")


@dataclass(frozen=True, slots=True)
class Brought:
    """An entry, the ledger (its incarnation) that brought it, the time (ms, our clock), and the sender. `key` is the
    raw public key of the node of a refused entry, when that key is not kept elsewhere."""

    entry: Entry
    origin: str
    received: int
    sender: str = ""
    key: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIn:
    """The outcome of a batch. `seq` is the cursor that is durable now. `first` and `last` are the numbers of what was
    appended, 0 for nothing. `full`: some had to wait and no more may. The cursor stays, send them again later.
    `brought_memories` and `brought_bytes` are all from this sender, 0 when nothing was added."""

    seq: int = 0
    accepted: int = 0
    duplicates: int = 0
    held: int = 0
    quarantined: int = 0
    dropped: int = 0
    erased: int = 0
    full: bool = False
    first: int = 0
    last: int = 0
    brought_memories: int = 0
    brought_bytes: int = 0

    def and_then(self, later: TakenIn) -> TakenIn:
        """Both together, without a cursor."""
        sums = {name: getattr(self, name) + getattr(later, name) for name in COUNTED}
        first = self.first or later.first
        return TakenIn(**sums, full=self.full or later.full, first=first, last=max(self.last, later.last))


@dataclass(slots=True)
class Arrival:
    """A change on its way, sound apart from its dependencies. `kept`: it was durable here before."""

    brought: Brought
    head: ChangeHead
    kept: bool = False

    @property
    def hash(self) -> str:
        return self.brought.entry.hash


@dataclass(slots=True)
class Document:
    """The knowledge of a document while a batch is taken in. `actors` are those of its log. `spaces` says where the id
    is, and whether it is erased there. `changes`, by hash, are in the document or about to be. `erasures` are on their
    way. `retractions` waited here for the document's beginning. `checked`: whether its log was read for damage."""

    key: Key
    genesis: str = ""
    known: set[str] = field(default_factory=set)
    actors: list[str] = field(default_factory=list)
    waiting: set[str] = field(default_factory=set)
    spaces: dict[str, bool] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)
    waits: dict[str, list[Arrival]] = field(default_factory=dict)
    erasures: list[Brought] = field(default_factory=list)
    retractions: list[Brought] = field(default_factory=list)
    checked: bool = False

    @property
    def here(self) -> bool:
        return self.key.space in self.spaces

    @property
    def erased(self) -> bool:
        return self.spaces.get(self.key.space, False)

    @property
    def elsewhere(self) -> str:
        return next((space for space, gone in self.spaces.items() if space != self.key.space and not gone), "")

    def missing(self, head: ChangeHead) -> str:
        """A missing change on which this one builds, or ""."""
        return next((dep for dep in head.deps if dep not in self.changes and dep != self.genesis), "")


def because(culprit: str) -> str:
    """Why what builds on a quarantined change is quarantined too."""
    return f"it builds on {culprit}, which is quarantined"


def read_document(key: Key, changes: Mapping[str, bytes]) -> Loaded:
    """The document of `changes`, by hash, with its state. Raises DataLoss or FailedPrecondition for an unreadable
    one."""
    document = MemoryDocument(key.id, key.space, *within(key.id, key.space, changes))
    return document, document.state()


def tried(read: Reader, key: Key, changes: Mapping[str, bytes]) -> Loaded | str:
    """As `read`, or the reason why the document is unreadable."""
    try:
        return read(key, changes)
    except (DataLoss, FailedPrecondition) as error:
        return error.message
