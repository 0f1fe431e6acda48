"""More equal scores than a list has room for: the choice of candidates depends on content, never on time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from mnemesh_actors.index import ranked
from mnemesh_actors.index.shard import IndexItem, IndexText, RetrievalShard, Search, ShardConfig

DIMENSIONS = 4
MEMORIES = 1_500
SEED = 5
SPACE = "team/x"
NORTH = np.eye(DIMENSIONS, dtype=np.float32)[0]


def memory(n: int) -> str:
    return str(UUID(int=n + 1, version=4))


def item(n: int, words: str = "", created_at: int | None = None) -> IndexItem:
    at = 1_700_000_000_000 + n * 1_000 if created_at is None else created_at
    texts = (IndexText(NORTH, words or f"alpha beta{n} gamma{n}"),)
    return IndexItem(id=memory(n), space=SPACE, kind="fact", created_at=at, updated_at=at, texts=texts)


class Replicas:
    """Two indexes that hold the same and got it in different orders."""

    def __init__(self, folder: Path, items: list[IndexItem]) -> None:
        chance = random.Random(SEED)
        self.shards = []
        for number in range(2):
            config = ShardConfig(str(folder / str(number)), "model-1", DIMENSIONS, "life-1")
            shard = RetrievalShard(config)
            shard.open()
            shard.apply(chance.sample(items, len(items)), [], 1)
            self.shards.append(shard)

    def found(self, limit: int, by_meaning: bool = False) -> list[int]:
        """The memories that both find for "alpha", in the order of their numbers."""
        words = Search("alpha", None, (SPACE,), limit=limit, generation="model-1")
        search = replace(words, vector=NORTH, bm25=False) if by_meaning else words
        one, other = (sorted(UUID(candidate.id).int for candidate in shard.search(search)) for shard in self.shards)
        assert one == other
        return [n for n in range(MEMORIES) if UUID(memory(n)).int in set(one)]

    def close(self) -> None:
        for shard in self.shards:
            shard.close()


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    print("seed", SEED)
    both = Replicas(tmp_path_factory.mktemp("ties"), [item(n) for n in range(MEMORIES)])
    yield both
    both.close()


@pytest.mark.parametrize("by_meaning", [False, True], ids=["words", "meaning"])
@pytest.mark.parametrize("limit", [1, 20, 60, 100])
def test_replicas_choose_the_same_of_many_equal_ones(equal: Replicas, limit: int, by_meaning: bool) -> None:
    assert len(equal.found(limit, by_meaning)) == limit


@pytest.mark.parametrize("more", [0, 60, 900])
def test_of_more_than_are_asked_for_they_choose_new_ones(
    equal: Replicas, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranked, "MOMENT_POINTS", more)
    found = equal.found(limit=20)
    assert len(found) == 20
    assert min(found) > MEMORIES - 2 * 20 - more


def test_what_is_better_than_many_equal_ones_comes_first_and_what_is_worse_does_not_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = " ".join(f"word{n}" for n in range(30))
    words = dict.fromkeys(range(3), "alpha alpha") | dict.fromkeys(range(1000, MEMORIES), f"alpha {long}")
    both = Replicas(tmp_path, [item(n, words.get(n, "")) for n in range(MEMORIES)])
    monkeypatch.setattr(ranked, "MOMENT_POINTS", 60)
    found = both.found(limit=20)
    both.close()
    assert (len(found), found[:3]) == (20, [0, 1, 2])
    assert all(900 <= n < 1_000 for n in found[3:])


def test_too_many_equal_ones_of_one_moment_are_no_reason_for_a_short_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranked, "MOMENT_POINTS", 100)
    shard = RetrievalShard(ShardConfig(str(tmp_path), "model-1", DIMENSIONS, "life-1"))
    shard.open()
    shard.apply([item(n, created_at=7) for n in range(400)], [], 1)
    assert len(shard.search(Search("alpha", None, (SPACE,), limit=20, generation="model-1"))) == 20
    shard.close()
