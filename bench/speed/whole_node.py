"""A real node process: the time until it opens and is ready, the cost of importing, the memory in use."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.node import NodeProcess
from bench.nodes.client import connect
from bench.report import Row, median_row

START_ROUNDS = 5
READY_S_MAX = 2.5
HTTP_OPEN_S_MAX = 1.0
RSS_MIB_MAX = 500.0
SPACE = "bench/ten-thousand"


def measure(texts: Sequence[str], data_dir: Path, tell: Callable[[int], None]) -> list[Row]:
    """Import `texts` into a fresh node at `data_dir`, then start it again several times. `tell` hears how many texts
    are stored. The first start of all may convert the model, so it counts for nothing."""
    with NodeProcess(data_dir):
        pass
    with NodeProcess(data_dir) as node:
        empty_mib = node.rss_mib()
        began = time.perf_counter()
        with connect(node.address.grpc, data_dir) as client:
            for stored in client.import_texts(texts, SPACE):
                tell(stored)
        rate = len(texts) / (time.perf_counter() - began)
        full_mib = node.rss_mib()
        drain_s = node.stop()
    opened, ready, rested = [], [], []
    for _ in range(START_ROUNDS):
        with NodeProcess(data_dir) as node:
            opened.append(node.http_open_s)
            ready.append(node.ready_s)
            rested.append(node.rss_mib())
    count = f"{len(texts):,}"
    return [
        median_row(f"HTTP open, {count} memories", opened, "s", at_most=HTTP_OPEN_S_MAX),
        median_row(f"ready, {count} memories", ready, "s", at_most=READY_S_MAX),
        median_row(f"import of {count} through gRPC", [rate], "texts/s"),
        median_row(
            f"resident memory after importing {count}",
            [full_mib],
            "MiB",
            at_most=RSS_MIB_MAX,
            floor=f"empty {empty_mib:.0f}, restarted {sorted(rested)[len(rested) // 2]:.0f} MiB",
        ),
        median_row("stop after the import", [drain_s], "s"),
    ]
