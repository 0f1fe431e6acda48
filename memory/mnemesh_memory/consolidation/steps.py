"""The values of consolidation: a portion of a space goes in, steps and gaps come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mnemesh_memory.values.model import Memory

MERGE, PROMOTE, EXTEND, LINK = ACTIONS = ("merge", "promote", "extend", "link")
PLANNED, APPLIED, REFUSED, UNDONE = "planned", "applied", "refused", "undone"
UNEXPLAINED, UNANSWERED = GAP_TYPES = ("unexplained", "unanswered")
RUNNING, DONE = "running", "done"  # states of a run, beside UNDONE
# The part of an agent's name that consolidation signs with: `owner/sleep`.
CLIENT: Final = "sleep"
# The attribute of a promoted fact.
PROMOTED: Final = "promoted-from"
EPISODES: Final = "episodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change to the memories of a space: `id` stays or begins, `others` are the rest. No step holds a text."""

    action: str  # One of ACTIONS.
    id: str
    others: tuple[str, ...]
    why: str
    domain: str = ""
    tags: tuple[str, ...] = ()  # Of a merge: the tags that the survivor takes over.
    state: str = PLANNED  # Or APPLIED, REFUSED, UNDONE.


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The fact of a promotion, with a text of one of its sources."""

    id: str
    mark: str
    actor: bytes
    at: int
    content: str
    kind: str
    tags: tuple[str, ...]
    sources: tuple[str, ...]
    trust: str = ""  # The least trusted class of the sources.


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something that the memories leave open."""

    type: str  # One of GAP_TYPES.
    text: str
    ids: tuple[str, ...] = ()
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """The work of an astrocyte: memories of one space that are new, with everything near them."""

    space: str
    principal: str  # The owner of the promotions.
    domain: str
    fresh: tuple[str, ...]
    memories: Mapping[str, Memory]
    near: Mapping[str, tuple[tuple[str, float], ...]]  # By memory: (id, cosine), nearest first.
    derived: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # By source: the facts derived from it.
    trust: Mapping[str, str] = field(default_factory=dict)  # By episode its trust class for the principal.


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The answer of an astrocyte."""

    steps: tuple[Step, ...] = ()
    promotions: tuple[Promotion, ...] = ()
    uses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # By name: the fresh memories that use the name.
    explained: frozenset[str] = frozenset()  # Names that a fresh memory explains.


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of consolidation, as it is kept: ids and counts, no text."""

    id: str
    space: str
    by: str
    state: str  # RUNNING, DONE or UNDONE.
    started_at: int
    ended_at: int | None = None
    read: int = 0
    steps: tuple[Step, ...] = ()

    @property
    def applied(self) -> int:
        """How many of its steps stand."""
        return sum(step.state == APPLIED for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated:
    """The outcome of `consolidate`."""

    space: str
    dry_run: bool
    run: str = ""
    read: int = 0
    steps: tuple[Step, ...] = ()
    gaps: tuple[Gap, ...] = ()
    degraded: tuple[str, ...] = ()

    @property
    def proposed(self) -> int:
        """How many steps were found."""
        return len(self.steps)

    @property
    def applied(self) -> int:
        """How many steps were carried out."""
        return sum(step.state == APPLIED for step in self.steps)

    @property
    def counts(self) -> dict[str, int]:
        """How many steps of each action were found."""
        return {action: sum(step.action == action for step in self.steps) for action in ACTIONS}
