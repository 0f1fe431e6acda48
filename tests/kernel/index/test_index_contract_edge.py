"""Qdrant Edge's own traps, each held shut: locks, crashes, damaged files, Rust panics, imports."""

from __future__ import annotations

import ast
import math
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import qdrant_edge
from doubles import killed_in

from mnemesh_actors.index.engine_port import DenseVector, Filter, Match, Point, QueryRequest, Schema, SparseVector
from mnemesh_actors.index.engines.edge import ID, EdgeBackend
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, MnemeshError, Unavailable

SCHEMA = Schema(dense={"dense": 4}, sparse=("bm25",), tenant="space", keywords=("gone",))
ROOT = Path(__file__).parents[3]
WAIT_S = 60


def points(first: int, number: int) -> list[Point]:
    vectors = {"dense": np.ones(4, np.float32), "bm25": SparseVector([5], [1.0])}
    return [
        Point(f"00000000-0000-0000-0000-{n:012d}", vectors, {"space": "a", "gone": "0"})
        for n in range(first, first + number)
    ]


def beside(number: int) -> dict[str, DenseVector]:
    """Vectors that are near those of no other number below 12."""
    angle = 2 * math.pi * number / 12
    return {"dense": np.array([math.cos(angle), math.sin(angle), 0, 0], np.float32)}


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed index of 50 points."""
    path = tmp_path_factory.mktemp("edge") / "index"
    backend = EdgeBackend(path)
    backend.open(SCHEMA)
    backend.upsert(points(0, 50))
    backend.close()
    return path


def test_a_second_open_of_a_directory_is_refused_and_says_why(tmp_path: Path) -> None:
    first = EdgeBackend(tmp_path)
    first.open(SCHEMA)
    second = EdgeBackend(tmp_path)
    with pytest.raises(Unavailable, match="another process or object"):
        second.open(SCHEMA)
    second.close()
    first.upsert(points(0, 1))
    assert first.count() == 1
    first.close()
    assert second.open(SCHEMA) is False
    second.close()


def test_every_update_that_returned_survives_sigkill_without_a_flush(tmp_path: Path) -> None:
    path = tmp_path / "index"
    killed_in(
        "from test_index_contract_edge import SCHEMA, EdgeBackend, points\n"
        f"index = EdgeBackend(Path({str(path)!r})); index.open(SCHEMA)\n"
        "index.upsert(points(0, 300))\n"
        "index.delete([p.id for p in points(290, 10)]); die()"
    )
    index = EdgeBackend(path)
    assert index.open(SCHEMA) is False
    assert index.count() == 290
    assert len(index.scroll(Filter(must=(Match("gone", "0"),)), 300)[0]) == 290
    index.close()


def read(index: EdgeBackend) -> None:
    """Open and read all there is."""
    index.open(SCHEMA)
    index.scroll(Filter(), 100, with_vectors=True)


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def scribble(file: Path) -> None:
    with file.open("r+b") as out:
        out.write(random.Random(1).randbytes(4096))


DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "configuration cut": ("edge_config.json", truncate),
    "configuration gone": ("edge_config.json", Path.unlink),
    "log header overwritten": ("wal/open-1", scribble),
    "log position cut": ("wal/first-index", truncate),
    "segment state overwritten": ("segments/*/segment.json", scribble),
    "segment version cut": ("segments/*/version.info", truncate),
    "ids overwritten": ("segments/*/mutable_id_tracker.mappings", scribble),
    "vectors gone": ("segments/*/vector_storage-dense/vectors/chunk_0.mmap", Path.unlink),
    "a Rust panic: status cut": ("segments/*/vector_storage-dense/deleted/status.dat", truncate),
    "terms cut": ("segments/*/vector_storage-bm25/store/bitmask.dat", truncate),
    "payload gone": ("segments/*/payload_storage/page_0.dat", Path.unlink),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_data_loss_and_the_directory_is_made_new(intact: Path, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "index"
    subprocess.run(["cp", "-r", "--sparse=always", str(intact), str(path)], check=True, timeout=WAIT_S)
    pattern, harm = DAMAGES[damage]
    (file,) = path.glob(pattern)
    harm(file)
    index = EdgeBackend(path)
    with pytest.raises(DataLoss):
        read(index)
    with suppress(DataLoss):
        index.close()
    shutil.rmtree(path)
    assert index.open(SCHEMA) is True
    index.upsert(points(0, 3))
    assert index.count() == 3
    index.close()


# With the second a point went by a filter and then by its id, which was damage once.
@pytest.mark.parametrize("known", [None, 3347381260])
def test_a_point_keeps_its_own_id_after_any_coming_and_going_and_opening(tmp_path: Path, known: int | None) -> None:
    seed = random.randrange(2**32) if known is None else known
    print(f"seed {seed}")
    chance = random.Random(seed)
    wanted = Filter(must=(Match("space", "a"),))
    backend = EdgeBackend(tmp_path / "index")
    backend.open(SCHEMA)
    there: dict[str, int] = {}
    for _ in range(60):
        number = chance.randrange(12)
        (point,) = points(number, 1)
        match chance.choice(("put", "put", "drop", "open")):
            case "put":
                backend.upsert([replace(point, vectors=beside(number))])
                there[point.id] = number
            case "drop":
                backend.delete([point.id, point.id])
                there.pop(point.id, None)
            case "open":
                backend.close()
                backend = EdgeBackend(tmp_path / "index")
                backend.open(SCHEMA)
        for id_, mine in there.items():
            (hits,) = backend.query([QueryRequest(beside(mine)["dense"], "dense", 1, wanted)])
            assert hits[0][0] == id_
        assert backend.count() == len(there)
        assert {record.id for record in backend.scroll(Filter(), 100)[0]} == there.keys()
    backend.close()


def test_a_point_that_has_lost_its_id_is_damage(tmp_path: Path, intact: Path) -> None:
    broken = tmp_path / "index"
    shutil.copytree(intact, broken)
    shard = qdrant_edge.EdgeShard.load(str(broken))
    shard.update(qdrant_edge.UpdateOperation.delete_payload([7], [ID]))
    shard.flush()
    shard.close()
    with pytest.raises(DataLoss, match="lost the id of the point 7"):
        EdgeBackend(broken).open(SCHEMA)


def test_optimising_a_small_index_builds_no_graph_and_changes_no_answer(tmp_path: Path) -> None:
    seed = 5
    print("seed", seed)
    rng = np.random.default_rng(seed)
    index = EdgeBackend(tmp_path)
    index.open(SCHEMA)
    index.upsert(
        [
            Point(f"00000000-0000-0000-0000-{n:012d}", {"dense": rng.normal(size=4).astype(np.float32)}, {"space": "a"})
            for n in range(2_000)
        ]
    )
    request = QueryRequest(rng.normal(size=4).astype(np.float32), "dense", 50, Filter(must=(Match("space", "a"),)))
    before = [(id_, pytest.approx(score, abs=1e-6)) for id_, score in index.query([request])[0]]
    index.optimise()
    assert index.query([request])[0] == before
    index.close()
    assert not list(tmp_path.glob("segments/*/vector_index-dense/graph*"))


def test_every_error_of_a_backend_is_one_of_ours(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("someone else's")
    with pytest.raises(MnemeshError):
        EdgeBackend(tmp_path / "other").open(SCHEMA)
    assert (tmp_path / "other" / "notes.txt").read_text() == "someone else's"
    index = EdgeBackend(tmp_path / "index")
    index.open(SCHEMA)
    index.close()
    with pytest.raises(FailedPrecondition):
        index.open(Schema(dense={"dense": 4, "other": 3}))
    index.close()


def test_importing_the_port_and_the_shard_loads_no_engine() -> None:
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "import mnemesh_actors.index.engine_port; assert 'numpy' not in sys.modules\n"
        "import mnemesh_actors.index.shard\n"
        "print(sorted({'qdrant_edge', 'qdrant_client'} & sys.modules.keys()))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT_S, check=True)
    assert out.stdout.strip() == "[]"


def test_each_engine_is_imported_by_its_own_files_only() -> None:
    importers: dict[str, set[str]] = {"qdrant_client": set(), "qdrant_edge": set()}
    for package in ("memory", "crdt", "actors", "gateway", "client"):
        for file in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                for engine in importers:
                    if any(name.split(".")[0] == engine for name in names):
                        importers[engine].add(file.relative_to(ROOT / "actors/mnemesh_actors/index").as_posix())
    assert importers == {
        "qdrant_client": {"engines/qdrant_client.py", "engines/server.py"},
        "qdrant_edge": {"engines/edge.py", "bm25.py"},
    }
