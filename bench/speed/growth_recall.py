"""`python -m bench.speed.growth_recall`: recall beside 100,000 and 300,000 memories.

Writes bench/results/growth_recall.json.

Memories and vectors are those of bench.growth. At each size the node ends, and another one (bench.nodes.still_host)
merges its segments and answers TURNS times so many questions. The figure is the CPU time of a recall, without a door,
as the median of the turns: in the first turn the index learns the weights of the words.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bench.counts import from_one
from bench.growth import POLL_S, SETTLE_S, SPACE, notes_between, settled
from bench.latency import question
from bench.nodes.client import Host, connect
from bench.nodes.stored import seals_left
from bench.report import Row, machine, median_row, show, write
from bench.texts.corpus import sentences
from rich.console import Console
from rich.progress import Progress

SIZES: Final = (100_000, 300_000)
ROUNDS: Final = 120
TURNS: Final = 5
WARM_UP: Final = 10
TIMES_MAX: Final = 1.5
MS: Final = 1_000
RESULTS: Final = Path(__file__).resolve().parents[1] / "results" / "growth_recall.json"


def measure(
    texts: Sequence[str], data_dir: Path, sizes: Sequence[int], rounds: int, tell: Callable[[int], None]
) -> list[Row]:
    """A row for each of `sizes`, and one of the last beside the first."""
    turns: list[list[float]] = []
    rows: list[Row] = []
    stored = 0
    for size in sizes:
        made = notes_between(texts, stored, size)
        with Host(data_dir, "bench.nodes.mixed_host") as host, connect(host.address, data_dir) as client:
            for number in client.import_texts(made, SPACE):
                tell(stored + number)
            settled(data_dir, size)
        stored = size
        with Host(data_dir, "bench.nodes.still_host") as host:
            _merged(data_dir)
            cpu, clock = _recall(host, texts, size, rounds)
        turns.append(cpu)
        rows.append(median_row(f"recall beside {size:,}, CPU time", cpu, "ms", floor=f"{clock:.1f} ms by the clock"))
    name = f"recall's CPU time beside {sizes[-1]:,} against {sizes[0]:,}"
    times = statistics.median(turns[-1]) / statistics.median(turns[0])
    return [*rows, median_row(name, [times], "x", at_most=TIMES_MAX)]


def _merged(data_dir: Path) -> None:
    """Wait until the index of a node at rest has merged its segments."""
    until = time.monotonic() + SETTLE_S
    while seals_left(data_dir / "index" / "0"):
        if time.monotonic() > until:
            raise RuntimeError(f"the segments were not merged within {SETTLE_S:g} s")
        time.sleep(POLL_S)


def _recall(host: Host, texts: Sequence[str], size: int, rounds: int) -> tuple[list[float], float]:
    """CPU time of one recall of each turn, and the median of all by the clock; ms."""
    chance = random.Random(size)
    print(f"seed {size}", file=sys.stderr)
    cpu, clock = [], []
    for turn in range(TURNS):
        asked = [f"{question(chance.choice(texts))} {turn}.{number}" for number in range(WARM_UP + rounds)]
        for text in asked[:WARM_UP]:
            host.recall_seconds(text, SPACE)
        before = host.cpu_seconds()
        clock += [host.recall_seconds(text, SPACE) * MS for text in asked[WARM_UP:]]
        cpu.append((host.cpu_seconds() - before) / rounds * MS)
    return cpu, statistics.median(clock)


def main(argv: list[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.speed.growth_recall", description="Recall as it grows.")
    parser.add_argument("--corpus", type=Path, help="file or folder of text, Markdown or JSONL")
    parser.add_argument("--sizes", type=from_one, nargs="+", default=SIZES, help="memories in the space, ascending")
    parser.add_argument("--rounds", type=from_one, default=ROUNDS, help="recalls of a turn")
    parser.add_argument("--out", type=Path, default=RESULTS, help=f"where the figures go (default {RESULTS.name})")
    given = parser.parse_args(argv)
    sizes = sorted(set(given.sizes))
    console = Console(width=None if sys.stdout.isatty() else 150)
    with (
        tempfile.TemporaryDirectory(prefix="mnemesh-growth-") as folder,
        Progress(console=console, transient=True) as bar,
    ):
        task = bar.add_task("import", total=sizes[-1])
        texts = sentences(given.corpus)
        rows = measure(texts, Path(folder), sizes, given.rounds, lambda done: bar.update(task, completed=done))
    show(rows, console)
    facts = {"machine": machine(), "sizes": sizes, "rounds": given.rounds, "turns": TURNS}
    console.print(f"Written to {write(rows, facts, given.out)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
