"""The two ends of a gRPC sync stream as the channel that the shell of a stream wants."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc

from mnemesh_crdt.messages import Message
from mnemesh_gateway.sync_wire import from_wire, to_wire
from mnemesh_gateway.wire import decode
from mnemesh_memory.errors import MnemeshError, Unauthenticated, Unavailable
from mnemesh_proto.v1 import sync_pb2

METHOD: Final = "/mnemesh.v1.SyncService/Sync"
# What grpc raises for a call that is over, one way or another.
BROKEN: Final = (grpc.RpcError, grpc.aio.BaseError, asyncio.InvalidStateError)
# How gRPC's own words begin when nothing answers at an address.
NOT_CONNECTED: Final = re.compile(r"failed to connect to all addresses|errors resolving |DNS resolution failed")
REFUSED: Final = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


class DialedChannel:
    """This node called: requests go out, responses come in. `target` is host:port, `token` the peer's for us. `refused`
    says that and why the peer does not take the token, "" otherwise."""

    def __init__(self, target: str, token: str, options: tuple[tuple[str, int], ...]) -> None:
        self._target = target
        self.refused = ""
        self._channel = grpc.aio.insecure_channel(target, options=options, compression=grpc.Compression.Gzip)
        # Bytes come back: grpc would turn what it can not parse into None.
        call: Any = self._channel.stream_stream(METHOD, request_serializer=sync_pb2.SyncRequest.SerializeToString)
        self._call = call(metadata=(("authorization", f"Bearer {token}"),))

    async def send(self, message: Message) -> None:
        try:
            await self._call.write(to_wire(message, sync_pb2.SyncRequest))
        except grpc.RpcError as error:
            raise self._explained(error) from None
        except (grpc.aio.BaseError, asyncio.InvalidStateError):  # the call has ended; why, the reader learns
            raise Unavailable(f"{self._target} ended the stream", part="peer") from None

    async def messages(self) -> AsyncIterator[Message]:
        try:
            async for data in self._call:
                yield from_wire(decode(sync_pb2.SyncResponse, data))
        except grpc.RpcError as error:
            raise self._explained(error) from None

    async def close(self) -> None:
        """End the call and the connection."""
        self._call.cancel()
        await self._channel.close()

    def _explained(self, error: grpc.RpcError) -> MnemeshError:
        told: Any = error
        message = str(told.details() or told.code().name)
        if told.code() in REFUSED:
            self.refused = f"{self._target} refuses the token: {message}"
            return Unauthenticated(self.refused)
        return Unavailable(f"{self._target}: {last_cause(message)}", part="peer")


def last_cause(message: str) -> str:
    """The last cause in gRPC's chain of them, such as `Connection refused`; any other message as it is. The chain
    names the address several times."""
    return message.rpartition(": ")[2].strip(" ]}") if NOT_CONNECTED.match(message) else message


class ServedChannel:
    """A peer called: requests come in, responses go out."""

    def __init__(self, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        self._context = context

    async def send(self, message: Message) -> None:
        try:
            await self._context.write(to_wire(message, sync_pb2.SyncResponse).SerializeToString())
        except BROKEN as error:
            raise Unavailable(f"the peer's stream broke: {error}", part="peer") from None

    async def messages(self) -> AsyncIterator[Message]:
        while True:
            try:
                data = await self._context.read()
            except BROKEN as error:
                raise Unavailable(f"the peer's stream broke: {error}", part="peer") from None
            if data is grpc.aio.EOF:
                return
            yield from_wire(decode(sync_pb2.SyncRequest, data))
