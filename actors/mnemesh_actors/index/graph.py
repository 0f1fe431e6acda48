"""The port on Qdrant Edge with a graph (HNSW: Malkov and Yashunin, 2016, arXiv:1603.09320) for large indexes, made in a
process of its own.

Edge holds the interpreter lock while it makes one, some minutes for 100,000 points. So a copy of the directory gets its
graph in a child of low priority, while searches and writes go on here; what was written meanwhile is carried over, then
the copy takes the place of the original. Up to EXACT_POINTS_MAX points, and where a filter leaves no more than that,
search is exact.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from mnemesh_actors.index.edge import EdgeBackend
from mnemesh_actors.index.port import (
    EXACT_POINTS_MAX,
    Filter,
    HasId,
    PayloadValue,
    Point,
    QueryRequest,
    Record,
    Schema,
    Scored,
)
from mnemesh_memory.errors import DataLoss

# So many points without a graph beside one cost some 2 ms a search; for a large index a share of it.
REST_POINTS_MAX = 20_000
REST_SHARE_MAX = 0.2
# While more than this comes between two flushes, an import is going on: a graph made then would soon be too old.
CALM_POINTS = 500
# Carried over at once, while searches wait: a second or two.
CARRIED_MAX = 10_000
CARRIED_A_STEP = 256
NICENESS = 10
COPY_BYTES = 1 << 20
PR_SET_PDEATHSIG = 1
# In the directory of an index that has a graph: how many points that was made for. Edge looks at no such file.
GRAPH_FILE = "graph_points"
log = structlog.get_logger("mnemesh.index")


@dataclass(slots=True)
class _Build:
    """A graph on its way: the child, the copy that it works on, how many points that has, what has changed since."""

    child: subprocess.Popen[bytes]
    copy: Path
    points: int
    touched: set[str] = field(default_factory=set)
    outdated: bool = False


class GraphedEdge:
    """An index in the directory `path`, as EdgeBackend. `maintain` begins a graph and takes it in. Beside the directory
    there are, for a while, `NAME.next-*` (the copy) and `NAME.old` (the original, until the copy is in its place). What
    says that there is a graph lies within, so that one rename brings both."""

    def __init__(self, path: str | Path, exact_points_max: int = EXACT_POINTS_MAX) -> None:
        self._path = Path(path)
        self._exact_points_max = exact_points_max
        self._old = self._path.with_name(f"{self._path.name}.old")
        self._edge = EdgeBackend(self._path, exact_points_max=exact_points_max)
        self._schema = Schema(dense={})
        self._build: _Build | None = None
        self._changed = True  # since the last flush
        self._arrived = 0

    @property
    def building(self) -> bool:
        """Whether a graph is on its way."""
        return self._build is not None

    @property
    def graph_points(self) -> int:
        """How many points the graph was made for; 0 without one."""
        try:
            return int((self._path / GRAPH_FILE).read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            return 0

    def open(self, schema: Schema) -> bool:
        if self._old.exists() and not self._path.exists():
            self._old.rename(self._path)  # the copy had not come to its place yet
        for left in (self._old, *self._path.parent.glob(f"{self._path.name}.next-*")):
            shutil.rmtree(left, ignore_errors=True)
        created = self._edge.open(schema)
        self._schema = schema
        self._edge.graphed = self.graph_points > 0
        return created

    def upsert(self, points: Sequence[Point]) -> None:
        self._edge.upsert(points)
        self._note(point.id for point in points)
        self._arrived += len(points)

    def set_payload(self, payload: Mapping[str, PayloadValue], selector: Filter | Sequence[str]) -> None:
        self._edge.set_payload(payload, selector)
        self._note(selector)

    def delete(self, selector: Filter | Sequence[str]) -> None:
        self._edge.delete(selector)
        self._note(selector)

    def _note(self, changed: Filter | Iterable[str]) -> None:
        self._changed = True
        if self._build is not None:
            if isinstance(changed, Filter):
                self._build.outdated = True  # whom it changed is not known any more
            else:
                self._build.touched.update(changed)

    def query(self, requests: Sequence[QueryRequest]) -> list[list[Scored]]:
        return self._edge.query(requests)

    def scroll(
        self, where: Filter, limit: int, offset: str | None = None, with_vectors: bool = False
    ) -> tuple[list[Record], str | None]:
        return self._edge.scroll(where, limit, offset, with_vectors)

    def count(self, where: Filter | None = None) -> int:
        return self._edge.count(where)

    def maintain(self, optimise: bool = False) -> None:
        """Make what was written durable, and see after the graph: begin one when too much lies outside it (with
        `optimise` at once, else when no import is going on), take in one that is ready."""
        if self._changed:
            self._edge.maintain()
            self._changed = False
        arrived, self._arrived = self._arrived, 0
        if self._build is None:
            if optimise or arrived <= CALM_POINTS:
                self._begin()
        elif self._build.child.poll() is not None:
            self._end(self._build)

    def _begin(self) -> None:
        points, graphed = self._edge.count(), self.graph_points
        rest = min(self._exact_points_max, max(REST_POINTS_MAX, int(graphed * REST_SHARE_MAX)))
        if points <= self._exact_points_max or points - graphed <= rest:
            return
        copy = Path(tempfile.mkdtemp(prefix=f"{self._path.name}.next-", dir=self._path.parent))
        try:
            _copy_folder(self._path, copy)
            (copy / GRAPH_FILE).unlink(missing_ok=True)  # of the graph before
            fields = {"dense": dict(self._schema.dense), "sparse": list(self._schema.sparse)}
            asked = json.dumps({"exact_points_max": self._exact_points_max, **fields})
            child = subprocess.Popen([sys.executable, "-m", __name__, str(copy), asked], stdin=subprocess.DEVNULL)
        except OSError as error:  # a full disk, say: search goes on without
            shutil.rmtree(copy, ignore_errors=True)
            log.warning("graph_not_begun", reason=str(error))
            return
        self._build = _Build(child, copy, points)
        log.info("graph_begun", points=points)

    def _end(self, build: _Build) -> None:
        self._build = None
        why = ""
        if build.child.returncode:
            why = f"its process ended with {build.child.returncode}"
        elif build.outdated or len(build.touched) > CARRIED_MAX:
            why = "too much has changed since it was begun"
        else:
            try:
                self._carry(build)
                _write_durably(build.copy / GRAPH_FILE, str(build.points))
            except DataLoss as error:
                why = error.message
            except OSError as error:  # a full disk, say
                why = str(error)
        if why:
            shutil.rmtree(build.copy, ignore_errors=True)
            log.warning("graph_dropped", reason=why)
            return
        self._swap(build)
        log.info("graph_ready", points=build.points, carried=len(build.touched))

    def _carry(self, build: _Build) -> None:
        """Bring the copy to what the original holds now."""
        copy = EdgeBackend(build.copy)
        copy.open(self._schema)
        try:
            touched = sorted(build.touched)
            for start in range(0, len(touched), CARRIED_A_STEP):
                ids = touched[start : start + CARRIED_A_STEP]
                records, _ = self._edge.scroll(Filter(must=(HasId(tuple(ids)),)), len(ids), with_vectors=True)
                copy.upsert([Point(record.id, record.vectors, record.payload) for record in records])
                copy.delete(sorted(set(ids) - {record.id for record in records}))
            copy.maintain()
        finally:
            copy.close()

    def _swap(self, build: _Build) -> None:
        """Put the copy in the place of the original. After a crash `open` finds one of them whole, and both are the
        same. Raises DataLoss when the copy can't be opened there."""
        self._edge.close()
        self._path.rename(self._old)
        build.copy.rename(self._path)
        shutil.rmtree(self._old, ignore_errors=True)
        self._edge = EdgeBackend(self._path, exact_points_max=self._exact_points_max)
        self._edge.open(self._schema)
        self._edge.graphed = True

    def close(self) -> None:
        if self._build is not None:
            build, self._build = self._build, None
            build.child.terminate()
            build.child.wait()
            shutil.rmtree(build.copy, ignore_errors=True)
        self._edge.close()


def _write_durably(file: Path, text: str) -> None:
    with file.open("w", encoding="ascii") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _copy_folder(source: Path, target: Path) -> None:
    """Copy a folder; holes in files stay holes, because Edge reserves far more than it uses."""
    shutil.copytree(source, target, copy_function=_copy_file, dirs_exist_ok=True)


def _copy_file(source: str, target: str) -> None:
    with open(source, "rb", buffering=0) as old, open(target, "wb", buffering=0) as new:
        size = os.fstat(old.fileno()).st_size
        at = 0
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:  # ENXIO: only a hole is left
                break
            end = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            os.lseek(new.fileno(), at, os.SEEK_SET)
            while at < end:
                os.lseek(old.fileno(), at, os.SEEK_SET)
                block = old.read(min(COPY_BYTES, end - at))
                if not block:
                    break
                new.write(block)
                at += len(block)
        new.truncate(size)


def make_graph(path: str, exact_points_max: int, dense: dict[str, int], sparse: list[str]) -> None:
    """Give the index in the directory `path` a graph that holds all of its points."""
    with suppress(OSError, AttributeError):  # not Linux: a child that outlives its node ends by itself
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    os.nice(NICENESS)
    whole = EdgeBackend(path, exact_points_max=exact_points_max, whole=True)
    whole.open(Schema(dense=dense, sparse=tuple(sparse)))
    whole.maintain(optimise=True)
    whole.close()


if __name__ == "__main__":
    make_graph(sys.argv[1], **json.loads(sys.argv[2]))
