"""The port of a retrieval shard to a vector index: a few methods over small values of our own.

Knows no backend: importing this file costs nothing, and a backend translates these values one way. Scores are compared
by the caller, in Python; a backend never fuses. Booleans exist nowhere in this vocabulary. Qdrant Edge 0.9.0 takes a
boolean match for an integer and lets everything through a `must_not`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DenseVector: TypeAlias = "NDArray[np.float32]"
PayloadValue: TypeAlias = str | int | tuple[str, ...]
# Up to so many points dense search is exact: as fast as a graph there, deterministic, and with recall 1.
EXACT_POINTS_MAX = 50_000


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term ids (unique, below 2**32) and their weights, same length."""

    indices: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One entry: a UUID as lower-case text, its named vectors, and the fields for filters."""

    id: str
    vectors: Mapping[str, DenseVector | SparseVector]
    payload: Mapping[str, PayloadValue]


@dataclass(frozen=True, slots=True)
class Match:
    """The field equals the value, or contains it when the field holds several."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class MatchAny:
    """The field equals, or contains, at least one of the values. No value: matches nothing."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """The integer field lies in [gte, lt); None leaves an end open. A point without the field does not match."""

    field: str
    gte: int | None = None
    lt: int | None = None


@dataclass(frozen=True, slots=True)
class HasId:
    """The point is one of these."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """All of `must` and none of `must_not`. It can be a condition of another one."""

    must: tuple[Condition, ...] = ()
    must_not: tuple[Condition, ...] = ()


Condition: TypeAlias = Match | MatchAny | Range | HasId | Filter


@dataclass(frozen=True, slots=True, eq=False)
class QueryRequest:
    """The `limit` nearest points to `vector` in the vector field `using`.

    `idf_corpus` (sparse only): the points whose term statistics count. None is the whole index, where Edge goes on
    counting what was deleted or replaced until it is loaded again; a corpus counts exactly.
    """

    vector: DenseVector | SparseVector
    using: str
    limit: int
    filter: Filter
    idf_corpus: Filter | None = None
    visits: int = 0  # candidates while Edge searches a graph, 0 for the usual number


# One hit: id and score, a cosine in [-1, 1] for a dense field, the BM25 sum for a sparse one. Payloads are not fetched:
# they double the cost of a query.
Scored: TypeAlias = tuple[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One stored point. Dense vectors come back L2-normalised; `vectors` is empty unless asked for."""

    id: str
    payload: Mapping[str, PayloadValue]
    vectors: Mapping[str, DenseVector | SparseVector] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields of an index. `dense` maps vector field to dimensions (cosine); `sparse` names BM25 fields with IDF.

    `tenant` is the keyword that every query filters by. `keywords` are matched, `times` are integers ranged over, and
    `stored` is kept but not filtered by. An index may grow indexed
    fields when opened again. Its vectors never change.
    """

    dense: Mapping[str, int]
    sparse: tuple[str, ...] = ()
    tenant: str = ""
    keywords: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()

    @property
    def texts(self) -> frozenset[str]:
        return frozenset((*self.keywords, *((self.tenant,) if self.tenant else ())))


def plain_payload(payload: Mapping[str, PayloadValue]) -> dict[str, object]:
    """A payload with lists for tuples, as engines store it."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in payload.items()}


def read_payload(stored: Mapping[str, Any] | None) -> dict[str, PayloadValue]:
    """A stored payload with tuples for lists."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in (stored or {}).items()}


class IndexBackend(Protocol):
    """One index. Synchronous and serial; not safe to share between threads.

    Points and vectors outside the schema raise InvalidArgument, before anything was changed. DataLoss means that stored
    bytes are damaged. Unavailable means that the index is closed, locked by another process or not reachable.
    """

    def open(self, schema: Schema) -> bool:
        """Open or create. True when it was created, and so holds nothing."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Insert, or replace whole points (vectors that the new point lacks are gone). Visible at once."""

    def delete(self, ids: Sequence[str]) -> None:
        """Remove these points. Ids that do not exist are skipped."""

    def query(self, requests: Sequence[QueryRequest]) -> list[list[Scored]]:
        """One list for each request, best first. The order among equal scores is not defined."""

    def scroll(
        self, where: Filter, limit: int, offset: str | None = None, with_vectors: bool = False
    ) -> tuple[list[Record], str | None]:
        """A page of points in an order of the index's own, and the offset of the next page or None."""

    def count(self) -> int:
        """The exact number of points."""

    def maintain(self) -> None:
        """Make everything durable, and keep the segments in shape."""

    def close(self) -> None:
        """Make everything durable and let go. A second call does nothing."""
