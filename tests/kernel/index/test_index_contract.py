"""The contract of every index backend: Qdrant Edge, qdrant-client's local mode, and a server through the REST
double. MNEMESH_TEST_QDRANT_URL adds a real server."""

from __future__ import annotations

import math
import os
import random
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from qdrant_client import QdrantClient
from qdrant_double import qdrant_double

from mnemesh_actors.index.engine_port import (
    Filter,
    HasId,
    IndexBackend,
    Match,
    MatchAny,
    Point,
    QueryRequest,
    Range,
    Record,
    Schema,
    SparseVector,
)
from mnemesh_actors.index.engines.edge import EdgeBackend
from mnemesh_actors.index.engines.qdrant_client import ClientBackend
from mnemesh_actors.index.engines.segments import SegmentedEdge
from mnemesh_actors.index.points import INTEGER_MAX
from mnemesh_actors.index.vector_table import TabledIndex
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, Unavailable

SCHEMA = Schema(
    dense={"dense": 4},
    sparse=("bm25",),
    tenant="space",
    keywords=("tags", "gone"),
    times=("at",),
    stored=("note", "size"),
)
Maker = Callable[[], IndexBackend]
URL = os.environ.get("MNEMESH_TEST_QDRANT_URL", "")
REAL = pytest.param(
    "real", marks=pytest.mark.skipif(not URL, reason="MNEMESH_TEST_QDRANT_URL names no real Qdrant server")
)
KINDS = ["edge", "segments", "tabled", "server", REAL]


@contextmanager
def made(kind: str, path: Path) -> Iterator[Maker]:
    """Makes a backend on the same storage each time; the one before must be closed."""
    if kind == "edge":
        yield lambda: EdgeBackend(path)
    elif kind == "segments":
        yield lambda: SegmentedEdge(path / "points", 2)
    elif kind == "tabled":
        yield lambda: TabledIndex(SegmentedEdge(path / "points", 2))
    elif kind == "server":
        with qdrant_double() as double:
            yield lambda: ClientBackend(QdrantClient(double.url, check_compatibility=False), "points")
    else:
        name, key = f"mnemesh_test_{secrets.token_hex(8)}", os.environ.get("MNEMESH_TEST_QDRANT_API_KEY")
        yield lambda: ClientBackend(QdrantClient(URL, api_key=key, check_compatibility=False), name)
        client = QdrantClient(URL, api_key=key, check_compatibility=False)
        client.delete_collection(name)
        client.close()


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Maker]:
    with made(request.param, tmp_path / "index") as maker:
        yield maker


@pytest.fixture(scope="module", params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexBackend]:
    with made(request.param, tmp_path_factory.mktemp("contract") / "index") as maker:
        backend = maker()
        assert backend.open(SCHEMA) is True
        yield backend
        backend.close()


@pytest.fixture
def index(opened: IndexBackend) -> IndexBackend:
    """An empty index; to make one for each test would cost most of the time."""
    opened.delete([record.id for record in opened.scroll(Filter(), 1000)[0]])
    assert opened.count() == 0
    return opened


def name(n: int) -> str:
    return str(UUID(int=n + 1))


def vector(*components: float) -> np.ndarray:
    return np.array(components, dtype=np.float32)


def point(n: int, space: str = "a", dense: np.ndarray | None = None, **payload: object) -> Point:
    where = vector(1, 0, 0, 0) if dense is None else dense
    return Point(name(n), {"dense": where}, {"space": space, **payload})


EVERYTHING = Filter()


def near(dense: np.ndarray, where: Filter = EVERYTHING, limit: int = 10) -> QueryRequest:
    return QueryRequest(dense, "dense", limit, where)


def found(index: IndexBackend, where: Filter) -> set[int]:
    """Which points a filter lets through, scrolled and queried alike."""
    hits = index.query([near(vector(1, 1, 1, 1), where, 100)])[0]
    assert {record.id for record in index.scroll(where, 1000)[0]} == {id_ for id_, _ in hits}
    return {UUID(id_).int - 1 for id_, _ in hits}


def everything(index: IndexBackend, page: int = 2, with_vectors: bool = False) -> list[Record]:
    records, offset = index.scroll(Filter(), page, None, with_vectors)
    while offset is not None:
        more, offset = index.scroll(Filter(), page, offset, with_vectors)
        records += more
    return records


def test_a_new_index_is_empty_and_one_that_is_opened_again_holds_what_was_put_in(make: Maker) -> None:
    first = make()
    assert first.open(SCHEMA) is True
    assert first.count() == 0
    first.upsert([point(1), point(2, tags=("x", "y"), at=5, gone="0")])
    first.maintain()
    first.close()
    again = make()
    assert again.open(SCHEMA) is False
    assert [record.id for record in everything(again)] == [name(1), name(2)]
    assert again.scroll(Filter(must=(Match("tags", "y"),)), 5)[0][0].payload == {
        "space": "a", "tags": ("x", "y"), "at": 5, "gone": "0",
    }  # fmt: skip
    again.close()


def test_a_dense_query_gives_cosines_best_first(index: IndexBackend) -> None:
    vectors = {1: vector(2, 0, 0, 0), 2: vector(1, 1, 0, 0), 3: vector(-1, 0, 0, 0)}
    index.upsert([point(n, dense=dense) for n, dense in vectors.items()])
    hits = index.query([near(vector(5, 0, 0, 0))])[0]
    assert [id_ for id_, _ in hits] == [name(1), name(2), name(3)]
    assert [score for _, score in hits] == pytest.approx([1.0, math.sqrt(0.5), -1.0], abs=1e-6)


def test_a_sparse_query_sums_weights_times_inverse_document_frequency(index: IndexBackend) -> None:
    terms = {1: SparseVector([7, 9], [1.5, 1.0]), 2: SparseVector([7], [0.5]), 3: SparseVector([11], [1.0])}
    index.upsert([Point(name(n), {"dense": vector(1, 0, 0, 0), "bm25": t}, {"space": "a"}) for n, t in terms.items()])
    index.upsert([Point(name(9), {"dense": vector(1, 0, 0, 0), "bm25": terms[2]}, {"space": "a"})])
    index.delete([name(9)])
    query = QueryRequest(SparseVector([7, 9], [1.0, 1.0]), "bm25", 10, Filter(), idf_corpus=Filter())
    hits = index.query([query])[0]

    def idf(holders: int) -> float:
        return math.log(1 + (3 - holders + 0.5) / (holders + 0.5))

    assert [id_ for id_, _ in hits] == [name(1), name(2)]
    assert [score for _, score in hits] == pytest.approx([1.5 * idf(2) + idf(1), 0.5 * idf(2)], abs=1e-5)


def test_term_statistics_can_be_those_of_one_space_alone(index: IndexBackend) -> None:
    common, rare = SparseVector([7], [1.0]), SparseVector([8], [1.0])
    index.upsert([Point(name(n), {"dense": vector(1, 0, 0, 0), "bm25": common}, {"space": "b"}) for n in range(20)])
    index.upsert(
        [
            Point(name(30), {"dense": vector(1, 0, 0, 0), "bm25": common}, {"space": "a"}),
            Point(name(31), {"dense": vector(1, 0, 0, 0), "bm25": rare}, {"space": "a"}),
        ]
    )
    space = Filter(must=(Match("space", "a"),))
    whole = QueryRequest(common, "bm25", 5, space, idf_corpus=Filter())
    own = QueryRequest(common, "bm25", 5, space, idf_corpus=space)
    ((_, of_all),), ((_, of_own),) = index.query([whole, own])
    assert of_all == pytest.approx(math.log(1 + 1.5 / 21.5), abs=1e-5)
    assert of_own == pytest.approx(math.log(1 + 1.5 / 1.5), abs=1e-5)


def test_filters_let_through_what_they_say(index: IndexBackend) -> None:
    index.upsert(
        [
            point(1, "a", tags=("x", "y"), at=10, gone="0"),
            point(2, "a", tags=("y",), at=20, gone="1"),
            point(3, "b", tags=("z",), at=30, gone="0"),
            point(4, "b"),
        ]
    )
    assert found(index, Filter()) == {1, 2, 3, 4}
    assert found(index, Filter(must=(Match("space", "a"),))) == {1, 2}
    assert found(index, Filter(must=(Match("tags", "y"),))) == {1, 2}
    assert found(index, Filter(must=(Match("tags", "x"), Match("tags", "y")))) == {1}
    assert found(index, Filter(must=(MatchAny("tags", ("x", "z")),))) == {1, 3}
    whole = Filter(must=(Match("space", "a"), Match("tags", "y")), must_not=(Match("tags", "x"),))
    assert found(index, Filter(must_not=(whole,))) == {1, 3, 4}
    assert found(index, Filter(must=(whole,))) == {2}
    assert found(index, Filter(must_not=(Filter(must=(Match("space", "a"),), must_not=(whole,)),))) == {2, 3, 4}
    assert found(index, Filter(must=(MatchAny("tags", ()),))) == set()
    assert found(index, Filter(must_not=(MatchAny("tags", ("x", "z")),))) == {2, 4}
    assert found(index, Filter(must=(Range("at", gte=20),))) == {2, 3}
    assert found(index, Filter(must=(Range("at", lt=20),))) == {1}
    assert found(index, Filter(must=(Range("at", gte=10, lt=30),))) == {1, 2}
    assert found(index, Filter(must=(Match("gone", "0"),))) == {1, 3}
    assert found(index, Filter(must_not=(Match("gone", "1"),))) == {1, 3, 4}
    assert found(index, Filter(must=(MatchAny("gone", ("0", "1")),))) == {1, 2, 3}
    assert found(index, Filter(must=(HasId((name(2), name(3), name(99))),))) == {2, 3}
    assert found(index, Filter(must=(Match("space", "a"),), must_not=(HasId((name(1),)),))) == {2}


def test_times_in_milliseconds_are_compared_exactly(index: IndexBackend) -> None:
    index.upsert([point(n, at=INTEGER_MAX - 5 + n) for n in range(1, 6)])
    assert found(index, Filter(must=(Range("at", gte=INTEGER_MAX - 2, lt=INTEGER_MAX),))) == {3, 4}


def test_an_upsert_replaces_the_whole_point_at_once(index: IndexBackend) -> None:
    terms = SparseVector([7], [1.0])
    index.upsert([Point(name(1), {"dense": vector(1, 0, 0, 0), "bm25": terms}, {"space": "a", "at": 5})])
    index.upsert([point(1, "b", dense=vector(0, 1, 0, 0))])
    assert index.count() == 1
    assert index.query([QueryRequest(terms, "bm25", 5, Filter())]) == [[]]
    assert index.query([near(vector(0, 1, 0, 0))])[0][0][1] == pytest.approx(1.0)
    assert everything(index)[0].payload == {"space": "b"}


def test_of_two_points_with_one_id_in_a_batch_the_later_counts(index: IndexBackend) -> None:
    index.upsert([point(1, "a"), point(1, "b")])
    assert [record.payload["space"] for record in everything(index)] == ["b"]


def test_points_are_deleted_by_id_and_unknown_ids_are_skipped(index: IndexBackend) -> None:
    index.upsert([point(n, gone=str(n % 2)) for n in range(6)])
    index.delete([name(0), name(77)])
    index.delete([])
    index.delete([name(n) for n in (1, 3, 5)])
    assert {record.id for record in everything(index)} == {name(2), name(4)}
    assert found(index, Filter()) == {2, 4}


def test_scrolling_gives_every_point_once_with_normalised_vectors(index: IndexBackend) -> None:
    terms = SparseVector([3, 8], [1.0, 2.0])
    order = list(range(7))
    random.Random(3).shuffle(order)
    index.upsert([Point(name(n), {"dense": vector(0, 2, 0, 0), "bm25": terms}, {"space": "a"}) for n in order])
    records = everything(index, page=3, with_vectors=True)
    assert sorted(record.id for record in records) == [name(n) for n in range(7)]
    for record in records:
        dense, sparse = record.vectors["dense"], record.vectors["bm25"]
        assert dense == pytest.approx(vector(0, 1, 0, 0))
        assert isinstance(sparse, SparseVector)
        assert dict(zip(sparse.indices, sparse.values, strict=True)) == {3: 1.0, 8: 2.0}
    assert everything(index)[0].vectors == {}


def test_no_request_and_no_point_are_no_error(index: IndexBackend) -> None:
    index.upsert([])
    assert index.query([]) == []
    assert index.query([near(vector(1, 0, 0, 0))]) == [[]]
    assert index.scroll(Filter(), 5) == ([], None)


BAD_VECTORS = {
    "missing": {"bm25": SparseVector([1], [1.0])},
    "other dimension": {"dense": vector(1, 0, 0)},
    "double precision": {"dense": np.zeros(4)},
    "a list": {"dense": [1.0, 0.0, 0.0, 0.0]},
    "NaN": {"dense": vector(1, math.nan, 0, 0)},
    "infinite": {"dense": vector(math.inf, 0, 0, 0)},
    "overflow": {"dense": vector(3e38, 3e38, 0, 0)},
    "unknown field": {"dense": vector(1, 0, 0, 0), "zz": vector(1, 0, 0, 0)},
    "unknown sparse": {"dense": vector(1, 0, 0, 0), "bm26": SparseVector([1], [1.0])},
    "sparse as dense": {"dense": SparseVector([1], [1.0])},
    "dense as sparse": {"dense": vector(1, 0, 0, 0), "bm25": vector(1, 0, 0, 0)},
}
BAD_PAYLOADS = {
    "boolean note": {"size": False},
    "unknown field": {"content": "words"},
    "text as time": {"at": "1"},
    "fraction": {"at": 1.5},
    "large integer": {"at": INTEGER_MAX + 1},
}
BAD_IDS = ["", "1", "x" * 36, name(1).upper().replace("0", "A"), "{" + name(1) + "}", name(1).replace("-", "")]


def bad_points() -> dict[str, Point]:
    whole = {"dense": vector(1, 0, 0, 0)}
    return {
        **{f"vector: {what}": Point(name(9), bad, {"space": "a"}) for what, bad in BAD_VECTORS.items()},
        **{f"payload: {what}": Point(name(9), whole, bad) for what, bad in BAD_PAYLOADS.items()},
        **{f"id: {bad!r}": Point(bad, whole, {"space": "a"}) for bad in BAD_IDS},
    }


def test_a_batch_with_one_bad_point_changes_nothing_now_or_after_opening_again(make: Maker) -> None:
    first = make()
    first.open(SCHEMA)
    first.upsert([point(1)])
    for what, bad in bad_points().items():
        with pytest.raises(InvalidArgument):
            first.upsert([point(2), bad, point(3)])
        assert first.count() == 1, what
    first.close()
    again = make()
    again.open(SCHEMA)
    assert [record.id for record in everything(again)] == [name(1)]
    again.close()


def test_a_query_that_does_not_fit_is_refused(index: IndexBackend) -> None:
    index.upsert([point(1)])
    requests = [
        QueryRequest(vector(1, 0, 0), "dense", 5, Filter()),
        QueryRequest(vector(1, 0, math.nan, 0), "dense", 5, Filter()),
        QueryRequest(vector(1, 0, 0, 0), "other", 5, Filter()),
        QueryRequest(vector(1, 0, 0, 0), "dense", 5, Filter(), idf_corpus=Filter()),
        QueryRequest(SparseVector([1], [1.0]), "dense", 5, Filter()),
    ]
    for request in requests:
        with pytest.raises(InvalidArgument):
            index.query([near(vector(1, 0, 0, 0)), request])


def test_an_index_that_is_not_open_is_unavailable(make: Maker) -> None:
    backend = make()
    for close in (lambda: None, backend.close, backend.close):
        close()
        for ask in (
            lambda: backend.upsert([]),
            lambda: backend.count(),
            lambda: backend.query([]),
            lambda: backend.scroll(Filter(), 1),
            lambda: backend.delete([]),
            lambda: backend.maintain(),
        ):
            with pytest.raises(Unavailable):
                ask()


def test_an_open_index_is_not_opened_twice(index: IndexBackend) -> None:
    with pytest.raises(FailedPrecondition):
        index.open(SCHEMA)
    assert index.count() == 0


def test_an_index_grows_fields_when_opened_again(make: Maker) -> None:
    first = make()
    first.open(SCHEMA)
    terms = SparseVector([7], [1.0])
    first.upsert([Point(name(1), {"dense": vector(1, 0, 0, 0), "bm25": terms}, {"space": "a", "note": "n"})])
    first.close()
    wider = Schema(
        dense={"dense": 4}, sparse=("bm25",), tenant="space",
        keywords=("tags", "note", "gone", "kept"), times=("at",), stored=("size",),
    )  # fmt: skip
    again = make()
    assert again.open(wider) is False
    again.upsert([Point(name(2), {"dense": vector(0, 1, 0, 0), "bm25": terms}, {"space": "a", "kept": "1"})])
    assert {id_ for id_, _ in again.query([QueryRequest(terms, "bm25", 5, Filter())])[0]} == {name(1), name(2)}
    assert found(again, Filter(must=(Match("note", "n"),))) == {1}
    assert found(again, Filter(must=(Match("kept", "1"),))) == {2}
    again.close()
    third = make()
    assert third.open(wider) is False
    assert third.count() == 2
    third.close()


def test_an_index_of_another_dimension_is_refused_and_left_alone(make: Maker) -> None:
    first = make()
    first.open(SCHEMA)
    first.upsert([point(1)])
    first.close()
    other = make()
    with pytest.raises(FailedPrecondition, match="dense"):
        other.open(Schema(dense={"dense": 5}, sparse=("bm25",)))
    other.close()
    again = make()
    assert again.open(SCHEMA) is False
    assert again.count() == 1
    again.close()


@pytest.mark.parametrize("kind", KINDS[1:])
def test_every_backend_gives_the_answers_of_edge(kind: str, tmp_path: Path) -> None:
    seed = 20
    print("seed", seed)
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    points = []
    for n in range(200):
        terms = sorted(chance.sample(range(40), chance.randint(1, 8)))
        points.append(
            Point(
                name(n),
                {
                    "dense": rng.normal(size=4).astype(np.float32),
                    "bm25": SparseVector(terms, [chance.uniform(0.5, 2) for _ in terms]),
                },
                {"space": chance.choice("abc"), "tags": tuple(chance.sample("xyz", 2)), "at": n, "gone": str(n % 2)},
            )
        )
    filters = [
        Filter(must=(Match("space", "a"),)),
        Filter(must=(MatchAny("space", ("a", "b")), Match("gone", "0")), must_not=(Match("tags", "x"),)),
        Filter(must=(Range("at", gte=50, lt=150), MatchAny("tags", ("y", "z")))),
    ]
    requests = [
        request
        for where in filters
        for request in (
            near(rng.normal(size=4).astype(np.float32), where, 300),
            QueryRequest(SparseVector([1, 5, 9], [1.0] * 3), "bm25", 300, where, idf_corpus=filters[0]),
            QueryRequest(SparseVector([2, 3], [1.0] * 2), "bm25", 300, where),
        )
    ]
    answers = []
    for one in ("edge", kind):
        with made(one, tmp_path / one) as maker:
            backend = maker()
            backend.open(SCHEMA)
            backend.upsert(points)
            answers.append([dict(hits) for hits in backend.query(requests)])
            backend.close()
    for edge, other in zip(*answers, strict=True):
        assert edge == pytest.approx(other, abs=1e-5)
        assert edge
