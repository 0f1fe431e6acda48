"""An import is compared with the index and with itself, at a price independent of its size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from mnemesh_actors.index import neighbours
from mnemesh_actors.index.engine_port import QueryRequest, Scored
from mnemesh_actors.index.engines.edge import EdgeBackend
from mnemesh_actors.index.shard import IndexItem, IndexText, RetrievalShard, ShardConfig
from mnemesh_actors.remember.batch_neighbours import Siblings
from mnemesh_memory.policy import guard
from mnemesh_memory.values.model import Memory

DIMENSIONS = 384
SPACE, OTHER = "team/x", "team/y"
MANY = 200
TEXTS = 32
GENERATION = "model-1"


def memory(n: int) -> str:
    return str(UUID(int=n, version=4))


def direction(n: int) -> np.ndarray:
    vector = np.random.default_rng(n).normal(size=DIMENSIONS).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def beside(n: int) -> np.ndarray:
    """A vector with a cosine of some .95 to that of memory n."""
    vector = direction(n) + 0.3 * direction(10_000 + n)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def item(n: int, space: str = SPACE, state: str = "active") -> IndexItem:
    texts = (IndexText(direction(n), f"note {n}"),)
    return IndexItem(id=memory(n), space=space, kind="fact", created_at=n, updated_at=n, state=state, texts=texts)


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[RetrievalShard]:
    one = RetrievalShard(ShardConfig(str(tmp_path / "shard"), GENERATION, DIMENSIONS, "life-1"))
    one.open()
    items = [item(n) for n in range(MANY)]
    items[7] = item(7, state="forgotten")
    one.apply([*items, *(item(n, OTHER) for n in range(MANY, MANY + 20))], [], 1)
    yield one
    one.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many searches each call to the engine holds."""
    seen: list[int] = []
    query = EdgeBackend.query

    def counted(self: EdgeBackend, requests: Sequence[QueryRequest]) -> list[list[Scored]]:
        seen.append(len(requests))
        return query(self, requests)

    monkeypatch.setattr(EdgeBackend, "query", counted)
    return seen


def batch(space: str = SPACE) -> list[tuple[np.ndarray, str]]:
    return [(beside(n), space) for n in range(TEXTS)]


def test_a_small_index_is_searched_for_each_text(shard: RetrievalShard, asked: list[int]) -> None:
    found = shard.neighbours_of_many(batch(), 3, GENERATION)
    assert asked == [TEXTS]
    assert found == shard.neighbours_batch(batch(), 3, GENERATION)
    assert [near[0][0] == memory(n) for n, near in enumerate(found)] == [n != 7 for n in range(TEXTS)]


def test_a_large_one_is_asked_once_for_groups_of_texts(
    shard: RetrievalShard, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "EACH_POINTS_MAX", 100)
    texts = [*batch(), *((beside(n), OTHER) for n in range(MANY, MANY + 16)), (direction(1), "nothing in it")]
    found = shard.neighbours_of_many(texts, 3, GENERATION)
    assert asked == [2 + 1 + 1], "a group of 16 texts each"
    # The mean of a batch is near the neighbours of its texts, so nearly all of them are in the pool.
    assert sum(bool(near) and near[0][0] == memory(n) for n, near in enumerate(found[:TEXTS])) >= 0.95 * (TEXTS - 1)
    assert memory(7) not in {id_ for near in found for id_, _ in near}, "it is forgotten"
    assert {id_ for near in found[TEXTS:-1] for id_, _ in near} <= {memory(n) for n in range(MANY, MANY + 20)}
    assert found[-1] == []
    for (vector, _), near in zip(texts, found, strict=True):
        assert [cosine for _, cosine in near] == sorted((cosine for _, cosine in near), reverse=True)
        for id_, cosine in near:
            (n,) = (n for n in range(MANY + 20) if memory(n) == id_)
            assert cosine == pytest.approx(float(vector @ direction(n)), abs=1e-4)


def test_a_few_texts_are_searched_for_each_in_a_large_one_too(
    shard: RetrievalShard, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "EACH_POINTS_MAX", 100)
    few = batch()[:5]
    assert shard.neighbours_of_many(few, 3, GENERATION) == shard.neighbours_batch(few, 3, GENERATION)
    assert asked == [5, 5]


def written(n: int, space: str = SPACE) -> Memory:
    return Memory(
        id=memory(n), space=space, kind="fact", title="", content=f"Note {n} of the batch.", state="active", by="owner",
        created_at=n, updated_at=n, heads=(),
    )  # fmt: skip


def test_each_memory_of_a_batch_hears_of_those_before_it_that_are_near() -> None:
    siblings = Siblings()
    assert siblings.of([(written(1), direction(1))]) == {}
    near = siblings.of([(written(2), beside(1)), (written(3, OTHER), beside(1)), (written(4), direction(1))])
    assert {id_: [one.id for one in found] for id_, found in near.items() if found} == {
        memory(2): [memory(1)],
        memory(4): [memory(1), memory(2)],
    }
    assert near[memory(4)][0].similarity == pytest.approx(1.0, abs=1e-5)
    assert near[memory(4)][1].similarity == pytest.approx(float(direction(1) @ beside(1)), abs=1e-5)
    assert near[memory(2)][0].snippet == "Note 1 of the batch."
    assert siblings.of([]) == {}


def test_no_more_of_them_are_named_than_of_the_index() -> None:
    siblings = Siblings()
    near = siblings.of([(written(n), direction(1)) for n in range(20)])
    assert len(near[memory(19)]) == guard.RELATED_MAX
