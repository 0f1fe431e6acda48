"""The dense vectors of a small index once more in memory, where all of a space are compared in one product.

Edge needs twice the time for the vectors of 10,000 memories. Edge also reads them through a second map of the file. The
pages of this map stay out of memory beside a table, so a table takes hardly more memory. The table is read when the
index is opened, and follows every change. A large index or a failure of the engine ends the table. A large index that
shrinks to half of the bound gets a table again. No file ever holds a table. The results are those of exact search.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from mnemesh_actors.index.engine_port import (
    Condition,
    DenseVector,
    Filter,
    HasId,
    IndexBackend,
    Match,
    MatchAny,
    PayloadValue,
    Point,
    QueryRequest,
    Record,
    Schema,
    Scored,
    SparseVector,
)
from mnemesh_actors.index.points import check_id, check_query
from mnemesh_memory.values.errors import DataLoss, InvalidArgument

# Some 20,000 vectors of 384 dimensions. A large index has graphs, which look at fewer.
TABLE_BYTES_MAX: Final = 32 << 20
# A table that was outgrown comes back where so many times the vectors would fit.
ROOM_TO_RETURN: Final = 2
ROWS_MIN: Final = 256
# Vectors read at a time: lists of Python's numbers take eight times the room.
POINTS_A_PAGE: Final = 256
# Wanted rows are compared in place among up to so many times their number. Other rows are copied together first.
SPREAD_MAX: Final = 2
ROWS_COPIED: Final = 1024
NO_WORD: Final = 0

Rows = NDArray[np.intp]
Scores = NDArray[np.float32]
Number = TypeVar("Number", bound=np.generic)


class VectorTable:
    """The vector and the tenant's words of every point. A free row has neither."""

    def __init__(self, dimensions: int, tenant: str) -> None:
        self._tenant = tenant
        self._vectors = np.zeros((ROWS_MIN, dimensions), np.float32)
        self._words = np.full((1, ROWS_MIN), NO_WORD, np.intc)  # the words of a point stand below each other
        self._numbers: dict[str, int] = {}  # of words
        self._carriers: dict[int, Rows | range] = {}  # of words that were asked for: the rows, ascending
        self._rows: dict[str, int] = {}
        self._ids: list[str] = []  # by row, also of rows that are free now
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, id_: str) -> bool:
        return id_ in self._rows

    def put(self, id_: str, vector: DenseVector, words: PayloadValue | None) -> None:
        """Insert or replace a point."""
        row = self._rows.get(id_)
        if row is None:
            row = self._rows[id_] = self._free_row(id_)
        self._vectors[row] = _unit(vector)
        texts = words if isinstance(words, tuple) else () if words is None else (str(words),)
        self._carry(row, [self._numbers.setdefault(text, len(self._numbers) + 1) for text in texts])

    def _free_row(self, id_: str) -> int:
        if self._free:
            row = self._free.pop()
            self._ids[row] = id_
            return row
        row = len(self._ids)
        self._ids.append(id_)
        if row == len(self._vectors):
            self._vectors = _doubled(self._vectors, 0)
            self._words = _doubled(self._words, 1)
        return row

    def _carry(self, row: int, numbers: list[int]) -> None:
        """Give a row these words in place of its own."""
        if len(numbers) > len(self._words):
            more = np.full((len(numbers) - len(self._words), self._words.shape[1]), NO_WORD, np.intc)
            self._words = np.concatenate((self._words, more))
        column = numbers + [NO_WORD] * (len(self._words) - len(numbers))
        before = self._words[:, row].tolist()
        self._words[:, row] = column
        for number in set(before) - set(numbers):
            self._carriers.pop(number, None)
        for number in set(numbers) - set(before):
            known = self._carriers.pop(number, None)
            if isinstance(known, range) and known.stop == row:  # as in a space that is written to
                self._carriers[number] = range(known.start, row + 1)

    def drop(self, id_: str) -> None:
        """Remove a point if it is there, and its vector."""
        row = self._rows.pop(id_, None)
        if row is not None:
            self._vectors[row] = 0
            self._carry(row, [])
            self._free.append(row)

    def answers(self, where: Filter) -> bool:
        """Whether a filter is of words of the tenant and of ids alone."""
        return bool(where.must) and not where.must_not and all(map(self._knows, where.must))

    def _knows(self, condition: Condition) -> bool:
        if isinstance(condition, Match | MatchAny):
            return condition.field == self._tenant
        return isinstance(condition, HasId)

    def nearest(self, vector: DenseVector, where: Filter, limit: int) -> list[Scored]:
        """The `limit` points with the highest cosine that pass a filter of words and ids, best first."""
        rows = self._passing(where)
        scores = self._scores(rows, _unit(vector))
        if len(scores) > limit:
            best = np.argpartition(scores, len(scores) - limit)[len(scores) - limit :]
            best = best[np.argsort(-scores[best])]
        else:
            best = np.argsort(-scores)
        numbers = best + rows.start if isinstance(rows, range) else rows[best]
        return list(zip(map(self._ids.__getitem__, numbers.tolist()), scores[best].tolist(), strict=True))

    def _passing(self, where: Filter) -> Rows | range:
        """The rows that pass, in ascending order."""
        wanted = [
            self._carrying((condition.value,) if isinstance(condition, Match) else condition.values)
            for condition in where.must
            if isinstance(condition, Match | MatchAny)
        ]
        named = [set(self._present(condition.ids)) for condition in where.must if isinstance(condition, HasId)]
        rows = np.sort(np.fromiter(set.intersection(*named), np.intp)) if named else wanted.pop()
        for others in wanted:
            rows = _common(rows, others)
        return rows

    def _present(self, ids: Sequence[str]) -> Iterator[int]:
        """The rows of the points that are there. Raises InvalidArgument for what is no id."""
        return (self._rows[id_] for id_ in ids if id_ in self._rows or not check_id(id_))

    def _carrying(self, texts: Sequence[str]) -> Rows | range:
        """The rows that carry any of the texts."""
        lists = [self._carrying_one(self._numbers[text]) for text in texts if text in self._numbers]
        if len(lists) == 1:
            return lists[0]
        return np.unique(np.concatenate(lists)) if lists else range(0)

    def _carrying_one(self, number: int) -> Rows | range:
        rows = self._carriers.get(number)
        if rows is None:
            rows = np.flatnonzero((self._words[:, : len(self._ids)] == number).any(axis=0))
            if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
                rows = range(int(rows[0]), int(rows[-1]) + 1)
            self._carriers[number] = rows
        return rows

    def _scores(self, rows: Rows | range, vector: DenseVector) -> Scores:
        if isinstance(rows, range):
            return _products(self._vectors[rows.start : rows.stop], vector)
        if not len(rows):
            return np.zeros(0, np.float32)
        first, end = rows[0], rows[-1] + 1
        if end - first <= SPREAD_MAX * len(rows):
            scores: Scores = _products(self._vectors[first:end], vector)[rows - first]
            return scores
        starts = range(0, len(rows), ROWS_COPIED)
        return np.concatenate([_products(self._vectors[rows[at : at + ROWS_COPIED]], vector) for at in starts])


class TabledIndex:
    """The port on another index, with a table of its vectors while it is small. Searches for meaning within spaces or
    among given ids are answered by the table, all others by the engine."""

    def __init__(self, engine: IndexBackend) -> None:
        self._engine = engine
        self._schema = Schema(dense={})
        self._field = ""
        self._table: VectorTable | None = None
        self._outgrown = False

    def open(self, schema: Schema) -> bool:
        created = self._engine.open(schema)
        try:
            self.follow(schema)
        except BaseException:  # boundary: let go, then raised again
            self.close()
            raise
        return created

    def follow(self, schema: Schema) -> None:
        """Read the vectors of an index that is open. Raises DataLoss when a point has lost its vector."""
        self._schema, self._table = schema, None
        self._outgrown = len(schema.dense) == 1 and bool(schema.tenant)  # until all vectors are read
        if not self._outgrown:
            return
        ((self._field, dimensions),) = schema.dense.items()
        if not self._fits(self._engine.count()):
            return
        table = VectorTable(dimensions, schema.tenant)
        offset: str | None = ""
        while offset is not None:
            records, offset = self._engine.scroll(Filter(), POINTS_A_PAGE, offset or None, with_vectors=True)
            for record in records:
                vector = record.vectors.get(self._field)
                if vector is None or isinstance(vector, SparseVector):
                    raise DataLoss(f"the index has lost the vector of the point {record.id}")
                table.put(record.id, vector, record.payload.get(schema.tenant))
        self._table, self._outgrown = table, False

    def _fits(self, points: int) -> bool:
        return points * self._schema.dense[self._field] * np.dtype(np.float32).itemsize <= TABLE_BYTES_MAX

    def upsert(self, points: Sequence[Point]) -> None:
        with self._followed():
            self._engine.upsert(points)
        if self._table is not None:
            new = {point.id for point in points if point.id not in self._table}
            if not self._fits(len(self._table) + len(new)):
                self._table, self._outgrown = None, True
        if self._table is not None:
            for point in points:
                vector = point.vectors[self._field]
                assert not isinstance(vector, SparseVector)  # checked by the engine
                self._table.put(point.id, vector, point.payload.get(self._schema.tenant))

    def delete(self, ids: Sequence[str]) -> None:
        with self._followed():
            self._engine.delete(ids)
        if self._table is not None:
            for id_ in ids:
                self._table.drop(id_)

    @contextmanager
    def _followed(self) -> Iterator[None]:
        """After a failed change the state of the engine is unknown, and the table ends."""
        try:
            yield
        except InvalidArgument:  # before anything was changed
            raise
        except BaseException:  # boundary: let go of the table, then raised again
            self._table = None
            raise

    def query(self, requests: Sequence[QueryRequest]) -> list[list[Scored]]:
        table = self._table
        if table is None:
            return self._engine.query(requests)
        mine = [request.using == self._field and table.answers(request.filter) for request in requests]
        left = [request for request, own in zip(requests, mine, strict=True) if not own]
        others = iter(self._engine.query(left) if left else ())
        answers = []
        for request, own in zip(requests, mine, strict=True):
            answers.append(self._nearest(table, request) if own else next(others))
        return answers

    def _nearest(self, table: VectorTable, request: QueryRequest) -> list[Scored]:
        check_query(self._schema, request)
        assert not isinstance(request.vector, SparseVector)  # checked
        return table.nearest(request.vector, request.filter, request.limit)

    def scroll(
        self, where: Filter, limit: int, offset: str | None = None, with_vectors: bool = False
    ) -> tuple[list[Record], str | None]:
        return self._engine.scroll(where, limit, offset, with_vectors)

    def count(self) -> int:
        return self._engine.count()

    def maintain(self) -> None:
        self._engine.maintain()
        if self._outgrown and self._fits(ROOM_TO_RETURN * self._engine.count()):
            self.follow(self._schema)

    def close(self) -> None:
        self._table = None
        self._engine.close()


def _common(rows: Rows | range, others: Rows | range) -> Rows:
    """The rows that are in both."""
    rows = np.asarray(rows, np.intp)
    if isinstance(others, range):
        return rows[(rows >= others.start) & (rows < others.stop)]
    return np.intersect1d(rows, others, assume_unique=True)


def _unit(vector: DenseVector) -> DenseVector:
    """The vector with the length 1, if it has any."""
    length = math.sqrt(vector.dot(vector))
    return vector / length if length else vector


def _products(vectors: Scores, vector: DenseVector) -> Scores:
    """One product a row. BLAS would share a product of all rows among threads, and these wait for each other busily."""
    products: Scores = np.vecdot(vectors, vector)
    return products


def _doubled(array: NDArray[Number], axis: int) -> NDArray[Number]:
    """The same with twice the room along an axis. Pages take memory only once written."""
    shape = list(array.shape)
    shape[axis] *= 2
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(size) for size in array.shape)] = array
    return larger
