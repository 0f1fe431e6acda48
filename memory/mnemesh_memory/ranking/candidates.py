"""Candidates of a question: one at a time, or as columns.

Calculations run over some hundred candidates at once. Only candidates that somebody looks at become objects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from mnemesh_memory.text.traits import Traits

Column: TypeAlias = NDArray[np.float64]

# Traits but for the speakers; `told` says of whom they are known.
TRAITS: Final = np.dtype([("at", np.int64), ("words", np.int8), ("times", np.int8), ("told", np.bool_)])


class Context(NamedTuple):
    """The surroundings of a candidate in its episode."""

    window: float = 0.0  # The BM25 score of its text together with the texts just before.
    near: float = 0.0  # The mean cosine of the two neighbours, 0 for a neighbour outside of the list.
    best_dense: float = 0.0  # The best cosine of the episode.
    best_window: float = 0.0  # The best window of the episode.
    opens: float = 0.0  # 1 for the first memory of the episode, else 0.


class Candidate(NamedTuple):
    """A memory with the raw scores that the index gave: cosine in [-1, 1], BM25 >= 0; None where a list lacks it.
    Without a context it is its own episode."""

    id: str
    dense: float | None = None
    bm25: float | None = None
    context: Context | None = None
    traits: Traits | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Sequence[Candidate]):
    """Some memories with their raw scores, in the order of their ids, which are unique. A row is a Candidate.

    `dense` and `bm25` have shape (n,) and NaN where a list lacks a memory. `around` has shape (n, 5), the fields of
    Context, and NaN in the rows of those without one; None when nobody has one. `traits` has shape (n,) and the dtype
    TRAITS. `episodes` has shape (n,) and the number of the episode, 0 for none; None when nobody counted.
    """

    ids: Sequence[str]
    dense: Column
    bm25: Column
    around: Column | None
    traits: NDArray[np.void]
    speakers: Sequence[tuple[int, ...]]
    episodes: NDArray[np.intc] | None = None

    @classmethod
    def of(cls, rows: Iterable[Candidate]) -> Candidates:
        """The same as columns; itself when it is that already."""
        if isinstance(rows, Candidates):
            return rows
        pool = sorted(rows, key=lambda one: one.id)
        nowhere = (math.nan,) * len(Context._fields)
        around = [nowhere if one.context is None else one.context for one in pool]
        return cls(
            ids=[one.id for one in pool],
            dense=_column(one.dense for one in pool),
            bm25=_column(one.bm25 for one in pool),
            around=np.array(around, np.float64) if any(one.context for one in pool) else None,
            traits=np.array([traits_row(one.traits) for one in pool], TRAITS),
            speakers=[one.traits.speakers if one.traits else () for one in pool],
        )

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Candidate: ...

    @overload
    def __getitem__(self, at: slice) -> list[Candidate]: ...

    def __getitem__(self, at: int | slice) -> Candidate | list[Candidate]:
        if isinstance(at, slice):
            return [self._row(number) for number in range(len(self))[at]]
        return self._row(range(len(self))[at])

    def __iter__(self) -> Iterator[Candidate]:
        return map(self._row, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def _row(self, at: int) -> Candidate:
        context = None if self.around is None or math.isnan(self.around[at, 0]) else Context(*self.around[at].tolist())
        moment, words, times, told = self.traits[at].item()
        traits = Traits(moment, words, times, self.speakers[at]) if told else None
        return Candidate(self.ids[at], known_at(self.dense, at), known_at(self.bm25, at), context, traits)


def traits_row(traits: Traits | None) -> tuple[int, int, int, bool]:
    """A row of TRAITS."""
    return (0, 0, 0, False) if traits is None else (*traits[:3], True)


def _column(values: Iterable[float | None]) -> Column:
    return np.array([math.nan if value is None else value for value in values], np.float64)


def known_at(column: Column, at: int) -> float | None:
    """A value of a column; NaN stands for None."""
    value = float(column[at])
    return None if math.isnan(value) else value
