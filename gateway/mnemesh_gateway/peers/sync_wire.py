"""Sync messages between the wire and the state machine: translation alone, every bound of shape checked here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from mnemesh_crdt.changes.envelope import CHANGE, ERASURES, KEY_BYTES, SIGNATURE_BYTES, Entry
from mnemesh_crdt.sync.messages import (
    Ack,
    Batch,
    Compared,
    Digest,
    DigestsEnd,
    Hello,
    Message,
    Ping,
    Pong,
    Proof,
    Refusal,
    Resend,
    Resent,
)
from mnemesh_gateway.contract.descriptors import descriptor_of, inner_message
from mnemesh_gateway.contract.wire import form_of, moment, timestamp, value_of
from mnemesh_memory.values.errors import InvalidArgument, shorten
from mnemesh_memory.values.limits import AGENT_BYTES_MAX, CHANGE_BYTES_MAX, SPACE_BYTES_MAX
from mnemesh_proto.v1 import sync_pb2

HASH_BYTES: Final = 32
Envelope = TypeVar("Envelope", sync_pb2.SyncRequest, sync_pb2.SyncResponse)
# Each message by the field of the envelope that carries it.
MESSAGES: Final[Mapping[str, type[Message]]] = {
    "hello": Hello,
    "proof": Proof,
    "batch": Batch,
    "ack": Ack,
    "digest": Digest,
    "digests_end": DigestsEnd,
    "compared": Compared,
    "resend": Resend,
    "resent": Resent,
    "ping": Ping,
    "pong": Pong,
    "refusal": Refusal,
}
FIELDS: Final = {message: field for field, message in MESSAGES.items()}


def to_wire(message: Message, envelope: type[Envelope]) -> Envelope:
    """The message as the stream carries it."""
    others: dict[str, object] = {}
    match message:
        case Hello():
            others = {"node_key": message.key, "spaces": message.wants}
        case Batch():
            others = {"entries": [_entry(one) for one in message.entries]}
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
            others["entries"] = tuple(_from_entry(one) for one in envelope.batch.entries)
            others["keys"] = {node: key for node, key in keys if _bounded("keys", node, key, KEY_BYTES)}
        case "digest":
            others = {"buckets": {number: value.hex() for number, value in envelope.digest.buckets.items()}}
    return value_of(MESSAGES[field], getattr(envelope, field), **others)


def _entry(one: Entry) -> dict[str, Any]:
    # Written out, as its counterpart: a stream carries many of them.
    return {
        "doc": one.doc, "space": one.space, "type": one.type, "hash": bytes.fromhex(one.hash), "raw": one.raw,
        "agent": one.agent, "node_id": one.node, "signature": one.signature, "at": timestamp(one.at),
    }  # fmt: skip


def _from_entry(one: sync_pb2.SyncEntry) -> Entry:
    """An entry within the bounds of the ledger, which would keep even a refused one."""
    if one.type not in (CHANGE, *ERASURES):
        raise InvalidArgument("type", one.type, f"one of {CHANGE}, {', '.join(ERASURES)}")
    _bounded("hash", one.doc, one.hash, HASH_BYTES)
    _bounded("signature", one.doc, one.signature, SIGNATURE_BYTES)
    limits = (("space", one.space, SPACE_BYTES_MAX), ("agent", one.agent, AGENT_BYTES_MAX), ("doc", one.doc, 64))
    for field, text, most in limits:
        if len(text.encode()) > most:
            raise InvalidArgument(field, text, f"at most {most} bytes")
    if len(one.raw) > CHANGE_BYTES_MAX:
        raise InvalidArgument("raw", f"{len(one.raw)} bytes", f"at most {CHANGE_BYTES_MAX}")
    return Entry(
        doc=one.doc, space=one.space, type=one.type, hash=one.hash.hex(), raw=one.raw, agent=one.agent,
        node=one.node_id, signature=one.signature, at=moment(one, "at") or 0,
    )  # fmt: skip


def _bounded(field: str, whose: str, data: bytes, size: int) -> bool:
    if len(data) != size:
        raise InvalidArgument(field, f"{len(data)} bytes for {shorten(whose)}", f"{size} bytes")
    return True
