"""A small node for tests of the client: real gRPC, real messages, every call recorded, failures on demand.

Memories are kept in a dict, recall looks for common words, nothing is judged. The scenario suite and test_cli_node.py
show the behaviour of a real node.
"""

from __future__ import annotations

import inspect
import threading
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import grpc
import pytest
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from mnemesh.api import values
from mnemesh.api.wire import to_value
from mnemesh_proto.v1 import (
    admin_pb2,
    admin_pb2_grpc,
    history_pb2_grpc,
    memory_pb2,
    memory_pb2_grpc,
    recall_pb2,
    recall_pb2_grpc,
)

NAMESPACE = uuid.UUID("6f1c3f0e-0000-4000-8000-000000000000")
TOKEN = "test-token"
WAIT_S = 60.0
# What recall says of a score when a question asks for reasons.
ESTIMATE = recall_pb2.Estimate(
    parts=[
        recall_pb2.Signal(name="share", raw=0.718, value=0.718, weight=3.9, share=2.8002),
        recall_pb2.Signal(name="alone", value=1, weight=1, share=1),
        recall_pb2.Signal(name="constant", value=1, weight=-3.9, share=-3.9),
    ],
    probability=0.475,
)
Value = TypeVar("Value")
Fault = TypeVar("Fault", bound=Exception)


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
    memory_pb2_grpc.MemoryServiceServicer,
    recall_pb2_grpc.RecallServiceServicer,
    admin_pb2_grpc.AdminServiceServicer,
    history_pb2_grpc.HistoryServiceServicer,
):
    """Four services over one dict. Each method of a service is recorded, and fails on demand.

    `fail[rpc]` holds the failures of the next calls; None lets a call pass. While `held`, recall sets `arrived` and
    waits for `release`.
    """

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
        for rpc in [name for name in dir(self) if name[0].isupper()]:
            setattr(self, rpc, self._recorded(rpc, getattr(self, rpc)))

    def requests(self, rpc: str) -> list[Any]:
        """The requests of one method, in order."""
        return [call.request for call in self.calls if call.rpc == rpc]

    def Remember(self, request: Any, context: Any) -> Any:
        return self._store(request)

    def hold_batches_after(self, count: int) -> None:
        """Let `count` batches pass. A later batch sets `arrived` and waits for `release`."""
        self._batches_passed = count

    def RememberBatch(self, request: Any, context: Any) -> Any:
        if self._batches_passed is not None and len(self.requests("RememberBatch")) > self._batches_passed:
            self.arrived.set()
            self.release.wait(WAIT_S)
        return memory_pb2.RememberBatchResponse(results=[self._outcome(item) for item in request.items])

    def Check(self, request: Any, context: Any) -> Any:
        return memory_pb2.CheckResponse(action="ADD", reason="new", novelty=1.0)

    def Get(self, request: Any, context: Any) -> Any:
        found = [self.memories[key] for key in request.ids if key in self.memories]
        missing = [key for key in request.ids if key not in self.memories]
        if len(request.ids) == 1 and missing:
            Failure("NOT_FOUND", f"memory {missing[0]!r} not found", {"field": "memory"}).abort(context)
        return memory_pb2.GetResponse(
            memory=found[0] if len(request.ids) == 1 else None, memories=found, missing=missing
        )

    def List(self, request: Any, context: Any) -> Any:
        everything = list(self.memories.values())
        return memory_pb2.ListResponse(memories=everything[: request.limit or 20], total=len(everything))

    def Timeline(self, request: Any, context: Any) -> Any:
        return memory_pb2.TimelineResponse(memories=[self.memories[request.id]], position=0)

    def Update(self, request: Any, context: Any) -> Any:
        memory = self.memories[request.id]
        memory.content = request.content or memory.content
        if request.HasField("tags"):
            memory.tags[:] = request.tags.values
        memory.version += 1
        return memory_pb2.UpdateResponse(action="UPDATE", memory=memory, reason="changed", indexed=True)

    def Supersede(self, request: Any, context: Any) -> Any:
        done = self._store(request.item)
        old = self.memories[request.id]
        old.state, old.superseded_by = "superseded", done.memory.id
        return memory_pb2.SupersedeResponse(action="SUPERSEDE", memory=done.memory, superseded=old)

    def Forget(self, request: Any, context: Any) -> Any:
        self.memories[request.id].state = "forgotten"
        return memory_pb2.ForgetResponse(action="FORGET", memory=self.memories[request.id], indexed=True)

    def Restore(self, request: Any, context: Any) -> Any:
        self.memories[request.id].state = "active"
        return memory_pb2.RestoreResponse(action="RESTORE", memory=self.memories[request.id], indexed=True)

    def Stats(self, request: Any, context: Any) -> Any:
        count = memory_pb2.Count(name="fact", memories=len(self.memories))
        return memory_pb2.StatsResponse(memories=len(self.memories), kinds=[count])

    def Export(self, request: Any, context: Any) -> Iterator[Any]:
        for memory in self.memories.values():
            yield memory_pb2.ExportResponse(memory=memory)

    def RecallBatch(self, request: Any, context: Any) -> Any:
        return recall_pb2.RecallBatchResponse(answers=[self.Recall(one, context) for one in request.queries])

    def Related(self, request: Any, context: Any) -> Any:
        return recall_pb2.RelatedResponse(id=request.id)

    def Recall(self, request: Any, context: Any) -> Any:
        if self.held:
            self.arrived.set()
            self.release.wait(WAIT_S)
        words = set(request.query.lower().split())
        results = [
            recall_pb2.RecallResult(
                id=memory.id, content=memory.content, score=0.5, title=memory.title, snippet=memory.content[:80],
                space=memory.space, kind=memory.kind, tags=memory.tags, memory=_without_content(memory),
                signals=[recall_pb2.Signal(name="words", raw=3.5, value=1, weight=1, share=1)] * request.explain,
                estimate=ESTIMATE if request.explain else None,
            )
            for memory in self.memories.values()
            if not words or words & set(memory.content.lower().split())
        ]  # fmt: skip
        return recall_pb2.RecallResponse(
            results=results[: request.limit or 10], coverage=0.5 if results else 0.0, abstain=not results
        )

    def Status(self, request: Any, context: Any) -> Any:
        lag = self.lags.popleft() if self.lags else 0
        return admin_pb2.StatusResponse(
            version="0.0.0-test", state="ready", runtime="local", node_id="node", grpc=self.endpoint,
            ledger=admin_pb2.LedgerStatus(incarnation="incarnation", seq=len(self.memories)),
            index=[admin_pb2.IndexStatus(name="shard-0", backend="edge", lag=lag, state="ok")],
        )  # fmt: skip

    def Whoami(self, request: Any, context: Any) -> Any:
        headers = self.calls[-1].headers
        name = headers.get("x-mnemesh-agent", "")
        return admin_pb2.WhoamiResponse(
            agent=f"owner/{name}" if name else "owner", principal="owner", role="owner", private_space="@owner",
            default_space=headers.get("x-mnemesh-space", ""),
        )  # fmt: skip

    def _recorded(self, rpc: str, method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def answer(request: Any, context: Any) -> Any:
            with self._call(rpc, request, context):
                return method(request, context)

        def stream(request: Any, context: Any) -> Iterator[Any]:
            with self._call(rpc, request, context):
                yield from method(request, context)

        return stream if inspect.isgeneratorfunction(method) else answer

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
    history_pb2_grpc.add_HistoryServiceServicer_to_server(node, server)
    node.endpoint = f"127.0.0.1:{server.add_insecure_port(address)}"
    server.start()
    try:
        yield node
    finally:
        server.stop(None).wait(5)


def value(cls: type[Value], **fields: Any) -> Value:
    """A value of the client with `fields`. All other fields are as a node leaves them out."""
    name = next(name for name, known in values.MESSAGES.items() if known == cls.__name__)
    message = message_factory.GetMessageClass(descriptor_pool.Default().FindMessageTypeByName(name))
    return replace(to_value(message(), cls), **fields)


@dataclass
class Both:
    """Client and AsyncClient behind one way to call, so one test speaks for both clients."""

    client: Any
    run: Any = field(default=None)

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        answer = getattr(self.client, method)(*args, **kwargs)
        return answer if self.run is None else self.run(answer)

    def refused(self, kind: type[Fault], method: str, *args: Any, **kwargs: Any) -> Fault:
        """The error of that kind with which a call ends."""
        with pytest.raises(kind) as caught:
            self.call(method, *args, **kwargs)
        return caught.value

    def export(self, **kwargs: Any) -> list[Any]:
        if self.run is None:
            return list(self.client.export(**kwargs))

        async def collected() -> list[Any]:
            return [memory async for memory in self.client.export(**kwargs)]

        result: list[Any] = self.run(collected())
        return result
