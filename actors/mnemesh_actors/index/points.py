"""From a memory to its points: ids, vectors, fields. Never its content or title.

A memory of one passage is one point with the memory's own id. Passage n > 0 has the id uuid5(memory, n) and carries the
memory's id. Edge keeps deleted payloads in its files, so only fields for filters are stored, and tags, agent and
session come hashed (`masked.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

import numpy as np

from mnemesh_actors.index.engine_port import DenseVector, PayloadValue, Point, QueryRequest, Schema, SparseVector
from mnemesh_actors.index.index_item import IndexItem
from mnemesh_actors.index.scope import SCOPE, scope_of
from mnemesh_memory.values.errors import InvalidArgument

if TYPE_CHECKING:
    from mnemesh_actors.index.bm25 import Bm25Encoder


DENSE = "dense"
BM25 = "bm25"
WINDOW = "window"
PASSAGES_MAX = 1024
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def schema(dimensions: int) -> Schema:
    """The fields of a retrieval index whose embeddings have that many dimensions."""
    return Schema(
        dense={DENSE: dimensions},
        sparse=(BM25, WINDOW),
        tenant=SCOPE,
        keywords=("kind", "tags", "agent", "session"),
        times=("created_at", "happened_at", "passage"),
        stored=("memory", "seq", "updated_at", "valid_from", "valid_to", "place", "traits"),
    )


def check_id(text: str) -> str:
    """The text itself, if it spells a UUID canonically. Raises InvalidArgument for any other."""
    if not isinstance(text, str) or _ID.fullmatch(text) is None:
        raise InvalidArgument("id", text, "a UUID in lower case")
    return text


def point_id(memory: str, passage: int) -> str:
    """The id of passage `passage` (from 0) of a memory."""
    return memory if passage == 0 else str(uuid5(UUID(check_id(memory)), str(passage)))


def points_of(item: IndexItem, encoder: Bm25Encoder) -> list[Point]:
    """One point for each passage, in their order. Raises InvalidArgument without a space or a passage."""
    if not 1 <= len(item.texts) <= PASSAGES_MAX:
        raise InvalidArgument("texts", len(item.texts), f"1 to {PASSAGES_MAX} passages")
    shared = _payload(item)
    points = []
    for passage, text in enumerate(item.texts):
        payload = shared if passage == 0 else {**shared, "memory": item.id, "passage": passage}
        vectors: dict[str, DenseVector | SparseVector] = {DENSE: text.dense}
        terms = encoder.document(text.lexical)
        if terms.indices:
            vectors[BM25] = terms
        if episode_of(item) is not None and passage == 0:
            # Of an episode's memory also together with what was said just before: an answer seldom repeats the words
            # of its question.
            wide = encoder.document("\n".join((*item.before, text.lexical))) if item.before else terms
            if wide.indices:
                vectors[WINDOW] = wide
        points.append(Point(point_id(item.id, passage), vectors, payload))
    return points


def episode_of(item: IndexItem) -> tuple[str, str] | None:
    """Space and session of a memory that stands in an episode: it has a session and is not forgotten or replaced."""
    return (item.space, item.session) if item.session and item.state == "active" else None


def _payload(item: IndexItem) -> dict[str, PayloadValue]:
    payload: dict[str, PayloadValue] = {
        SCOPE: scope_of(item.space, item.state, item.tier),
        "kind": item.kind,
        "created_at": item.created_at,
        "happened_at": item.created_at if item.valid_from is None else item.valid_from,
        "updated_at": item.updated_at,
    }
    texts: dict[str, str | tuple[str, ...]] = {"agent": item.agent, "session": item.session, "tags": item.tags}
    times = {"seq": item.seq, "valid_from": item.valid_from, "valid_to": item.valid_to}
    payload.update({name: text for name, text in texts.items() if text})
    payload.update({name: time for name, time in times.items() if time is not None})
    if episode_of(item) is not None:
        payload["place"] = item.place
    if item.traits is not None:
        at, words, marks, speakers, asks = item.traits
        payload["traits"] = " ".join(map(str, (at, words, marks, int(asks), *speakers)))
    return payload


# ---- everything that an update may not contain, found before the backend sees it -------------------------------------
# Qdrant Edge applies the part of a batch before the bad point and keeps the batch in its write-ahead log. So a refused
# update is half applied at once, and more so after a crash. It also takes NaN without a word. Hence both backends
# run these checks over a whole batch first.

INTEGER_MAX = 2**53  # ranges are compared as IEEE doubles, exact up to here


def read_vectors(stored: object, sparse: type[Any]) -> dict[str, DenseVector | SparseVector]:
    """The vectors of a point as an engine gives them back, with its class of `sparse` vectors."""
    return {
        name: SparseVector(raw.indices, raw.values) if isinstance(raw, sparse) else np.asarray(raw, dtype=np.float32)
        for name, raw in (stored.items() if isinstance(stored, dict) else ())
    }


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
