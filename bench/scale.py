"""`python -m bench.scale`: how recall's time grows from 1,000 to 100,000 memories; writes bench/results/scale.json.

Recall is timed in the Mesh itself, without a door, against the bare embedding of a question on the same embedder in the
same rounds. Memories are real sentences, joined in pairs until there are enough, in sessions of SESSION_MEMORIES. Their
vectors are mixtures of real ones, because embedding 100,000 texts takes most of an hour. Only the time of searching
counts here. Questions are embedded for real, each once, except in rows on repeated questions.

Beside the index stand three rivals on the same texts, vectors and questions: numpy with bm25s, Qdrant's local mode, and
mem0ai on top of local mode. The last two are left out above RIVALS_SIZE_MAX. Local mode looks at every point with each
query, in Python, and itself advises a server above 20,000 points.
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
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar, Final
from zlib import crc32

import numpy as np
from bench.compared.mem0_rival import mem0_rows
from bench.compared.rivals import side_by_side
from bench.counts import from_one
from bench.host import OWNER, MeteredRuntime, MeteredWorker
from bench.latency import WARM_UP_ROUNDS, grpc_row, question
from bench.nodes.client import Host, connect
from bench.nodes.stored import kept, open_shard, seals_left
from bench.report import Row, machine, median_row, show, write
from bench.texts.corpus import sentences
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress, TaskID

from mnemesh_actors.index.engine_port import EXACT_POINTS_MAX
from mnemesh_actors.index.shard import RetrievalShard
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.node.assembly import StartConfig, start_mesh
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_memory.secrets import find_secret
from mnemesh_memory.values.model import Draft, Query, Source

SIZES: Final = (1_000, 10_000, 100_000)
SMALL: Final = 1_000
ROUNDS: Final = 120
RIVALS_SIZE_MAX: Final = 10_000
SESSION_MEMORIES: Final = 20
# Workers and threads of the model, beside the default of a node.
EMBEDDING: Final = ((1, 1), (1, 2))
WARM_UP: Final = 10
CONCURRENT: Final = 64
CONCURRENT_ROUNDS: Final = 4
BATCH: Final = 256
PART_CHARS: Final = 160
BASE_TEXTS: Final = 800
RECALL_TIMEOUT_S: Final = 60.0  # of CONCURRENT at once the last one waits for all others
GRAPH_WAIT_S: Final = 1_200.0
POLL_S: Final = 0.5
RECALL_MS_MAX: Final = {1_000: 4.0, 10_000: 6.0, 100_000: 15.0}
SMALL_AMONG_MANY_MS_MAX: Final = 6.0
REPEATED_MS_MAX: Final = 8.0
CONCURRENT_TIMES_MIN: Final = 2.0
GROWTH_TIMES_MAX: Final = 3.0
GRAPH_RECALL_MIN: Final = 0.98
RESULTS: Final = Path(__file__).resolve().parent / "results" / "scale.json"
MARK: Final = "Memory of the bench "  # no question begins so
BEYOND: Final = "recall beyond the embedding, {:,}"


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
    pairs = [(chance.choice(short), chance.choice(short)) for _ in range(number)]
    # Two harmless texts may look like a password together, which a node refuses.
    return [
        f"{MARK}{seed}.{n}: {one}" if find_secret(f"{one} {other}") else f"{MARK}{seed}.{n}: {one} {other}"
        for n, (one, other) in enumerate(pairs)
    ]


async def measure(
    texts: Sequence[str], asked: Iterator[str], data_dir: Path, size: int, rounds: int, tell: Callable[[int], None]
) -> list[Row]:
    """Rows of a fresh node with `size` memories in one space, and at more than SMALL with SMALL in another."""
    async with _running(data_dir) as (mesh, runtime):
        await runtime.embedder.learn(list(texts[:BASE_TEXTS]))
        spaces = {f"bench/{size}": BEYOND.format(size)}
        await _fill(mesh, notes(texts, size, seed=1), f"bench/{size}", SESSION_MEMORIES, tell)
        if size > SMALL:
            small = f"{BEYOND.format(SMALL)} among {size:,}"
            spaces |= {"bench/small": small, "bench/apart": f"{small}, in no session"}
            await _fill(mesh, notes(texts, SMALL, seed=2), "bench/small", SESSION_MEMORIES, lambda n: tell(size + n))
            await _fill(mesh, notes(texts, SMALL, seed=3), "bench/apart", 0, lambda n: tell(size + SMALL + n))
        built_s = await _settled(mesh, data_dir, size)
        rows = await _timed(mesh, runtime, asked, spaces, size, rounds)
        rows += await _together(mesh, asked, f"bench/{size}", size)
    if size > EXACT_POINTS_MAX:
        made = f"segments sealed and merged beside the node, {size:,}"
        rows.append(median_row(made, [built_s], "s after the import"))
    for workers, threads in EMBEDDING:
        async with _running(data_dir, workers, threads) as (mesh, _):
            await _settled(mesh, data_dir, size)
            model = f", model_workers {workers}, model_threads {threads}"
            rows += await _together(mesh, asked, f"bench/{size}", size, model)
    return rows


@asynccontextmanager
async def _running(data_dir: Path, workers: int = 0, threads: int = 1) -> AsyncIterator[tuple[Mesh, MixingRuntime]]:
    """A node on `data_dir` with `workers` embedding workers (0: the default of the node), and its runtime."""
    runtime = MixingRuntime()
    model = ModelConfig(download=False, threads=threads)
    config = StartConfig(
        clock=lambda: time.time_ns() // 1_000_000, entropy=secrets.token_bytes, model=model,
        workers=workers, mesh=MeshConfig(recall_timeout_s=RECALL_TIMEOUT_S),
    )  # fmt: skip
    mesh = await start_mesh(open_directory(data_dir), runtime, config)
    try:
        yield mesh, runtime
    finally:
        await mesh.close()


async def _fill(mesh: Mesh, texts: Sequence[str], space: str, session: int, tell: Callable[[int], None]) -> None:
    """Write the texts, in sessions of so many; 0: in none."""
    drafts = [
        Draft(
            content=text,
            space=space,
            source=Source(session=f"{space}/{n // session}", seq=n % session) if session else Source(),
            wait="durable",
        )
        for n, text in enumerate(texts)
    ]
    for start in range(0, len(drafts), BATCH):
        part = drafts[start : start + BATCH]
        for done in await mesh.remember_batch(OWNER, part):
            if isinstance(done, Exception):
                raise done
        tell(start + len(part))


async def _settled(mesh: Mesh, data_dir: Path, size: int) -> float:
    """Wait until the index holds everything and its full segments are sealed and merged; the seconds of that. The judge
    of an import goes on for hours: half of each text stands in others too, so a model reads nearly all of them."""
    began = time.monotonic()
    while time.monotonic() - began < GRAPH_WAIT_S:
        if not (await mesh.status()).index[0].lag and not seals_left(data_dir / "index" / "0"):
            return time.monotonic() - began
        await asyncio.sleep(POLL_S)
    raise RuntimeError(f"the index of {size:,} memories was not ready within {GRAPH_WAIT_S:g} s")


async def _timed(
    mesh: Mesh, runtime: MixingRuntime, asked: Iterator[str], spaces: Mapping[str, str], size: int, rounds: int
) -> list[Row]:
    """`spaces`: the names of their rows, the large one first."""
    large = f"bench/{size}"
    times: dict[str, list[float]] = {name: [] for name in ("bare", "again", *spaces)}
    for number in range(rounds + WARM_UP):
        measured = {"bare": await runtime.embedder.seconds([next(asked)])}
        for space in spaces:
            text = next(asked)
            measured[space] = await _seconds(mesh, text, space)
            if space == large:
                measured["again"] = await _seconds(mesh, text, space)
        if number >= WARM_UP:
            for name, value in measured.items():
                times[name].append(value * 1000)
    bare_ms = statistics.median(times["bare"])
    rows = []
    for space, name in spaces.items():
        limit = RECALL_MS_MAX.get(size) if space == large else SMALL_AMONG_MANY_MS_MAX
        beyond = [value - bare_ms for value in times[space]]
        rows.append(median_row(name, beyond, "ms", at_most=limit, floor=f"bare embedding {bare_ms:.2f} ms"))
    limit = REPEATED_MS_MAX if size == 10_000 else None
    rows.append(median_row(f"the same question again, {size:,}", times["again"], "ms", at_most=limit))
    return rows


async def _seconds(mesh: Mesh, text: str, space: str) -> float:
    began = time.perf_counter()
    await mesh.recall(OWNER, Query(text=text, spaces=(space,)))
    return time.perf_counter() - began


async def _together(mesh: Mesh, asked: Iterator[str], space: str, size: int, of_model: str = "") -> list[Row]:
    """Throughput of CONCURRENT recalls at once against the same number one after the other, in turns. Questions are new
    in some rows, and have their embedding at hand in others."""
    name = f"{CONCURRENT} recalls at once against one at a time, {size:,}{of_model}"
    promised = CONCURRENT_TIMES_MIN if size == 10_000 and not of_model else None
    known = list(islice(asked, CONCURRENT))
    for text in known:
        await _seconds(mesh, text, space)
    first, again = [], []
    for _ in range(CONCURRENT_ROUNDS):
        first.append(await _rates(mesh, list(islice(asked, CONCURRENT)), list(islice(asked, CONCURRENT)), space))
        again.append(await _rates(mesh, known, known, space))
    rows = []
    for label, rates, limit in ((name, first, promised), (f"{name}, embeddings at hand", again, None)):
        alone, together = (statistics.median(rate) for rate in zip(*rates, strict=True))
        floor = f"{together:.0f} recalls/s, {alone:.0f} one at a time"
        ratios = [at_once / one for one, at_once in rates]
        rows.append(median_row(label, ratios, "x", at_least=limit, floor=floor))
    return rows


async def _rates(mesh: Mesh, alone: Sequence[str], together: Sequence[str], space: str) -> tuple[float, float]:
    """Recalls a second, asked one after the other and all at once."""
    began = time.perf_counter()
    for text in alone:
        await _seconds(mesh, text, space)
    between = time.perf_counter()
    await asyncio.gather(*(_seconds(mesh, text, space) for text in together))
    return len(alone) / (between - began), len(together) / (time.perf_counter() - between)


def searched(data_dir: Path, size: int, worker: EmbeddingWorker, asked: list[str], mem0: bool) -> list[Row]:
    """The index alone beside the rivals on what a stopped node holds; how much of the exact answer it finds."""
    space = f"bench/{size}"
    texts, vectors = kept(data_dir, space)
    shard = open_shard(data_dir)
    questions = list(zip(asked, worker.embed_questions(asked), strict=True))
    few = size <= RIVALS_SIZE_MAX
    rows = side_by_side(shard, (texts, vectors), questions, space, local=few)
    _, active = kept(data_dir, space, "active")
    shares = [_share(shard, active, vector, space) for _, vector in questions]
    shard.close()
    if mem0 and few:
        rows += mem0_rows(texts, vectors, worker, asked)
    if size > EXACT_POINTS_MAX:
        mean = [statistics.mean(shares)]
        rows.append(
            median_row(f"recall@10 of the graph against exact search, {size:,}", mean, "", at_least=GRAPH_RECALL_MIN)
        )
    return rows


def through_grpc(data_dir: Path, size: int, asked: Sequence[str]) -> Row:
    """The cost of gRPC in a recall of a node on `data_dir` in a process of its own."""
    with Host(data_dir) as host, connect(host.address, data_dir) as client:
        return grpc_row(host, client, asked, f"bench/{size}", size)


def _share(shard: RetrievalShard, vectors: NDArray[np.float32], vector: NDArray[np.float32], space: str) -> float:
    """How many of the ten nearest the index finds, by their cosines: equal ones are as good."""
    best = np.sort(vectors @ vector)[-10:]
    found = [score for _, score in shard.neighbours_batch([(vector, space)], 10, shard.generation)[0]]
    return float(sum(score >= best[0] - 1e-4 for score in found)) / 10


def questions_needed(sizes: Sequence[int], rounds: int) -> int:
    """How many are asked at most, each once."""
    at_once = CONCURRENT * (1 + 2 * CONCURRENT_ROUNDS) * (1 + len(EMBEDDING))
    return len(sizes) * (4 * (rounds + WARM_UP) + at_once + 2 * rounds + WARM_UP_ROUNDS)


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
    parser.add_argument("--sizes", type=from_one, nargs="+", default=SIZES, help="memories in the space")
    parser.add_argument("--rounds", type=from_one, default=ROUNDS)
    parser.add_argument("--mem0", help="a folder with mem0ai (pip install --target FOLDER mem0ai), to compare with it")
    given = parser.parse_args(argv)
    if given.mem0:
        sys.path.append(given.mem0)  # last: it brings older versions of what we use
    texts = sentences(given.corpus)
    random.Random(1).shuffle(texts)
    half = len(texts) // 2
    if len(texts) - half < (needed := questions_needed(given.sizes, given.rounds)):
        least = 2 * questions_needed(given.sizes[:1], 1)
        way = "lower --rounds or give fewer --sizes"
        if len(texts) < least:
            way = f"{least:,} with one size and one round, so take a larger --corpus"
        parser.error(f"the corpus holds {len(texts):,} sentences, {2 * needed:,} are needed; {way}")
    asked = iter([question(text) for text in texts[half:]])
    console = Console(width=None if sys.stdout.isatty() else 150)
    facts = {"machine": machine(), "sizes": list(given.sizes), "rounds": given.rounds, "session": SESSION_MEMORIES}
    rows: list[Row] = []
    worker = MeteredWorker(ModelConfig(download=False))
    worker.load()
    with tempfile.TemporaryDirectory(prefix="mnemesh-scale-") as folder:
        # The largest first, because filling it takes longest.
        for size in sorted(given.sizes, reverse=True):
            data_dir = Path(folder) / str(size)
            with Progress(console=console, transient=True) as progress:
                task = progress.add_task(f"{size:,}", total=size + 2 * SMALL * (size > SMALL))
                tell = partial(_tell, progress, task)
                found = asyncio.run(measure(texts[:half], asked, data_dir, size, given.rounds, tell))
            found.append(through_grpc(data_dir, size, list(islice(asked, given.rounds + WARM_UP_ROUNDS))))
            found += searched(data_dir, size, worker, list(islice(asked, given.rounds)), bool(given.mem0))
            rows = [*found, *rows]
    if len(given.sizes) > 1:
        rows.append(_growth(rows, min(given.sizes), max(given.sizes)))
    show(rows, console)
    console.print(f"Written to {write(rows, facts, RESULTS)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
