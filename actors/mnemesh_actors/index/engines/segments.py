"""The port on Qdrant Edge for large indexes, which grow by segments: parts of some 25,000 points. Each gets a
graph (HNSW: Malkov and Yashunin, 2016, arXiv:1603.09320), made once and in a process of its own.

Rules. New points go to an open segment, which is searched exactly. A fresh one begins when it is full. A child of low
priority makes a sealed copy of the full one, and the copy takes its place. Points that changed meanwhile are put again.
A sealed segment only loses points, because a changed point moves to the open segment. A sealed segment that has lost
many is made anew, alone. At rest small sealed segments become one of at most MERGED_FULL_MAX times a full one, because
each segment is asked. An open one is sealed with them from REST_SHARE on: to compare 22,000 points takes 3 ms, and a
graph half a millisecond. No step depends on how large the whole is. Up to EXACT_POINTS_MAX points nothing is sealed:
there exact search is as fast, deterministic and complete.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from mnemesh_actors.index.engine_port import EXACT_POINTS_MAX, Filter, HasId, Point, Record, Schema
from mnemesh_actors.index.engines import segment_files
from mnemesh_actors.index.engines.edge import EdgeBackend
from mnemesh_actors.index.engines.wide_search import WideSearch
from mnemesh_actors.runtime.low_priority import command, step_down
from mnemesh_actors.storage.disk import DiskRoom
from mnemesh_memory.values.errors import DataLoss

# Smaller segments are made in less time a point and found better, larger ones are fewer to ask.
SEGMENT_SHARE = 0.5
# At rest an open segment of this share of a full one is sealed.
REST_SHARE = 0.2
# A sealed segment that has lost this share of its points is made anew.
GONE_SHARE_MAX = 0.2
# So many times a full segment is merged, at most. A sealed one of MERGED_ENOUGH times is left as it is.
MERGED_FULL_MAX = 5.0
MERGED_ENOUGH = 3.0
# A segment of more than so many times the points of all smaller ones waits until these have grown.
MERGED_TIMES = 2
# Edge makes no segment of more than 256,000 KB of vectors from several.
MERGED_BYTES_MAX = 240_000_000
DIMENSION_BYTES = 4
# A merge at rest needs so many times the bytes of its segments beyond the reserve: copy, merged segment and graph.
MERGE_ROOM = 3
# After failures in a row so many flushes pass, at most, before the next try. Each failure doubles the pause.
PAUSE_MAX = 63
# With no more changes since the flush before, an index is at rest: some ten a second.
REST_CHANGES = 100
PUT_A_STEP = 256
log = structlog.get_logger("mnemesh.index")


@dataclass(slots=True)
class _Build:
    """A sealed copy on its way."""

    child: subprocess.Popen[bytes]
    copy: Path  # the folder that the child works on
    segments: tuple[segment_files.Segment, ...]  # as they were when they were copied
    last: int  # the highest number of a point by then
    touched: set[int] = field(default_factory=set)  # numbers of points that have changed since

    @property
    def points(self) -> int:
        return sum(segment.present for segment in self.segments)


class SegmentedEdge(WideSearch):
    """An index in the directory `path`, as EdgeBackend. `maintain` begins a sealed segment and takes it in. Beside the
    directory there is, for a while, `NAME.next-*`, where it is made. A segment is full with half of
    `exact_points_max`; nothing is sealed up to that many points. A merge at rest leaves the reserve of `room` free."""

    def __init__(
        self, path: str | Path, exact_points_max: int = EXACT_POINTS_MAX, room: DiskRoom | None = None
    ) -> None:
        self._exact_points_max = exact_points_max
        self._full = max(1, int(exact_points_max * SEGMENT_SHARE))
        super().__init__(path, self._full)
        self._build: _Build | None = None
        self._changed = True  # since the last flush
        self._changes = 0  # so many
        self._disk = room
        self._apart: set[str] = set()  # names of segments that did not become fewer
        self._failures = 0  # in a row
        self._pause = 0  # flushes until the next try

    @property
    def building(self) -> bool:
        """Whether a sealed segment is on its way."""
        return self._build is not None

    def segments(self) -> list[segment_files.Segment]:
        """The segments as of the last flush."""
        return segment_files.segments_of(self._path)

    def open(self, schema: Schema) -> bool:
        for left in self._path.parent.glob(f"{self._path.name}.next-*"):
            shutil.rmtree(left, ignore_errors=True)
        if self._rolled_back():
            log.warning("segment_rolled_back", reason="the node ended while it took its place")
        created = super().open(schema)
        self._count_graphs()
        return created

    def upsert(self, points: Sequence[Point]) -> None:
        self._touch([point.id for point in points])
        super().upsert(points)

    def delete(self, ids: Sequence[str]) -> None:
        self._touch(ids)
        super().delete(ids)

    def _touch(self, changed: Sequence[str]) -> None:
        """These are about to change."""
        self._changed = True
        self._changes += len(changed)
        if self._build is not None:
            last = self._build.last
            self._build.touched.update(number for number in self.numbers(changed) if number <= last)

    def maintain(self) -> None:
        """Make all writes durable. Begin a fresh open segment when the present one is full, and seal the full one. Take
        in a sealed copy that is ready. At rest begin to merge sealed ones."""
        at_rest, self._changes = self._changes <= REST_CHANGES, 0
        if self._changed:
            super().maintain()
            self._changed = False
        if self._build is not None and self._build.child.poll() is not None:
            self._end(self._build)
            return  # the next segment waits for the next flush, so that searches get their turn
        segments = self.segments()
        wanted = () if self._pause or self._build is not None else self._wanted(segments, at_rest)
        if all(segment.sealed or segment.points >= self._full or segment in wanted for segment in segments):
            self._add_open()
        if self._pause:
            self._pause -= 1
        elif wanted:
            self._begin(wanted)

    def _wanted(self, segments: Sequence[segment_files.Segment], at_rest: bool) -> tuple[segment_files.Segment, ...]:
        """The segments to seal or merge next: the largest full segment, else the sealed segment with most points lost,
        else at rest the smallest segments."""
        if sum(segment.present for segment in segments) <= self._exact_points_max:
            return ()
        ready = [segment for segment in segments if not segment.sealed and segment.points >= self._full]
        if ready:
            return (max(ready, key=lambda segment: segment.points),)
        sealed = [segment for segment in segments if segment.sealed]
        thin = [segment for segment in sealed if segment.gone > segment.points * GONE_SHARE_MAX]
        if thin:
            return (max(thin, key=lambda segment: segment.gone / segment.points),)
        if not at_rest:
            return ()
        known = [segment for segment in segments if segment.name not in self._apart]
        chosen = small_ones(known, self._full, max(self._schema.dense.values(), default=1))
        copied = segment_files.bytes_of(self._path, [segment.name for segment in chosen])
        return () if self._disk and self._disk.shortage(MERGE_ROOM * copied) else chosen

    def _add_open(self) -> None:
        """Begin a fresh open segment: Edge gives new points to the smallest."""
        try:
            with self._room() as fresh:
                empty = EdgeBackend(fresh / "empty", segment_points=self._full)
                empty.open(self._schema)
                empty.close()
                with self.released():
                    segment_files.add_segments(self._path, fresh / "empty")
        except OSError as error:  # a full disk, say: the one that is full grows
            log.warning("segment_not_begun", reason=str(error))

    @contextmanager
    def _room(self) -> Iterator[Path]:
        """A folder beside the index, which is gone afterwards. Raises OSError when there is no room."""
        folder = Path(tempfile.mkdtemp(prefix=f"{self._path.name}.next-", dir=self._path.parent))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _begin(self, wanted: tuple[segment_files.Segment, ...]) -> None:
        copy: Path | None = None
        try:
            copy = Path(tempfile.mkdtemp(prefix=f"{self._path.name}.next-", dir=self._path.parent))
            segment_files.copy_segments(self._path, [segment.name for segment in wanted], copy)
            fields = {"dense": dict(self._schema.dense), "sparse": list(self._schema.sparse)}
            asked = json.dumps({"segment_points": self._full, "points": sum(part.present for part in wanted), **fields})
            child = subprocess.Popen(command(__name__, str(copy), asked), stdin=subprocess.DEVNULL)
        except OSError as error:  # a full disk, say: search goes on without
            if copy is not None:
                shutil.rmtree(copy, ignore_errors=True)
            self._put_off()
            log.warning("segment_not_begun", reason=str(error), pause=self._pause)
            return
        self._build = _Build(child, copy, wanted, self._last)
        log.info("segment_begun", points=self._build.points, of=len(wanted), again=wanted[0].sealed)

    def _end(self, build: _Build) -> None:
        self._build = None
        status = build.child.returncode
        try:
            why = f"its process ended with {status}" if status else self._take_in(build)
        finally:
            shutil.rmtree(build.copy, ignore_errors=True)
        if why:
            self._put_off()
            log.warning("segment_dropped", reason=why, pause=self._pause)
        else:
            self._failures = 0
            log.info("segment_sealed", points=build.points, of=len(build.segments), put_again=len(build.touched))

    def _put_off(self) -> None:
        """A segment could not be made: the next try waits, longer after each failure."""
        self._failures += 1
        self._pause = min(2 ** (self._failures - 1) - 1, PAUSE_MAX)

    def _rolled_back(self) -> bool:
        """As `roll_back`. Raises DataLoss when that fails: a part of the points is elsewhere then."""
        try:
            return segment_files.roll_back(self._path)
        except OSError as error:
            raise DataLoss(f"the former segments of the index in {self._path} do not come back: {error}") from error

    def _take_in(self, build: _Build) -> str:
        """Put the sealed copy in the place of its segments; "", or why that could not be. After a crash `open` finds
        those before it. Raises DataLoss when the index is not whole afterwards."""
        copied = [segment for segment in segment_files.segments_of(build.copy) if segment.points]
        made = [segment.name for segment in copied if segment.sealed]
        names = [segment.name for segment in build.segments]
        if len(names) > 1 and len(copied) >= len(names):
            self._apart.update(names)
            return f"{len(names)} segments became {len(copied)}"
        before = sum(segment.points for segment in self.segments() if segment.name in names and not segment.sealed)
        if before > sum(segment.points for segment in build.segments if not segment.sealed):
            # Edge put points into it beside a smaller open segment: every later point is put again.
            build.touched.update(range(build.last + 1, self._last + 1))
        touched = sorted(build.touched)
        records = [
            record
            for start in range(0, len(touched), PUT_A_STEP)
            for record in self.records(touched[start : start + PUT_A_STEP])
        ]
        why = ""
        with self.released():
            try:
                segment_files.replace_segments(self._path, names, build.copy, made)
            except OSError as error:  # a full disk, say
                why = str(error)
                self._rolled_back()
        if why:
            return why
        self.put_again(touched, records)
        super().maintain()
        if (stored := self.stored()) != self.count():  # Edge opens an incomplete segment without a word
            with self.released():
                self._rolled_back()
            return f"the index would hold {stored} points of {self.count()}"
        try:
            segment_files.commit(self._path)
        except OSError as error:
            raise DataLoss(f"the index in {self._path} may lose its newest segments: {error}") from error
        self._count_graphs()
        return ""

    def records(self, numbers: Sequence[int]) -> list[Record]:
        """The points with these numbers, whole; absent ones are left out."""
        ids = tuple(self._ids[number] for number in numbers if number in self._ids)
        return self.scroll(Filter(must=(HasId(ids),)), max(1, len(ids)), with_vectors=True)[0]

    def _count_graphs(self) -> None:
        self.graphs = sum(segment.sealed for segment in self.segments())

    def close(self) -> None:
        if self._build is not None:
            build, self._build = self._build, None
            build.child.terminate()
            build.child.wait()
            shutil.rmtree(build.copy, ignore_errors=True)
        super().close()


def small_ones(
    segments: Sequence[segment_files.Segment], full: int, dimensions: int
) -> tuple[segment_files.Segment, ...]:
    """The small segments that become one at rest, at least two or an open one. The smallest is first. Each further one
    has at most MERGED_TIMES the points of all before. So a point is merged a few times, however few points come at
    once."""
    most = min(full * MERGED_FULL_MAX, MERGED_BYTES_MAX / (dimensions * DIMENSION_BYTES))
    chosen: list[segment_files.Segment] = []
    points = 0
    worth = (segment for segment in segments if segment.sealed or segment.points >= full * REST_SHARE)
    for segment in sorted(worth, key=lambda item: item.present):
        enough = segment.present >= full * MERGED_ENOUGH or (chosen and segment.present > points * MERGED_TIMES)
        points += segment.present
        if enough or points > most:
            break
        chosen.append(segment)
    return tuple(chosen) if len(chosen) > 1 or not all(segment.sealed for segment in chosen) else ()


def seal(path: str, segment_points: int, points: int, dense: dict[str, int], sparse: list[str]) -> None:
    """Make one sealed segment of all `points` that the index in the directory `path` holds."""
    step_down()
    whole = EdgeBackend(path, segment_points=segment_points, whole=max(1, points))
    whole.open(Schema(dense=dense, sparse=tuple(sparse)))
    whole.optimise()
    whole.close()


if __name__ == "__main__":
    seal(sys.argv[1], **json.loads(sys.argv[2]))
