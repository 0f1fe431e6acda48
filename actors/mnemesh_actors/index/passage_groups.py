"""Which points are passages of which memory: the first has the memory's own id, so only the others are listed.

Held in memory and read back from the index when it is opened, because fetching payloads doubles the cost of a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from mnemesh_actors.index.engine_port import (
    DenseVector,
    Filter,
    HasId,
    IndexBackend,
    Range,
    Record,
    Scored,
    SparseVector,
)
from mnemesh_actors.index.points import DENSE, point_id
from mnemesh_memory.values.errors import DataLoss

SCORE_DECIMALS = 5  # engines sum floats in an order that differs by run, about 1e-7 apart
SCROLL_PAGE_POINTS = 1000


class Passages:
    """The map between points and memories of one index."""

    def __init__(self) -> None:
        self._memory_of: dict[str, str] = {}  # each passage after the first -> its memory
        self._number: dict[str, int] = {}  # memory -> how many passages, where more than one

    def read(self, backend: IndexBackend) -> None:
        """Learn what the index holds. Raises DataLoss when a passage does not say whose it is."""
        for record in records_of(backend, Filter(must=(Range("passage", gte=1),))):
            memory, passage = record.payload.get("memory"), record.payload.get("passage")
            if not isinstance(memory, str) or not isinstance(passage, int):
                raise DataLoss(f"the index has lost the memory of the point {record.id}")
            self._memory_of[record.id] = memory
            self._number[memory] = max(self._number.get(memory, 1), passage + 1)

    def ids(self, memory: str, first: int) -> list[str]:
        """The points of a memory from passage `first` on."""
        return [point_id(memory, passage) for passage in range(first, self._number.get(memory, 1))]

    def note(self, memory: str, number: int) -> None:
        """The memory has that many passages now; 0 when it is gone."""
        for stale in self.ids(memory, max(number, 1)):
            self._memory_of.pop(stale, None)
        self._number.pop(memory, None)
        if number > 1:
            self._number[memory] = number
            self._memory_of.update((point_id(memory, passage), memory) for passage in range(1, number))

    def pool(self, hits: Sequence[Scored], limit: int, cut: bool) -> dict[str, float]:
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
        best: dict[str, float] = {}
        for below, memory in sorted(zip(minus, memories, strict=True)):
            if below >= worst or len(best) == limit:
                break
            best.setdefault(memory, -below)
        return best


def records_of(backend: IndexBackend, where: Filter) -> Iterator[Record]:
    """Every point that passes the filter, without vectors."""
    offset: str | None = ""
    while offset is not None:
        records, offset = backend.scroll(where, SCROLL_PAGE_POINTS, offset or None)
        yield from records


def vectors_of(backend: IndexBackend, ids: Sequence[str]) -> dict[str, DenseVector]:
    """The embedding (dimensions,) of the first passage of each of these memories that is here, in order of ids."""
    records, _ = backend.scroll(Filter(must=(HasId(tuple(ids)),)), max(1, len(ids)), with_vectors=True)
    found = {record.id: record.vectors.get(DENSE) for record in records}
    return {id_: one for id_, one in sorted(found.items()) if one is not None and not isinstance(one, SparseVector)}
