"""gRPC: the contract itself. Every method is generated from the table of operations.

A call is authenticated before its bytes are parsed. Only health is open, because probes carry no token. A
refusal carries google.rpc details. An error that is no MnemeshError is a bug and crashes its call: grpc
answers UNKNOWN and logs the traceback. SyncService alone is no operation: it is a stream with another node.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

import grpc
from google.protobuf.message import Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from mnemesh_gateway.contract import status, wire
from mnemesh_gateway.doors.metrics import Metrics
from mnemesh_gateway.doors.standing_streams import require_unchanged, taken
from mnemesh_gateway.operations.operation_table import OPERATIONS, Operation
from mnemesh_gateway.peers.sync_channel import BROKEN
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Caller
from mnemesh_proto.rendezvous import AUTHORIZATION

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate

Context = grpc.aio.ServicerContext[Any, Any]
SYNC: Final = "mnemesh.v1.SyncService"
SERVICES: Final = tuple(dict.fromkeys(operation.service for operation in OPERATIONS))
# Newer tools ask for v1 first. Its messages are v1alpha's under another package name. It is answered but not
# listed, because a tool that lists services asks for the descriptors of each, and v1 has none here.
REFLECTION_SERVICES: Final = ("grpc.reflection.v1.ServerReflection", reflection.SERVICE_NAME)
MIN_PING_INTERVAL_MS: Final = 10_000
KEEPALIVE_MS: Final = 60_000
KEEPALIVE_ANSWER_MS: Final = 20_000
HELLO_WAIT_S: Final = 2.0
OPTIONS: Final = (
    ("grpc.max_receive_message_length", limits.GRPC_MESSAGE_BYTES_MAX),
    # A page of 200 memories at every maximum is larger than 4 MiB. The reader's own limit protects the
    # reader.
    ("grpc.max_send_message_length", -1),
    # Without this a second node would share the port of the first, and each would get half of the calls.
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", MIN_PING_INTERVAL_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    # A client whose machine is gone holds no connection for ever.
    ("grpc.keepalive_time_ms", KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_ANSWER_MS),
)


class _Health(health.aio.HealthServicer):
    """Health that asks the ledger before it says SERVING."""

    def __init__(self, gate: MeshGate) -> None:
        super().__init__()
        self._gate = gate

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Context) -> health_pb2.HealthCheckResponse:
        answer: health_pb2.HealthCheckResponse = await super().Check(request, context)
        if answer.status == answer.SERVING and await self._gate.unready():
            return health_pb2.HealthCheckResponse(status=answer.NOT_SERVING)
        return answer


class GrpcDoor:
    """One server. `start` binds and answers at once, with health NOT_SERVING until `set_serving(True)`."""

    def __init__(
        self,
        gate: MeshGate,
        authenticator: Authenticator,
        metrics: Metrics,
        *,
        connections_max: int = limits.CONNECTIONS_MAX,
        begin_within_s: float = limits.HTTP_HEADER_TIMEOUT_S,
    ) -> None:
        self._gate = gate
        self._authenticator = authenticator
        self._metrics = metrics
        self._health = _Health(gate)
        options = (
            *OPTIONS,
            ("grpc.max_allowed_incoming_connections", connections_max),
            ("grpc.server_handshake_timeout_ms", round(begin_within_s * 1000)),
        )
        self._server = grpc.aio.server(options=options, maximum_concurrent_rpcs=limits.GRPC_CONCURRENT_RPCS_MAX)
        for service in SERVICES:
            handlers = {row.rpc: self._handler(row) for row in OPERATIONS if row.service == service}
            self._add(service, handlers)
        self._reflection = reflection.aio.ReflectionServicer(
            (*SERVICES, SYNC, reflection.SERVICE_NAME, health.SERVICE_NAME)
        )
        for service in REFLECTION_SERVICES:
            self._add(service, {"ServerReflectionInfo": self._reflection_handler()})
        self._add(SYNC, {"Sync": grpc.stream_stream_rpc_method_handler(self._sync)})
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)

    async def start(self, address: str) -> int:
        """Listen on `address` (host:port, port 0 for any free one) without TLS. Returns the port. Raises
        RuntimeError when it can't be bound."""
        port = self._server.add_insecure_port(address)
        await self.set_serving(False)
        await self._server.start()
        return port

    async def set_serving(self, serving: bool) -> None:
        """Set the health of the server as a whole and of each service."""
        answer = health_pb2.HealthCheckResponse
        for service in ("", *SERVICES, SYNC):
            await self._health.set(service, answer.SERVING if serving else answer.NOT_SERVING)

    async def stop(self, grace_s: float) -> None:
        """Say NOT_SERVING, refuse new calls, let running ones end within `grace_s` seconds, cancel the
        rest."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace_s)

    def _add(self, service: str, handlers: dict[str, grpc.RpcMethodHandler[Any, Any]]) -> None:
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))

    def _handler(self, operation: Operation) -> grpc.RpcMethodHandler[Any, Any]:
        # Without (de)serialisers grpc hands over bytes, so that nothing of a stranger's request is parsed.
        if operation.streaming:
            return grpc.unary_stream_rpc_method_handler(self._streaming(operation))
        return grpc.unary_unary_rpc_method_handler(self._unary(operation))

    def _unary(self, operation: Operation) -> Any:
        async def call(data: bytes, context: Context) -> bytes:
            async with self._answering(operation, context) as caller:
                request = wire.decode(operation.request, data)
                response: Message = await operation.run(self._gate, caller, request)
                return response.SerializeToString()

        return call

    def _streaming(self, operation: Operation) -> Any:
        async def call(data: bytes, context: Context) -> None:
            async with self._answering(operation, context) as caller:
                request = wire.decode(operation.request, data)
                headers, cursor = _headers(context), ""
                async with aclosing(operation.run(self._gate, caller, request)) as responses:
                    async for response in responses:
                        require_unchanged(self._authenticator, headers, caller)
                        written = context.write(response.SerializeToString())
                        if operation.standing:
                            await taken(written, cursor)
                            cursor = response.cursor
                        else:
                            await written

        return call

    async def _sync(self, requests: AsyncIterator[bytes], context: Context) -> None:
        """A stream that a peer opened. The grant of its token is checked again and again."""
        try:
            principal = self._caller(context).principal
            token = _headers(context)[AUTHORIZATION].partition(" ")[2]
            peers = await self._gate.peers()
            context.set_compression(grpc.Compression.Gzip)
            await peers.serve(context, principal, lambda: self._authenticator.peer_grant(token))
        except MnemeshError as error:
            await _read_first(context)
            await refuse(context, error)

    def _reflection_handler(self) -> grpc.RpcMethodHandler[Any, Any]:
        async def call(requests: AsyncIterator[bytes], context: Context) -> AsyncIterator[Any]:
            try:
                self._caller(context)
            except MnemeshError as error:
                await _read_first(context)
                await refuse(context, error)
            # An async generator. The stubs take it for a coroutine.
            asked = (reflection_pb2.ServerReflectionRequest.FromString(data) async for data in requests)
            answers: Any = self._reflection.ServerReflectionInfo(asked, context)
            async for answer in answers:
                yield answer

        return grpc.stream_stream_rpc_method_handler(
            call,
            response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
        )

    @contextlib.asynccontextmanager
    async def _answering(self, operation: Operation, context: Context) -> AsyncIterator[Caller]:
        """Around the call of a caller: counts it, and turns a MnemeshError into the call's status."""
        try:
            with self._metrics.call("grpc", operation.name, partial(_outcome, context)):
                yield self._caller(context)
        except MnemeshError as error:
            await refuse(context, error)

    def _caller(self, context: Context) -> Caller:
        return self._authenticator.authenticate(_headers(context))


def _headers(context: Context) -> dict[str, str]:
    pairs = context.invocation_metadata() or ()
    return {key: value for key, value in pairs if isinstance(value, str)}


def _outcome(context: Context, error: BaseException) -> str:
    if not isinstance(error, asyncio.CancelledError | GeneratorExit):
        return "UNKNOWN"
    remaining_s = context.time_remaining()
    return "DEADLINE_EXCEEDED" if remaining_s is not None and remaining_s <= 0 else "CANCELLED"


async def _read_first(context: Context) -> None:
    """Wait, bounded, for the caller's first message. Its library would lose the reason of a call that ends during a
    write, and show INTERNAL instead."""
    with contextlib.suppress(TimeoutError, *BROKEN):
        await asyncio.wait_for(context.read(), HELLO_WAIT_S)


async def refuse(context: Context, error: MnemeshError) -> NoReturn:
    """End the call with the status of `error` and its rich details."""
    details = status.rpc_status(error).SerializeToString()
    await context.abort(status.grpc_code(error), error.message, ((status.DETAILS_KEY, details),))
