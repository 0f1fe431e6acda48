"""Everything that an update may not contain, found before the backend sees it.

Qdrant Edge applies the part of a batch before the bad point and keeps the batch in its write-ahead log. So a refused
update is half applied at once, and more so after a crash. It also takes NaN and repeated term ids without a word. Hence
both backends run these checks over a whole batch first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from mnemesh_actors.index.engine_port import DenseVector, Point, QueryRequest, Schema, SparseVector
from mnemesh_actors.index.points import check_id
from mnemesh_memory.values.errors import InvalidArgument

INTEGER_MAX = 2**53  # ranges are compared as IEEE doubles, exact up to here
TERM_ID_MAX = 2**32 - 1
QUERY_POINTS_MAX = 10_000


def check_points(schema: Schema, points: Sequence[Point]) -> None:
    """Raises InvalidArgument naming the first thing in the batch that breaks the schema."""
    for point in points:
        check_id(point.id)
        missing = schema.dense.keys() - point.vectors.keys()
        if missing:
            raise InvalidArgument("vectors", sorted(point.vectors), f"needs {', '.join(sorted(missing))}")
        for name, vector in point.vectors.items():
            check_vector(schema, name, vector)
        check_payload(schema, point.payload)


def check_query(schema: Schema, request: QueryRequest) -> None:
    """Raises InvalidArgument when the request names a field that is not in the schema, or asks for too much."""
    check_vector(schema, request.using, request.vector)
    if request.idf_corpus is not None and request.using in schema.dense:
        raise InvalidArgument("idf_corpus", request.using, "only a sparse field has term statistics")
    if not 1 <= request.limit <= QUERY_POINTS_MAX:
        raise InvalidArgument("limit", request.limit, f"1 to {QUERY_POINTS_MAX} points")


def check_vector(schema: Schema, name: str, vector: DenseVector | SparseVector) -> None:
    """A known name; then the right dimension and finite, or unique term ids and finite weights."""
    if isinstance(vector, SparseVector):
        if name not in schema.sparse:
            raise InvalidArgument("vectors", name, f"a sparse field of this index: {', '.join(schema.sparse)}")
        _check_sparse(name, vector)
        return
    dimensions = schema.dense.get(name)
    if dimensions is None:
        raise InvalidArgument("vectors", name, f"a dense field of this index: {', '.join(schema.dense)}")
    if not isinstance(vector, np.ndarray) or vector.shape != (dimensions,) or vector.dtype != np.float32:
        shape = getattr(vector, "shape", type(vector).__name__)
        raise InvalidArgument(name, shape, f"a float32 vector of {dimensions} dimensions")
    # One dot product is finite exactly when no component is NaN or infinite and the norm does not overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        squared = vector.dot(vector)
    if not np.isfinite(squared):
        raise InvalidArgument(name, "NaN or infinite component", "finite numbers")


def _check_sparse(name: str, vector: SparseVector) -> None:
    indices, values = vector.indices, vector.values
    if len(indices) != len(values):
        raise InvalidArgument(name, f"{len(indices)} ids, {len(values)} weights", "as many weights as term ids")
    if len(set(indices)) != len(indices):
        raise InvalidArgument(name, "repeated term id", "unique term ids")
    if indices and not 0 <= min(indices) <= max(indices) <= TERM_ID_MAX:
        raise InvalidArgument(name, "term id out of range", f"0 to {TERM_ID_MAX}")
    if not np.isfinite(sum(values)):
        raise InvalidArgument(name, "NaN or infinite weight", "finite numbers")


def check_payload(schema: Schema, payload: Mapping[str, object]) -> None:
    """Known fields only, so that no text can slip in; integers that a double holds; never a boolean."""
    for name, value in payload.items():
        if name in schema.times or (name in schema.stored and isinstance(value, int)):
            _check_integer(name, value)
        elif name in schema.texts or name in schema.stored:
            _check_texts(name, value if isinstance(value, tuple) else (value,))
        else:
            raise InvalidArgument("payload", name, "a field of this index")


def _check_integer(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > INTEGER_MAX:
        raise InvalidArgument(name, value, "an integer of at most 53 bits")


def _check_texts(name: str, values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            raise InvalidArgument(name, value, "text")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidArgument(name, value, "text without lone surrogates") from None
