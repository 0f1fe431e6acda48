"""The port on Qdrant Edge: an index inside this process, one directory.

Holds the interpreter lock during every call, so a large index belongs in a process of its own. Makes no graph by
itself: search is exact but in the segments that segments.py has sealed. The directory is locked by Edge itself; an open
index must never be carried through a fork.

Edge makes a UUID object of every hit, which takes longer than the search. So points have numbers there, in order of
arrival, and carry the id in the payload. The numbers mean nothing elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import qdrant_edge as edge
import structlog

from mnemesh_actors.index import engine_port as port
from mnemesh_actors.index.engines.edge_log import emptied
from mnemesh_actors.index.points import check_id, check_points, check_query, read_vectors
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, MnemeshError, Unavailable

POINTS_PER_UPDATE = 256
SCROLL_LIMIT_MAX = 10_000
# The graph: links a point, candidates while it is made, and candidates while it is searched, a result and at least. Of
# several graphs each has a part of the best, so each visits fewer: .997 of the ten nearest of 300,000 in three graphs.
GRAPH_LINKS = 16
GRAPH_BREADTH = 64
GRAPH_VISITS = 2
GRAPH_VISITS_MIN = 320
# A graph is walked on vectors of a byte a dimension, in a third of the time. The vectors score the candidates.
QUANTILE = 0.995
# A filter that leaves no more than this share of a full segment is searched whole there. With no more points left than
# so many full segments, search is exact everywhere.
WHOLE_SHARE_MAX = 0.25
WHOLE_SEGMENTS_MAX = 2
# Up to so many full segments a graph is made without further links for ranges of times. They are a seventh of its cost
# and bring nothing there: .999 of the ten nearest of 21,000 real texts either way. Without them a graph of 84,000 mixed
# vectors found .92, and .999 with, for twice the cost. No size between was measured.
UNLINKED_SEGMENTS_MAX = 1.5
# Of a segment that is made anew: less than this share of it gone is not worth Edge's while.
GONE_SHARE_MIN = 0.01
ID = "id"  # the payload field with the id of the point
log = structlog.get_logger("mnemesh.index")


class EdgeBackend:
    """An index in the directory `path`. Search is exact except in the `graphs` segments with a graph, and there too
    where a filter leaves few of `segment_points`. With `whole`, the number of all points, `optimise` makes one segment
    of them, with a graph."""

    def __init__(self, path: str | Path, segment_points: int = port.EXACT_POINTS_MAX, whole: int = 0) -> None:
        self.graphs = 0
        self._path = Path(path)
        self._segment_points = segment_points
        self._whole = whole
        self._shard: edge.EdgeShard | None = None
        self._schema = port.Schema(dense={})
        self._ids: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._last = 0  # the highest number that was ever given
        self._erased = False  # since the log was emptied

    def open(self, schema: port.Schema) -> bool:
        if self._shard is not None:
            raise FailedPrecondition(f"the index in {self._path} is open already")
        created = not self._path.exists() or not any(self._path.iterdir())
        self._path.mkdir(parents=True, exist_ok=True)
        self._schema = schema
        if not created:
            self._check_stored(schema)
        self._load(edge.EdgeShard.create if created else edge.EdgeShard.load)
        try:
            self._index_fields(schema)
            self._count_points()
        except MnemeshError:
            self.close()
            raise
        return created

    def _count_points(self) -> None:
        """Learn the number of every point. Raises DataLoss when a point has lost its id."""
        self._ids.clear()
        offset: Any = 0  # before the first number
        while offset is not None:
            request = edge.ScrollRequest(
                offset=offset, limit=SCROLL_LIMIT_MAX, with_payload=edge.PayloadSelector.Include([ID])
            )
            with self._translated():
                records, offset = self._opened().scroll(request)
            self._ids.update((cast("int", record.id), id_of(record)) for record in records)
        self._numbers = {id_: number for number, id_ in self._ids.items()}
        self._last = max(self._ids, default=0)

    def _load(self, make: Callable[[str, edge.EdgeConfig], edge.EdgeShard]) -> None:
        with self._translated():
            self._shard = make(str(self._path), self._config(self._schema.dense, self._schema.sparse))

    def _config(self, dense: Mapping[str, int], sparse: Sequence[str]) -> edge.EdgeConfig:
        kilobytes = max(1, self._segment_points * max(dense.values(), default=1) * 4 // 1024)
        # One thread: the node keeps the other cores, and the same points give the same graph.
        whole = max(1, int(kilobytes * WHOLE_SHARE_MAX))
        links = None if self._whole > self._segment_points * UNLINKED_SEGMENTS_MAX else 0
        graph = edge.HnswIndexConfig(GRAPH_LINKS, GRAPH_BREADTH, whole, max_indexing_threads=1, payload_m=links)
        optimizers = edge.EdgeOptimizersConfig(indexing_threshold=kilobytes)
        quantized = None
        if self._whole:
            quantized = edge.ScalarQuantizationConfig(edge.ScalarType.Int8, quantile=QUANTILE, always_ram=False)
            optimizers = edge.EdgeOptimizersConfig(
                deleted_threshold=GONE_SHARE_MIN,
                vacuum_min_vector_number=1,
                indexing_threshold=1,
                default_segment_number=1,
            )
        idf = edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)
        return edge.EdgeConfig(
            vectors={
                name: edge.EdgeVectorParams(
                    size=size, distance=edge.Distance.Cosine, hnsw_config=graph, quantization_config=quantized
                )
                for name, size in dense.items()
            },
            sparse_vectors=dict.fromkeys(sparse, idf),
            max_search_threads=1,
            optimizers=optimizers,
        )

    def _check_stored(self, schema: port.Schema) -> None:
        """Raises when the dense fields of the directory are not the schema's."""
        try:
            stored = json.loads((self._path / "edge_config.json").read_bytes())
            dense = {name: int(params["size"]) for name, params in stored["vectors"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataLoss(f"the index in {self._path} has no readable configuration: {error}") from error
        if dense != dict(schema.dense):
            raise FailedPrecondition(f"the index in {self._path} holds vectors {dense}, not {dict(schema.dense)}")

    def _index_fields(self, schema: port.Schema) -> None:
        """Add the payload indexes that the directory lacks."""
        wanted: dict[str, edge.KeywordIndexParams | edge.IntegerIndexParams] = {
            **{name: edge.KeywordIndexParams(enable_hnsw=False) for name in schema.keywords},
            **{name: edge.IntegerIndexParams(lookup=False, range=True) for name in schema.times},
        }
        if schema.tenant:
            wanted[schema.tenant] = edge.KeywordIndexParams(is_tenant=True, enable_hnsw=False)
        with self._translated():
            present = self._opened().info().payload_schema
        for name, params in wanted.items():
            if name not in present:
                self._update(edge.UpdateOperation.create_field_index(name, params))

    def upsert(self, points: Sequence[port.Point]) -> None:
        self._opened()
        check_points(self._schema, points)
        for start in range(0, len(points), POINTS_PER_UPDATE):
            batch = points[start : start + POINTS_PER_UPDATE]
            self._update(edge.UpdateOperation.upsert_points([point_of(self._number(item.id), item) for item in batch]))

    def _number(self, id_: str) -> int:
        """The number of a point, a fresh one for a new point."""
        number = self._numbers.get(id_)
        if number is None:
            self._last = number = self._last + 1
            self._numbers[id_], self._ids[number] = number, id_
        return number

    def delete(self, ids: Sequence[str]) -> None:
        self._opened()
        # Also of points that are not there: a crash may have come between their deletion and the log's emptying.
        self._erased = self._erased or bool(ids)
        numbers = sorted(self.numbers(ids))
        if numbers:
            self._update(edge.UpdateOperation.update_vectors(self._harmless(numbers)))
            self._update(edge.UpdateOperation.delete_points(cast("list[Any]", numbers)))
        for number in numbers:
            del self._numbers[self._ids.pop(number)]

    def numbers(self, ids: Sequence[str]) -> set[int]:
        """The numbers of the points that are there. Raises InvalidArgument for what is no id."""
        known = self._numbers
        return {known[id_] for id_ in ids if id_ in known or not check_id(id_)}

    def put_again(self, numbers: Sequence[int], records: Sequence[port.Record]) -> None:
        """Take everything under these `numbers` out of the segments, and store the present points again: `records`."""
        if numbers:
            self._update(edge.UpdateOperation.delete_points(list(numbers)))
        self.upsert([port.Point(record.id, record.vectors, record.payload) for record in records])

    @contextmanager
    def released(self) -> Iterator[None]:
        """Edge lets go of the directory within, durably, and reads it again afterwards; the same points are to be
        there."""
        EdgeBackend.close(self)  # and not a subclass with work in progress
        try:
            yield
        except OSError:  # a failed move: the directory is as before
            self._load(edge.EdgeShard.load)
            raise
        self._load(edge.EdgeShard.load)

    def _harmless(self, numbers: Sequence[int]) -> list[edge.PointVectors]:
        """Vectors to lie where those of points lie that go: Edge leaves them there. The fields stay, so that a crash
        before the deletion leaves a whole point."""
        vectors = {name: vector_of(np.eye(1, size, dtype=np.float32)[0]) for name, size in self._schema.dense.items()}
        return [edge.PointVectors(number, cast("edge.Vector", vectors)) for number in numbers]

    def query(self, requests: Sequence[port.QueryRequest]) -> list[list[port.Scored]]:
        self._opened()
        asked = [self._request(request) for request in requests]
        answers: list[list[Any]] = []  # every id is a number: no other is ever stored
        with self._translated():
            if asked:
                answers = self._opened().query_batch(edge.QueryBatchRequest(asked))
        ids = self._ids
        return [[(ids[hit.id], hit.score) for hit in answer] for answer in answers]

    def scroll(
        self, where: port.Filter, limit: int, offset: str | None = None, with_vectors: bool = False
    ) -> tuple[list[port.Record], str | None]:
        self._opened()
        request = edge.ScrollRequest(
            offset=None if offset is None else int(offset),
            limit=min(limit, SCROLL_LIMIT_MAX),
            filter=self._filter(where),
            with_payload=True,
            with_vector=with_vectors,
        )
        with self._translated():
            records, following = self._opened().scroll(request)
        return [record_of(record) for record in records], None if following is None else str(following)

    def passing(self, where: port.Filter, ids: Sequence[str]) -> set[str]:
        """Those of the points that a filter leaves."""
        among = self._filter(port.Filter(must=(port.HasId(tuple(ids)), where)))
        request = edge.ScrollRequest(limit=max(1, len(ids)), filter=among, with_payload=False)
        with self._translated():
            records, _ = self._opened().scroll(request)
        return {self._ids[cast("int", record.id)] for record in records}

    def count(self) -> int:
        self._opened()
        return len(self._ids)

    def stored(self) -> int:
        """The points that Edge has, counted in its segments."""
        with self._translated():
            return int(self._opened().count(edge.CountRequest(exact=True)))

    def optimise(self) -> None:
        """Rebuild segments, which blocks for as long as that takes."""
        with self._translated():
            self._opened().optimize()

    def maintain(self) -> None:
        shard = self._opened()
        with self._translated():
            shard.flush()
            if self._erased:
                self._erased = False
                if not emptied(self._path / "wal", self._fill):
                    log.warning("index_log_not_emptied", reason="no room, or its files do not go")

    def _fill(self, size: int) -> None:
        """Write so many bytes to the log and nothing to the points: no point has the number 0."""
        nobody = edge.Filter(must=[edge.HasIdCondition({0})])
        self._update(edge.UpdateOperation.set_payload_by_filter(nobody, {"filler": "0" * size}))
        self._opened().flush()

    def close(self) -> None:
        if self._shard is None:
            return
        shard, self._shard = self._shard, None
        with self._translated():
            try:
                shard.flush()
            finally:
                shard.close()

    def _request(self, request: port.QueryRequest) -> edge.QueryRequest:
        check_query(self._schema, request)
        return edge.QueryRequest(
            query=edge.Query.Nearest(vector_of(request.vector), using=request.using),
            limit=request.limit,
            filter=self._filter(request.filter),
            params=self._params(request),
        )

    def _params(self, request: port.QueryRequest) -> edge.SearchParams | None:
        if request.idf_corpus is not None:
            return edge.SearchParams(idf=edge.IdfParams(corpus=self._filter(request.idf_corpus)))
        if self.graphs and request.using in self._schema.dense:
            # Exact search of few points is as fast, and a graph that is mostly filtered away does not reach the rest.
            if self.estimate(request.filter) <= self._segment_points * WHOLE_SEGMENTS_MAX:
                return edge.SearchParams(exact=True)
            return edge.SearchParams(
                hnsw_ef=request.visits or graph_visits(request.limit, self.graphs),
                quantization=edge.QuantizationSearchParams(rescore=True, oversampling=1.0),
            )
        return None

    def estimate(self, where: port.Filter) -> int:
        """How many points a filter leaves, by Edge's estimate."""
        return self._opened().count(edge.CountRequest(exact=False, filter=self._filter(where)))

    def _filter(self, where: port.Filter) -> edge.Filter:
        return edge.Filter(
            must=[self._condition(condition) for condition in where.must],
            must_not=[self._condition(condition) for condition in where.must_not],
        )

    def _condition(self, condition: port.Condition) -> edge.FieldCondition | edge.HasIdCondition | edge.Filter:
        if isinstance(condition, port.Filter):
            return self._filter(condition)
        if isinstance(condition, port.HasId):
            return edge.HasIdCondition(cast("set[Any]", self.numbers(condition.ids)))
        if isinstance(condition, port.Range):
            return edge.FieldCondition(condition.field, range=edge.RangeFloat(gte=condition.gte, lt=condition.lt))
        if isinstance(condition, port.Match):
            return edge.FieldCondition(condition.field, match=edge.MatchValue(condition.value))
        return edge.FieldCondition(condition.field, match=edge.MatchAny(list(condition.values)))

    def _update(self, operation: edge.UpdateOperation) -> None:
        with self._translated():
            self._opened().update(operation)

    def _opened(self) -> edge.EdgeShard:
        if self._shard is None:
            raise Unavailable(f"the index in {self._path} is not open")
        return self._shard

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Edge raises plain `Exception` with a text, and a Rust panic as a BaseException; both become ours.

        Input was checked before, so what is left is a lock held elsewhere or damaged files. After a panic the shard
        object may hold a poisoned lock, so it is dropped.
        """
        try:
            yield
        except MnemeshError:
            raise
        except BaseException as error:  # boundary: a panic is a BaseException; others are raised again
            if "WouldBlock" in str(error):
                raise Unavailable(f"the index in {self._path} is open in another process or object") from error
            if type(error) is Exception:
                raise DataLoss(f"the index in {self._path} failed: {error}") from error
            if type(error).__name__ == "PanicException":
                self._shard = None
                raise DataLoss(f"the index in {self._path} is damaged: {error}") from error
            raise


def vector_of(vector: port.DenseVector | port.SparseVector) -> list[float] | edge.SparseVector:
    """As Edge takes it."""
    if isinstance(vector, port.SparseVector):
        return edge.SparseVector(list(vector.indices), list(vector.values))
    return cast("list[float]", vector.tolist())  # Edge reads the array itself in twice the time


def point_of(number: int, point: port.Point) -> edge.Point:
    """The point in Edge's form, under its number and with its id in the payload."""
    vectors = {name: vector_of(vector) for name, vector in point.vectors.items()}
    return edge.Point(number, cast("edge.Vector", vectors), {**port.plain_payload(point.payload), ID: point.id})


def id_of(record: edge.Record) -> str:
    """Whose point it is. Raises DataLoss when that is lost."""
    id_ = (record.payload or {}).get(ID)
    if not isinstance(id_, str) or not isinstance(record.id, int):
        raise DataLoss(f"the index has lost the id of the point {record.id}")
    return id_


def record_of(record: edge.Record) -> port.Record:
    """As the port tells of it."""
    payload = port.read_payload(record.payload)
    payload.pop(ID, None)
    return port.Record(id_of(record), payload, read_vectors(record.vector, edge.SparseVector))


def graph_visits(limit: int, graphs: int) -> int:
    """How many candidates of each of so many graphs are looked at for the nearest `limit` of all."""
    return int(max(GRAPH_VISITS_MIN, GRAPH_VISITS * limit) * (2 + 1 / graphs) / 3)
