"""A small node for tests of the client: real gRPC and real messages over FakeMesh, every call recorded, failures on
demand. The scenario suite and test_cli_node.py show the behaviour of a real node."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import grpc
import pytest
from fake_mesh import FakeGate, FakeMesh
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from mnemesh.api import values
from mnemesh.api.wire import to_value
from mnemesh.transport import connection
from mnemesh_gateway.contract import status
from mnemesh_gateway.operations.operation_table import OPERATIONS, Operation
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values import model
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_proto.v1.recall_pb2 import RelatedResponse

TOKEN = "test-token"
WAIT_S = 60.0
ID = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
SECRET = "password: " + "Kestrel42!"
METHODS = {operation.method: operation for operation in OPERATIONS}
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
        rich = Status(code=grpc.StatusCode[self.code].value[0], message=self.message)
        rich.details.add().Pack(ErrorInfo(reason=self.reason or self.code, domain="mnemesh", metadata=self.fields))
        if "field" in (self.fields or {}):
            violation = BadRequest.FieldViolation(field=self.fields["field"], description=self.fields.get("limit", ""))
            rich.details.add().Pack(BadRequest(field_violations=[violation]))
        if self.retry_after_s is not None:
            delay = Duration()
            delay.FromMilliseconds(round(self.retry_after_s * 1000))
            rich.details.add().Pack(RetryInfo(retry_delay=delay))
        context.abort_with_status(rpc_status.to_status(rich))


class RecordingNode(grpc.GenericRpcHandler):
    """The operations over FakeMesh. Each call is recorded, and fails on demand.

    `fail[rpc]` holds the failures of the next calls; None lets a call pass. A function in `answers` answers in the
    place of FakeMesh. Nothing has to do with a memory.
    """

    def __init__(self) -> None:
        self.mesh = FakeMesh()
        self.mesh.lag = 0
        self.calls: list[Recorded] = []
        self.fail: dict[str, deque[Failure | None]] = defaultdict(deque)
        self.answers: dict[str, Callable[[Any], Message]] = {"Related": lambda asked: RelatedResponse(id=asked.id)}
        self.endpoint = ""
        self.arrived = threading.Event()
        self.release = threading.Event()
        self._held = ("", 0)
        self._lock = threading.Lock()
        self._gate: Any = FakeGate(self.mesh)
        self._authenticator = Authenticator(TOKEN)

    @property
    def memories(self) -> list[model.Memory]:
        return list(self.mesh.memories.values())

    def keep(self, content: str, **fields: Any) -> model.Memory:
        """A new memory that nobody has judged."""
        draft = model.Draft(content=content, space="@owner", kind="fact", **fields)
        return self.mesh.store(draft, model.Caller("owner", "owner"))

    def requests(self, rpc: str) -> list[Any]:
        """The requests of one method, in order."""
        return [call.request for call in self.calls if call.rpc == rpc]

    def hold(self, rpc: str, after: int = 0) -> None:
        """Let `after` calls of a method pass. A later one sets `arrived` and waits for `release`."""
        self._held = (rpc, after)

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        operation = METHODS.get(call.method)
        if operation is None:
            return None
        if operation.streaming:
            return grpc.unary_stream_rpc_method_handler(partial(self._stream, operation))
        return grpc.unary_unary_rpc_method_handler(partial(self._answer, operation))

    def _answer(self, operation: Operation, data: bytes, context: grpc.ServicerContext) -> bytes:
        with self._call(operation, data, context) as (caller, request):
            if operation.rpc in self.answers:
                return self.answers[operation.rpc](request).SerializeToString()
            with self._lock:
                answer: Message = asyncio.run(operation.run(self._gate, caller, request))
            return answer.SerializeToString()

    def _stream(self, operation: Operation, data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        async def listed(items: AsyncIterator[Message]) -> list[bytes]:
            return [item.SerializeToString() async for item in items]

        with self._call(operation, data, context) as (caller, request):
            yield from asyncio.run(listed(operation.run(self._gate, caller, request)))

    @contextmanager
    def _call(
        self, operation: Operation, data: bytes, context: grpc.ServicerContext
    ) -> Iterator[tuple[model.Caller, Message]]:
        rpc, request = operation.rpc, operation.request.FromString(data)
        headers = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        self.calls.append(Recorded(rpc, request, headers))
        failure = self.fail[rpc].popleft() if self.fail[rpc] else None
        if failure is not None and not failure.after:
            failure.abort(context)
        if rpc == self._held[0] and len(self.requests(rpc)) > self._held[1]:
            self.arrived.set()
            self.release.wait(WAIT_S)
        try:
            yield self._authenticator.authenticate(headers), request
        except MnemeshError as error:
            context.abort_with_status(rpc_status.to_status(status.rpc_status(error)))
        finally:
            if failure is not None:
                failure.abort(context)


@contextmanager
def serving(node: RecordingNode, address: str = "127.0.0.1:0") -> Iterator[RecordingNode]:
    """`node` on a port of its own, named in `node.endpoint`, for the length of the block."""
    server = grpc.server(ThreadPoolExecutor(4), options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((node,))
    node.endpoint = f"127.0.0.1:{server.add_insecure_port(address)}"
    server.start()
    try:
        yield node
    finally:
        server.stop(None).wait(5)


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingNode]:
    """A node that is asked again without a pause."""
    monkeypatch.setattr(connection, "PAUSE_FIRST_S", 0.001)
    with serving(RecordingNode()) as started:
        yield started


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
