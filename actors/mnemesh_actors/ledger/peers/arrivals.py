"""The knowledge of one document while a batch is taken in: its changes, the places of its id, and the changes on their
way.

Values alone; what becomes of them is decided in foreign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mnemesh_actors.ledger.peers.shelves import Brought
from mnemesh_crdt.admission.ancestry import Changes
from mnemesh_crdt.admission.budget import within
from mnemesh_crdt.changes.chunk import ChangeHead
from mnemesh_crdt.changes.envelope import Key
from mnemesh_crdt.document.document import MemoryDocument
from mnemesh_crdt.document.shape import DocumentState
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition

Loaded: TypeAlias = tuple[MemoryDocument, DocumentState]


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


def loaded(key: Key, changes: Mapping[str, bytes]) -> Loaded | str:
    """The document of `changes`, by hash, with its state, or the reason why it can't be read."""
    try:
        document = MemoryDocument(key.id, key.space, *within(key.id, key.space, changes))
        return document, document.state()
    except (DataLoss, FailedPrecondition) as error:
        return error.message
