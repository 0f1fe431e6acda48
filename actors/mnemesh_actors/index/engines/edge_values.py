"""How points and vectors cross the border to Qdrant Edge, one way and back."""

from __future__ import annotations

from typing import Final, cast

import numpy as np
import qdrant_edge as edge

from mnemesh_actors.index.engine_port import DenseVector, Point, Record, SparseVector, plain_payload, read_payload
from mnemesh_memory.values.errors import DataLoss

ID: Final = "id"  # the payload field with the id of the point


def vector_of(vector: DenseVector | SparseVector) -> list[float] | edge.SparseVector:
    """As Edge takes it."""
    if isinstance(vector, SparseVector):
        return edge.SparseVector(list(vector.indices), list(vector.values))
    return cast("list[float]", vector)  # Edge reads a float32 array without a copy to a list


def point_of(number: int, point: Point) -> edge.Point:
    """The point in Edge's form, under its number and with its id in the payload."""
    vectors = {name: vector_of(vector) for name, vector in point.vectors.items()}
    return edge.Point(number, cast("edge.Vector", vectors), {**plain_payload(point.payload), ID: point.id})


def id_of(record: edge.Record) -> str:
    """Whose point it is. Raises DataLoss when that is lost."""
    id_ = (record.payload or {}).get(ID)
    if not isinstance(id_, str) or not isinstance(record.id, int):
        raise DataLoss(f"the index has lost the id of the point {record.id}")
    return id_


def record_of(record: edge.Record) -> Record:
    """As the port tells of it."""
    payload = read_payload(record.payload)
    payload.pop(ID, None)
    stored = record.vector if isinstance(record.vector, dict) else {}
    vectors: dict[str, DenseVector | SparseVector] = {
        name: SparseVector(vector.indices, vector.values)
        if isinstance(vector, edge.SparseVector)
        else np.asarray(vector, dtype=np.float32)
        for name, vector in stored.items()
    }
    return Record(id_of(record), payload, vectors)
