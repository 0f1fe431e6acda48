"""The port on a Qdrant server that the given client reaches. Only here is qdrant-client imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from mnemesh_actors.index import engine_port as port
from mnemesh_actors.index.points import check_id, check_points, check_query, read_vectors
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, Unavailable

POINTS_PER_UPDATE = 256
SCROLL_LIMIT_MAX = 10_000
REASON_CHARS_MAX = 200
_TRY_AGAIN = (408, 429)
_NOT_ALLOWED = (401, 403)
_MISSING, _THERE_ALREADY = 404, 409


@dataclass(eq=False)
class ClientBackend:
    """One collection of the Qdrant that `client` reaches; `close` closes the client.

    A new collection bears `metadata` from the first, and has `replicas` copies, of which `consistency` take each
    change. Errors call the server `where`.
    """

    client: QdrantClient | None
    collection: str
    metadata: Mapping[str, Any] | None = None
    where: str = "Qdrant"
    replicas: int = 1
    consistency: int = 1
    _points: int = field(default=0, init=False)  # at most so many: the last count, and all points put in since
    _schema: port.Schema | None = field(default=None, init=False)

    def open(self, schema: port.Schema) -> bool:
        if self._schema is not None:
            raise FailedPrecondition(f"the collection {self.collection} is open already")
        client = self._reached()
        with translated(self.where):
            created = not client.collection_exists(self.collection)
            if created:
                self._create(client, schema)
            else:
                self._check_stored(client, schema)
            self._index_fields(client, schema)
            self._points = client.count(self.collection, exact=True).count
        self._schema = schema
        return created

    def _create(self, client: QdrantClient, schema: port.Schema) -> None:
        try:
            client.create_collection(
                self.collection,
                vectors_config={
                    name: models.VectorParams(size=size, distance=models.Distance.COSINE)
                    for name, size in schema.dense.items()
                },
                sparse_vectors_config={
                    name: models.SparseVectorParams(modifier=models.Modifier.IDF) for name in schema.sparse
                },
                metadata=None if self.metadata is None else dict(self.metadata),
                # Said in full: a server's own settings must not change the promise to a writer.
                replication_factor=self.replicas,
                write_consistency_factor=self.consistency,
                # Else new points of a large segment stay out of every answer until it is optimised.
                optimizers_config=models.OptimizersConfigDiff(prevent_unoptimized=False),
            )
        except UnexpectedResponse as error:
            # The answer to the first try was lost, and the second found the collection made.
            if error.status_code != _THERE_ALREADY:
                raise

    def _check_stored(self, client: QdrantClient, schema: port.Schema) -> None:
        params = client.get_collection(self.collection).config.params
        stored = params.vectors if isinstance(params.vectors, dict) else {}
        dense = {name: vector.size for name, vector in stored.items()}
        if dense != dict(schema.dense):
            raise FailedPrecondition(
                f"the collection {self.collection} holds vectors {dense}, not {dict(schema.dense)}"
            )

    def _index_fields(self, client: QdrantClient, schema: port.Schema) -> None:
        wanted: dict[str, models.KeywordIndexParams | models.IntegerIndexParams] = {}
        for name in (*schema.keywords, *((schema.tenant,) if schema.tenant else ())):
            wanted[name] = models.KeywordIndexParams(
                type=models.KeywordIndexType.KEYWORD, is_tenant=name == schema.tenant
            )
        for name in schema.times:
            wanted[name] = models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=False, range=True)
        for name, params in wanted.items():
            client.create_payload_index(self.collection, name, params, wait=True)

    def upsert(self, points: Sequence[port.Point]) -> None:
        client, schema = self._opened()
        check_points(schema, points)
        with translated(self.where):
            for start in range(0, len(points), POINTS_PER_UPDATE):
                batch = [_point(point) for point in points[start : start + POINTS_PER_UPDATE]]
                self._points += len(batch)
                self._completed(client.upsert(self.collection, batch, wait=True))

    def delete(self, ids: Sequence[str]) -> None:
        client, _ = self._opened()
        if ids:
            chosen = models.PointIdsList(points=[check_id(text) for text in ids])
            with translated(self.where):
                self._completed(client.delete(self.collection, chosen, wait=True))

    def _completed(self, update: models.UpdateResult) -> None:
        """Raises Unavailable for a change that the server has merely queued, or stopped waiting for. No answer shows
        such a change, and it may be lost."""
        if update.status != models.UpdateStatus.COMPLETED:
            raise Unavailable(f"{self.where} has not completed a change: it says {update.status}", part="index")

    def query(self, requests: Sequence[port.QueryRequest]) -> list[list[port.Scored]]:
        client, schema = self._opened()
        for request in requests:
            check_query(schema, request)
        if not requests:
            return []
        with translated(self.where):
            answers = client.query_batch_points(self.collection, [self._request(request) for request in requests])
        return [[(str(hit.id), hit.score) for hit in answer.points] for answer in answers]

    def scroll(
        self, where: port.Filter, limit: int, offset: str | None = None, with_vectors: bool = False
    ) -> tuple[list[port.Record], str | None]:
        client, _ = self._opened()
        with translated(self.where):
            records, following = client.scroll(
                self.collection,
                scroll_filter=_filter(where),
                limit=min(limit, SCROLL_LIMIT_MAX),
                offset=None if offset is None else check_id(offset),
                with_payload=True,
                with_vectors=with_vectors,
            )
        return [_record(record) for record in records], None if following is None else str(following)

    def count(self) -> int:
        client, _ = self._opened()
        with translated(self.where):
            self._points = client.count(self.collection, exact=True).count
        return self._points

    def maintain(self) -> None:
        """Nothing to make durable: each update above waited until it was, and a server optimises by itself. Points that
        were replaced are counted once again."""
        self._opened()
        if self._points > port.EXACT_POINTS_MAX:
            self.count()

    def close(self) -> None:
        if self.client is not None:
            client, self.client = self.client, None
            client.close()

    def _request(self, request: port.QueryRequest) -> models.QueryRequest:
        params: models.SearchParams | None = None
        if request.idf_corpus is not None:
            params = models.SearchParams(idf=models.IdfCorpusParams(corpus=_filter(request.idf_corpus)))
        elif not isinstance(request.vector, port.SparseVector):
            params = models.SearchParams(exact=self._points <= port.EXACT_POINTS_MAX)
        return models.QueryRequest(
            query=_vector(request.vector),
            using=request.using,
            limit=request.limit,
            filter=_filter(request.filter),
            params=params,
        )

    def _reached(self) -> QdrantClient:
        if self.client is None:
            raise Unavailable(f"the collection {self.collection} is closed")
        return self.client

    def _opened(self) -> tuple[QdrantClient, port.Schema]:
        client = self._reached()
        if self._schema is None:
            raise Unavailable(f"the collection {self.collection} is not open")
        return client, self._schema


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Errors that another try may cure are Unavailable, with `retry_after_s` when the server gives a time. A collection
    that is not there is DataLoss, everything else that is refused FailedPrecondition."""
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
        reason = error.structured()["status"]["error"]
    except (ValueError, KeyError, TypeError):
        reason = error.reason_phrase
    return str(reason)[:REASON_CHARS_MAX]


def _vector(vector: port.DenseVector | port.SparseVector) -> list[float] | models.SparseVector:
    if isinstance(vector, port.SparseVector):
        return models.SparseVector(indices=list(vector.indices), values=list(vector.values))
    return cast("list[float]", vector.tolist())


def _point(point: port.Point) -> models.PointStruct:
    vectors = {name: _vector(vector) for name, vector in point.vectors.items()}
    return models.PointStruct(
        id=point.id, vector=cast("models.VectorStruct", vectors), payload=port.plain_payload(point.payload)
    )


def _filter(where: port.Filter) -> models.Filter:
    return models.Filter(
        must=[_condition(condition) for condition in where.must],
        must_not=[_condition(condition) for condition in where.must_not],
    )


def _condition(condition: port.Condition) -> models.FieldCondition | models.HasIdCondition | models.Filter:
    if isinstance(condition, port.Filter):
        return _filter(condition)
    if isinstance(condition, port.HasId):
        return models.HasIdCondition(has_id=[check_id(text) for text in condition.ids])
    if isinstance(condition, port.Range):
        return models.FieldCondition(key=condition.field, range=models.Range(gte=condition.gte, lt=condition.lt))
    if isinstance(condition, port.Match):
        return models.FieldCondition(key=condition.field, match=models.MatchValue(value=condition.value))
    return models.FieldCondition(key=condition.field, match=models.MatchAny(any=list(condition.values)))


def _record(record: models.Record) -> port.Record:
    vectors = read_vectors(record.vector, models.SparseVector)
    return port.Record(str(record.id), port.read_payload(record.payload), vectors)
