"""The counts of a node, in Prometheus' text format: names, statuses, seconds and sizes. Never a word of a memory.

One object with a registry of its own, made by whoever builds the node. Doors answer each request in a `call`. Gauges
of ledger and index are read from the Mesh at each scrape, so that none is older than the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import MeshStatus

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
LATENCY_BUCKETS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SCRAPE_TIMEOUT_S: Final = 2.0


class Metrics:
    """The counters of one node."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "mnemesh_requests",
            "Requests by door, operation and gRPC status name.",
            ("door", "operation", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "mnemesh_request_seconds",
            "Seconds from the arrival of a request to its answer.",
            ("door", "operation"),
            buckets=LATENCY_BUCKETS_S,
            registry=self.registry,
        )
        self._inside = self._gauge("mnemesh_requests_inside", "Requests that have arrived and not left.", "door")
        # The counters of one request, by door, operation and status: finding them by labels costs more than counting.
        self._counts: dict[tuple[str, str, str], tuple[Gauge, Counter, Histogram]] = {}
        self._ready = self._gauge("mnemesh_ready", "1 when the node answers requests, else 0.")
        self._uptime = self._gauge("mnemesh_uptime_seconds", "Seconds since the node's start.")
        self._info = self._gauge("mnemesh_build_info", "Always 1; carries the version.", "version")
        self._ledger = {
            "seq": self._gauge("mnemesh_ledger_seq", "Last committed sequence number.", "incarnation"),
            "memories": self._gauge("mnemesh_ledger_memories", "Active memories.", "incarnation"),
            "bytes": self._gauge("mnemesh_ledger_bytes", "Size of the log on disk.", "incarnation"),
        }
        self._index = {
            "seq": self._gauge("mnemesh_index_seq", "Last ledger entry that the shard holds.", "shard"),
            "lag": self._gauge("mnemesh_index_lag_entries", "Ledger entries the shard misses.", "shard"),
            "points": self._gauge("mnemesh_index_points", "Points that the shard holds.", "shard"),
        }
        self._consumer_lag = self._gauge(
            "mnemesh_consumer_lag_entries", "Ledger entries the consumer has not taken in.", "consumer"
        )

    @contextmanager
    def call(self, door: str, operation: str, outcome: Callable[[BaseException], str]) -> Iterator[None]:
        """Count the request that is answered meanwhile. `door` is grpc, http or mcp, and `outcome` the gRPC status name
        of an error that is none of ours."""
        self._inside.labels(door).inc()
        started, status = perf_counter(), "OK"
        try:
            yield
        except BaseException as error:  # boundary: counted, then raised again
            status = error.code if isinstance(error, MnemeshError) else outcome(error)
            raise
        finally:
            self._left(door, operation, status, perf_counter() - started)

    def _left(self, door: str, operation: str, status: str, seconds: float) -> None:
        key = (door, operation, status)
        if key not in self._counts:
            self._counts[key] = (
                self._inside.labels(door), self._requests.labels(*key), self._seconds.labels(door, operation)
            )  # fmt: skip
        inside, requests, taken = self._counts[key]
        inside.dec()
        requests.inc()
        taken.observe(seconds)

    async def scrape(self, gate: MeshGate) -> bytes:
        """The text of all metrics. Gauges of a part that does not answer are left out, not shown stale."""
        facts = gate.describe()
        mesh = gate.mesh_now()
        self._ready.set(int(mesh is not None))
        self._uptime.set(facts.uptime_s)
        self._info.labels(facts.version).set(1)
        for gauge in (*self._ledger.values(), *self._index.values(), self._consumer_lag):
            gauge.clear()
        if mesh is not None:
            try:
                async with asyncio.timeout(SCRAPE_TIMEOUT_S):
                    self._show(await mesh.status())
            except (MnemeshError, TimeoutError):
                self._ready.set(0)
        return generate_latest(self.registry)

    def _show(self, status: MeshStatus) -> None:
        if status.ledger is not None:
            for name, gauge in self._ledger.items():
                gauge.labels(status.ledger.incarnation).set(getattr(status.ledger, name))
        for shard in status.index:
            for name, gauge in self._index.items():
                gauge.labels(shard.name).set(getattr(shard, name))
        for consumer in status.consumers:
            self._consumer_lag.labels(consumer.name).set(consumer.lag)

    def _gauge(self, name: str, help_text: str, *labels: str) -> Gauge:
        return Gauge(name, help_text, labels, registry=self.registry)
