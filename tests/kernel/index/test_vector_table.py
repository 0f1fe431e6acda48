"""The table of vectors beside the engine: the answers of exact search, whatever came and went."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from mnemesh_actors.index import vector_table
from mnemesh_actors.index.engine_port import Filter, HasId, Match, MatchAny, Point, QueryRequest, Range, Schema, Scored
from mnemesh_actors.index.engines.edge import EdgeBackend
from mnemesh_actors.index.vector_table import TabledIndex, VectorTable
from mnemesh_memory.values.errors import DataLoss, InvalidArgument

DIMENSIONS = 16
SCHEMA = Schema(dense={"dense": DIMENSIONS}, tenant="space", keywords=("kind",), times=("at",))
SPACES = ("a", "b", "c")
Stored = dict[str, Point]


def name(n: int) -> str:
    return str(UUID(int=n + 1))


def some(chance: random.Random) -> np.ndarray:
    return np.array([chance.gauss(0, 1) for _ in range(DIMENSIONS)], np.float32)


def point(chance: random.Random, id_: str) -> Point:
    spaces = tuple(chance.sample(SPACES, chance.randint(1, 3)))
    return Point(id_, {"dense": some(chance)}, {"space": spaces, "kind": chance.choice("xy"), "at": 5})


def meant(vectored: Point | QueryRequest) -> np.ndarray:
    found = vectored.vectors["dense"] if isinstance(vectored, Point) else vectored.vector
    assert isinstance(found, np.ndarray)
    return found


def exactly(stored: Stored, request: QueryRequest) -> list[Scored]:
    """The answer by the definition of the port."""

    def passes(one: Point) -> bool:
        for condition in request.filter.must:
            if isinstance(condition, HasId):
                if one.id not in condition.ids:
                    return False
            elif isinstance(condition, Match | MatchAny):
                values = (condition.value,) if isinstance(condition, Match) else condition.values
                held = one.payload[condition.field]
                if not set(values) & set(held if isinstance(held, tuple) else (held,)):
                    return False
        return True

    def cosine(one: np.ndarray, other: np.ndarray) -> float:
        return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))

    found = [(one.id, cosine(meant(one), meant(request))) for one in stored.values() if passes(one)]
    return sorted(found, key=lambda hit: -hit[1])[: request.limit]


def same(found: Sequence[Scored], wanted: Sequence[Scored]) -> None:
    assert [id_ for id_, _ in found] == [id_ for id_, _ in wanted]
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=1e-5)


def filters(chance: random.Random, stored: Stored) -> list[Filter]:
    space = Match("space", chance.choice(SPACES))
    ids = HasId((*chance.sample(sorted(stored), min(4, len(stored))), name(99_999)))
    other = Match("kind", "x")
    return [
        Filter(must=(space,)),
        Filter(must=(MatchAny("space", ("a", "c", "nowhere")),)),
        Filter(must=(MatchAny("space", ()),)),
        Filter(must=(ids,)),
        Filter(must=(space, ids)),
        Filter(must=(space, other)),
        Filter(),
    ]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[TabledIndex]:
    one = TabledIndex(EdgeBackend(tmp_path / "points"))
    one.open(SCHEMA)
    yield one
    one.close()


def asked(index: TabledIndex, stored: Stored, chance: random.Random) -> None:
    request = QueryRequest(some(chance), "dense", 20, Filter(must=(Match("space", "a"),)))
    same(index.query([request])[0], exactly(stored, request))


@pytest.mark.parametrize("seed", range(3))
def test_a_table_gives_the_answers_of_exact_search_whatever_came_and_went(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    stored: Stored = {}
    index = TabledIndex(EdgeBackend(tmp_path / "points"))
    index.open(SCHEMA)
    for step in range(8):
        ids = [name(n) for n in chance.sample(range(600), chance.choice((1, 7, 300)))]
        fresh = {id_: point(chance, id_) for id_ in ids}
        index.upsert(list(fresh.values()))
        stored |= fresh
        gone = chance.sample(sorted(stored), len(stored) // 5)
        index.delete([*gone, name(88_888)])
        for id_ in gone:
            del stored[id_]
        if step % 4 == 3:
            index.maintain()
            index.close()
            index = TabledIndex(EdgeBackend(tmp_path / "points"))
            assert index.open(SCHEMA) is False
        asked = [
            QueryRequest(some(chance), "dense", chance.choice((1, 5, 1000)), where) for where in filters(chance, stored)
        ]
        for found, request in zip(index.query(asked), asked, strict=True):
            same(found, exactly(stored, request))
        assert index._table is not None
    index.close()


def test_a_space_that_lies_scattered_among_others_is_found_as_a_space_of_its_own() -> None:
    chance = random.Random(1)
    table = VectorTable(DIMENSIONS, "space")
    stored: Stored = {}
    for n in range(5000):
        one = Point(name(n), {"dense": some(chance)}, {"space": "few" if n % 3 == 0 else "many"})
        stored[one.id] = one
        table.put(one.id, meant(one), one.payload["space"])
    for space in ("few", "many"):
        request = QueryRequest(some(chance), "dense", 50, Filter(must=(Match("space", space),)))
        same(table.nearest(meant(request), request.filter, 50), exactly(stored, request))


def test_nothing_of_a_removed_vector_stays_in_memory(index: TabledIndex) -> None:
    chance = random.Random(2)
    index.upsert([point(chance, name(n)) for n in range(3)])
    table = index._table
    assert table is not None
    assert np.any(table._vectors)
    index.delete([name(n) for n in range(3)])
    assert not np.any(table._vectors)
    assert not np.any(table._words)


def test_a_large_index_has_no_table_and_answers_as_before(index: TabledIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_table, "TABLE_BYTES_MAX", 10 * DIMENSIONS * 4)
    chance = random.Random(3)
    stored = {name(n): point(chance, name(n)) for n in range(11)}
    index.upsert(list(stored.values())[:10])
    assert index._table is not None
    index.upsert(list(stored.values())[10:])
    assert index._table is None
    asked(index, stored, chance)
    index.close()
    index.open(SCHEMA)
    assert index._table is None


def test_points_that_are_written_again_leave_the_table_as_large_as_it_was(
    index: TabledIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_table, "TABLE_BYTES_MAX", 10 * DIMENSIONS * 4)
    chance = random.Random(6)
    for _ in range(2):
        stored = {name(n): point(chance, name(n)) for n in range(10)}
        index.upsert(list(stored.values()))
    assert index._table is not None
    asked(index, stored, chance)


def test_an_index_that_shrinks_has_a_table_again(index: TabledIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_table, "TABLE_BYTES_MAX", 10 * DIMENSIONS * 4)
    chance = random.Random(7)
    stored = {name(n): point(chance, name(n)) for n in range(11)}
    index.upsert(list(stored.values()))
    for left in (6, 5):
        gone = sorted(stored)[left:]
        index.delete(gone)
        for id_ in gone:
            del stored[id_]
        index.maintain()
        assert (index._table is not None) == (left == 5)
        asked(index, stored, chance)


def test_a_table_comes_back_after_the_vectors_could_not_be_read_once(
    index: TabledIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_table, "TABLE_BYTES_MAX", 2 * DIMENSIONS * 4)
    chance = random.Random(5)
    index.upsert([point(chance, name(n)) for n in range(3)])
    index.delete([name(1), name(2)])
    with monkeypatch.context() as patch:
        patch.setattr(index._engine, "scroll", broken)
        with pytest.raises(DataLoss):
            index.maintain()
    assert index._table is None
    index.maintain()
    assert index._table is not None


def test_a_table_is_let_go_when_the_engine_fails_and_kept_when_it_refuses(index: TabledIndex) -> None:
    chance = random.Random(4)
    index.upsert([point(chance, name(1))])
    with pytest.raises(InvalidArgument):
        index.upsert([Point("no id", {"dense": some(chance)}, {"space": "a"})])
    with pytest.raises(InvalidArgument):
        index.query([QueryRequest(some(chance)[:3], "dense", 1, Filter(must=(Match("space", "a"),)))])
    with pytest.raises(InvalidArgument):
        index.query([QueryRequest(some(chance), "dense", 1, Filter(must=(HasId(("no id",)),)))])
    assert index._table is not None
    index._engine.upsert = broken  # type: ignore[method-assign]
    with pytest.raises(DataLoss):
        index.upsert([point(chance, name(2))])
    assert index._table is None


def broken(*_: object, **__: object) -> None:
    raise DataLoss("planted")


def test_filters_of_other_fields_are_answered_by_the_engine(index: TabledIndex) -> None:
    chance = random.Random(5)
    points = [point(chance, name(n)) for n in range(20)]
    later = [Point(one.id, one.vectors, {**one.payload, "at": 5 + n % 2}) for n, one in enumerate(points)]
    index.upsert(later)
    space, other = Match("space", "a"), Match("space", "b")
    asked = [
        QueryRequest(some(chance), "dense", 20, where)
        for where in (
            Filter(must=(space, Range("at", gte=6))),
            Filter(must=(space,), must_not=(other,)),
            Filter(must=(space,)),
        )
    ]
    late, apart, whole = index.query(asked)
    known = {one.id: one.payload for one in later}
    assert {id_ for id_, _ in late} == {id_ for id_, _ in whole if known[id_]["at"] == 6}
    assert {id_ for id_, _ in apart} == {id_ for id_, _ in whole if "b" not in str(known[id_]["space"])}
    assert 0 < len(late) < len(whole) > len(apart) > 0
    same(whole, exactly({one.id: one for one in later}, asked[2]))
