"""Everything that an update may not contain, found before the backend sees it.

Qdrant Edge applies the part of a batch before the bad point and keeps the batch in its write-ahead log. So a refused
update is half applied at once, and more so after a crash. It also takes NaN without a word. Hence both backends
run these checks over a whole batch first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mnemesh_actors.index.engine_port import DenseVector, Point, QueryRequest, Schema, SparseVector
from mnemesh_actors.index.points import check_id
from mnemesh_memory.values.errors import InvalidArgument

INTEGER_MAX = 2**53  # ranges are compared as IEEE doubles, exact up to here


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
    """Raises InvalidArgument when the request names a field that is not in the schema."""
    check_vector(schema, request.using, request.vector)
    if request.idf_corpus is not None and request.using in schema.dense:
        raise InvalidArgument("idf_corpus", request.using, "only a sparse field has term statistics")


def check_vector(schema: Schema, name: str, vector: DenseVector | SparseVector) -> None:
    """A known name and, for a dense vector, the right dimension and finite numbers."""
    if isinstance(vector, SparseVector):
        if name not in schema.sparse:
            raise InvalidArgument("vectors", name, f"a sparse field of this index: {', '.join(schema.sparse)}")
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


def check_payload(schema: Schema, payload: Mapping[str, object]) -> None:
    """Known fields only, so that no text can slip in, and integers that a double holds exactly."""
    for name, value in payload.items():
        if name not in schema.times and name not in schema.texts and name not in schema.stored:
            raise InvalidArgument("payload", name, "a field of this index")
        if (name in schema.times or isinstance(value, int)) and not _fits(value):
            raise InvalidArgument(name, value, "an integer of at most 53 bits")


def _fits(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INTEGER_MAX
