"""A large index grows by segments, each sealed once in a process of its own; nothing written meanwhile is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from errno import ENOSPC
from pathlib import Path
from unittest.mock import Mock
from uuid import UUID

import numpy as np
import pytest
from doubles import vector_traces

from mnemesh_actors.index import engine_port
from mnemesh_actors.index.engine_port import Filter, HasId, Match, MatchAny, Point, QueryRequest, Schema, SparseVector
from mnemesh_actors.index.engines import segment_files, segments
from mnemesh_actors.index.engines.edge import EdgeBackend
from mnemesh_actors.index.engines.segments import SegmentedEdge
from mnemesh_actors.storage.disk import DiskRoom
from mnemesh_memory.values.errors import DataLoss

DIMENSIONS = 32
FULL = 400
POINTS = 500
WAIT_S = 60
SCHEMA = Schema(dense={"dense": DIMENSIONS}, sparse=("bm25",), tenant="space", times=("seq",))
RANDOM = np.random.default_rng(7)
# Texts of a kind lie together, as embeddings do.
CENTRES = RANDOM.normal(size=(40, DIMENSIONS))
VECTORS = (CENTRES[RANDOM.integers(0, 40, 8 * FULL)] + 0.5 * RANDOM.normal(size=(8 * FULL, DIMENSIONS))).astype("f4")
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
ALL = Filter(must=(Match("space", "all"),))


def id_of(n: int) -> str:
    return str(UUID(int=n + 1))


def point(n: int, **payload: str | int | tuple[str, ...]) -> Point:
    spaces = ("all", "few") if n % 10 == 0 else ("all",)
    vectors = {"dense": VECTORS[n], "bm25": SparseVector((n % 7, 100), (1.0, 0.5))}
    return Point(id_of(n), vectors, {"space": spaces, "seq": n, **payload})


def found(index: SegmentedEdge, vector: np.ndarray, where: Filter = ALL, limit: int = 10) -> list[int]:
    (hits,) = index.query([QueryRequest(vector, "dense", limit, where)])
    return [UUID(id_).int - 1 for id_, _ in hits]


def words(index: SegmentedEdge, term: int) -> dict[int, float]:
    (hits,) = index.query([QueryRequest(SparseVector((term,), (1.0,)), "bm25", 8 * FULL, ALL, idf_corpus=ALL)])
    return {UUID(id_).int - 1: score for id_, score in hits}


def exact(vector: np.ndarray, among: Sequence[int], limit: int = 10) -> list[int]:
    numbers = np.array(list(among))
    return [int(n) for n in numbers[np.argsort(-(VECTORS[numbers] @ vector), kind="stable")[:limit]]]


def share_found(index: SegmentedEdge, among: Sequence[int]) -> float:
    """Of the ten nearest, as many as the index finds."""
    shares = [len(set(found(index, VECTORS[n])) & set(exact(VECTORS[n], among))) / 10 for n in range(0, 3 * FULL, 12)]
    return sum(shares) / len(shares)


def sealed_names(index: SegmentedEdge) -> set[str]:
    return {one.name for one in index.segments() if one.sealed}


def settle(index: SegmentedEdge) -> None:
    """Make the pending segments, and take them in, until none is pending."""
    for _ in range(40):
        idle, failures = index._build is None and not index._pause, index._failures
        index.maintain()
        if index._build is not None:
            index._build.child.wait(WAIT_S)
        elif idle and index._failures == failures:  # a copy that failed is begun again at the next flush
            return
    raise AssertionError("there is always another one on its way")


def grow(index: SegmentedEdge, first: int, last: int) -> None:
    """An import: a flush after each hundred, whatever is on its way meanwhile."""
    for start in range(first, last, 100):
        index.upsert([point(n) for n in range(start, min(last, start + 100))])
        index.maintain()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SegmentedEdge]:
    one = SegmentedEdge(tmp_path / "points", FULL)
    assert one.open(SCHEMA)
    one.upsert([point(n) for n in range(POINTS)])
    yield one
    one.close()


def test_sealed_segments_find_what_exact_search_finds_in_every_filter(index: SegmentedEdge, tmp_path: Path) -> None:
    last = 3 * FULL
    grow(index, POINTS, last)
    alone = EdgeBackend(tmp_path / "exact")
    alone.open(SCHEMA)
    alone.upsert([point(n) for n in range(last)])
    (right,) = alone.query([QueryRequest(SparseVector((6,), (1.0,)), "bm25", last, ALL, idf_corpus=ALL)])
    alone.close()
    settle(index)
    assert len(sealed_names(index)) >= 2
    assert share_found(index, range(last)) >= 0.98
    early = engine_port.Range("seq", lt=FULL)
    for n in range(50):
        assert found(index, VECTORS[n], Filter(must=(Match("space", "few"),))) == exact(VECTORS[n], range(0, last, 10))
        assert found(index, VECTORS[n], Filter((*ALL.must, early))) == exact(VECTORS[n], range(FULL))
    # Words weigh the same as in one segment: rarity is counted over all of them.
    assert words(index, 6) == pytest.approx({UUID(id_).int - 1: score for id_, score in right}, abs=1e-5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exact", "points"]


def test_a_segment_is_sealed_once_however_much_comes_after_it(
    index: SegmentedEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "REST_CHANGES", -1)
    settle(index)
    first = sealed_names(index)
    assert len(first) == 1
    grow(index, POINTS, 6 * FULL)
    settle(index)
    assert first < sealed_names(index)
    assert sum(one.points for one in index.segments()) == index.count() == 6 * FULL
    assert all(one.points <= 2 * FULL for one in index.segments())


def grown_without_rest(index: SegmentedEdge, last: int, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Fill an index while it never rests; its sealed segments."""
    with monkeypatch.context() as patched:
        patched.setattr(segments, "REST_CHANGES", -1)
        settle(index)
        grow(index, POINTS, last)
        settle(index)
    return sealed_names(index)


def test_at_rest_small_sealed_segments_become_one_that_finds_the_same(
    index: SegmentedEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = 4 * FULL
    before = grown_without_rest(index, last, monkeypatch)
    assert len(before) > 3
    settle(index)
    merged = [one for one in index.segments() if one.sealed]
    assert len(merged) < len(before)
    small = sorted(one.present for one in merged if one.present < segments.MERGED_ENOUGH * FULL / 2)
    for at in range(1, len(small)):  # what is left is far larger than all before it, or too large together with them
        before_it = sum(small[:at])
        assert (
            small[at] > segments.MERGED_TIMES * before_it or before_it + small[at] > segments.MERGED_FULL_MAX * FULL / 2
        )
    assert index.graphs == len(merged)
    files = [tmp_path / "points" / "segments" / one.name / "segment.json" for one in merged]
    linked = {one.points for one, file in zip(merged, files, strict=True) if '"payload_m":0' not in file.read_text()}
    assert linked == {one.points for one in merged if one.points > 1.5 * FULL / 2} != set()
    assert index.count() == last
    assert share_found(index, range(last)) >= 0.98
    assert words(index, 6).keys() == {n for n in range(last) if n % 7 == 6}
    settle(index)
    assert sealed_names(index) == {one.name for one in merged}


def test_at_rest_an_open_segment_is_sealed_once_it_is_worth_it(
    index: SegmentedEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = 4 * FULL
    grown_without_rest(index, last, monkeypatch)
    settle(index)
    worth = int(segments.REST_SHARE * FULL / 2)
    index.upsert([point(n) for n in range(last, last + worth - 1)])
    settle(index)
    before = sealed_names(index)
    assert [one.points for one in index.segments() if one.points and not one.sealed] == [worth - 1]
    index.upsert([point(last + worth - 1)])
    index.maintain()
    assert index.building
    index.upsert([point(n) for n in range(last + worth, last + worth + 10)])  # while it is sealed
    index.delete([id_of(last), id_of(last + worth)])
    settle(index)
    assert sealed_names(index) != before
    assert sum(one.points for one in index.segments() if not one.sealed) < worth
    assert index.stored() == index.count() == last + worth + 8
    there = [n for n in range(last + worth + 10) if n not in (last, last + worth)]
    assert share_found(index, there) >= 0.98
    assert words(index, 6).keys() == {n for n in there if n % 7 == 6}


def test_merged_segments_stay_below_what_edge_makes_of_several(
    index: SegmentedEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 1.75 * FULL
    monkeypatch.setattr(segments, "MERGED_BYTES_MAX", most * DIMENSIONS * 4)
    before = grown_without_rest(index, 4 * FULL, monkeypatch)
    settle(index)
    merged = [one.present for one in index.segments() if one.sealed and one.name not in before]
    assert merged
    assert max(merged) <= most


def test_segments_that_do_not_become_fewer_are_left_as_they_are(
    index: SegmentedEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = grown_without_rest(index, 4 * FULL, monkeypatch)
    begun = nothing_made(monkeypatch)
    settle(index)
    tries = len(begun)
    assert sealed_names(index) == before
    # Each segment is tried once, with at least one other: sizes hang on how fast the machine is.
    assert 1 <= tries <= len(before) // 2
    settle(index)
    assert len(begun) == tries


def nothing_made(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """From now on a child leaves the copy as it is; the children."""
    begun: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def idle(_: object, **rest: int) -> subprocess.Popen[bytes]:
        begun.append(start([sys.executable, "-c", ""], **rest))
        return begun[-1]

    monkeypatch.setattr(segments.subprocess, "Popen", idle)
    return begun


def test_a_merge_at_rest_leaves_the_reserve_of_the_disk_free(
    index: SegmentedEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = grown_without_rest(index, 4 * FULL, monkeypatch)
    index._disk = DiskRoom(tmp_path, 1000)
    needed = segments.MERGE_ROOM * segment_files.bytes_of(tmp_path / "points", sorted(before))
    monkeypatch.setattr(DiskRoom, "free_bytes", lambda _: 1000)
    settle(index)
    assert sealed_names(index) == before
    monkeypatch.setattr(DiskRoom, "free_bytes", lambda _: 1000 + needed)
    settle(index)
    assert not before <= sealed_names(index)


def test_after_each_failure_more_flushes_pass_before_the_next_try(
    index: SegmentedEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = Mock(side_effect=OSError(ENOSPC, "No space left on device"))
    monkeypatch.setattr(segment_files, "copy_segments", tries)
    counts = [0]
    for _ in range(300):
        index.maintain()
        counts.append(tries.call_count)
    begun = [flush for flush in range(300) if counts[flush] < counts[flush + 1]]
    assert begun == [0, 1, 3, 7, 15, 31, 63, 127, 191, 255]


def test_a_copy_that_lacks_points_never_takes_the_place_of_its_segments(
    index: SegmentedEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        nothing_made(patched)
        index.maintain()
    index.upsert([point(7, seq=-7)])
    index.delete([id_of(6)])
    index._build.child.wait(WAIT_S)
    index.maintain()
    for _ in range(2):
        assert index.stored() == index.count() == POINTS - 1
        assert [found(index, VECTORS[n])[0] for n in (3, 7, POINTS - 1)] == [3, 7, POINTS - 1]
        settle(index)
    assert len(sealed_names(index)) == 1


@pytest.mark.parametrize("step", ["commit", "roll_back"])
def test_an_index_that_may_be_torn_is_damaged_and_never_served(
    index: SegmentedEdge, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.maintain()
    index._build.child.wait(WAIT_S)
    with monkeypatch.context() as patched:
        patched.setattr(segment_files, step, full_disk)
        if step == "roll_back":
            patched.setattr(segment_files, "sync_folder", full_disk)
        with pytest.raises(DataLoss):
            index.maintain()
    index.close()
    again = SegmentedEdge(tmp_path / "points", FULL)
    again.open(SCHEMA)
    assert again.stored() == again.count() == POINTS
    again.close()


def test_a_sealed_segment_is_walked_on_a_byte_a_dimension(index: SegmentedEdge, tmp_path: Path) -> None:
    settle(index)
    (sealed,) = sealed_names(index)
    (quantized,) = (tmp_path / "points" / "segments" / sealed).rglob("quantized.data")
    assert POINTS * DIMENSIONS <= quantized.stat().st_size < 2 * POINTS * DIMENSIONS


def test_nothing_is_merged_while_much_is_written(index: SegmentedEdge, monkeypatch: pytest.MonkeyPatch) -> None:
    last = 4 * FULL
    before = grown_without_rest(index, last, monkeypatch)
    index.upsert([point(n) for n in range(last, last + segments.REST_CHANGES + 1)])
    index.maintain()
    assert index._build is None or len(index._build.segments) == 1
    assert before <= sealed_names(index)
    settle(index)
    assert not before <= sealed_names(index)


def test_an_import_goes_on_while_a_segment_is_sealed_and_nothing_is_dropped(index: SegmentedEdge) -> None:
    index.maintain()
    index.upsert([point(n) for n in range(POINTS, 8 * FULL)])  # many times what is being sealed
    assert found(index, VECTORS[8 * FULL - 1])[0] == 8 * FULL - 1
    index._build.child.wait(WAIT_S)
    index.maintain()
    assert len(sealed_names(index)) == 1
    settle(index)
    assert index.count() == 8 * FULL
    assert {found(index, VECTORS[n])[0] for n in range(8 * FULL)} >= set(range(8 * FULL)) - set(range(0, 8 * FULL, 400))


def test_nothing_is_sealed_up_to_the_size_where_search_is_exact(tmp_path: Path) -> None:
    little = SegmentedEdge(tmp_path / "little", FULL)
    little.open(SCHEMA)
    little.upsert([point(n) for n in range(FULL)])
    little.maintain()
    assert not little.building
    little.close()


def test_what_changed_while_it_was_sealed_is_as_it_was_last(index: SegmentedEdge) -> None:
    index.maintain()
    index.upsert([point(POINTS), point(5, seq=-5)])
    index.delete([id_of(6), id_of(POINTS + 1)])
    index.upsert([point(7, space=("other",))])
    index.upsert([point(10, seq=-1)])
    settle(index)
    assert len(sealed_names(index)) == 1
    assert index.count() == POINTS
    assert found(index, VECTORS[POINTS])[0] == POINTS
    assert 6 not in found(index, VECTORS[6])
    assert 7 not in found(index, VECTORS[7])
    assert found(index, VECTORS[7], Filter(must=(MatchAny("space", ("other",)),))) == [7]
    records, _ = index.scroll(Filter(must=(HasId((id_of(5), id_of(10))),)), 2, with_vectors=True)
    kept = {record.id: record for record in records}
    assert (kept[id_of(5)].payload["seq"], kept[id_of(10)].payload["seq"]) == (-5, -1)
    assert np.allclose(kept[id_of(5)].vectors["dense"], VECTORS[5], atol=1e-6)
    assert words(index, 6).keys() == {n for n in range(POINTS + 1) if n % 7 == 6 and n not in (6, 7)}


def test_points_of_a_sealed_segment_change_and_go_as_others_do(index: SegmentedEdge, tmp_path: Path) -> None:
    settle(index)
    index.upsert([point(5, seq=-5)])
    index.delete([id_of(6)])
    index.upsert([point(7, space=("other",))])
    for again in (False, True):
        if again:
            index.close()
            index = SegmentedEdge(tmp_path / "points", FULL)
            assert index.open(SCHEMA) is False
        assert index.count() == POINTS - 1
        assert 6 not in found(index, VECTORS[6])
        assert found(index, VECTORS[7], Filter(must=(Match("space", "other"),))) == [7]
        assert index.scroll(Filter(must=(HasId((id_of(5),)),)), 1)[0][0].payload["seq"] == -5
    index.close()


def test_a_sealed_segment_that_lost_many_is_made_anew_alone(
    index: SegmentedEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "REST_CHANGES", -1)
    grow(index, POINTS, 3 * FULL)
    settle(index)
    before = index.segments()
    first = max((one for one in before if one.sealed), key=lambda one: one.points)
    gone = list(range(0, POINTS, 3))
    assert "matrix.dat" in vector_traces(tmp_path / "points", VECTORS[3])
    index.delete([id_of(n) for n in gone])
    EdgeBackend.maintain(index)
    thin = {one.name for one in index.segments() if one.sealed and one.gone > one.points * segments.GONE_SHARE_MAX}
    settle(index)
    after = index.segments()
    assert first.name in thin
    # Not the open one: Edge may put a mark for each erased point there, and so fill it.
    assert {one.name for one in before if one.sealed} - {one.name for one in after} == thin
    assert all(one.gone == 0 for one in after if one.sealed)
    assert index.count() == 3 * FULL - len(gone)
    assert share_found(index, sorted(set(range(3 * FULL)) - set(gone))) >= 0.98
    # Only now nothing is left of what was erased: see docs/decisions/erasure.md.
    assert vector_traces(tmp_path / "points", VECTORS[3]) == set()


class Killed(BaseException):
    """The process ends here."""


def killed_after(renames: int, index: SegmentedEdge, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies while it maintains the index, right after so many folders got their names."""
    done = []

    def rename(path: Path, target: Path) -> None:
        os.rename(path, target)
        done.append(target)
        if len(done) == renames:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", rename)
        with pytest.raises(Killed):
            index.maintain()


@pytest.mark.parametrize("renames", [1, 2])
def test_a_crash_while_a_segment_takes_its_place_leaves_all_points(
    index: SegmentedEdge, tmp_path: Path, renames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.maintain()
    index.delete([id_of(6)])
    index._build.child.wait(WAIT_S)
    killed_after(renames, index, monkeypatch)
    assert_whole_after_crash(tmp_path)


@pytest.mark.parametrize("left", [0, 1, 3], ids=["the merged one is there", "it is not", "some are not moved"])
def test_a_crash_while_segments_become_one_leaves_all_points(
    index: SegmentedEdge, tmp_path: Path, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown_without_rest(index, 4 * FULL, monkeypatch)
    index.maintain()
    renames = len(index._build.segments) + 1 - left
    assert renames > 0
    index._build.child.wait(WAIT_S)
    last = index.count()
    killed_after(renames, index, monkeypatch)
    index._shard = None
    again = SegmentedEdge(tmp_path / "points", FULL)
    assert again.open(SCHEMA) is False
    for _ in range(2):
        assert again.count() == last
        assert [found(again, VECTORS[n])[0] for n in (3, 700, last - 1)] == [3, 700, last - 1]
        assert words(again, 6).keys() == {n for n in range(last) if n % 7 == 6}
        settle(again)
    again.close()
    assert [path.name for path in tmp_path.iterdir()] == ["points"]


@pytest.mark.parametrize("step", ["put_again", "maintain", "commit"])
def test_a_crash_after_a_segment_took_its_place_leaves_all_points(
    index: SegmentedEdge, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.maintain()
    index.delete([id_of(6)])
    index.upsert([point(7, seq=-7)])
    index.maintain()
    index._build.child.wait(WAIT_S)

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        if step == "commit":
            patched.setattr(segment_files, "commit", killed)
        else:
            patched.setattr(EdgeBackend, step, killed)
        with pytest.raises(Killed):
            index.maintain()
    index._shard = None  # without a word to Edge: the process is gone
    assert_whole_after_crash(tmp_path)


def assert_whole_after_crash(tmp_path: Path) -> None:
    """All points but the sixth, found by vector and word, and the next segment is sealed as usual."""
    again = SegmentedEdge(tmp_path / "points", FULL)
    assert again.open(SCHEMA) is False
    for _ in range(2):
        assert again.count() == POINTS - 1
        assert sorted(UUID(one.id).int - 1 for one in again.scroll(Filter(), 2 * POINTS)[0]) == [
            n for n in range(POINTS) if n != 6
        ]
        assert [found(again, VECTORS[n])[0] for n in (3, 7, POINTS - 1)] == [3, 7, POINTS - 1]
        assert words(again, 6).keys() == {n for n in range(POINTS) if n % 7 == 6 and n != 6}
        settle(again)
    assert len(sealed_names(again)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["points"]
    assert {path.name for path in (tmp_path / "points").iterdir()} == {"edge_config.json", "segments", "wal"}
    again.close()


def test_a_journal_that_was_not_written_to_its_end_changes_nothing(index: SegmentedEdge, tmp_path: Path) -> None:
    index.close()
    (tmp_path / "points" / segment_files.JOURNAL).write_text('{"repl')
    again = SegmentedEdge(tmp_path / "points", FULL)
    assert again.open(SCHEMA) is False
    assert again.count() == POINTS
    again.close()


def test_a_replaced_segment_that_could_not_be_removed_never_comes_back(
    index: SegmentedEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "points" / segment_files.REPLACED / "left"
    index.maintain()
    left.mkdir(parents=True)
    index._build.child.wait(WAIT_S)
    with monkeypatch.context() as patched:
        patched.setattr(segment_files, "replace_file", full_disk)
        index.maintain()
    assert not (tmp_path / "points" / "segments" / "left").exists()
    settle(index)
    assert index.count() == POINTS
    assert not left.exists()


def full_disk(*_: object, **__: object) -> None:
    raise OSError(ENOSPC, "No space left on device")


def test_a_full_disk_changes_no_index(index: SegmentedEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ("segment_files.add_segments", "segment_files.copy_segments")
    for names in (("segments.tempfile.mkdtemp",), files, files[1:]):
        with monkeypatch.context() as patched:
            for name in names:
                patched.setattr(f"mnemesh_actors.index.engines.{name}", full_disk)
            index.maintain()
        assert not index.building
        assert found(index, VECTORS[3])[0] == 3
    index.maintain()
    index._build.child.wait(WAIT_S)
    with monkeypatch.context() as patched:
        patched.setattr(segment_files, "replace_file", full_disk)
        index.maintain()
    assert (index.building, index.count(), sealed_names(index)) == (False, POINTS, set())
    assert found(index, VECTORS[3])[0] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["points"]
    settle(index)
    assert len(sealed_names(index)) == 1


def test_a_child_that_was_killed_is_begun_again(index: SegmentedEdge, tmp_path: Path) -> None:
    index.maintain()
    index._build.child.kill()
    index._build.child.wait(WAIT_S)
    index.maintain()
    assert sealed_names(index) == set()
    assert found(index, VECTORS[3])[0] == 3
    settle(index)
    assert len(sealed_names(index)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["points"]


def test_closing_ends_the_child_and_leaves_nothing_of_it(index: SegmentedEdge, tmp_path: Path) -> None:
    index.maintain()
    child = index._build.child
    index.close()
    assert child.returncode is not None
    assert [path.name for path in tmp_path.iterdir()] == ["points"]


def test_an_index_that_was_sealed_as_a_whole_opens_as_it_is(tmp_path: Path) -> None:
    points = tmp_path / "points"
    one = EdgeBackend(points, segment_points=FULL, whole=POINTS)
    one.open(SCHEMA)
    one.upsert([point(n) for n in range(POINTS)])
    one.optimise()
    one.upsert([point(n) for n in range(POINTS, POINTS + 50)])
    one.close()
    (tmp_path / "points.next-x").mkdir()
    again = SegmentedEdge(points, FULL)
    assert again.open(SCHEMA) is False
    assert (again.count(), again.graphs) == (POINTS + 50, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["points"]
    grow(again, POINTS + 50, 3 * FULL)
    settle(again)
    assert share_found(again, range(3 * FULL)) >= 0.98
    again.close()


def stranger(n: int) -> Point:
    """A point of another space, in the place of the point `n` and with the same words, several times as often."""
    vectors = {"dense": VECTORS[n], "bm25": SparseVector((n % 7, 100), (4.0, 2.0))}
    return Point(id_of(8 * FULL + n), vectors, {"space": ("strangers",), "seq": n})


def worded(index: EdgeBackend, term: int, limit: int = 8 * FULL) -> dict[int, float]:
    question = SparseVector((term, 100), (1.0, 1.0))
    (hits,) = index.query([QueryRequest(question, "bm25", limit, ALL, idf_corpus=ALL)])
    return {UUID(id_).int - 1: score for id_, score in hits}


def test_a_space_that_fills_a_large_index_finds_its_own_and_nobody_elses(index: SegmentedEdge, tmp_path: Path) -> None:
    last, strangers = 3 * FULL, [stranger(n) for n in range(FULL)]
    grow(index, POINTS, last)
    index.upsert(strangers)
    settle(index)
    assert index.graphs
    alone = EdgeBackend(tmp_path / "alone")
    alone.open(SCHEMA)
    alone.upsert([point(n) for n in range(last)])
    assert share_found(index, range(last)) >= 0.98
    for term in range(7):
        assert worded(index, term) == pytest.approx(worded(alone, term), rel=1e-5)
        best = worded(index, term, 20)  # the best by far are strangers
        assert len(best) == 20
        assert sorted(best.values()) == pytest.approx(sorted(worded(alone, term, 20).values()), rel=1e-5)
    near = found(index, VECTORS[0], limit=last)
    assert len(near) == len(set(near)) >= 0.98 * last
    assert max(near) < last
    index.upsert([point(n) for n in range(last, 2 * last)])
    alone.upsert([point(n) for n in range(last, 2 * last)])
    assert worded(index, 3) == pytest.approx(worded(alone, 3), rel=1e-5)
    alone.close()


def test_a_point_that_left_a_space_is_not_found_there_however_large_the_space(index: SegmentedEdge) -> None:
    last = 3 * FULL
    grow(index, POINTS, last)
    settle(index)
    before = worded(index, 5)
    assert 5 in found(index, VECTORS[5])
    moved = point(5)
    index.upsert([Point(moved.id, moved.vectors, {"space": ("strangers",), "seq": 5})])
    index.delete([id_of(12)])
    assert not {5, 12} & {*found(index, VECTORS[5]), *found(index, VECTORS[12])}
    assert worded(index, 5).keys() == before.keys() - {5, 12}
