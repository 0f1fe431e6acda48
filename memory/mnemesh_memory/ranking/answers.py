"""What recall answers. As in model: plain values, without behaviour and without a clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.ranking.explanation import Estimate, Share
from mnemesh_memory.times.window import TimeRead
from mnemesh_memory.values.heat_channels import Heat
from mnemesh_memory.values.memory_links import Linked
from mnemesh_memory.values.model import Memory
from mnemesh_memory.values.quick_copy import copier

LOST_NAMED_MAX: Final = 3


def left_out(lost: Sequence[str]) -> tuple[str, ...]:
    """The note of an answer on memories that are damaged on disk and may belong there; nothing for none."""
    if not lost:
        return ()
    more = f" and {len(lost) - LOST_NAMED_MAX} more" if len(lost) > LOST_NAMED_MAX else ""
    return (
        f"damaged on disk and left out: {', '.join(lost[:LOST_NAMED_MAX])}{more}. `mnemesh sync now` brings back what "
        "a peer holds, otherwise restore a backup; `mnemesh doctor --deep` shows more",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result of recall."""

    memory: Memory
    score: float  # Relevance, in [0, 1].
    signals: tuple[Share, ...] = ()  # The share of each signal, when `explain` was asked.
    estimate: Estimate | None = None  # How measurements made the score, when `explain` was asked.
    heat: Heat | None = None  # When `explain` was asked.
    snippet: str = ""
    marks: tuple[tuple[int, int], ...] = ()  # Beginning and end of the question's words in the snippet.
    redirected_from: str = ""
    attached: tuple[Linked, ...] = ()  # Memories that resolve this one, or contradict it, in either direction.


hit_with: Final = copier(Hit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The answer of recall. `coverage` in [0, 1] says how well the best results answer; `abstain` only flags
    that `answered`, the probability that an answer is here, is low.
    `degraded` names each part that was down or behind, and why; `notes`, when there is no result, what leaves none."""

    results: tuple[Hit, ...]
    coverage: float
    abstain: bool
    tokens_used: int
    truncated_by_budget: int = 0
    degraded: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    time: TimeRead | None = None
    answered: float = 0.0
    triggered: tuple[str, ...] = ()  # Ids of the triggers that the question fired.


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearby:
    """A memory that has to do with another one: cosine of their texts in [0, 1], and why it is here."""

    memory: Memory
    score: float
    reasons: tuple[str, ...]
    snippet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """The memories around the memory `id`; `degraded` names each part that was down, and why."""

    id: str
    results: tuple[Nearby, ...]
    degraded: tuple[str, ...] = ()
