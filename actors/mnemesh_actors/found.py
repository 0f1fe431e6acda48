"""A memory that may be shown, and the order in which such stand. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from mnemesh_memory.fusion import Fused
from mnemesh_memory.heat import heat
from mnemesh_memory.model import Memory, Query
from mnemesh_memory.usefulness import liking, rated

# Of the best score: another order than that of relevance would show the newest of what hardly fits first.
SORTED_SHARE_MIN: Final = 0.5


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that may be shown, with the candidate that led to it."""

    memory: Memory
    fused: Fused
    redirected_from: str = ""

    @property
    def liking(self) -> float:
        """What its ratings say of it as a match, 0 for none."""
        return liking(self.memory.useful, self.memory.not_useful) if self.fused.score else 0.0

    def rated(self) -> Found:
        """With what its ratings add."""
        fused = rated(self.fused, self.memory.useful, self.memory.not_useful)
        return self if fused is self.fused else replace(self, fused=fused)


def ordered(query: Query, kept: list[Found], now: int) -> list[Found]:
    """As it was asked for: by relevance, with what has none at all left in the order of time; or by time or importance,
    and then only what is nearly as relevant as the best."""
    if query.sort != "relevance":
        floor = SORTED_SHARE_MIN * max((item.fused.score for item in kept), default=0.0)
        kept = [item for item in kept if item.fused.score >= floor]
    if query.sort == "recency":
        return sorted(kept, key=lambda item: (-item.memory.updated_at, item.memory.id))
    if query.sort == "importance":
        return sorted(kept, key=lambda item: (-(item.memory.importance or 0.0), -item.fused.score, item.memory.id))
    return sorted(kept, key=lambda item: (-item.fused.score, *(_among_equals(item, now) if item.fused.score else ())))


def _among_equals(item: Found, now: int) -> tuple[float, float, float, str]:
    """How they were rated, importance, heat, id. Heat counts without its uses, which every node counts for itself."""
    return -item.liking, -(item.memory.importance or 0.0), -heat_of(item.memory, {}, now), item.memory.id


def heat_of(memory: Memory, used: Mapping[str, tuple[int, int]], now: int) -> float:
    """How warm a memory is; `used` has by id how often and when last it was shown."""
    accesses, last = used.get(memory.id, (0, memory.updated_at))
    return heat(memory.kind, memory.tier, memory.importance, max(last, memory.updated_at), accesses, now)
