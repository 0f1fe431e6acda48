"""`python -m bench.scale`: how recall's time grows from 1,000 to 100,000 memories; writes bench/results/scale.json.

Recall is timed in the Mesh itself, without a door, against the bare embedding of a question on the same embedder in the
same rounds. Memories are real sentences, joined in pairs until there are enough; their vectors are mixtures of real
ones, because embedding 100,000 texts takes most of an hour and only the time of searching them counts here. Questions
are embedded for real, each once.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar, Final
from zlib import crc32

import numpy as np
from bench.corpus import sentences
from bench.host import MeteredRuntime, MeteredWorker
from bench.latency import question
from bench.mem0_rival import mem0_rows
from bench.plain import NAME, PlainSearch
from bench.report import Row, machine, median_row, show, write
from bench.stored import kept, open_shard
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress, TaskID

from mnemesh_actors.directory import open_directory
from mnemesh_actors.embedding import EmbeddingWorker, ModelConfig
from mnemesh_actors.index.graph import GRAPH_FILE
from mnemesh_actors.index.port import EXACT_POINTS_MAX
from mnemesh_actors.mesh import Mesh
from mnemesh_actors.shard import RetrievalShard, Search
from mnemesh_actors.start import StartConfig, start_mesh
from mnemesh_memory.model import Caller, Draft, Query

SIZES: Final = (1_000, 10_000, 100_000)
SMALL: Final = 1_000
ROUNDS: Final = 120
MEM0_SIZE_MAX: Final = 10_000
WARM_UP: Final = 10
CONCURRENT: Final = 64
CONCURRENT_ROUNDS: Final = 5
BATCH: Final = 256
PART_CHARS: Final = 160
BASE_TEXTS: Final = 800
GRAPH_WAIT_S: Final = 1_200.0
POLL_S: Final = 0.5
RECALL_MS_MAX: Final = {1_000: 4.0, 10_000: 6.0, 100_000: 15.0}
SMALL_AMONG_MANY_MS_MAX: Final = 6.0
REPEATED_MS_MAX: Final = 8.0
CONCURRENT_TIMES_MIN: Final = 2.0
GROWTH_TIMES_MAX: Final = 3.0
GRAPH_RECALL_MIN: Final = 0.98
RESULTS: Final = Path(__file__).resolve().parent / "results" / "scale.json"
MARK: Final = "Note "
BEYOND: Final = "recall beyond the embedding, {:,}"
OWNER: Final = Caller(agent="owner", principal="owner", role="owner", default_space="")


class MixingWorker(MeteredWorker):
    """The node's embedder, which gives texts that begin with MARK a mixture of real vectors."""

    _base: ClassVar[NDArray[np.float32]]  # of all workers of the node

    def learn(self, texts: list[str]) -> None:
        """The real vectors that are mixed."""
        type(self)._base = super().embed(texts)

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        if not texts or not all(text.startswith(MARK) for text in texts):
            return super().embed(texts)
        return np.stack([self._mixed(text) for text in texts])

    def _mixed(self, text: str) -> NDArray[np.float32]:
        chance = np.random.default_rng(crc32(text.encode()))
        one, other = chance.integers(0, len(self._base), 2)
        mixed = self._base[one] + 0.6 * self._base[other] + chance.normal(0, 0.02, self._base.shape[1])
        vector: NDArray[np.float32] = (mixed / np.linalg.norm(mixed)).astype(np.float32)
        return vector


class MixingRuntime(MeteredRuntime):
    """The local runtime with that embedder."""

    worker = MixingWorker


def notes(texts: Sequence[str], number: int, seed: int) -> list[str]:
    """So many different texts out of these."""
    chance = random.Random(seed)
    short = [text[:PART_CHARS] for text in texts]  # two are one passage
    return [f"{MARK}{seed}.{n}: {chance.choice(short)} {chance.choice(short)}" for n in range(number)]


async def measure(
    texts: Sequence[str], asked: Iterator[str], data_dir: Path, size: int, rounds: int, tell: Callable[[int], None]
) -> list[Row]:
    """Rows of a fresh node with `size` memories in one space, and at more than SMALL with SMALL in another."""
    runtime = MixingRuntime()
    config = StartConfig(
        clock=lambda: time.time_ns() // 1_000_000, entropy=secrets.token_bytes, model=ModelConfig(download=False)
    )
    mesh = await start_mesh(open_directory(data_dir), runtime, config)
    try:
        await runtime.embedder.learn(list(texts[:BASE_TEXTS]))
        large, small = f"bench/{size}", "bench/small"
        await _fill(mesh, notes(texts, size, seed=1), large, tell)
        if size > SMALL:
            await _fill(mesh, notes(texts, SMALL, seed=2), small, lambda done: tell(size + done))
        built_s = await _settled(mesh, data_dir, size)
        rows = await _timed(mesh, runtime, asked, (large, small) if size > SMALL else (large,), size, rounds)
        rows.append(await _together(mesh, asked, large, size))
        if size > EXACT_POINTS_MAX:
            rows.append(median_row(f"the graph, made beside the node, {size:,}", [built_s], "s after the import"))
        return rows
    finally:
        await mesh.close()


async def _fill(mesh: Mesh, texts: Sequence[str], space: str, tell: Callable[[int], None]) -> None:
    for start in range(0, len(texts), BATCH):
        drafts = [Draft(content=text, space=space, wait="durable") for text in texts[start : start + BATCH]]
        for done in await mesh.remember_batch(OWNER, drafts):
            if isinstance(done, Exception):
                raise done
        tell(start + len(drafts))


async def _settled(mesh: Mesh, data_dir: Path, size: int) -> float:
    """Wait until the index holds everything, and for a large one until its graph is in use; the seconds of that."""
    began = time.monotonic()
    points = data_dir / "index" / "0"
    while time.monotonic() - began < GRAPH_WAIT_S:
        waiting = (await mesh.status()).index[0].lag
        if size > EXACT_POINTS_MAX:
            graph = points / "points" / GRAPH_FILE
            waiting = waiting or not graph.exists() or int(graph.read_text()) < size * 0.8
        if not waiting and not list(points.glob("points.next-*")):
            return time.monotonic() - began
        await asyncio.sleep(POLL_S)
    raise RuntimeError(f"the index of {size:,} memories was not ready within {GRAPH_WAIT_S:g} s")


async def _timed(
    mesh: Mesh, runtime: MixingRuntime, asked: Iterator[str], spaces: Sequence[str], size: int, rounds: int
) -> list[Row]:
    times: dict[str, list[float]] = {name: [] for name in ("bare", "again", *spaces)}
    for number in range(rounds + WARM_UP):
        measured = {"bare": await runtime.embedder.seconds([next(asked)])}
        for space in spaces:
            text = next(asked)
            measured[space] = await _seconds(mesh, text, space)
            if space == spaces[0]:
                measured["again"] = await _seconds(mesh, text, space)
        if number >= WARM_UP:
            for name, value in measured.items():
                times[name].append(value * 1000)
    bare_ms = statistics.median(times["bare"])
    rows = []
    for space, limit in zip(spaces, (RECALL_MS_MAX.get(size), SMALL_AMONG_MANY_MS_MAX), strict=False):
        name = BEYOND.format(size) if space == spaces[0] else f"{BEYOND.format(SMALL)} among {size:,}"
        beyond = [value - bare_ms for value in times[space]]
        floor = f"bare embedding {bare_ms:.2f} ms"
        rows.append(median_row(name, beyond, "ms", at_most=limit, floor=floor))
    limit = REPEATED_MS_MAX if size == 10_000 else None
    rows.append(median_row(f"the same question again, {size:,}", times["again"], "ms", at_most=limit))
    return rows


async def _seconds(mesh: Mesh, text: str, space: str) -> float:
    began = time.perf_counter()
    await mesh.recall(OWNER, Query(text=text, spaces=(space,)))
    return time.perf_counter() - began


async def _together(mesh: Mesh, asked: Iterator[str], space: str, size: int) -> Row:
    """Throughput of CONCURRENT recalls at once against the same number one after the other, in turns."""
    ratios, rates = [], []
    for _ in range(CONCURRENT_ROUNDS):
        began = time.perf_counter()
        for text in list(islice(asked, CONCURRENT)):
            await mesh.recall(OWNER, Query(text=text, spaces=(space,)))
        alone_s = time.perf_counter() - began
        began = time.perf_counter()
        await asyncio.gather(*(_seconds(mesh, text, space) for text in list(islice(asked, CONCURRENT))))
        together_s = time.perf_counter() - began
        ratios.append(alone_s / together_s)
        rates.append(CONCURRENT / together_s)
    floor = f"{statistics.median(rates):.0f} recalls/s"
    name = f"{CONCURRENT} recalls at once against one at a time, {size:,}"
    return median_row(name, ratios, "x", at_least=CONCURRENT_TIMES_MIN if size == 10_000 else None, floor=floor)


def searched(data_dir: Path, size: int, worker: EmbeddingWorker, asked: list[str]) -> list[Row]:
    """The index alone beside numpy with bm25s on what a stopped node holds; how much of the exact answer it finds."""
    space = f"bench/{size}"
    texts, vectors = kept(data_dir, space)
    plain, shard = PlainSearch(texts, vectors), open_shard(data_dir)
    times: dict[str, list[float]] = {"ours": [], "plain": []}
    shares = []
    for text, vector in zip(asked, worker.embed(asked), strict=True):
        began = time.perf_counter()
        shard.search(Search(text, vector, (space,), generation=shard.generation))
        between = time.perf_counter()
        plain.search(text, vector)
        times["ours"].append((between - began) * 1000)
        times["plain"].append((time.perf_counter() - between) * 1000)
        shares.append(_share(shard, vectors, vector, space))
    shard.close()
    rows = [
        median_row(f"search of {size:,}: Mnemesh's index", times["ours"], "ms"),
        median_row(f"search of {size:,}: {NAME}", times["plain"], "ms"),
    ]
    if size > EXACT_POINTS_MAX:
        mean = [statistics.mean(shares)]
        rows.append(
            median_row(f"recall@10 of the graph against exact search, {size:,}", mean, "", at_least=GRAPH_RECALL_MIN)
        )
    return rows


def _share(shard: RetrievalShard, vectors: NDArray[np.float32], vector: NDArray[np.float32], space: str) -> float:
    """How many of the ten nearest the index finds, by their cosines: equal ones are as good."""
    best = np.sort(vectors @ vector)[-10:]
    found = [score for _, score in shard.neighbours(vector, space, 10, shard.generation)]
    return float(sum(score >= best[0] - 1e-4 for score in found)) / 10


def _tell(progress: Progress, task: TaskID, done: int) -> None:
    progress.update(task, completed=done)


def _growth(rows: Sequence[Row], first: int, last: int) -> Row:
    value = {row.name: row.value for row in rows}
    ratio = value[BEYOND.format(last)] / value[BEYOND.format(first)]
    return median_row(f"growth from {first:,} to {last:,}", [ratio], "x", at_most=GROWTH_TIMES_MAX)


def main(argv: list[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description="How recall's time grows.")
    parser.add_argument("--corpus", type=Path, help="file or folder of text, Markdown or JSONL")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="memories in the space")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--mem0", help="a folder with mem0ai (pip install --target FOLDER mem0ai), to compare with it")
    given = parser.parse_args(argv)
    if given.mem0:
        sys.path.append(given.mem0)  # last: it brings older versions of what we use
    texts = sentences(given.corpus)
    random.Random(1).shuffle(texts)
    half = len(texts) // 2
    asked = iter([question(text) for text in texts[half:]])
    console = Console(width=None if sys.stdout.isatty() else 150)
    rows: list[Row] = []
    worker = MeteredWorker(ModelConfig(download=False))
    worker.load()
    with tempfile.TemporaryDirectory(prefix="mnemesh-scale-") as folder:
        # The largest first, because filling it takes longest.
        for size in sorted(given.sizes, reverse=True):
            data_dir = Path(folder) / str(size)
            with Progress(console=console, transient=True) as progress:
                task = progress.add_task(f"{size:,}", total=size + SMALL * (size > SMALL))
                tell = partial(_tell, progress, task)
                found = asyncio.run(measure(texts[:half], asked, data_dir, size, given.rounds, tell))
            found += searched(data_dir, size, worker, list(islice(asked, given.rounds)))
            if given.mem0 and size <= MEM0_SIZE_MAX:
                found += mem0_rows(*kept(data_dir, f"bench/{size}"), worker, list(islice(asked, given.rounds)))
            rows = [*found, *rows]
    if len(given.sizes) > 1:
        rows.append(_growth(rows, min(given.sizes), max(given.sizes)))
    show(rows, console)
    facts = {"machine": machine(), "sizes": list(given.sizes), "rounds": given.rounds}
    console.print(f"Written to {write(rows, facts, RESULTS)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
