"""Causal chains out of events in time: windows, order, significance, and the walk along the edges of a search.

The search itself is the PC algorithm (Spirtes, Glymour and Scheines, Causation, Prediction, and Search, 2000) of a
library, which stands elsewhere. Here are its input and the reading of its answer.

A cause doesn't come after its effect: where two names share windows, their order there forbids one direction.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_memory.values.errors import count_of

WINDOW_H: Final = 24
WINDOW_H_MAX: Final = 744
WINDOWS_MIN: Final = 50
WINDOWS_MAX: Final = 5_000  # the latest
OCCURRENCES_MIN: Final = 8  # windows with a name, and as many without
NAMES_MAX: Final = 24
ALPHA: Final = 0.01
# Names that share so many of their windows are one variable: no test can part them.
SAME_SHARE: Final = 0.9
ORDERED_MIN: Final = 6
ORDER_P_MAX: Final = 0.05
DEPTH_MAX: Final = 4
EVIDENCE_MAX: Final = 8
HOUR_MS: Final = 3_600_000
Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Event:
    """A memory of something that happened at `at` (ms), and the names in it."""

    at: int
    memory: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalLink:
    """An edge of a chain. `distance` counts the edges to the name that was asked about. `p_value` is that of the G
    test of independence, `lift` how much more often both share a window than by chance."""

    cause: str
    effect: str
    distance: int
    p_value: float
    lift: float
    windows: int  # that both share
    memories: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalChain:
    """The ancestors and descendants of a name. `linked`: edges whose direction the data leave open."""

    name: str
    causes: tuple[CausalLink, ...] = ()
    effects: tuple[CausalLink, ...] = ()
    linked: tuple[CausalLink, ...] = ()
    windows: int = 0
    window_hours: int = WINDOW_H
    events: int = 0
    names: int = 0  # that were compared
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class WindowTable:
    """Which of `names` stands in which window. `forbidden` are edges against the order of time."""

    names: tuple[str, ...]
    present: NDArray[np.bool_]
    forbidden: tuple[Edge, ...]
    evidence: Mapping[tuple[int, int], tuple[str, ...]]  # (window, name) to memories
    events: int


class TooLittle(Exception):
    """There are too few events: the text says how much is missing."""


def window_table(events: Sequence[Event], asked: str, width_ms: int) -> WindowTable:
    """The windows of the events and the names to compare, the asked one first. Raises TooLittle."""
    hours = width_ms // HOUR_MS
    if not events:
        raise TooLittle(f"there are no events; {WINDOWS_MIN} windows of {hours} h are needed")
    last = max(event.at for event in events) // width_ms
    first = max(min(event.at for event in events) // width_ms, last - WINDOWS_MAX + 1)
    total = last - first + 1
    if total < WINDOWS_MIN:
        lacking = WINDOWS_MIN - total
        raise TooLittle(
            f"the events span {count_of(total, 'window')} of {hours} h; {lacking} more are needed, or shorter windows"
        )
    by_name: dict[str, dict[int, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if (window := event.at // width_ms - first) >= 0:
            for name in event.names:
                by_name[name][window].append(event)
    there = len(by_name.get(asked, ()))
    if there < OCCURRENCES_MIN:
        raise TooLittle(
            f"{asked} is in {there} of {total} windows of {hours} h; {OCCURRENCES_MIN - there} more are needed"
        )
    if total - there < OCCURRENCES_MIN:
        raise TooLittle(f"{asked} is in nearly all windows of {hours} h; shorter windows are needed")
    names = _compared(by_name, asked, total)
    if len(names) < 2:
        raise TooLittle(f"no other name is in {OCCURRENCES_MIN} windows of {hours} h or more")
    present = np.zeros((total, len(names)), dtype=np.bool_)
    evidence = {}
    for column, name in enumerate(names):
        for window, inside in by_name[name].items():
            present[window, column] = True
            evidence[window, column] = tuple(dict.fromkeys(event.memory for event in inside))
    forbidden = tuple(_against_time(names, by_name))
    return WindowTable(tuple(names), present, forbidden, evidence, len(events))


def _compared(by_name: Mapping[str, Mapping[int, list[Event]]], asked: str, total: int) -> list[str]:
    """The asked name and the most frequent others that a test can part from those before."""
    frequent = sorted(
        (name for name, windows in by_name.items() if OCCURRENCES_MIN <= len(windows) <= total - OCCURRENCES_MIN),
        key=lambda name: (name != asked, -len(by_name[name]), name),
    )
    names: list[str] = []
    for name in frequent:
        own = by_name[name].keys()
        if len(names) < NAMES_MAX and not any(
            len(own & by_name[other].keys()) >= SAME_SHARE * len(own | by_name[other].keys()) for other in names
        ):
            names.append(name)
    return names


def _against_time(names: Sequence[str], by_name: Mapping[str, Mapping[int, list[Event]]]) -> Iterable[Edge]:
    for one in range(len(names)):
        for other in range(one + 1, len(names)):
            earlier = later = 0
            mine, theirs = by_name[names[one]], by_name[names[other]]
            for window in mine.keys() & theirs.keys():
                start = min(event.at for event in mine[window])
                begin = min(event.at for event in theirs[window])
                earlier, later = earlier + (start < begin), later + (start > begin)
            if earlier + later >= ORDERED_MIN and _sign_test(earlier, later) <= ORDER_P_MAX:
                yield (other, one) if earlier > later else (one, other)


def _sign_test(one: int, other: int) -> float:
    """The two-sided p-value of so unequal counts when both are equally likely."""
    total, less = one + other, min(one, other)
    tail = float(sum(math.comb(total, count) for count in range(less + 1))) / float(2**total)
    return min(1.0, 2 * tail)


def significance(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> tuple[float, float, int]:
    """The p-value of the G test of independence, the lift, and the number of shared windows."""
    total, both = len(one), int((one & other).sum())
    statistic = 0.0
    for mine in (one, ~one):
        for theirs in (other, ~other):
            expected = float(mine.sum()) * float(theirs.sum()) / total
            observed = int((mine & theirs).sum())
            if observed and expected:
                statistic += 2 * observed * math.log(observed / expected)
    chance = float(one.sum()) * float(other.sum()) / total
    return math.erfc(math.sqrt(max(0.0, statistic) / 2)), both / chance if chance else 0.0, both


def chain(table: WindowTable, directed: Sequence[Edge], undirected: Sequence[Edge]) -> CausalChain:
    """Ancestors and descendants of the first name, along edges from cause to effect that make both more frequent."""
    links = {edge: link for edge in (*directed, *undirected) if (link := _link(table, edge)) is not None}
    into: dict[int, list[int]] = defaultdict(list)
    out: dict[int, list[int]] = defaultdict(list)
    for cause, effect in directed:
        if (cause, effect) in links:
            into[effect].append(cause)
            out[cause].append(effect)
    beside = [_at(links[edge], 1) for edge in undirected if edge in links and 0 in edge]
    return CausalChain(
        name=table.names[0],
        causes=tuple(_at(links[near, far], step) for far, near, step in _walk(into)),
        effects=tuple(_at(links[far, near], step) for far, near, step in _walk(out)),
        linked=tuple(beside),
        windows=len(table.present),
        events=table.events,
        names=len(table.names),
    )


def _walk(edges: Mapping[int, list[int]]) -> Iterable[tuple[int, int, int]]:
    """Edges from the first name on, the nearest first: (nearer end, farther end, distance)."""
    seen, waiting = {0}, deque([(0, 1)])
    while waiting:
        here, step = waiting.popleft()
        for there in edges.get(here, ()) if step <= DEPTH_MAX else ():
            yield here, there, step
            if there not in seen:
                seen.add(there)
                waiting.append((there, step + 1))


def _link(table: WindowTable, edge: Edge) -> CausalLink | None:
    """The edge with its figures. None when one end makes the other rarer."""
    cause, effect = edge
    p_value, lift, shared = significance(table.present[:, cause], table.present[:, effect])
    if lift <= 1.0:
        return None
    memories: dict[str, None] = {}
    for window in np.flatnonzero(table.present[:, cause] & table.present[:, effect])[::-1]:
        memories |= dict.fromkeys(table.evidence[int(window), cause] + table.evidence[int(window), effect])
        if len(memories) >= EVIDENCE_MAX:
            break
    return CausalLink(
        cause=table.names[cause], effect=table.names[effect], distance=1, p_value=p_value, lift=round(lift, 2),
        windows=shared, memories=tuple(memories)[:EVIDENCE_MAX],
    )  # fmt: skip


def _at(link: CausalLink, distance: int) -> CausalLink:
    return CausalLink(
        cause=link.cause, effect=link.effect, distance=distance, p_value=link.p_value, lift=link.lift,
        windows=link.windows, memories=link.memories,
    )  # fmt: skip
