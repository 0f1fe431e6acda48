"""`python -m bench.growth`: what one long import costs as the space grows; writes bench/results/growth.json.

A node without a model (bench.nodes.mixed_host) takes in memories over gRPC, in one run, as `mnemesh import` sends them.
Three figures stand at each size: CPU time a memory since the size before, the same of children that seal segments, and
anonymous memory of the node. The first size is the measure for the others, so a busy machine counts for all. The node's
own time counts until the last acknowledgement, that of its children until all segments are sealed. At REST_SIZES the
node rests until sealed segments are merged and each consumer of the log is at its end. That rest, with what the node
did while segments were sealed, has a row of its own. At the end search is compared with exact search.
The ratio of costs is the median of several imports; all but the last end at COMPARED. Recall is timed by
bench.speed.growth_recall.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import psutil
from bench.counts import from_one
from bench.nodes.client import Host, connect
from bench.nodes.mixed_host import mixed
from bench.nodes.stored import kept, open_shard, seals_left
from bench.report import Row, machine, median_row, show, write
from bench.scale import notes
from bench.texts.corpus import sentences
from rich.console import Console
from rich.progress import Progress

from mnemesh_actors.index.engine_port import EXACT_POINTS_MAX
from mnemesh_actors.index.engines.segment_files import segments_of
from mnemesh_actors.index.engines.segments import SEGMENT_SHARE

SIZES: Final = (5_000, 25_000, 60_000, 100_000, 300_000)
COMPARED: Final = 100_000  # the size whose cost is promised beside that of the first
REST_SIZES: Final = (5_000, COMPARED)
IMPORTS: Final = 3
FOUND_ROUNDS: Final = 100
NEAREST: Final = 10
SPACE: Final = "bench/growth"
STEP: Final = 5_000
COST_TIMES_MAX: Final = 1.3
ANONYMOUS_BYTES_MAX: Final = 6_000.0
IMPORT_MINUTES_MAX: Final = 25.0
FOUND_MIN: Final = 0.98
SETTLE_S: Final = 600.0
REST_S: Final = 3_600.0  # a verdict on each memory and its place in the graph take a millisecond and more
POLL_S: Final = 0.5
IDLE_S: Final = 4.0
IDLE_SHARE_MAX: Final = 0.05
MS: Final = 1_000
RESULTS: Final = Path(__file__).resolve().parent / "results" / "growth.json"


@dataclass(frozen=True, slots=True)
class Spent:
    """The use of a node so far: CPU seconds of its own, and of its children; seconds by the clock."""

    own: float
    children: float
    clock: float

    @classmethod
    def of(cls, node: psutil.Process) -> Spent:
        """As of now."""
        times = node.cpu_times()
        children = times.children_user + times.children_system
        for child in node.children(recursive=True):
            running = child.cpu_times()
            children += running.user + running.system
        return cls(times.user + times.system, children, time.monotonic())

    def since(self, before: Spent) -> Spent:
        """Between the two."""
        return Spent(self.own - before.own, self.children - before.children, self.clock - before.clock)


def measure(
    texts: Sequence[str],
    data_dir: Path,
    sizes: Sequence[int],
    rests_at: Sequence[int],
    tell: Callable[[int], None],
    keep: Callable[[list[Row]], object] = list,
    ratios: Sequence[float] = (),
) -> tuple[list[Row], float]:
    """Rows of one import of the last of `sizes` into a fresh node, and its ratio of costs; 0 without COMPARED. `keep`
    gets the rows that there are at each size. `ratios` are those of imports before."""
    rows: list[Row] = []
    costs: dict[int, float] = {}
    rests: dict[int, float] = {}
    rested, later = 0, 0.0
    with Host(data_dir, "bench.nodes.mixed_host") as host, connect(host.address, data_dir) as client:
        node = psutil.Process(host.pid)
        held = [anonymous_bytes(host.pid)]
        whole = Spent(0.0, 0.0, 0.0)
        stored = 0
        for size in sizes:
            # first, because in a pause the node would go on with what follows the log
            made = notes_between(texts, stored, size)
            before = Spent.of(node)
            for number in client.import_texts(made, SPACE):
                tell(stored + number)
            taken = Spent.of(node)
            settled(data_dir, size)
            sealed = Spent.of(node)
            later += sealed.own - taken.own
            spent = replace(sealed.since(before), own=taken.own - before.own)
            whole = Spent(whole.own + spent.own, whole.children + spent.children, whole.clock + spent.clock)
            costs[size] = (spent.own + spent.children) / (size - stored) * MS
            rows.append(_cost_row(size, size - stored, spent, costs[sizes[0]]))
            held.append(anonymous_bytes(host.pid))
            rows.append(_memory_row(sizes, held, _shape(data_dir)))
            stored = size
            keep(rows)
            if size in rests_at:
                spent = _rested(data_dir, node, size)
                spent = replace(spent, own=spent.own + later)
                rests[size], row = _rest_row(size, size - rested, spent, _shape(data_dir))
                rows.append(row)
                rested, later = size, 0.0
            keep(rows)
        rows.append(_whole_row(sizes[-1], whole))
    ratio = costs.get(COMPARED, 0.0) / costs[sizes[0]]
    if COMPARED in costs and sizes[0] != COMPARED:
        rows += _ratio_rows(sizes[0], costs, rests, [*ratios, ratio])
    rows.append(_found_row(data_dir, sizes[-1]))
    return rows, ratio


def anonymous_bytes(pid: int) -> int:
    """The memory of the process outside of the pages of files."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"the system does not tell the anonymous memory of process {pid}")


def notes_between(texts: Sequence[str], first: int, last: int) -> list[str]:
    """Different texts for each range; the same ones in each run."""
    return [note for at in range(first, last, STEP) for note in notes(texts, min(last, at + STEP) - at, seed=at)]


def settled(data_dir: Path, size: int) -> None:
    """Wait until no full segment is open and none is on its way."""
    index = data_dir / "index" / "0"
    until = time.monotonic() + SETTLE_S
    while time.monotonic() < until:
        with suppress(FileNotFoundError):  # one is taking its place
            segments = segments_of(index / "points")
            full = any(not one.sealed and one.points >= EXACT_POINTS_MAX * SEGMENT_SHARE for one in segments)
            if (size <= EXACT_POINTS_MAX or not full) and not list(index.glob("points.next-*")):
                return
        time.sleep(POLL_S)
    raise RuntimeError(f"the segments of {size:,} memories were not sealed within {SETTLE_S:g} s")


def _rested(data_dir: Path, node: psutil.Process, size: int) -> Spent:
    """Wait until no sealed segments are to be merged, none is on its way, and the followers of the log have caught up:
    what that took."""
    before = Spent.of(node)
    index = data_dir / "index" / "0"
    until = time.monotonic() + REST_S
    while time.monotonic() < until:
        if not seals_left(index) and _is_idle(node):
            return Spent.of(node).since(before)
        time.sleep(POLL_S)
    raise RuntimeError(f"the node of {size:,} memories was not at rest within {REST_S:g} s")


def _rest_row(size: int, number: int, spent: Spent, shape: str) -> tuple[float, Row]:
    """The cost in ms for each of the `number` memories since the last rest, and its row."""
    cost = (spent.own + spent.children) / number * MS
    beside = f"the node {spent.own:.0f} s, children {spent.children:.0f} s; {shape}"
    return cost, median_row(f"what is left for the rest at {size:,}, CPU time a memory", [cost], "ms", floor=beside)


def _is_idle(node: psutil.Process) -> bool:
    """Whether the node does next to nothing for a while: the graph, say, follows a long import at leisure."""
    before = Spent.of(node)
    time.sleep(IDLE_S)
    return Spent.of(node).since(before).own < IDLE_SHARE_MAX * IDLE_S


def _shape(data_dir: Path) -> str:
    segments = segments_of(data_dir / "index" / "0" / "points")
    log = (data_dir / "host.log").read_text("utf-8", "replace")
    events = ", ".join(f"{log.count(f'segment_{name}')} {name}" for name in ("begun", "sealed", "dropped"))
    return f"{sum(one.sealed for one in segments)} of {len(segments)} segments sealed ({events})"


def _cost_row(size: int, number: int, spent: Spent, first: float) -> Row:
    both = (spent.own + spent.children) / number * MS
    beside = (
        f"{both / first:.2f} x the first size; the node {spent.own / number * MS:.2f} ms, "
        f"sealing {spent.children / number * MS:.2f} ms, {number / spent.clock:.0f} memories/s"
    )
    return median_row(f"CPU time a memory up to {size:,}", [both], "ms", floor=beside)


def _memory_row(sizes: Sequence[int], held: Sequence[int], shape: str) -> Row:
    """Memory of the node at the last size reached, for each memory beyond the first size. `held` begins with the empty
    node."""
    size = sizes[len(held) - 2]
    beside = f"{held[-1] / 2**20:.0f} MiB, empty {held[0] / 2**20:.0f}; {shape}"
    if size == sizes[0]:
        return median_row(f"anonymous memory at {size:,}", [held[-1] / 2**20], "MiB", floor=beside)
    slope = (held[-1] - held[1]) / (size - sizes[0])
    name = f"anonymous memory a memory from {sizes[0]:,} to {size:,}"
    return median_row(name, [slope], "bytes", at_most=ANONYMOUS_BYTES_MAX, floor=beside)


def _ratio_rows(first: int, costs: dict[int, float], rests: dict[int, float], ratios: Sequence[float]) -> list[Row]:
    """The cost of a memory at COMPARED beside that at the first size: of the imports alone (`ratios`), and of all that
    follows."""
    name = f"CPU time a memory at {COMPARED:,} against {first:,}"
    beside = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    rows = [median_row(name, ratios, "x", at_most=COST_TIMES_MAX, floor=f"imports: {beside}")]
    if COMPARED in rests and first in rests:
        whole = {size: costs[size] + rests[size] for size in (first, COMPARED)}
        beside = "; ".join(f"{size:,}: {cost:.2f} ms" for size, cost in whole.items())
        name = f"{name}, with what is left for the rest"
        rows.append(median_row(name, [whole[COMPARED] / whole[first]], "x", floor=beside))
    return rows


def _whole_row(size: int, whole: Spent) -> Row:
    cpu = (whole.own + whole.children) / 60
    return median_row(
        f"import of {size:,} in one run",
        [whole.clock / 60],
        "min",
        at_most=IMPORT_MINUTES_MAX if size >= SIZES[-1] else None,
        floor=f"CPU {cpu:.1f} min, without what follows the log",
    )


def _found_row(data_dir: Path, size: int) -> Row:
    """How many of the ten nearest the index of a stopped node finds; equal cosines are as good."""
    _, vectors = kept(data_dir, SPACE, "active")
    shard = open_shard(data_dir)
    shares = []
    for vector in mixed([f"Asked at the end, number {number}" for number in range(FOUND_ROUNDS)]):
        least = np.partition(vectors @ vector, -NEAREST)[-NEAREST]
        hits = shard.neighbours_batch([(vector, SPACE)], NEAREST, shard.generation)[0]
        shares.append(float(sum(score >= least - 1e-4 for _, score in hits)) / NEAREST)
    shard.close()
    name = f"recall@{NEAREST} of the sealed segments against exact search, {size:,}"
    return median_row(name, [statistics.mean(shares)], "", at_least=FOUND_MIN)


def main(argv: list[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description="What a long import costs.")
    parser.add_argument("--corpus", type=Path, help="file or folder of text, Markdown or JSONL")
    parser.add_argument("--sizes", type=from_one, nargs="+", default=SIZES, help="memories in the space, ascending")
    parser.add_argument("--imports", type=from_one, default=IMPORTS, help="imports for the ratio of costs")
    parser.add_argument("--rest", type=from_one, nargs="*", default=REST_SIZES, help="sizes at which the node rests")
    parser.add_argument("--out", type=Path, default=RESULTS, help=f"where the figures go (default {RESULTS.name})")
    given = parser.parse_args(argv)
    sizes = sorted(set(given.sizes))
    texts = sentences(given.corpus)
    console = Console(width=None if sys.stdout.isatty() else 150)
    facts: dict[str, object] = {"machine": machine(), "sizes": sizes, "rests": list(given.rest)}
    ratios: list[float] = []
    few = [size for size in sizes if size <= COMPARED]
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("import", total=sizes[-1])
        imports = given.imports if COMPARED in sizes else 1
        for number in range(imports):
            last = number + 1 == imports
            with tempfile.TemporaryDirectory(prefix="mnemesh-growth-") as folder:
                rows, ratio = measure(
                    texts, Path(folder), sizes if last else few, given.rest if last else (),
                    lambda done: bar.update(task, completed=done),
                    (lambda so_far: write(so_far, facts, given.out)) if last else list,
                    ratios,
                )  # fmt: skip
            ratios.append(ratio)
    show(rows, console)
    console.print(f"Written to {write(rows, facts, given.out)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
