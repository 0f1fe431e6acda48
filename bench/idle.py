"""The cost of an open stream between two nodes with many memories while nothing happens, the hourly comparison
included.

The memories are made in the ledger, with a random vector each in its cache, so no model has to embed them. The second
node is a copy of the first with an identity of its own.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import psutil
from bench.node import NodeProcess
from bench.report import Row, median_row
from bench.speed.storage import create_command

from mnemesh import Client
from mnemesh_actors.ledger.commands import KeptVectors
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_actors.streams.stream_shell import COMPARE_S
from mnemesh_gateway.programs.node_program import give_new_identity
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.values.limits import BATCH_ITEMS_MAX

IDLE_S: Final = 30.0
IDLE_ROUNDS: Final = 3
COMPARISONS: Final = 5
IDLE_SHARE_MAX: Final = 1.0
WAIT_S: Final = 600.0
POLL_S: Final = 0.2


def idle_row(count: int, folder: Path) -> Row:
    """The share of a core that both nodes take on average, in percent, with `count` memories each."""
    first, second = folder / "first", folder / "second"
    _fill(first, count)
    shutil.copytree(first, second)
    (second / "node.json").unlink(missing_ok=True)
    give_new_identity(second)
    with ExitStack() as last:
        nodes = [last.enter_context(NodeProcess(path)) for path in (first, second)]
        hub, laptop = (last.enter_context(Client(node.address.grpc, node.token)) for node in nodes)
        for client in (hub, laptop):
            _until(partial(_indexed, client))
        token = hub.add_agent("laptop", role="admin", spaces=["*"]).token
        laptop.add_peer(nodes[0].address.grpc, token=token, spaces=["*"])
        _until(lambda: all(peer.caught_up for peer in laptop.sync_status().peers))
        processes = [psutil.Process(node.pid) for node in nodes]
        compared = []
        for _ in range(COMPARISONS):
            before = _cpu(processes)
            laptop.sync_now()
            compared.append((_cpu(processes) - before) / len(nodes))
        shares = []
        for _ in range(IDLE_ROUNDS):
            before = _cpu(processes)
            time.sleep(IDLE_S)
            shares.append(100 * (_cpu(processes) - before) / len(nodes) / IDLE_S)
    comparison = sorted(compared)[len(compared) // 2]
    return median_row(
        f"idle, two nodes with {count:,} memories and an open stream",
        [share + 100 * comparison / COMPARE_S for share in shares],
        "% of a core",
        at_most=IDLE_SHARE_MAX,
        floor=f"within it the hourly comparison, {1000 * comparison:.0f} ms of a core",
    )


def _fill(path: Path, count: int) -> None:
    """A data directory with `count` memories and their vectors."""
    with NodeProcess(path) as node, Client(node.address.grpc, node.token) as client:
        client.remember("What the model in use is called.", space="bench/ledger")
    directory = open_directory(path)
    with closing(sqlite3.connect(directory.ledger(0))) as db:
        generation, data = db.execute("SELECT generation, data FROM vector").fetchone()
    random = np.random.default_rng(7)
    ledger = Ledger(str(directory.ledger(0)), str(directory.key_file), directory.node_id)
    for start in range(0, count, BATCH_ITEMS_MAX):
        vectors = random.standard_normal((BATCH_ITEMS_MAX, len(data) // 4), np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        texts = [f"Memory number {number} of a ledger that grows." for number in range(start, start + BATCH_ITEMS_MAX)]
        done = ledger.commit(
            [
                replace(create_command(text), vectors=_vectors(generation, text, vector.tobytes()))
                for text, vector in zip(texts[: count - start], vectors, strict=False)
            ]
        )
        for one in done:
            if isinstance(one, Exception):
                raise one
    ledger.close()


def _vectors(generation: str, text: str, data: bytes) -> KeptVectors:
    return KeptVectors(generation=generation, items=((content_hash(text), data),))


def _indexed(client: Client) -> bool:
    return not any(index.lag for index in client.status().index)


def _cpu(processes: list[psutil.Process]) -> float:
    return float(sum(process.cpu_times().user + process.cpu_times().system for process in processes))


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {WAIT_S:g} s")
        time.sleep(POLL_S)
