"""Answers of the graph to a caller, made of memories that the caller may read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

LIMIT: Final = 20
LIMIT_MAX: Final = 200
PROVENANCE_MAX: Final = 8  # ids of memories shown with one relation


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEntity:
    """A name that memories use. `score` is its share of a walk from the start, in [0, 1]."""

    name: str
    kind: str = ""
    score: float = 0.0
    memories: int = 0  # that name it


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRelation:
    """A statement of memories. It held from `valid_from` to `valid_to` (ms), as far as they say, and was recorded at
    `recorded_at` first."""

    subject: str
    type: str
    object: str
    memories: tuple[str, ...]  # the newest first, PROVENANCE_MAX at most
    memories_total: int = 0
    recorded_at: int | None = None
    valid_from: int | None = None
    valid_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCommunity:
    """Entities and memories with more edges between each other than to the rest. `id` stays while the first entity is
    the most connected one."""

    id: str
    entities: tuple[str, ...]  # the most connected first
    entities_total: int
    memories_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphAnswer:
    """The neighbourhood of an entity, or of a memory when `id` is set."""

    name: str
    kind: str = ""
    id: str = ""
    relations: tuple[GraphRelation, ...] = ()
    relations_total: int = 0
    entities: tuple[GraphEntity, ...] = ()
    memories: tuple[str, ...] = ()  # the nearest first
    community: GraphCommunity | None = None
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFinding:
    """One thing that a look at the graph found: `type` is one of those below, `memories` are ids."""

    type: str
    name: str
    detail: str
    memories: tuple[str, ...] = ()


ORPHAN: Final = "orphan"  # a memory that states no relation and shares no entity with another
DEAD_LINK: Final = "dead_link"  # a link to a memory that is forgotten or not there
HUB: Final = "hub"  # an entity that many memories name, so it tells little
UNRESOLVED: Final = "unresolved"  # a [[title]] that no memory of the space has
# At least so many memories, and this share of all.
HUB_MEMORIES_MIN: Final = 20
HUB_SHARE_MIN: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphAudit:
    """The state of the graph of the spaces asked about."""

    memories: int = 0
    entities: int = 0
    relations: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[GraphFinding, ...] = ()
    made: str = ""  # why the file was made anew last
    degraded: tuple[str, ...] = ()
