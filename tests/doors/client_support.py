"""A small node for tests of the client: real gRPC, real messages, every call recorded, failures on demand.

Honest about what it is: memories are kept in a dict, recall looks for common words, nothing is judged. What a real
node does is shown elsewhere, by the scenario suite and by test_cli_node.py.
"""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from mnemesh_proto.v1 import admin_pb2, admin_pb2_grpc, memory_pb2, memory_pb2_grpc, recall_pb2, recall_pb2_grpc

NAMESPACE = uuid.UUID("6f1c3f0e-0000-4000-8000-000000000000")
TOKEN = "test-token"
WAIT_S = 60.0


@dataclass(frozen=True)
class Recorded:
    """One call as it arrived."""

    rpc: str
    request: Any
    headers: dict[str, str]


@dataclass(frozen=True)
class Failure:
    """How a call fails. `after`: its work is done first, only the answer is lost. Without `fields` the status has no
    rich details, as when gRPC itself fails. `reason` is the code unless it says more."""

    code: str
    message: str = "scripted"
    fields: dict[str, str] | None = None
    retry_after_s: float | None = None
    after: bool = False
    reason: str = ""

    def abort(self, context: grpc.ServicerContext) -> None:
        if self.fields is None:
            context.abort(grpc.StatusCode[self.code], self.message)
        status = Status(code=grpc.StatusCode[self.code].value[0], message=self.message)
        status.details.add().Pack(ErrorInfo(reason=self.reason or self.code, domain="mnemesh", metadata=self.fields))
        if "field" in (self.fields or {}):
            violation = BadRequest.FieldViolation(field=self.fields["field"], description=self.fields.get("limit", ""))
            status.details.add().Pack(BadRequest(field_violations=[violation]))
        if self.retry_after_s is not None:
            delay = Duration()
            delay.FromMilliseconds(round(self.retry_after_s * 1000))
            status.details.add().Pack(RetryInfo(retry_delay=delay))
        context.abort_with_status(rpc_status.to_status(status))


class RecordingNode(
    memory_pb2_grpc.MemoryServiceServicer, recall_pb2_grpc.RecallServiceServicer, admin_pb2_grpc.AdminServiceServicer
):
    """All three services over one dict. `fail[rpc]` holds the failures of the next calls; None lets one pass. While
    `held`, recall says that it has `arrived` and waits for `release`."""

    def __init__(self) -> None:
        self.calls: list[Recorded] = []
        self.fail: dict[str, deque[Failure | None]] = defaultdict(deque)
        self.memories: dict[str, memory_pb2.Memory] = {}
        self.by_key: dict[str, str] = {}
        self.by_text: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()
        self.endpoint = ""
        self.lags: deque[int] = deque()
        self.held = False
        self._batches_passed: int | None = None
        self.arrived = threading.Event()
        self.release = threading.Event()

    def requests(self, rpc: str) -> list[Any]:
        """The requests of one method, in order."""
        return [call.request for call in self.calls if call.rpc == rpc]

    def Remember(self, request: Any, context: Any) -> Any:
        with self._call("Remember", request, context):
            return self._store(request)

    def hold_batches_after(self, count: int) -> None:
        """Let `count` batches pass; the next ones say that they have `arrived` and wait for `release`."""
        self._batches_passed = count

    def RememberBatch(self, request: Any, context: Any) -> Any:
        with self._call("RememberBatch", request, context):
            if self._batches_passed is not None and len(self.requests("RememberBatch")) > self._batches_passed:
                self.arrived.set()
                self.release.wait(WAIT_S)
            return memory_pb2.RememberBatchResponse(results=[self._outcome(item) for item in request.items])

    def Check(self, request: Any, context: Any) -> Any:
        with self._call("Check", request, context):
            return memory_pb2.CheckResponse(action="ADD", reason="new", novelty=1.0)

    def Get(self, request: Any, context: Any) -> Any:
        with self._call("Get", request, context):
            found = [self.memories[key] for key in request.ids if key in self.memories]
            missing = [key for key in request.ids if key not in self.memories]
            if len(request.ids) == 1 and missing:
                Failure("NOT_FOUND", f"memory {missing[0]!r} not found", {"field": "memory"}).abort(context)
            return memory_pb2.GetResponse(
                memory=found[0] if len(request.ids) == 1 else None, memories=found, missing=missing
            )

    def List(self, request: Any, context: Any) -> Any:
        with self._call("List", request, context):
            everything = list(self.memories.values())
            return memory_pb2.ListResponse(memories=everything[: request.limit or 20], total=len(everything))

    def Timeline(self, request: Any, context: Any) -> Any:
        with self._call("Timeline", request, context):
            return memory_pb2.TimelineResponse(memories=[self.memories[request.id]], position=0)

    def Update(self, request: Any, context: Any) -> Any:
        with self._call("Update", request, context):
            memory = self.memories[request.id]
            memory.content = request.content or memory.content
            if request.HasField("tags"):
                memory.tags[:] = request.tags.values
            memory.version += 1
            return memory_pb2.UpdateResponse(action="UPDATE", memory=memory, reason="changed", indexed=True)

    def Supersede(self, request: Any, context: Any) -> Any:
        with self._call("Supersede", request, context):
            done = self._store(request.item)
            old = self.memories[request.id]
            old.state, old.superseded_by = "superseded", done.memory.id
            return memory_pb2.SupersedeResponse(action="SUPERSEDE", memory=done.memory, superseded=old)

    def Forget(self, request: Any, context: Any) -> Any:
        with self._call("Forget", request, context):
            self.memories[request.id].state = "forgotten"
            return memory_pb2.ForgetResponse(action="FORGET", memory=self.memories[request.id], indexed=True)

    def Restore(self, request: Any, context: Any) -> Any:
        with self._call("Restore", request, context):
            self.memories[request.id].state = "active"
            return memory_pb2.RestoreResponse(action="RESTORE", memory=self.memories[request.id], indexed=True)

    def Stats(self, request: Any, context: Any) -> Any:
        with self._call("Stats", request, context):
            count = memory_pb2.Count(name="fact", memories=len(self.memories))
            return memory_pb2.StatsResponse(memories=len(self.memories), kinds=[count])

    def Export(self, request: Any, context: Any) -> Iterator[Any]:
        with self._call("Export", request, context):
            for memory in self.memories.values():
                yield memory_pb2.ExportResponse(memory=memory)

    def RecallBatch(self, request: Any, context: Any) -> Any:
        with self._call("RecallBatch", request, context):
            return recall_pb2.RecallBatchResponse(answers=[self.Recall(one, context) for one in request.queries])

    def Related(self, request: Any, context: Any) -> Any:
        with self._call("Related", request, context):
            return recall_pb2.RelatedResponse(id=request.id)

    def Recall(self, request: Any, context: Any) -> Any:
        with self._call("Recall", request, context):
            if self.held:
                self.arrived.set()
                self.release.wait(WAIT_S)
            words = set(request.query.lower().split())
            results = [
                recall_pb2.RecallResult(
                    id=memory.id, content=memory.content, score=0.5, title=memory.title, snippet=memory.content[:80],
                    space=memory.space, kind=memory.kind, tags=memory.tags, memory=_without_content(memory),
                    signals=[recall_pb2.Signal(name="words", raw=3.5, value=1, weight=1, share=1)] * request.explain,
                )
                for memory in self.memories.values()
                if not words or words & set(memory.content.lower().split())
            ]  # fmt: skip
            return recall_pb2.RecallResponse(
                results=results[: request.limit or 10], coverage=0.5 if results else 0.0, abstain=not results
            )

    def Status(self, request: Any, context: Any) -> Any:
        with self._call("Status", request, context):
            lag = self.lags.popleft() if self.lags else 0
            return admin_pb2.StatusResponse(
                version="0.0.0-test", state="ready", runtime="local", node_id="node", grpc=self.endpoint,
                ledger=admin_pb2.LedgerStatus(incarnation="incarnation", seq=len(self.memories)),
                index=[admin_pb2.IndexStatus(name="shard-0", backend="edge", lag=lag, state="ok")],
            )  # fmt: skip

    def Whoami(self, request: Any, context: Any) -> Any:
        with self._call("Whoami", request, context):
            headers = self.calls[-1].headers
            name = headers.get("x-mnemesh-agent", "")
            return admin_pb2.WhoamiResponse(
                agent=f"owner/{name}" if name else "owner", principal="owner", role="owner", private_space="@owner",
                default_space=headers.get("x-mnemesh-space", ""),
            )  # fmt: skip

    @contextmanager
    def _call(self, rpc: str, request: Any, context: Any) -> Iterator[None]:
        headers = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        self.calls.append(Recorded(rpc, request, headers))
        if headers.get("authorization") != f"Bearer {TOKEN}":
            Failure("UNAUTHENTICATED", "missing or wrong token", {}).abort(context)
        failure = self.fail[rpc].popleft() if self.fail[rpc] else None
        if failure is not None and not failure.after:
            failure.abort(context)
        yield
        if failure is not None:
            failure.abort(context)

    def _outcome(self, item: Any) -> Any:
        if "refuse" in item.content:
            error = memory_pb2.ItemError(
                code="INVALID_ARGUMENT", message="content: refused", field="content", value="'x'", limit="another text",
                reason="SECRET_REFUSED",
            )  # fmt: skip
            return memory_pb2.BatchResult(error=error)
        return memory_pb2.BatchResult(ok=self._store(item))

    def _store(self, item: Any) -> Any:
        with self._lock:
            return self._stored(item)

    def _stored(self, item: Any) -> Any:
        known = self.by_key.get(item.idempotency_key)
        twin = self.by_text.get((item.space, item.content))
        if known or (twin and not item.force):
            return memory_pb2.RememberResponse(
                action="ADD" if known else "NOOP", memory=self.memories[known or twin or ""], reason="was there",
                replayed=bool(known), deduplicated=not known,
            )  # fmt: skip
        memory = memory_pb2.Memory(
            id=str(uuid.uuid5(NAMESPACE, item.idempotency_key)), space=item.space, kind=item.kind or "fact",
            title=item.title, content=item.content, state="active", tags=sorted(item.tags),
            importance=item.importance if item.HasField("importance") else None, tier=item.tier or "normal",
            paths=item.paths, source=item.source if item.HasField("source") else None,
            valid_from=item.valid_from if item.HasField("valid_from") else None,
            valid_to=item.valid_to if item.HasField("valid_to") else None,
            keywords=item.keywords, attrs=item.attrs, links=item.links, by="owner", heads=["1@a"], version=1,
        )  # fmt: skip
        memory.created_at.FromMilliseconds(1_700_000_000_000 + len(self.memories))
        memory.updated_at.CopyFrom(memory.created_at)
        self.memories[memory.id] = memory
        self.by_key[item.idempotency_key] = self.by_text[item.space, item.content] = memory.id
        return memory_pb2.RememberResponse(action="ADD", memory=memory, reason="new", novelty=1.0, indexed=True)


def _without_content(memory: Any) -> Any:
    copy = memory_pb2.Memory()
    copy.CopyFrom(memory)
    copy.content = ""
    return copy


@contextmanager
def serving(node: RecordingNode, address: str = "127.0.0.1:0") -> Iterator[RecordingNode]:
    """`node` on a port of its own, named in `node.endpoint`, for the length of the block."""
    server = grpc.server(ThreadPoolExecutor(4), options=[("grpc.so_reuseport", 0)])
    memory_pb2_grpc.add_MemoryServiceServicer_to_server(node, server)
    recall_pb2_grpc.add_RecallServiceServicer_to_server(node, server)
    admin_pb2_grpc.add_AdminServiceServicer_to_server(node, server)
    node.endpoint = f"127.0.0.1:{server.add_insecure_port(address)}"
    server.start()
    try:
        yield node
    finally:
        server.stop(None).wait(5)


@dataclass
class Both:
    """Client and AsyncClient behind one way to call them, so that one test speaks for both."""

    client: Any
    run: Any = field(default=None)

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        answer = getattr(self.client, method)(*args, **kwargs)
        return answer if self.run is None else self.run(answer)

    def export(self, **kwargs: Any) -> list[Any]:
        if self.run is None:
            return list(self.client.export(**kwargs))

        async def collected() -> list[Any]:
            return [memory async for memory in self.client.export(**kwargs)]

        result: list[Any] = self.run(collected())
        return result
