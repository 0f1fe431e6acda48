"""The benchmark's side of a node: raw gRPC calls, so that what is measured is the node and the wire."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2

from mnemesh_proto.rendezvous import AUTHORIZATION, read_token
from mnemesh_proto.v1 import memory_pb2, memory_pb2_grpc, recall_pb2, recall_pb2_grpc

CALL_TIMEOUT_S = 60.0
BATCH_ITEMS = 256


@dataclass(frozen=True, slots=True)
class GrpcClient:
    """Blocking calls to host:port, each with the token and its timeout."""

    memory: memory_pb2_grpc.MemoryServiceStub
    recall_service: recall_pb2_grpc.RecallServiceStub
    check: grpc.UnaryUnaryMultiCallable[health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse]
    metadata: tuple[tuple[str, str], ...]

    def health(self) -> None:
        """The least that a call over gRPC can be."""
        self.check(health_pb2.HealthCheckRequest(), timeout=CALL_TIMEOUT_S)

    def remember(self, text: str, space: str) -> None:
        """Store one memory and wait until recall sees it."""
        request = memory_pb2.RememberRequest(content=text, space=space)
        self.memory.Remember(request, metadata=self.metadata, timeout=CALL_TIMEOUT_S)

    def remember_forced(self, text: str, space: str) -> None:
        """As `remember`, past the write guard."""
        request = memory_pb2.RememberRequest(content=text, space=space, force=True)
        self.memory.Remember(request, metadata=self.metadata, timeout=CALL_TIMEOUT_S)

    def recall(self, text: str, space: str) -> int:
        """Ask for the ten best; how many came."""
        request = recall_pb2.RecallRequest(query=text, spaces=[space])
        answer = self.recall_service.Recall(request, metadata=self.metadata, timeout=CALL_TIMEOUT_S)
        return len(answer.results)

    def import_texts(self, texts: Sequence[str], space: str) -> Iterator[int]:
        """Store `texts` in batches, one after the other, as `mnemesh import` does; gives how many are stored."""
        done = 0
        for start in range(0, len(texts), BATCH_ITEMS):
            items = [memory_pb2.RememberRequest(content=t, space=space) for t in texts[start : start + BATCH_ITEMS]]
            request = memory_pb2.RememberBatchRequest(items=items, judge_at_rest=True)
            done += _stored(self.memory.RememberBatch(request, metadata=self.metadata, timeout=CALL_TIMEOUT_S))
            yield done


def _stored(response: memory_pb2.RememberBatchResponse) -> int:
    for result in response.results:
        if result.HasField("error"):
            raise RuntimeError(f"the node refused a text: {result.error.message}")
    return len(response.results)


@contextmanager
def connect(address: str, data_dir: Path) -> Iterator[GrpcClient]:
    """A client of the node at `address` whose token lies in `data_dir`."""
    with grpc.insecure_channel(address) as channel:
        grpc.channel_ready_future(channel).result(CALL_TIMEOUT_S)
        yield GrpcClient(
            memory_pb2_grpc.MemoryServiceStub(channel),
            recall_pb2_grpc.RecallServiceStub(channel),
            channel.unary_unary(
                "/grpc.health.v1.Health/Check",
                request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                response_deserializer=health_pb2.HealthCheckResponse.FromString,
            ),
            ((AUTHORIZATION, f"Bearer {read_token(data_dir)}"),),
        )


class Host:
    """A running bench.host on a data directory, or another `module` that serves as it does."""

    def __init__(self, data_dir: Path, module: str = "bench.host") -> None:
        command = (sys.executable, "-m", module, str(data_dir))
        self._log = (data_dir / "host.log").open("ab")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        first = self._read()
        self.address = str(first["grpc"])
        self.caught_up_s = float(str(first["caught_up_s"]))
        self.points = int(str(first["points"]))

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(CALL_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def bare_seconds(self, texts: Sequence[str]) -> float:
        """Seconds of the node's own embedder for `texts` in one call, in the embedder's thread."""
        return self._seconds({"texts": list(texts)})

    def recall_seconds(self, text: str, space: str) -> float:
        """Seconds of a recall in the node itself, without a door."""
        return self._seconds({"recall": text, "space": space})

    def cpu_seconds(self) -> float:
        """The CPU time that its process has used so far."""
        return self._seconds({"cpu": True})

    def _seconds(self, request: dict[str, object]) -> float:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return float(str(self._read()["seconds"]))

    def _read(self) -> dict[str, object]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the benchmark's host ended; see {self._log.name}")
        answer: dict[str, object] = json.loads(line)
        return answer
