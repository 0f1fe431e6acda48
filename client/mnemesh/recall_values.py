"""What recall answers with: the messages as frozen dataclasses, as in values."""

from __future__ import annotations

from dataclasses import dataclass

from mnemesh.link_values import Linked
from mnemesh.time_values import TimeRead
from mnemesh.values import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What one signal brings to a score: `share` is `weight` * `value`, and `value`, from 0 to 1, was made of `raw`: a
    cosine, a BM25 score, a number of words, 1 or 0 for yes or no; None where there was nothing to measure. Of what
    changed a score afterwards `value` is the change, below 0 where it lowered it."""

    name: str
    raw: float | None
    value: float
    weight: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One result of recall. `score` is relevance from 0 to 1; `signals` is filled when explain was asked: their shares,
    added in their order and rounded to 6 decimals, are the score. `marks` are beginning and end of each word of the
    query in the snippet, one pair after the other; `attached` is what resolves it, and what it contradicts or is
    contradicted by."""

    id: str
    content: str
    score: float
    title: str
    snippet: str
    space: str
    kind: str
    tags: tuple[str, ...]
    memory: Memory
    redirected_from: str
    signals: tuple[Signal, ...]
    marks: tuple[int, ...] = ()
    attached: tuple[Linked, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The answer of recall, best first. `coverage`, from 0 to 1, says how well it answers; `abstain` flags that the
    answer is probably not here; `degraded` that a part of the node was down or behind; `notes` say which filter left
    nothing when there is no result."""

    results: tuple[Result, ...]
    coverage: float
    abstain: bool
    tokens_used: int
    truncated_by_budget: int
    degraded: bool
    degraded_reasons: tuple[str, ...]
    spaces: tuple[str, ...]
    notes: tuple[str, ...] = ()
    time: TimeRead | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledBatch:
    """One answer a query, in their order."""

    answers: tuple[Recalled, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearby:
    """A memory that has to do with another one: `score` is the cosine of their texts, from 0 to 1, `reasons` say why it
    is here; `get` reads its text."""

    id: str
    title: str
    snippet: str
    space: str
    kind: str
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """What has to do with the memory `id`: those it links to first, then by score; `degraded` when a part of the node
    was down."""

    id: str
    results: tuple[Nearby, ...]
    degraded: bool
    degraded_reasons: tuple[str, ...]
