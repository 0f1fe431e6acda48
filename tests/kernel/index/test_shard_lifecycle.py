"""Opening, closing, crashing and equal scores of a shard."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from doubles import killed_in
from plain_memories import memory_id

from mnemesh_actors.index import ranked
from mnemesh_actors.index.engine_port import Filter
from mnemesh_actors.index.shard import IndexItem, IndexText, RetrievalShard, Search, ShardConfig, ShardStatus
from mnemesh_memory.values.errors import DataLoss, Unavailable

DIMENSIONS = 4


def config(path: Path) -> ShardConfig:
    return ShardConfig(str(path), "model-1", DIMENSIONS, "life-1")


def item(n: int, *words: str) -> IndexItem:
    vector = np.zeros(DIMENSIONS, np.float32)
    vector[n % DIMENSIONS] = 1
    texts = tuple(IndexText(vector, word) for word in words)
    return IndexItem(id=memory_id(n), space="a", kind="fact", created_at=n, updated_at=n, texts=texts)


def found(shard: RetrievalShard, words: str) -> list[str]:
    return [candidate.id for candidate in shard.search(Search(words, None, ("a",)))]


def opened(path: Path, **changes: object) -> tuple[RetrievalShard, ShardStatus]:
    shard = RetrievalShard(replace(config(path), **changes))
    return shard, shard.open()


def filled(path: Path) -> None:
    """A closed shard of five memories, one of them with three passages, at entry 9."""
    shard, _ = opened(path)
    shard.apply([*(item(n, "apple") for n in range(1, 5)), item(5, "one", "two", "three")], [], 9)
    shard.close()


def test_a_shard_that_was_closed_holds_everything_when_it_is_opened_again(tmp_path: Path) -> None:
    filled(tmp_path)
    shard, status = opened(tmp_path)
    assert status == ShardStatus(9, 7, "", "edge")
    assert found(shard, "apple") == [memory_id(n) for n in range(1, 5)]
    assert found(shard, "two three") == [memory_id(5)]
    shard.apply([item(5, "one")], [], 10)
    assert shard.status() == ShardStatus(10, 5, "", "edge")
    assert found(shard, "two three") == []
    shard.close()


def test_flush_says_up_to_which_entry_the_index_is_durable(tmp_path: Path) -> None:
    shard, _ = opened(tmp_path)
    assert shard.flush() == 0
    shard.apply([item(1, "apple")], [], 4)
    assert json.loads((tmp_path / "meta.json").read_text())["seq"] == 0
    assert shard.flush() == 4
    assert json.loads((tmp_path / "meta.json").read_text())["seq"] == 4
    shard.apply([item(1, "pear")], [], 2)
    assert shard.flush() == 4
    shard.close()


def test_after_sigkill_the_shard_says_what_was_flushed_and_applying_again_sets_it_right(tmp_path: Path) -> None:
    killed_in(
        "from test_shard_lifecycle import item, memory_id, opened\n"
        f"shard, _ = opened(Path({str(tmp_path)!r}))\n"
        "shard.apply([item(1, 'apple'), item(2, 'one', 'two', 'three')], [], 3); assert shard.flush() == 3\n"
        "shard.apply([item(1, 'pear'), item(2, 'one'), item(3, 'plum', 'fig')], [], 5); die()"
    )
    shard, status = opened(tmp_path)
    assert (status.seq, status.rebuilt) == (3, "")
    for _ in range(2):
        shard.apply([item(1, "pear"), item(2, "one"), item(3, "plum", "fig")], [], 5)
        assert shard.status().points == 4
        shown = [found(shard, word) for word in ("apple", "two", "pear", "fig")]
        assert shown == [[], [], [memory_id(1)], [memory_id(3)]]
    shard.close()


@pytest.mark.parametrize(("before", "kept"), [(9, 4), (10, 0)])
def test_a_shard_goes_on_with_another_ledger_from_where_they_agree(tmp_path: Path, before: int, kept: int) -> None:
    filled(tmp_path)
    shard, _ = opened(tmp_path)
    assert shard.rebase("life-2", 4, before).seq == kept
    assert shard.rebase("life-2", 3, 0).seq == kept  # asked again after its answer was lost
    shard.close()
    shard, status = opened(tmp_path, incarnation="life-2")
    assert (status.seq, status.rebuilt, status.points) == (kept, "", 7)
    shard.close()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"generation": "model-2"}, "generation"), ({"incarnation": "life-2"}, "incarnation"), ({"dimensions": 5}, "dim")],
)
def test_an_index_of_another_model_or_another_life_of_the_ledger_is_made_new(
    tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    filled(tmp_path)
    shard, status = opened(tmp_path, **changes)
    assert (status.seq, status.points) == (0, 0)
    assert reason in status.rebuilt
    shard.close()
    shard, status = opened(tmp_path, **changes)
    assert status == ShardStatus(0, 0, "", "edge")
    shard.close()


def segment(path: Path, name: str) -> Path:
    (file,) = (path / "points" / "segments").glob(f"*/{name}")
    return file


def halve(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def lose_ids(path: Path) -> None:
    halve(segment(path, "mutable_id_tracker.mappings"))
    for log in (path / "points" / "wal").glob("open-*"):
        log.unlink()


def edit(path: Path, **changes: object) -> None:
    file = path / "meta.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


HARMS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no meta": (lambda path: (path / "meta.json").unlink(), "absent"),
    "meta is not JSON": (lambda path: (path / "meta.json").write_text("{"), "meta.json was damaged"),
    "meta is a list": (lambda path: (path / "meta.json").write_text("[]"), "meta.json was damaged"),
    "meta is not text": (lambda path: (path / "meta.json").write_bytes(b"\xff\xfe"), "meta.json was damaged"),
    "meta lacks a field": (lambda path: (path / "meta.json").write_text('{"seq": 3}'), "meta.json was damaged"),
    "meta has a negative seq": (lambda path: edit(path, seq=-1), "meta.json was damaged"),
    "meta has a text as seq": (lambda path: edit(path, seq="9"), "meta.json was damaged"),
    "meta of another format": (lambda path: edit(path, format=99), "format"),
    "meta tells of damage": (lambda path: edit(path, damage="a panic"), "a panic"),
    "points of an older copy": (lambda path: edit(path, points=6), "holds 7 points"),
    "no points": (lambda path: subprocess.run(["rm", "-r", str(path / "points")], check=True), "missing"),
    "no configuration": (lambda path: (path / "points" / "edge_config.json").unlink(), "configuration"),
    "segment state gone": (lambda path: segment(path, "segment.json").unlink(), "segment"),
    "half of the ids": (lose_ids, "points"),
    "no vectors": (lambda path: segment(path, "vector_storage-dense/vectors/status.dat").unlink(), "lost vector"),
    "a Rust panic": (lambda path: halve(segment(path, "vector_storage-dense/deleted/status.dat")), "damaged"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_index_is_made_new_and_says_why(tmp_path: Path, harm: str) -> None:
    filled(tmp_path)
    do, reason = HARMS[harm]
    do(tmp_path)
    shard, status = opened(tmp_path)
    assert (status.seq, status.points) == (0, 0)
    assert reason in status.rebuilt
    shard.apply([item(1, "apple", "pear")], [], 2)
    assert found(shard, "apple") == [memory_id(1)]
    shard.close()
    shard, status = opened(tmp_path)
    assert status == ShardStatus(2, 2, "", "edge")
    shard.close()


def test_damage_that_shows_in_use_makes_the_index_new_when_it_is_opened_next(tmp_path: Path) -> None:
    shard, _ = opened(tmp_path)
    shard.apply([item(1, "apple")], [], 3)

    def fail(requests: object) -> None:
        raise DataLoss("the index failed: planted")

    vars(shard._backend)["query"] = fail
    with pytest.raises(DataLoss, match="planted"):
        found(shard, "apple")
    status = shard.open()
    assert (status.seq, status.points) == (0, 0)
    assert "planted" in status.rebuilt
    shard.apply([item(1, "apple")], [], 3)
    shard.close()
    shard, status = opened(tmp_path)
    assert status == ShardStatus(3, 1, "", "edge")
    vars(shard._backend)["query"] = fail
    with pytest.raises(DataLoss, match="planted"):
        found(shard, "apple")
    shard.close()
    again, status = opened(tmp_path)
    assert "planted" in status.rebuilt
    again.close()


def test_opening_an_open_shard_again_tells_how_it_is(tmp_path: Path) -> None:
    shard, _ = opened(tmp_path)
    shard.apply([item(1, "apple")], [], 3)
    assert shard.open() == ShardStatus(3, 1, "absent", "edge")
    shard.close()


def test_a_second_shard_on_a_directory_is_refused_and_the_first_is_unharmed(tmp_path: Path) -> None:
    filled(tmp_path)
    first, _ = opened(tmp_path)
    other = RetrievalShard(replace(config(tmp_path), generation="model-2"))
    with pytest.raises(Unavailable, match="in use"):
        other.open()
    other.close()
    assert first.status().points == 7
    assert found(first, "apple") == [memory_id(n) for n in range(1, 5)]
    first.close()
    assert other.open().seq == 0
    other.close()


def test_a_passage_that_a_crash_left_behind_goes_with_the_next_write(tmp_path: Path) -> None:
    shard, _ = opened(tmp_path)
    shard.apply([item(1, "one", "two", "three", "four")], [], 1)
    backend = shard._backend
    records, _ = backend.scroll(Filter(), 10)
    backend.delete([record.id for record in records if record.payload.get("passage") in (1, 2)])
    shard.flush()
    shard.close()
    shard, status = opened(tmp_path)
    assert status.points == 2
    shard.apply([item(1, "one")], [], 2)
    assert shard.status().points == 1
    shard.close()


def test_an_index_that_moves_to_another_machine_is_not_kept_out_by_what_hangs_on_the_first(tmp_path: Path) -> None:
    place = tmp_path / "{ip}"

    def at(address: str) -> RetrievalShard:
        shard = RetrievalShard(config(place))
        shard.arrive(address)
        return shard

    first = at("10.0.0.1")
    assert first.open().rebuilt == "absent"
    first.apply([item(1, "apple")], [], 4)
    with pytest.raises(Unavailable, match="in use"):
        at("10.0.0.1").open()
    second = at("10.0.0.2")
    assert second.open() == ShardStatus(0, 0, "absent", "edge")
    first.close()
    second.close()
    again = at("10.0.0.1")
    assert again.open() == ShardStatus(4, 1, "", "edge")
    again.close()
    assert not place.exists()


# ---- ties ------------------------------------------------------------------------------------------------------------
# More equal scores than a list has room for: the choice of candidates depends on content, never on time.


MEMORIES = 1_500
SEED = 5
SPACE = "team/x"
NORTH = np.eye(DIMENSIONS, dtype=np.float32)[0]


def equal_memory(n: int) -> str:
    return memory_id(n + 1)


def equal_item(n: int, words: str = "", created_at: int | None = None) -> IndexItem:
    at = 1_700_000_000_000 + n * 1_000 if created_at is None else created_at
    texts = (IndexText(NORTH, words or f"alpha beta{n} gamma{n}"),)
    return IndexItem(id=equal_memory(n), space=SPACE, kind="fact", created_at=at, updated_at=at, texts=texts)


class Replicas:
    """Two indexes that hold the same and got it in different orders."""

    def __init__(self, folder: Path, items: list[IndexItem]) -> None:
        chance = random.Random(SEED)
        self.shards = []
        for number in range(2):
            shard = RetrievalShard(ShardConfig(str(folder / str(number)), "model-1", DIMENSIONS, "life-1"))
            shard.open()
            shard.apply(chance.sample(items, len(items)), [], 1)
            self.shards.append(shard)

    def found(self, limit: int, by_meaning: bool = False) -> list[int]:
        """The memories that both find for "alpha", in the order of their numbers."""
        words = Search("alpha", None, (SPACE,), limit=limit, generation="model-1")
        search = replace(words, vector=NORTH, bm25=False) if by_meaning else words
        one, other = (sorted(UUID(candidate.id).int for candidate in shard.search(search)) for shard in self.shards)
        assert one == other
        return [n for n in range(MEMORIES) if UUID(equal_memory(n)).int in set(one)]

    def close(self) -> None:
        for shard in self.shards:
            shard.close()


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    print("seed", SEED)
    both = Replicas(tmp_path_factory.mktemp("ties"), [equal_item(n) for n in range(MEMORIES)])
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
    both = Replicas(tmp_path, [equal_item(n, words.get(n, "")) for n in range(MEMORIES)])
    monkeypatch.setattr(ranked, "MOMENT_POINTS", 60)
    found = both.found(limit=20)
    both.close()
    assert (len(found), found[:3]) == (20, [0, 1, 2])
    assert all(900 <= n < 1_000 for n in found[3:])


def test_too_many_equal_ones_of_one_moment_fill_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked, "MOMENT_POINTS", 100)
    shard = RetrievalShard(ShardConfig(str(tmp_path), "model-1", DIMENSIONS, "life-1"))
    shard.open()
    shard.apply([equal_item(n, created_at=7) for n in range(400)], [], 1)
    assert len(shard.search(Search("alpha", None, (SPACE,), limit=20, generation="model-1"))) == 20
    shard.close()
