"""The cost of recall and remember beyond the bare embedding, and of import against the embedder's own bulk rate.

Everything is interleaved in one run on one host process: bare embedding, recall among few, recall among many, remember;
then again. No text is ever used twice, so no cache can answer.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.nodes.client import GrpcClient, Host, connect
from bench.report import Row, median_row, percentile
from bench.speed.whole_node import SPACE

SMALL_SPACE = "bench/one-thousand"
WRITE_SPACE = "bench/written"
FORCED_SPACE = "bench/forced"
Times = Mapping[str, Sequence[float]]
WARM_UP_ROUNDS = 10
BULK_ROUNDS = 4
BULK_TEXTS = 256
# Several batches, so that one is embedded while another is stored, as in any import of some size.
IMPORT_TEXTS = 768
# In units of the bare embedding of the same run: the speed of one machine changes by two within an hour.
RECALL_TIMES_MAX = {SMALL_SPACE: 0.75, SPACE: 1.0}
# With the verdict of the write guard, which came later with a floor of its own, and past it (`force`).
REMEMBER_TIMES_MAX = {WRITE_SPACE: 2.6, FORCED_SPACE: 2.1}
GRPC_ADDS_MS_MAX = 2.0
IMPORT_SHARE_MIN = 0.85


def texts_needed(rounds: int, small: int) -> int:
    """How many texts `measure` uses up."""
    return small + 6 * (rounds + WARM_UP_ROUNDS) + BULK_ROUNDS * (BULK_TEXTS + IMPORT_TEXTS)


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
        times, cpu = _interleaved(host, client, texts, sizes.rounds, tell)
        bulk, imported = _bulk(host, client, texts)
    rows = ratio_rows(times, cpu, {SMALL_SPACE: sizes.small, SPACE: sizes.large})
    shares = [own / rate for own, rate in zip(imported, bulk, strict=True)]
    floor = f"import {statistics.median(imported):.0f}/s, embedder alone {statistics.median(bulk):.0f}/s"
    rows.append(
        median_row("import against the embedder's own bulk rate", shares, "x", at_least=IMPORT_SHARE_MIN, floor=floor)
    )
    return rows


def ratio_rows(times: Times, cpu: Times, sizes: Mapping[str, int]) -> list[Row]:
    """Rows of what `_interleaved` found in spaces of these `sizes`: in units of the bare embedding, with the CPU time
    of the node beside each."""
    bare_ms = statistics.median(times["bare"])
    rows = []
    for space, count in sizes.items():
        beyond = [value - bare_ms for value in times[space]]
        beside = (
            f"{statistics.median(beyond):.2f} ms, p95 {percentile(beyond, 0.95):.2f}; bare embedding {bare_ms:.2f} ms, "
            f"empty gRPC call {statistics.median(times['grpc']):.2f} ms; "
            f"{_of_the_node(cpu, space)}, {_of_the_node(cpu, 'bare')} the embedding alone"
        )
        name = f"recall over gRPC beyond the bare embedding, {count:,}"
        ratios = [value / bare_ms for value in beyond]
        rows.append(median_row(name, ratios, "x", at_most=RECALL_TIMES_MAX[space], floor=beside))
    text_ms = statistics.median(times["bare texts"])
    for space, how in {WRITE_SPACE: "indexed", FORCED_SPACE: "indexed, past the write guard"}.items():
        remember_ms = statistics.median(times[space])
        beside = (
            f"remember {remember_ms:.2f} ms, p95 {percentile(times[space], 0.95):.2f}; embedding {text_ms:.2f} ms; "
            f"{_of_the_node(cpu, space)}, {_of_the_node(cpu, 'bare texts')} the embedding alone"
        )
        name = f"remember ({how}) against the bare embedding of new texts"
        rows.append(median_row(name, [remember_ms / text_ms], "x", at_most=REMEMBER_TIMES_MAX[space], floor=beside))
    return rows


def _of_the_node(cpu: Times, kind: str) -> str:
    return f"CPU of the node {statistics.median(cpu[kind]):.2f} ms"


def grpc_row(host: Host, client: GrpcClient, questions: Sequence[str], space: str, size: int) -> Row:
    """The time of a recall through gRPC beyond the same recall in the node itself, in turns; embeddings are at hand."""
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
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Milliseconds of each kind of call, one of each a round: by the clock, and of the node's CPU."""
    names = ("bare", "bare texts", "grpc", SMALL_SPACE, SPACE, WRITE_SPACE, FORCED_SPACE)
    times: dict[str, list[float]] = {name: [] for name in names}
    cpu: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + WARM_UP_ROUNDS):
        calls: dict[str, Callable[[], float]] = {
            "bare": partial(host.bare_seconds, [question(next(texts))]),
            SMALL_SPACE: partial(_timed, client.recall, question(next(texts)), SMALL_SPACE),
            "bare texts": partial(host.bare_seconds, [next(texts)]),
            WRITE_SPACE: partial(_timed, client.remember, next(texts), WRITE_SPACE),
            SPACE: partial(_timed, client.recall, question(next(texts)), SPACE),
            FORCED_SPACE: partial(_timed, client.remember_forced, next(texts), FORCED_SPACE),
            "grpc": partial(_timed, client.health),
        }
        tell(number)
        for name, call in calls.items():
            before = host.cpu_seconds()
            seconds = call()
            used = host.cpu_seconds() - before
            if number >= WARM_UP_ROUNDS:
                times[name].append(seconds * 1000)
                cpu[name].append(used * 1000)
    return times, cpu


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
