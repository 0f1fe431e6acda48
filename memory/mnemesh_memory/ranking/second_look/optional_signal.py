"""A second look at the best of an answer, by what costs more than a score from the index. Pure.

A gain gives each memory a value in [0, 1]. The value makes good a part of what the score lacks, in proportion for who
has little of it: no signal lifts what matches nothing. A change gives other scores. The share of a signal in a score is
the difference that it has made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mnemesh_memory.ranking.scores import room, rounded
from mnemesh_memory.values.model import Memory, Query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Of an answer so many are looked at again; a phrase is in one of the best by words.
LOOKED_AT: Final = 100


class Look(NamedTuple):
    """A memory with its score so far in [0, 1], and what each signal has changed of it."""

    id: str
    score: float
    parts: Mapping[str, float] = MappingProxyType({})


class Sight(NamedTuple):
    """The view of a signal on a question."""

    query: Query
    weights: Mapping[str, float]  # Of all optional signals.
    memories: Mapping[str, Memory]  # By id.
    looks: Sequence[Look] = ()  # The scores so far.
    vector: NDArray[np.float32] | None = None  # Of the question.
    vectors: Mapping[str, NDArray[np.float32]] = MappingProxyType({})  # Of memories, if fetched.
    values: Mapping[str, float] = MappingProxyType({})  # Of memories, in [0, 1], if fetched.


class OptionalSignal(NamedTuple):
    """A signal of the second look: a gain or a change. One with neither says how candidates are searched for."""

    name: str
    weight: float  # From 0, which is off, to 1.
    meaning: str
    gain: Callable[[Sight], Mapping[str, float]] | None = None
    change: Callable[[Sequence[Look], Sight], list[Look]] | None = None
    fetches: bool = False  # A row of FETCHES (`recall/signal_fetches.py` in the actors) completes its Sight.
    concerns: Callable[[str], bool] = bool  # Whether a question gives it anything to do.
    search: Callable[[float], Mapping[str, Any]] | None = None  # Fields of the search, by the weight.
    part: str = ""  # The part of a node without which it is not to be had; its model is the setting PART_model.


def fetched(sight: Sight) -> Mapping[str, float]:
    """The gain of a signal whose values were fetched."""
    return sight.values


def lifted(
    looks: Sequence[Look], values: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]
) -> list[Look]:
    """The same with what `values` (by signal and id, each in [0, 1]; 0 for who is not there) say, best first."""
    changed = []
    for id_, score, parts in looks:
        worths = {name: worth for name, known in values.items() if (worth := weights[name] * known.get(id_, 0.0))}
        free = room(score) / max(1.0, sum(worths.values()))
        gained = {name: free * worth for name, worth in worths.items()}
        changed.append(Look(id_, rounded(score + sum(gained.values())), {**parts, **gained}))
    return in_order(changed)


def lowered(looks: Sequence[Look], shares: Mapping[str, float], name: str) -> list[Look]:
    """The same without a share in [0, 1] of each score, in the name of a signal, best first."""
    changed = []
    for look in looks:
        lost = look.score * shares.get(look.id, 0.0)
        parts = {**look.parts, name: look.parts.get(name, 0.0) - lost} if lost else look.parts
        changed.append(Look(look.id, rounded(look.score - lost), parts))
    return in_order(changed)


def in_order(looks: Iterable[Look]) -> list[Look]:
    """Best first, equal ones by id."""
    return sorted(looks, key=lambda look: (-look.score, look.id))
