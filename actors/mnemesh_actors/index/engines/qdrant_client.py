"""The port on qdrant-client: its local mode, or a server that the given client reaches. Only here is it imported.

Local mode filters point by point in Python (188 ms at 10,000 points), so it serves tests and comparison, not a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from mnemesh_actors.index.contract import check_filter, check_payload, check_points, check_query
from mnemesh_actors.index.engine_port import (
    EXACT_POINTS_MAX,
    Condition,
    DenseVector,
    Filter,
    HasId,
    Match,
    PayloadValue,
    Point,
    QueryRequest,
    Range,
    Record,
    Schema,
    Scored,
    SparseVector,
)
from mnemesh_actors.index.points import check_id
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, Unavailable

POINTS_PER_UPDATE = 256
SCROLL_LIMIT_MAX = 10_000
REASON_CHARS_MAX = 200
_TRY_AGAIN = (408, 429)
_NOT_ALLOWED = (401, 403)
_MISSING, _THERE_ALREADY = 404, 409


def local_backend() -> ClientBackend:
    """An index in the memory of this process, gone when it is closed."""
    return ClientBackend(QdrantClient(":memory:"), "memories", local=True)


class ClientBackend:
    """One collection of the Qdrant that `client` reaches; `close` closes the client.

    `local` says that it is local mode, which warns when asked for payload indexes or exact search: it has none and no
    other. A collection that is created bears `metadata` from the first, and has so many `replicas`, of which
    `consistency` take each change. Errors call the server `where`.
    """

    def __init__(
        self,
        client: QdrantClient,
        collection: str,
        local: bool = False,
        metadata: Mapping[str, Any] | None = None,
        where: str = "Qdrant",
        replicas: int = 1,
        consistency: int = 1,
    ) -> None:
        self._client: QdrantClient | None = client
        self._collection = collection
        self._local = local
        self._metadata = metadata
        self._where = where
        self._replicas = replicas
        self._consistency = consistency
        self._points = 0  # at most so many: what was counted last, and all that was put in since
        self._schema: Schema | None = None

    def open(self, schema: Schema) -> bool:
        if self._schema is not None:
            raise FailedPrecondition(f"the collection {self._collection} is open already")
        client = self._reached()
        with translated(self._where):
            created = not client.collection_exists(self._collection)
            if created:
                self._create(client, schema)
            else:
                self._grow(client, schema)
            if not self._local:
                self._index_fields(client, schema)
            self._points = client.count(self._collection, exact=True).count
        self._schema = schema
        return created

    def _create(self, client: QdrantClient, schema: Schema) -> None:
        try:
            client.create_collection(
                self._collection,
                vectors_config={
                    name: models.VectorParams(size=size, distance=models.Distance.COSINE)
                    for name, size in schema.dense.items()
                },
                sparse_vectors_config={
                    name: models.SparseVectorParams(modifier=models.Modifier.IDF) for name in schema.sparse
                },
                metadata=None if self._metadata is None else dict(self._metadata),
                **({} if self._local else self._kept_on_server()),
            )
        except UnexpectedResponse as error:
            # The answer to the first try was lost, and the second found the collection made.
            if error.status_code != _THERE_ALREADY:
                raise

    def _kept_on_server(self) -> dict[str, Any]:
        """How a server keeps the collection, said in full: what a server's own settings say must not change what a
        writer is promised."""
        return {
            "replication_factor": self._replicas,
            "write_consistency_factor": self._consistency,
            # Else new points of a large segment stay out of every answer until it is optimised.
            "optimizers_config": models.OptimizersConfigDiff(prevent_unoptimized=False),
        }

    def _grow(self, client: QdrantClient, schema: Schema) -> None:
        params = client.get_collection(self._collection).config.params
        stored = params.vectors if isinstance(params.vectors, dict) else {}
        dense = {name: vector.size for name, vector in stored.items()}
        if dense != dict(schema.dense):
            raise FailedPrecondition(
                f"the collection {self._collection} holds vectors {dense}, not {dict(schema.dense)}"
            )
        for name in set(schema.sparse) - set(params.sparse_vectors or {}):
            config = models.SparseVectorNameConfig(
                sparse=models.SparseVectorConfig(modifier=models.Modifier.IDF),
            )
            client.create_vector_name(self._collection, name, config)

    def _index_fields(self, client: QdrantClient, schema: Schema) -> None:
        wanted: dict[str, models.KeywordIndexParams | models.IntegerIndexParams] = {}
        for name in (*schema.keywords, *((schema.tenant,) if schema.tenant else ())):
            wanted[name] = models.KeywordIndexParams(
                type=models.KeywordIndexType.KEYWORD, is_tenant=name == schema.tenant
            )
        for name in schema.integers:
            wanted[name] = models.IntegerIndexParams(
                type=models.IntegerIndexType.INTEGER, lookup=name in schema.flags, range=name in schema.times
            )
        for name, params in wanted.items():
            client.create_payload_index(self._collection, name, params, wait=True)

    def upsert(self, points: Sequence[Point]) -> None:
        client, schema = self._opened()
        check_points(schema, points)
        with translated(self._where):
            for start in range(0, len(points), POINTS_PER_UPDATE):
                batch = [_point(point) for point in points[start : start + POINTS_PER_UPDATE]]
                self._points += len(batch)
                self._completed(client.upsert(self._collection, batch, wait=True))

    def set_payload(self, payload: Mapping[str, PayloadValue], selector: Filter | Sequence[str]) -> None:
        client, schema = self._opened()
        check_payload(schema, payload)
        # By ids Qdrant refuses unknown ones; a filter skips them.
        where = selector if isinstance(selector, Filter) else Filter(must=(HasId(tuple(selector)),))
        with translated(self._where):
            self._completed(client.set_payload(self._collection, _stored(payload), self._filter(where), wait=True))

    def delete(self, selector: Filter | Sequence[str]) -> None:
        client, _ = self._opened()
        chosen: models.FilterSelector | models.PointIdsList
        if isinstance(selector, Filter):
            chosen = models.FilterSelector(filter=self._filter(selector))
        elif selector:
            chosen = models.PointIdsList(points=[check_id(text) for text in selector])
        else:
            return
        with translated(self._where):
            self._completed(client.delete(self._collection, chosen, wait=True))

    def _completed(self, update: models.UpdateResult) -> None:
        """Raises Unavailable for a change that the server has merely queued, or stopped waiting for: no answer shows
        it yet, and it is not known to be kept."""
        if update.status != models.UpdateStatus.COMPLETED:
            raise Unavailable(f"{self._where} has not completed a change: it says {update.status}", part="index")

    def query(self, requests: Sequence[QueryRequest]) -> list[list[Scored]]:
        client, schema = self._opened()
        for request in requests:
            check_query(schema, request)
        if not requests:
            return []
        with translated(self._where):
            answers = client.query_batch_points(self._collection, [self._request(one) for one in requests])
        return [[(str(hit.id), hit.score) for hit in answer.points] for answer in answers]

    def scroll(
        self, where: Filter, limit: int, offset: str | None = None, with_vectors: bool = False
    ) -> tuple[list[Record], str | None]:
        client, _ = self._opened()
        with translated(self._where):
            records, following = client.scroll(
                self._collection,
                scroll_filter=self._filter(where),
                limit=min(limit, SCROLL_LIMIT_MAX),
                offset=None if offset is None else check_id(offset),
                with_payload=True,
                with_vectors=with_vectors,
            )
        return [_record(record) for record in records], None if following is None else str(following)

    def count(self, where: Filter | None = None) -> int:
        client, _ = self._opened()
        with translated(self._where):
            counted = client.count(self._collection, None if where is None else self._filter(where), exact=True).count
        if where is None:
            self._points = counted
        return counted

    def maintain(self, optimise: bool = False) -> None:
        """Nothing to make durable: each update above waited until it was, and a server optimises by itself. Points that
        were replaced are counted once again."""
        self._opened()
        if self._points > EXACT_POINTS_MAX:
            self.count()

    def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            client.close()

    def _request(self, request: QueryRequest) -> models.QueryRequest:
        params: models.SearchParams | None = None
        if request.idf_corpus is not None:
            params = models.SearchParams(idf=models.IdfCorpusParams(corpus=self._filter(request.idf_corpus)))
        elif not self._local and not isinstance(request.vector, SparseVector):
            params = models.SearchParams(exact=self._points <= EXACT_POINTS_MAX)
        return models.QueryRequest(
            query=_vector(request.vector),
            using=request.using,
            limit=request.limit,
            filter=self._filter(request.filter),
            params=params,
        )

    def _filter(self, where: Filter) -> models.Filter:
        check_filter(self._opened()[1], where)
        return models.Filter(
            must=[_condition(condition) for condition in where.must],
            must_not=[_condition(condition) for condition in where.must_not],
        )

    def _reached(self) -> QdrantClient:
        if self._client is None:
            raise Unavailable(f"the collection {self._collection} is closed")
        return self._client

    def _opened(self) -> tuple[QdrantClient, Schema]:
        client = self._reached()
        if self._schema is None:
            raise Unavailable(f"the collection {self._collection} is not open")
        return client, self._schema


@contextmanager
def translated(where: str) -> Iterator[None]:
    """What another try may cure is Unavailable, with `retry_after_s` when the server says when. A collection that is
    not there is DataLoss, everything else that is refused FailedPrecondition."""
    try:
        yield
    except ResponseHandlingException as error:
        raise Unavailable(f"{where} does not answer: {_why(error.source)}", part="index") from error
    except ResourceExhaustedResponse as error:
        raise Unavailable(
            f"{where} answers 429: {error.message}", part="index", retry_after_s=error.retry_after_s
        ) from error
    except QdrantException as error:  # a 429 whose Retry-After is no number
        raise Unavailable(f"{where} answers 429: {error}", part="index") from error
    except UnexpectedResponse as error:
        status, why = error.status_code or 0, _said(error)
        if status >= 500 or status in _TRY_AGAIN:
            raise Unavailable(f"{where} answers {status}: {why}", part="index") from error
        if status == _MISSING:
            raise DataLoss(f"{where} has lost it: {why}") from error
        fix = "; check qdrant_api_key" if status in _NOT_ALLOWED else ""
        raise FailedPrecondition(f"{where} refuses with {status}: {why}{fix}") from error


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


def _said(error: UnexpectedResponse) -> str:
    """The server's own words, shortened."""
    try:
        told = error.structured()["status"]["error"]
    except (ValueError, KeyError, TypeError):
        told = error.reason_phrase
    return str(told)[:REASON_CHARS_MAX]


def _vector(vector: DenseVector | SparseVector) -> list[float] | models.SparseVector:
    if isinstance(vector, SparseVector):
        return models.SparseVector(indices=list(vector.indices), values=list(vector.values))
    return cast("list[float]", vector.tolist())


def _point(point: Point) -> models.PointStruct:
    vectors = {name: _vector(vector) for name, vector in point.vectors.items()}
    return models.PointStruct(id=point.id, vector=cast("models.VectorStruct", vectors), payload=_stored(point.payload))


def _stored(payload: Mapping[str, PayloadValue]) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in payload.items()}


def _condition(condition: Condition) -> models.FieldCondition | models.HasIdCondition:
    if isinstance(condition, HasId):
        return models.HasIdCondition(has_id=[check_id(text) for text in condition.ids])
    if isinstance(condition, Range):
        return models.FieldCondition(key=condition.field, range=models.Range(gte=condition.gte, lt=condition.lt))
    if isinstance(condition, Match):
        return models.FieldCondition(key=condition.field, match=models.MatchValue(value=condition.value))
    values = cast("list[str] | list[int]", list(condition.values))
    return models.FieldCondition(key=condition.field, match=models.MatchAny(any=values))


def _record(record: models.Record) -> Record:
    payload = {
        name: tuple(value) if isinstance(value, list) else value for name, value in (record.payload or {}).items()
    }
    stored = record.vector if isinstance(record.vector, dict) else {}
    vectors: dict[str, DenseVector | SparseVector] = {
        name: SparseVector(vector.indices, vector.values)
        if isinstance(vector, models.SparseVector)
        else np.asarray(vector, dtype=np.float32)
        for name, vector in stored.items()
    }
    return Record(str(record.id), payload, vectors)
