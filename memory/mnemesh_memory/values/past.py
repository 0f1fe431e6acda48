"""The values of a memory's history: earlier statements, their writers and nodes, and contradictions.

Plain and frozen like those of model. A revision id is "n@actor". `node` is the id of the first node with the change, ""
when its entry is not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from mnemesh_memory.values.model import Memory, Revision

# What `resolve` keeps of two memories that contradict each other, when both hold.
BOTH: Final = "both"
# Fields beside the statement of a version, its end among them; `refs` of a version are `paths` of a memory.
_BESIDE: Final = ("id", "op", "by", "at", "parents", "valid_to", "refs")
_SAID: Final = tuple(field.name for field in fields(Revision) if field.name not in _BESIDE)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a change came from: its writer, the first node, and when (ms, clock of that node). `latest` caps the time
    on display, because another node's clock may run ahead."""

    agent: str
    node: str
    at: int
    latest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A revision as it was recorded."""

    revision: Revision
    node: str = ""
    head: bool = False  # No other revision names this one as parent.
    shown: bool = False  # Its text is the text of the memory.


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Revisions of one memory, newest first; `cursor` is "" on the last page, `total` counts all pages."""

    memory: Memory
    revisions: tuple[Recorded, ...]
    cursor: str
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamedField:
    """A field, its value as text, and its last change: `field` is a name such as title, attrs.ticket, tags.deploy.
    `revision` is "" when a tag or link was put without one."""

    field: str
    value: str
    revision: str
    by: str
    at: int
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamedLines:
    """Consecutive lines of the content that one revision set; `first` counts from 1."""

    first: int
    text: str
    revision: str
    by: str
    at: int
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """The last writer of each part of `revision`, a revision of `memory`: its lines in order, then its fields by
    name."""

    memory: Memory
    revision: str
    lines: tuple[BlamedLines, ...]
    fields: tuple[BlamedField, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A memory that says several things at once: every visible head, the shown one first."""

    memory: Memory
    versions: tuple[Recorded, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opponent:
    """One of two memories that contradict each other, and its shown revision."""

    memory: Memory
    says: Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two memories that stand while they may not both hold, and the commands that decide."""

    newer: Opponent
    older: Opponent
    relation: str  # contradicts, or may-replace on middling evidence.
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictPage:
    """Memories in conflict, oldest first, and behind the last of them the contradictions between two memories; `cursor`
    is "" on the last page, the totals count all pages."""

    conflicts: tuple[Conflict, ...]
    cursor: str
    total: int
    contradictions: tuple[Contradiction, ...] = ()
    contradictions_total: int = 0
    marks_total: int = 0  # Of those the pairs with relation may-replace.


def in_conflict(memory: Memory) -> bool:
    """Whether a memory with all its other visible heads in `conflicts` says several things. Two writers who supersede a
    memory at once make heads with different ends. So of a superseded memory only heads with different statements
    count."""
    if memory.state != "superseded":
        return bool(memory.conflicts)
    return any(
        head.refs != memory.paths or any(getattr(head, name) != getattr(memory, name) for name in _SAID)
        for head in memory.conflicts
    )


Origins = Mapping[str, Origin]  # by the change's actor, in hex
