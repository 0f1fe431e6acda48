"""The best memories of each list of a search: the same ones, whatever order they were written in.

An index ends a list within a group of equal scores, and the order of insertion says with which of them. So a list that
is cut is taken without its last group, and asked for again, longer, when too little is left.

Which points are passages of which memory: the first has the memory's own id, so only the others are listed. Held in
memory and read back from the index when it is opened, because fetching payloads doubles the cost of a query.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import inf
from operator import itemgetter

import numpy as np

from mnemesh_actors.index import engine_port as port
from mnemesh_actors.index.points import DENSE, point_id
from mnemesh_actors.index.scope import SEARCH_LIMIT_MAX
from mnemesh_memory.values.errors import DataLoss, InvalidArgument

FETCH_MARGIN_POINTS = 12
FETCH_GROWTH = (1, 4, 16)
# A stretch of time may hold so many more than wanted: more than one call writes in a millisecond.
MOMENT_POINTS = 1_000
# Times in ms are halved from here on: the year 2109. Later times are one stretch.
TIMES_MS = 2**42


def ranked(backend: port.IndexBackend, passages: Passages, legs: Sequence[port.QueryRequest]) -> list[dict[str, float]]:
    """For each leg the best memories with their scores, best first, by one batched query. More queries follow only when
    passages of one memory or equal scores at the end crowd a list."""
    for asked in legs:
        if not 1 <= asked.limit <= SEARCH_LIMIT_MAX:
            raise InvalidArgument("limit", asked.limit, f"1 to {SEARCH_LIMIT_MAX} memories")
    pools: list[dict[str, float]] = [{} for _ in legs]
    # Side by side, because Edge answers those of one field together: 8 searches take 6.5 ms, in turns 9.2.
    waiting = sorted(range(len(legs)), key=lambda leg: legs[leg].using)
    for growth in FETCH_GROWTH:
        fetch = [leg.limit * growth + FETCH_MARGIN_POINTS for leg in legs]
        answers = backend.query([replace(legs[leg], limit=fetch[leg]) for leg in waiting])
        crowded = []
        for leg, hits in zip(waiting, answers, strict=True):
            cut = len(hits) == fetch[leg]
            pools[leg] = passages.pool(hits, legs[leg].limit, cut)
            if cut and len(pools[leg]) < legs[leg].limit:
                if growth != FETCH_GROWTH[-1]:
                    crowded.append(leg)
                elif _rounded(hits[-1 - legs[leg].limit]) == _rounded(hits[-1]):
                    pools[leg] = _newest(backend, passages, legs[leg], hits)
        waiting = crowded
        if not waiting:
            break
    return pools


def _newest(
    backend: port.IndexBackend, passages: Passages, leg: port.QueryRequest, cut_hits: Sequence[port.Scored]
) -> dict[str, float]:
    """The best of a leg when `cut_hits` end within a large group of equal scores: of that group some of the newest.

    Halves the time until it has a stretch up to now whose part of the group is whole and enough. The steps depend on
    which memories there are, never on their order. When one millisecond holds too many memories, the rest comes from
    `cut_hits`.
    """
    better, came = (passages.pool(cut_hits, leg.limit, cut) for cut in (True, False))
    score, points = _rounded(cut_hits[-1]), 2 * leg.limit + MOMENT_POINTS
    best, since, step, cut = better, 0, TIMES_MS, True
    while (step := step // 2) and len(best) < leg.limit:
        since += step if cut else -step
        where = replace(leg.filter, must=(*leg.filter.must, port.Range("created_at", gte=since)))
        (hits,) = backend.query([replace(leg, filter=where, limit=points)])
        cut = len(hits) == points and _rounded(hits[-1]) >= score
        if not cut:
            equal = {id_: value for id_, value in passages.pool(hits, leg.limit, cut).items() if value >= score}
            best = max(best, better | equal, key=len)
    return dict(islice((best | came).items(), leg.limit))


def _rounded(hit: port.Scored) -> float:
    return float(np.round(hit[1], SCORE_DECIMALS))


SCORE_DECIMALS = 5  # engines sum floats in an order that differs by run, about 1e-7 apart
SCROLL_PAGE_POINTS = 1000


class Passages:
    """The map between points and memories of one index."""

    def __init__(self) -> None:
        self._memory_of: dict[str, str] = {}  # each passage after the first -> its memory
        self._others: dict[str, tuple[str, ...]] = {}  # memory -> its points after the first, where there are any

    def read(self, backend: port.IndexBackend) -> None:
        """Learn what the index holds. Raises DataLoss when a passage does not say whose it is."""
        number: dict[str, int] = {}
        for record in records_of(backend, port.Filter(must=(port.Range("passage", gte=1),))):
            memory, passage = record.payload.get("memory"), record.payload.get("passage")
            if not isinstance(memory, str) or not isinstance(passage, int):
                raise DataLoss(f"the index has lost the memory of the point {record.id}")
            number[memory] = max(number.get(memory, 1), passage + 1)
        for memory, passages in number.items():
            self.note(memory, passages)

    def ids(self, memory: str, first: int) -> Sequence[str]:
        """The points of a memory from passage `first` on."""
        others = self._others.get(memory, ())
        return others[first - 1 :] if first else (memory, *others)

    def points(self, memories: Sequence[str]) -> tuple[str, ...]:
        """All points of these memories."""
        if not self._others:
            return tuple(memories)
        return tuple(point for memory in memories for point in self.ids(memory, 0))

    def note(self, memory: str, number: int) -> None:
        """The memory has that many passages now; 0 when it is gone."""
        for stale in self._others.pop(memory, ()):
            self._memory_of.pop(stale, None)
        if number > 1:
            self._others[memory] = others = tuple(point_id(memory, passage) for passage in range(1, number))
            self._memory_of.update(dict.fromkeys(others, memory))

    def best(self, hits: Sequence[port.Scored]) -> dict[str, float]:
        """The best passage's score of each memory; `hits` are best first."""
        if not hits:
            return {}
        ids, exact = zip(*reversed(hits), strict=True)
        memories = map(self._memory_of.get, ids, ids) if self._memory_of else ids
        return dict(zip(memories, np.round(exact, SCORE_DECIMALS).tolist(), strict=True))

    def pool(self, hits: Sequence[port.Scored], limit: int, cut: bool) -> dict[str, float]:
        """The best passage's score of each memory, best first, at most `limit`, equal ones by id.

        `cut` says that the index had more hits than these. Which of several equal scores such a list ends with
        depends on the order of insertion, so its last group is left out.
        """
        if not hits:
            return {}
        ids, exact = zip(*hits, strict=True)
        minus: list[float] = (-np.round(exact, SCORE_DECIMALS)).tolist()
        memories = map(self._memory_of.get, ids, ids) if self._memory_of else ids
        worst = minus[-1] if cut else inf
        ordered = sorted(zip(minus, memories, strict=True))
        if not self._memory_of:  # each hit is a memory
            end = min(limit, bisect_left(ordered, worst, key=itemgetter(0)))
            return {memory: -below for below, memory in ordered[:end]}
        best: dict[str, float] = {}
        for below, memory in ordered:
            if below >= worst or len(best) == limit:
                break
            best.setdefault(memory, -below)
        return best


def records_of(backend: port.IndexBackend, where: port.Filter) -> Iterator[port.Record]:
    """Every point that passes the filter, without vectors."""
    offset: str | None = ""
    while offset is not None:
        records, offset = backend.scroll(where, SCROLL_PAGE_POINTS, offset or None)
        yield from records


def cosines_of(
    backend: port.IndexBackend, passages: Passages, asked: Sequence[tuple[port.DenseVector | None, Sequence[str]]]
) -> list[dict[str, float]]:
    """For each vector its cosine with these memories, by their best passages; none without a vector."""
    cosines: list[dict[str, float]] = [{} for _ in asked]
    legs: dict[int, port.QueryRequest] = {}
    for number, (vector, ids) in enumerate(asked):
        if vector is not None and ids:
            points = passages.points(ids)
            legs[number] = port.QueryRequest(vector, DENSE, len(points), port.Filter(must=(port.HasId(points),)))
    if legs:
        for number, hits in zip(legs, backend.query(list(legs.values())), strict=True):
            cosines[number] = passages.best(hits)
    return cosines


def vectors_of(backend: port.IndexBackend, ids: Sequence[str]) -> dict[str, port.DenseVector]:
    """The embedding (dimensions,) of the first passage of each of these memories that is here, in order of ids."""
    records, _ = backend.scroll(port.Filter(must=(port.HasId(tuple(ids)),)), max(1, len(ids)), with_vectors=True)
    held = {record.id: record.vectors.get(DENSE) for record in records}
    return {
        id_: data for id_, data in sorted(held.items()) if data is not None and not isinstance(data, port.SparseVector)
    }
