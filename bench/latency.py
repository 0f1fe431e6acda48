"""What recall and remember cost beyond the bare embedding, and import against the embedder's own bulk rate.

Everything is interleaved in one run on one host process: bare embedding, recall among few, recall among many, remember;
then again. No text is ever used twice, so no cache can answer.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.client import GrpcClient, Host, connect
from bench.report import Row, median_row, percentile
from bench.whole_node import SPACE

SMALL_SPACE = "bench/one-thousand"
WRITE_SPACE = "bench/written"
WARM_UP_ROUNDS = 10
BULK_ROUNDS = 4
BULK_TEXTS = 256
# Several batches, so that one is embedded while another is stored, as in any import that matters.
IMPORT_TEXTS = 768
RECALL_MS_MAX = {SMALL_SPACE: 4.0, SPACE: 6.0}
GRPC_ADDS_MS_MAX = 2.0
REMEMBER_RATIO_MAX = 2.0
IMPORT_SHARE_MIN = 0.85


def texts_needed(rounds: int, small: int) -> int:
    """How many texts `measure` uses up."""
    return small + 5 * (rounds + WARM_UP_ROUNDS) + BULK_ROUNDS * (BULK_TEXTS + IMPORT_TEXTS)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rounds of the latency run, memories in the small space (made here) and in the large one (there already)."""

    rounds: int
    small: int
    large: int


def measure(texts: Iterator[str], data_dir: Path, sizes: Sizes, tell: Callable[[int], None]) -> list[Row]:
    """Rows of recall, remember and import on the node of `data_dir`. `tell` hears the round."""
    with Host(data_dir) as host, connect(host.address, data_dir) as client:
        for _ in client.import_texts([next(texts) for _ in range(sizes.small)], SMALL_SPACE):
            pass
        times = _interleaved(host, client, texts, sizes.rounds, tell)
        bulk, imported = _bulk(host, client, texts)
    bare_ms = statistics.median(times["bare"])
    floor = f"bare embedding {bare_ms:.2f} ms, empty gRPC call {statistics.median(times['grpc']):.2f} ms"
    rows = []
    for space, count in ((SMALL_SPACE, sizes.small), (SPACE, sizes.large)):
        beyond = [value - bare_ms for value in times[space]]
        name = f"recall over gRPC beyond the embedding, {count:,}"
        p95 = f"; p95 {percentile(beyond, 0.95):.2f} ms"
        rows.append(median_row(name, beyond, "ms", at_most=RECALL_MS_MAX[space], floor=floor + p95))
    ratio = [value / bare_ms for value in times[WRITE_SPACE]]
    remember_ms = statistics.median(times[WRITE_SPACE])
    rows.append(
        median_row(
            "remember (indexed) against the bare embedding of new texts",
            [remember_ms / statistics.median(times["bare texts"])],
            "x",
            at_most=REMEMBER_RATIO_MAX,
            floor=f"remember {remember_ms:.2f} ms, embedding {statistics.median(times['bare texts']):.2f} ms; "
            f"p95 {percentile(ratio, 0.95) * bare_ms:.2f} ms",
        )
    )
    shares = [own / rate for own, rate in zip(imported, bulk, strict=True)]
    floor = f"import {statistics.median(imported):.0f}/s, embedder alone {statistics.median(bulk):.0f}/s"
    rows.append(
        median_row("import against the embedder's own bulk rate", shares, "x", at_least=IMPORT_SHARE_MIN, floor=floor)
    )
    return rows


def grpc_row(host: Host, client: GrpcClient, questions: Sequence[str], space: str, size: int) -> Row:
    """What a recall through gRPC takes longer than the same in the node itself, in turns; embeddings are at hand."""
    added = []
    for number, text in enumerate(questions):
        client.recall(text, space)
        through, inside = _timed(client.recall, text, space), host.recall_seconds(text, space)
        if number >= WARM_UP_ROUNDS:
            added.append((through - inside) * 1000)
    return median_row(f"what gRPC adds to a recall, {size:,}", added, "ms", at_most=GRPC_ADDS_MS_MAX)


def question(text: str) -> str:
    """The first words of a text, as someone would ask for it."""
    return " ".join(text.split()[:9])


def _interleaved(
    host: Host, client: GrpcClient, texts: Iterator[str], rounds: int, tell: Callable[[int], None]
) -> dict[str, list[float]]:
    """Milliseconds of each kind of call, one of each a round."""
    times: dict[str, list[float]] = {
        name: [] for name in ("bare", "bare texts", "grpc", SMALL_SPACE, SPACE, WRITE_SPACE)
    }
    for number in range(rounds + WARM_UP_ROUNDS):
        measured = {
            "bare": host.bare_seconds([question(next(texts))]),
            SMALL_SPACE: _timed(client.recall, question(next(texts)), SMALL_SPACE),
            "bare texts": host.bare_seconds([next(texts)]),
            WRITE_SPACE: _timed(client.remember, next(texts), WRITE_SPACE),
            SPACE: _timed(client.recall, question(next(texts)), SPACE),
            "grpc": _timed(client.health),
        }
        tell(number)
        if number >= WARM_UP_ROUNDS:
            for name, value in measured.items():
                times[name].append(value * 1000)
    return times


def _bulk(host: Host, client: GrpcClient, texts: Iterator[str]) -> tuple[list[float], list[float]]:
    """Texts a second: the embedder alone, and the whole import, in turns."""
    bulk, imported = [], []
    for _ in range(BULK_ROUNDS):
        bulk.append(BULK_TEXTS / host.bare_seconds([next(texts) for _ in range(BULK_TEXTS)]))
        batch = [next(texts) for _ in range(IMPORT_TEXTS)]
        began = time.perf_counter()
        for _ in client.import_texts(batch, WRITE_SPACE):
            pass
        imported.append(IMPORT_TEXTS / (time.perf_counter() - began))
    return bulk, imported


def _timed(call: Callable[..., object], *arguments: str) -> float:
    began = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - began
