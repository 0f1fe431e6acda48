"""`python -m bench.sync`: the cost of the exchange between nodes, on this machine; writes bench/results/sync.json.

The ledger's own rate is measured in processor seconds of one process, for the rate of a single core. The rest is
measured on two real nodes. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import psutil
from bench.counts import from_one, too_few
from bench.idle import idle_row
from bench.node import NodeProcess
from bench.report import Row, machine, median_row, percentile, show
from bench.speed.storage import create_command
from bench.texts.corpus import sentences
from rich.console import Console

from mnemesh import Client
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_crdt.sync.messages import Batch
from mnemesh_gateway.peers.sync_channel import to_wire
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.limits import BATCH_BYTES_MAX, BATCH_ITEMS_MAX
from mnemesh_proto.v1 import sync_pb2

RESULTS = Path(__file__).resolve().parent / "results" / "sync.json"
TAKE_IN_A_S_MIN = 1000.0
WIRE_BYTES_MAX = 900.0
VISIBLE_MS_MAX = 250.0
ROUNDS = 5
CHANGES_A_ROUND = 2_000
VISIBLE_ROUNDS = 40
WAIT_S = 600.0
POLL_S = 0.002
SPACE = "bench/sync"
TRUSTED = PeerGrant(read=("*",), write=("*",), principal="", relay=True)


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.sync", description="Measure the exchange between nodes.")
    parser.add_argument("--corpus", type=Path, help="file or folder of text, Markdown or JSONL")
    parser.add_argument("--memories", type=from_one, default=10_000, help="memories that a fresh peer takes over")
    parser.add_argument("--large", type=from_one, default=100_000, help="memories of the ledger and the idle nodes")
    parser.add_argument("--ledger-of", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.ledger_of is not None:
        return _hold(given.ledger_of)
    texts = sentences(given.corpus)
    if len(texts) < (least := ROUNDS * CHANGES_A_ROUND):  # of the ledgers alone; the nodes are given the same again
        parser.error(f"the corpus holds {len(texts):,} sentences, {least:,} are needed; take a larger --corpus")
    if lacking := too_few(len(texts), {"--memories": given.memories}, VISIBLE_ROUNDS, least=1 + VISIBLE_ROUNDS):
        parser.error(lacking)
    facts = {"machine": machine(), "memories": given.memories, "large": given.large}
    console = Console(width=None if sys.stdout.isatty() else 150)
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder:
        rows = [*_ledger_rows(texts, Path(folder)), *_growth(given.memories, given.large, Path(folder))]
        rows += _node_rows(texts[: given.memories], iter(texts[given.memories :]), Path(folder))
        rows.append(idle_row(given.large, Path(folder)))
    show(rows, console)
    RESULTS.write_text(json.dumps({**facts, "rows": [asdict(row) for row in rows]}, indent=1) + "\n", "utf-8")
    console.print(f"Written to {RESULTS}")
    return 0


# ---- the ledger alone -----------------------------------------------------------------------------------------------


def _ledger(folder: Path) -> Ledger:
    directory = open_directory(folder)
    return Ledger(str(directory.ledger(0)), str(directory.key_file), directory.node_id)


def _ledger_rows(texts: Sequence[str], folder: Path) -> list[Row]:
    rates, sizes = [], []
    for number in range(ROUNDS):
        source, target = _ledger(folder / f"source{number}"), _ledger(folder / f"target{number}")
        part = texts[number * CHANGES_A_ROUND : (number + 1) * CHANGES_A_ROUND]
        for start in range(0, len(part), BATCH_ITEMS_MAX):
            source.commit([create_command(text) for text in part[start : start + BATCH_ITEMS_MAX]])
        spent, taken, wire = 0.0, 0, 0
        for batch in _batches(source):
            wire += len(gzip.compress(to_wire(batch, sync_pb2.SyncRequest).SerializeToString()))
            incoming = IncomingEntries(
                peer="bench", origin="bench", grant=TRUSTED, entries=batch.entries, feed=batch.feed,
                last_seq=batch.last_seq, keys=batch.keys,
            )  # fmt: skip
            began = time.process_time()
            taken += target.take_in(incoming, time.time_ns() // 1_000_000).accepted
            spent += time.process_time() - began
        if taken != (written := source.status().seq):
            raise RuntimeError(f"{taken} of {written} changes were taken in")
        rates.append(taken / spent)
        sizes.append(wire / taken)
        source.close()
        target.close()
    return [
        median_row("changes taken in, with signature and admission, a core", rates, "/s", at_least=TAKE_IN_A_S_MIN),
        median_row("bytes of wire a change, gzip", sizes, "bytes", at_most=WIRE_BYTES_MAX),
    ]


def _batches(ledger: Ledger) -> Iterator[Batch]:
    after = 0
    while True:
        page = ledger.sync_page(after, ("*",), "", BATCH_ITEMS_MAX, BATCH_BYTES_MAX)
        if page.last_seq > after:
            yield Batch(
                feed="bench/x", after=after, last_seq=page.last_seq, head=page.head, entries=page.entries,
                keys=page.keys,
            )  # fmt: skip
        after = page.last_seq
        if after >= page.head:
            return


def _growth(small: int, large: int, folder: Path) -> list[Row]:
    """Memory of a process with a ledger alone, after some reads and writes. Pages of the file, mapped in by the kernel
    and reclaimed at will, don't count."""
    held = []
    for count in (small, large):
        path = folder / f"ledger-{count}"
        ledger = _ledger(path)
        for start in range(0, count, BATCH_ITEMS_MAX):
            numbers = range(start, min(count, start + BATCH_ITEMS_MAX))
            ledger.commit(
                [create_command(f"Memory number {number} of a ledger that grows and grows.") for number in numbers]
            )
        ledger.close()
        ended = subprocess.run(
            (sys.executable, "-m", "bench.sync", "--ledger-of", str(path)),
            capture_output=True, text=True, check=True, timeout=WAIT_S,
        )  # fmt: skip
        held.append(float(ended.stdout))
    return [
        median_row(f"own memory of a ledger with {small:,}", [held[0]], "MiB"),
        median_row(f"own memory of a ledger with {large:,}", [held[1]], "MiB", floor=f"{held[1] - held[0]:+.1f} MiB"),
    ]


def _hold(path: Path) -> int:
    ledger = _ledger(path)
    for number in range(50):
        (done,) = ledger.commit([create_command(f"One more memory, number {number}, after the start.")])
        if isinstance(done, Exception):
            raise done
        ledger.read([done.memory.id])
    held = psutil.Process().memory_info()
    print((held.rss - held.shared) / 2**20)
    ledger.close()
    return 0


# ---- two nodes ------------------------------------------------------------------------------------------------------


def _node_rows(texts: Sequence[str], more: Iterator[str], folder: Path) -> list[Row]:
    with ExitStack() as last:
        hub, fresh = (last.enter_context(NodeProcess(folder / name)) for name in ("hub", "fresh"))
        there = last.enter_context(Client(hub.address.grpc, hub.token))
        here = last.enter_context(Client(fresh.address.grpc, fresh.token))
        for start in range(0, len(texts), BATCH_ITEMS_MAX):
            there.remember_batch(
                [
                    {"content": text, "space": SPACE, "wait": "durable"}
                    for text in texts[start : start + BATCH_ITEMS_MAX]
                ]
            )
        token = there.add_agent("fresh", role="admin", spaces=["*"]).token
        process = psutil.Process(fresh.pid)
        began, cpu = time.perf_counter(), _cpu(process)
        here.add_peer(hub.address.grpc, token=token, spaces=["*"])
        written = there.sync_status().head
        _until(lambda: here.sync_status().head >= written)
        seconds, spent = time.perf_counter() - began, _cpu(process) - cpu
        _until(lambda: not any(index.lag for node in (here, there) for index in node.status().index))
        visible = [_visible(there, here, next(more)) for _ in range(VISIBLE_ROUNDS)]
    return [
        median_row(
            f"a fresh peer takes over {len(texts):,}",
            [len(texts) / seconds],
            "changes/s",
            floor=f"{seconds:.1f} s, {spent:.1f} s of processor, the embedding of what came first among it",
        ),
        median_row(
            "a new memory is visible to a connected peer's recall",
            visible,
            "ms",
            at_most=VISIBLE_MS_MAX,
            floor=f"p95 {percentile(visible, 0.95):.0f} ms; embedding on both sides within",
        ),
    ]


def _visible(there: Client, here: Client, text: str) -> float:
    """Milliseconds from the acknowledgement here until the other node's recall gives it."""
    id_ = there.remember(text, space=SPACE, force=True).memory.id  # A text that says a known thing is not stored.
    began = time.perf_counter()
    _until(lambda: any(result.id == id_ for result in here.recall(text, space=SPACE, limit=3, mode="keyword").results))
    return (time.perf_counter() - began) * 1000


def _until(holds: object) -> None:
    assert callable(holds)
    deadline = time.monotonic() + WAIT_S
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {WAIT_S:g} s")
        time.sleep(POLL_S)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
