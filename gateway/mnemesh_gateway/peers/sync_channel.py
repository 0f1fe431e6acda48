"""The two ends of a gRPC sync stream as the channel that the shell of a stream wants.

Messages are translated here between the wire and the state machine, and every bound of their shape is checked.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, TypeVar, get_args

import grpc

from mnemesh_crdt.changes.envelope import CHANGE, ERASURES, KEY_BYTES, SIGNATURE_BYTES, Entry
from mnemesh_crdt.sync.messages import Batch, Digest, Hello, Message
from mnemesh_gateway.contract.descriptors import descriptor_of, inner_message
from mnemesh_gateway.contract.status import DETAILS_KEY
from mnemesh_gateway.contract.wire import decode, form_of, moment, timestamp, value_of
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError, Unauthenticated, Unavailable, shorten
from mnemesh_memory.values.limits import AGENT_BYTES_MAX, CHANGE_BYTES_MAX, SPACE_BYTES_MAX
from mnemesh_proto.v1 import sync_pb2

HASH_BYTES: Final = 32
Envelope = TypeVar("Envelope", sync_pb2.SyncRequest, sync_pb2.SyncResponse)
# Each message by the field of the envelope that carries it.
MESSAGES: Final[Mapping[str, type[Message]]] = {
    re.sub("(?<=[a-z])(?=[A-Z])", "_", message.__name__).lower(): message for message in get_args(Message)
}
FIELDS: Final = {message: field for field, message in MESSAGES.items()}


def to_wire(message: Message, envelope: type[Envelope]) -> Envelope:
    """The message as the stream carries it."""
    others: dict[str, object] = {}
    match message:
        case Hello():
            others = {"node_key": message.key, "spaces": message.wants}
        case Batch():
            others = {"entries": [_entry(entry) for entry in message.entries]}
        case Digest():
            others = {"buckets": {number: bytes.fromhex(value) for number, value in message.buckets.items()}}
    field = FIELDS[type(message)]
    form: Any = form_of(inner_message(descriptor_of(envelope).fields_by_name[field]), message, **others)
    return envelope(**{field: form})


def from_wire(envelope: sync_pb2.SyncRequest | sync_pb2.SyncResponse) -> Message:
    """The message of a peer. Raises InvalidArgument for an envelope without one."""
    field = envelope.WhichOneof("message")
    if field is None:
        *names, last = MESSAGES
        raise InvalidArgument("message", "none", f"{', '.join(names)} or {last}")
    others: dict[str, object] = {}
    match field:
        case "hello":
            others = {"key": envelope.hello.node_key, "wants": tuple(envelope.hello.spaces)}
        case "batch":
            keys = envelope.batch.keys.items()
            others["entries"] = tuple(_from_entry(entry) for entry in envelope.batch.entries)
            others["keys"] = {node: key for node, key in keys if _bounded("keys", node, key, KEY_BYTES)}
        case "digest":
            others = {"buckets": {number: value.hex() for number, value in envelope.digest.buckets.items()}}
    return value_of(MESSAGES[field], getattr(envelope, field), **others)


def _entry(entry: Entry) -> dict[str, Any]:
    # Written out, as its counterpart: a stream carries many of them.
    return {
        "doc": entry.doc, "space": entry.space, "type": entry.type, "hash": bytes.fromhex(entry.hash), "raw": entry.raw,
        "agent": entry.agent, "node_id": entry.node, "signature": entry.signature, "at": timestamp(entry.at),
    }  # fmt: skip


def _from_entry(entry: sync_pb2.SyncEntry) -> Entry:
    """An entry within the bounds of the ledger, which would keep even a refused one."""
    if entry.type not in (CHANGE, *ERASURES):
        raise InvalidArgument("type", entry.type, f"one of {CHANGE}, {', '.join(ERASURES)}")
    _bounded("hash", entry.doc, entry.hash, HASH_BYTES)
    _bounded("signature", entry.doc, entry.signature, SIGNATURE_BYTES)
    limits = (("space", entry.space, SPACE_BYTES_MAX), ("agent", entry.agent, AGENT_BYTES_MAX), ("doc", entry.doc, 64))
    for field, text, most in limits:
        if len(text.encode()) > most:
            raise InvalidArgument(field, text, f"at most {most} bytes")
    if len(entry.raw) > CHANGE_BYTES_MAX:
        raise InvalidArgument("raw", f"{len(entry.raw)} bytes", f"at most {CHANGE_BYTES_MAX}")
    return Entry(
        doc=entry.doc, space=entry.space, type=entry.type, hash=entry.hash.hex(), raw=entry.raw, agent=entry.agent,
        node=entry.node_id, signature=entry.signature, at=moment(entry, "at") or 0,
    )  # fmt: skip


def _bounded(field: str, whose: str, data: bytes, size: int) -> bool:
    if len(data) != size:
        raise InvalidArgument(field, f"{len(data)} bytes for {shorten(whose)}", f"{size} bytes")
    return True


CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", limits.GRPC_MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", limits.GRPC_MESSAGE_BYTES_MAX),
    # A dead link is noticed although nothing is sent.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)
METHOD: Final = "/mnemesh.v1.SyncService/Sync"
# The exceptions of grpc for a call that is over, one way or another.
BROKEN: Final = (grpc.RpcError, grpc.aio.BaseError, asyncio.InvalidStateError)
# How gRPC's own words begin when nothing answers at an address.
NOT_CONNECTED: Final = re.compile(r"failed to connect to all addresses|errors resolving |DNS resolution failed")
# The answering program speaks no gRPC, or has no such service.
NOT_A_NODE: Final = re.compile(r"parsing HTTP/2|Method not found")
SILENT: Final = re.compile(r"before receiving SETTINGS|keepalive|ping timeout", re.IGNORECASE)
# A node's words over HTTP and gRPC on how to send a token. The reader here gave the token to this node.
HOW_SENT: Final = re.compile(r"; send `Authorization: Bearer <token>`.*", re.DOTALL)
CUT: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
REFUSED: Final = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


class DialedChannel:
    """This node called: requests go out, responses come in. `target` is host:port, `token` the peer's for us. `refused`
    says that and why the peer does not take the token, "" otherwise."""

    def __init__(self, target: str, token: str) -> None:
        self._target = target
        self.refused = ""
        self._channel = grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS, compression=grpc.Compression.Gzip)
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
        call: Any = error
        message = str(call.details() or call.code().name)
        if call.code() in REFUSED:
            why = HOW_SENT.sub("; `mnemesh agent add` there issues one", message)
            self.refused = f"{self._target} refuses the token: {why}"
            return Unauthenticated(self.refused)
        by_node = any(key == DETAILS_KEY for key, _ in call.trailing_metadata() or ())
        return Unavailable(
            f"{self._target}: {message}" if by_node else broken(self._target, call.code(), message), part="peer"
        )


def broken(target: str, code: grpc.StatusCode, message: str) -> str:
    """The fate of a call to `target` that gRPC, and no node, ended with `message`, with a hint to the cause."""
    if NOT_A_NODE.search(message):
        return f"{target} is not the gRPC address of a node, which usually has the port 7433"
    if SILENT.search(message):
        return f"{target} takes the connection and says nothing"
    if NOT_CONNECTED.match(message):
        # The last cause in gRPC's chain of them, which names the address several times.
        return f"no node answers at {target}: {message.rpartition(': ')[2].strip(' ]}')}"
    if code in CUT:
        return f"the connection to {target} broke"
    return f"{target}: {message}"


class ServedChannel:
    """A peer called: requests come in, responses go out."""

    def __init__(self, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        self._context = context

    async def send(self, message: Message) -> None:
        try:
            await self._context.write(to_wire(message, sync_pb2.SyncResponse).SerializeToString())
        except BROKEN:
            raise Unavailable("the connection to the peer broke", part="peer") from None

    async def messages(self) -> AsyncIterator[Message]:
        while True:
            try:
                data = await self._context.read()
            except BROKEN:
                raise Unavailable("the connection to the peer broke", part="peer") from None
            if data is grpc.aio.EOF:
                return
            yield from_wire(decode(sync_pb2.SyncRequest, data))
