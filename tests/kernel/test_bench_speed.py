"""Measurements of speed and growth."""

from __future__ import annotations

import asyncio
import math
import mmap
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn, cast

import numpy as np
import psutil
import pytest
from bench import __main__ as bench
from bench import growth, latency, ray_ledgers, scale, sync
from bench.growth import Spent, anonymous_bytes, notes_between
from bench.mixed_host import DIMENSIONS, mixed
from bench.plain import LENGTH_B, SATURATION_K, PlainSearch
from bench.report import machine
from bench.whole_node import SPACE

from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.values.model import Caller, Draft

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ["red apples and pears", "the port is 5433", "green apples", "a note about nothing"]
VECTORS = np.eye(4, dtype=np.float32)


def test_numpy_and_bm25s_find_by_words_and_by_meaning() -> None:
    plain = PlainSearch(TEXTS, VECTORS)
    assert plain.search("Which PORT?", VECTORS[1], limit=1) == [1]
    assert plain.search("green apples", VECTORS[0]) == [0, 2, 1, 3]
    assert plain.search("green apples", np.zeros(4, np.float32), limit=2) == [2, 0]
    assert plain.search("?!", VECTORS[3], limit=1) == [3]
    assert plain.search("words that nothing holds", VECTORS[0], limit=1) == [0]


def test_the_words_are_scored_by_bm25s_with_the_parameters_of_the_index() -> None:
    plain = PlainSearch(TEXTS, VECTORS)
    lengths = [len(text.split()) for text in TEXTS]
    norm = SATURATION_K * (1 - LENGTH_B + LENGTH_B * lengths[1] / (sum(lengths) / 4))
    scores = plain._words.get_scores(["port"])
    assert scores == pytest.approx([0, math.log(1 + 3.5 / 1.5) / (1 + norm), 0, 0], rel=1e-5)


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (["--scale"], []),
        (["--scale", "--mem0", "there"], ["--mem0", "there"]),
        (["--scale", "--corpus", "texts", "--mem0", "there"], ["--corpus", "texts", "--mem0", "there"]),
    ],
)
def test_one_command_measures_the_growth_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: list[str], passed: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("there", "texts"):
        (tmp_path / name).mkdir()
    asked: list[Sequence[str]] = []

    def measured(words: Sequence[str]) -> int:
        asked.append(words)
        return 3

    monkeypatch.setattr(bench.scale, "main", measured)
    assert bench.main(["--no-speed", *given]) == 3
    assert asked == [passed]


def test_one_command_measures_all_quality_that_the_pages_show(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("harness", "data", "program"):
        (tmp_path / name).touch()
    asked: dict[str, list[str]] = {}

    def measuring(name: str) -> Callable[[Sequence[str]], int]:
        def measured(words: Sequence[str]) -> int:
            asked[name] = list(words)
            return 0

        return measured

    for name in ("locomo", "optional", "ablation", "fitting", "misses"):
        monkeypatch.setattr(getattr(bench, name), "main", measuring(name))
    given = ["--locomo", "harness", "data"]
    assert bench.main(["--no-speed", *given, "--reference", "program"]) == 0
    assert (asked["locomo"], asked["optional"]) == ([*given[1:], "--reference", "program"], given[1:])
    assert asked["ablation"] == asked["fitting"] == asked["misses"]  # one node's memories serve all three
    assert asked["ablation"][:3] == [*given[1:], "--node"]


def test_a_comparison_that_would_not_be_made_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for given, reason in (
        (["--no-speed", "--mem0", "there"], "--mem0 is measured with --scale"),
        (["--reference", "program"], "--reference is measured with --locomo"),
        (["--no-speed"], "--no-speed leaves nothing to measure"),
    ):
        with pytest.raises(SystemExit):
            bench.main(given)
        assert reason in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--corpus", "--longmemeval", "--beam", "--locomo"])
def test_a_path_that_is_not_there_is_named_before_anything_is_measured(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away = str(tmp_path / "away")
    given = [option, str(tmp_path), away] if option == "--locomo" else [option, away]
    assert bench.main(given) == 2
    assert capsys.readouterr().err == f"{option} {away}: no such file or folder\n"


def test_the_program_takes_the_command_of_the_page_of_benchmarks() -> None:
    command = (ROOT / "docs/benchmarks.md").read_text().split("make bench ARGS='")[1].split("'")[0]
    given = bench._arguments(command.split())
    assert given.scale
    assert (given.mem0, given.corpus, given.locomo) == ("FOLDER", Path("TEXTS"), ["HARNESS", "DATA"])


def git(tree: Path, *words: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", *own, *words), cwd=tree, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


def test_a_result_names_the_code_that_differs_from_its_commit(tmp_path: Path) -> None:
    code, result = tmp_path / "code.py", tmp_path / "result.json"
    git(tmp_path, "init", "-q")
    for path in (code, result):
        path.write_text("1\n", "utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    result.write_text("2\n", "utf-8")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert {name: machine(tmp_path)[name] for name in ("commit", "changed_files")} == {
        "commit": commit, "changed_files": [],
    }  # fmt: skip
    code.write_text("2\n", "utf-8")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "other.py").write_text("3\n", "utf-8")
    assert machine(tmp_path)["changed_files"] == ["code.py", "new/other.py"]


class Began(Exception):
    """Something would be measured."""


def began(*_: object) -> NoReturn:
    raise Began


def test_a_corpus_that_is_too_small_is_refused_with_what_helps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "sentences", lambda corpus: ["a text"] * 1067)
    assert bench.main(["--memories", "1", "--small", "1000", "--rounds", "150"]) == 2
    wanted = "6,047 are needed (1 for --memories, 1,000 for --small, 750 for --rounds, 4,296 in any case); 4,303 at the"
    assert f"bench: the corpus holds 1,067 sentences, {wanted} least" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "held", "given", "wanted"),
    [
        (sync, 30, [], "10,000 are needed; take a larger --corpus"),
        (sync, 10_000, ["--memories", "9961"], "10,001 are needed (9,961 for --memories, 40 in any case); "
         "lower --memories"),
        (ray_ledgers, 30, ["--changes", "5", "--writes", "3"], "31 are needed (5 for --changes, 6 for --writes, "
         "20 in any case); lower --changes or --writes"),
    ],
)  # fmt: skip
def test_a_corpus_that_would_run_out_in_the_middle_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    program: ModuleType,
    held: int,
    given: list[str],
    wanted: str,
) -> None:
    monkeypatch.setattr(program, "sentences", lambda corpus: ["a text"] * held)
    monkeypatch.setattr(program, "machine", began)
    with pytest.raises(SystemExit):
        program.main(given)
    assert capsys.readouterr().err.endswith(f"the corpus holds {held:,} sentences, {wanted}\n")


def test_memories_are_filed_in_sessions_in_the_order_in_which_they_were_said() -> None:
    told: list[int] = []
    mesh = Kept()
    asyncio.run(scale._fill(cast(Mesh, mesh), [str(n) for n in range(5)], "bench/5", 2, told.append))
    asyncio.run(scale._fill(cast(Mesh, mesh), ["alone"], "bench/apart", 0, told.append))
    assert [(draft.content, draft.source.session, draft.source.seq) for draft in mesh.drafts] == [
        ("0", "bench/5/0", 0), ("1", "bench/5/0", 1), ("2", "bench/5/1", 0), ("3", "bench/5/1", 1),
        ("4", "bench/5/2", 0), ("alone", "", None),
    ]  # fmt: skip
    assert told == [5, 1]


class Kept:
    """A mesh that keeps every draft."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []

    async def remember_batch(self, _: Caller, drafts: Sequence[Draft]) -> list[None]:
        self.drafts += drafts
        return [None] * len(drafts)


# ---- growth ----------------------------------------------------------------------------------------------------------
# The instruments of the growth benchmark, and the units of the speed floors.


MIB = 2**20


def test_recall_and_remember_are_told_in_units_of_the_bare_embedding_of_the_same_run() -> None:
    times = {"bare": [4.0], "bare texts": [5.0], "grpc": [0.5], latency.SMALL_SPACE: [7.0], SPACE: [8.5]}
    times[latency.WRITE_SPACE] = [10.0]
    cpu = {name: [3.0] for name in times}
    sizes = {latency.SMALL_SPACE: 1_000, SPACE: 10_000}
    small, large, remember = latency.ratio_rows(times, cpu, sizes)
    assert [(row.value, row.unit, row.target, row.met) for row in (small, large, remember)] == [
        (0.75, "x", "<= 0.75 x", True),
        (1.125, "x", "<= 1 x", False),
        (2.0, "x", "<= 2.1 x", True),
    ]
    assert all("CPU of the node 3.00 ms" in row.floor for row in (small, large, remember))
    twice = {name: [2 * value for value in values] for name, values in times.items()}
    slower = latency.ratio_rows(twice, cpu, sizes)
    assert [row.value for row in slower] == [row.value for row in (small, large, remember)], "a machine half as fast"


def test_made_up_vectors_are_unit_vectors_that_the_text_decides() -> None:
    vectors = mixed([f"text {n}" for n in range(200)])
    assert vectors.shape == (200, DIMENSIONS)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(vectors[7], mixed(["text 7"])[0])
    cosines = vectors @ vectors.T - np.eye(200)
    assert cosines.max() < 0.99, "no two are the same"


def test_an_import_of_growth_never_sends_a_text_twice() -> None:
    words = [f"Sentence number {n} of the corpus." for n in range(50)]
    sent = [text for start in range(0, 4_000, 1_000) for text in notes_between(words, start, start + 1_000)]
    assert len(set(sent)) == 4_000
    assert sent[1_000:1_010] == notes_between(words, 1_000, 1_010)


def test_anonymous_memory_counts_what_is_held_and_not_what_is_mapped(tmp_path: Path) -> None:
    file = tmp_path / "mapped"
    np.ones(64 * MIB, np.uint8).tofile(file)
    before = anonymous_bytes(os.getpid())
    mapped = np.memmap(file, np.uint8, "r")
    assert int(mapped[:: 1 << 12].sum()) == 64 * MIB >> 12
    assert anonymous_bytes(os.getpid()) - before < 8 * MIB
    # Not from the heap, which may have this much left from an earlier test.
    held = mmap.mmap(-1, 64 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    np.frombuffer(held, np.uint8)[:] = 1
    assert anonymous_bytes(os.getpid()) - before > 60 * MIB


def test_the_memory_of_a_memory_is_what_comes_beyond_the_first_size() -> None:
    first = growth._memory_row((5_000, 25_000), [50 * MIB, 100 * MIB], "shape")
    assert (first.value, first.met) == (100, None)
    row = growth._memory_row((5_000, 25_000), [50 * MIB, 100 * MIB, 100 * MIB + 20_000 * 6_001], "shape")
    assert (row.value, row.met) == (pytest.approx(6_001), False)


def test_what_a_node_spends_counts_its_children() -> None:
    before = Spent.of(psutil.Process())
    deadline = before.own + 0.2
    while Spent.of(psutil.Process()).own < deadline:
        sum(range(10_000))
    spent = Spent.of(psutil.Process()).since(before)
    assert spent.own == pytest.approx(0.2, abs=0.05)
    assert spent.children >= 0
    assert spent.clock > 0
