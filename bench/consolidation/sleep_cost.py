"""`python -m bench.consolidation.sleep_cost`: CPU time and memory of consolidating 1,000 new memories, as the space
grows.

One node takes in memories up to each size (10,000 and 100,000), then 1,000 more, and consolidates only these. Each
figure counts the node and the child that plans. The vectors are made up (bench.nodes.mixed_host), because 100,000 texts
take the model minutes. The model then embeds 1,000 texts alone, for comparison.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
from bench.consolidation.sleep import OWNER, SPACE, filled, started, texts
from bench.nodes.mixed_host import MixedRuntime
from bench.nodes.stored import seals_left
from rich.console import Console
from rich.table import Table

from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.node.mesh import Mesh

SIZES: Final = (10_000, 100_000)
NEW: Final = 1_000
PASSAGES: Final = 64  # embedded at once
GROWTH_TIMES_MAX: Final = 1.5
EMBEDDING_TIMES_MAX: Final = 6.0
RSS_MB_MAX: Final = 300.0
# A node is at rest when it takes less than this share of a core for a while.
REST_SHARE: Final = 0.05
REST_S: Final = 4.0
REST_S_MAX: Final = 900.0
MB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run over the new memories in a space of `size`."""

    size: int
    read: int
    applied: int
    cpu_s: float
    rss_mb: float


def cpu_s() -> float:
    """Of this process and its children, the ended ones too."""
    times = os.times()
    running = sum(sum(child.cpu_times()[:2]) for child in psutil.Process().children(recursive=True))
    return times.user + times.system + times.children_user + times.children_system + running


async def rest(index: Path) -> None:
    """Return when the node has nothing left to do. On a busy machine the child that seals segments takes next to
    nothing for a while, so the segments are looked at, too."""
    until = time.monotonic() + REST_S_MAX
    while time.monotonic() < until:
        before = cpu_s()
        await asyncio.sleep(REST_S)
        if cpu_s() - before < REST_SHARE * REST_S and not seals_left(index):
            return
    raise RuntimeError(f"the node was busy for {REST_S_MAX:g} s")


def _peak(pid: int) -> int:
    """The most memory that a process has held since its peak was set back."""
    for line in Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"the system does not tell the memory of process {pid}")


def _forget_peak() -> None:
    """The peak of this process begins anew."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")


async def cost(mesh: Mesh, index: Path, size: int, new: int) -> Cost:
    """Consolidate `new` memories in a space that holds `size` others."""
    incarnation, seq = await mesh._parts.ledger.position()
    await mesh._sleeping.record.keep_watermark(SPACE, incarnation, seq)
    await filled(mesh, texts(new, size + 1))
    await rest(index)
    _forget_peak()
    held, began = psutil.Process().memory_info().rss, cpu_s()
    done = await mesh.consolidate(OWNER, SPACE)
    spent = cpu_s() - began
    children = sum(_peak(child.pid) for child in psutil.Process().children())
    return Cost(size, done.read, done.applied, spent, (_peak(os.getpid()) - held + children) / MB)


async def costs(sizes: Sequence[int], new: int) -> list[Cost]:
    """At each size of one growing space."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        index = data / "index" / "0"
        mesh = await started(data, MixedRuntime())
        try:
            stored = 0
            for size in sizes:
                await filled(mesh, texts(size - stored, size))
                await rest(index)
                found.append(await cost(mesh, index, size, new))
                stored = size + new
        finally:
            await mesh.close()
    return found


def embedding_s(contents: Sequence[str]) -> float:
    """CPU seconds of the model for these texts."""
    with closing(EmbeddingWorker(ModelConfig(download=False))) as worker:
        worker.load()
        began = cpu_s()
        for start in range(0, len(contents), PASSAGES):
            worker.embed(list(contents[start : start + PASSAGES]))
        return cpu_s() - began


def main() -> int:
    """Measure and print; 1 when a limit is not kept."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.consolidation.sleep_cost", description="What consolidation costs."
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="memories before the new ones, ascending")
    parser.add_argument("--new", type=int, default=NEW, help="new memories")
    asked = parser.parse_args()
    embedding = embedding_s(texts(asked.new, 3))
    found = asyncio.run(costs(sorted(asked.sizes), asked.new))
    table = Table(
        "memories before", "new", "steps", "CPU s", "x embedding", "RSS MB", title=f"embedding: {embedding:.2f} s"
    )
    for one in found:
        figures = (f"{one.cpu_s:.2f}", f"{one.cpu_s / embedding:.2f}", f"{one.rss_mb:.0f}")
        table.add_row(f"{one.size:,}", str(one.read), str(one.applied), *figures)
    ratio = found[-1].cpu_s / found[0].cpu_s
    Console().print(table, f"the last size against the first: {ratio:.2f} x")
    dear = max(one.cpu_s / embedding for one in found) > EMBEDDING_TIMES_MAX
    large = max(one.rss_mb for one in found) > RSS_MB_MAX
    return int(ratio > GROWTH_TIMES_MAX or dear or large)


if __name__ == "__main__":
    raise SystemExit(main())
