"""Sync messages between the wire and the state machine: translation alone, every bound of shape checked here."""

from __future__ import annotations

from typing import Final, TypeVar

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
from mnemesh_gateway.contract.wire import moment, timestamp
from mnemesh_memory.values.errors import InvalidArgument, shorten
from mnemesh_memory.values.limits import AGENT_BYTES_MAX, CHANGE_BYTES_MAX, SPACE_BYTES_MAX
from mnemesh_proto.v1 import sync_pb2

HASH_BYTES: Final = 32
Envelope = TypeVar("Envelope", sync_pb2.SyncRequest, sync_pb2.SyncResponse)


def to_wire(message: Message, envelope: type[Envelope]) -> Envelope:
    """The message as the stream carries it."""
    match message:
        case Hello():
            hello = sync_pb2.SyncHello(
                protocol=message.protocol,
                node_id=message.node_id,
                node_key=message.key,
                spaces=message.wants,
                cursors=message.cursors,
                incarnation=message.incarnation,
                only_by=message.only_by,
                nonce=message.nonce,
                life=message.life,
            )
            return envelope(hello=hello)
        case Proof(signature):
            return envelope(proof=sync_pb2.SyncProof(signature=signature))
        case Batch():
            batch = sync_pb2.SyncBatch(
                feed=message.feed,
                after=message.after,
                last_seq=message.last_seq,
                head=message.head,
                entries=[_entry(one) for one in message.entries],
                keys=message.keys,
            )
            return envelope(batch=batch)
        case Ack(feed, seq, full):
            return envelope(ack=sync_pb2.SyncAck(feed=feed, seq=seq, full=full))
        case Digest(space, buckets):
            packed = {number: bytes.fromhex(value) for number, value in buckets.items()}
            return envelope(digest=sync_pb2.SyncDigest(space=space, buckets=packed))
        case DigestsEnd(number, back, serves):
            return envelope(digests_end=sync_pb2.SyncDigestsEnd(number=number, back=back, serves=serves))
        case Compared(number):
            return envelope(compared=sync_pb2.SyncCompared(number=number))
        case Resend(number, space, wanted):
            return envelope(resend=sync_pb2.SyncResend(number=number, space=space, buckets=wanted))
        case Resent(number):
            return envelope(resent=sync_pb2.SyncResent(number=number))
        case Ping(number):
            return envelope(ping=sync_pb2.SyncPing(number=number))
        case Pong(number):
            return envelope(pong=sync_pb2.SyncPong(number=number))
        case Refusal(code, reason):
            return envelope(refusal=sync_pb2.SyncRefusal(code=code, reason=reason))


def from_wire(envelope: sync_pb2.SyncRequest | sync_pb2.SyncResponse) -> Message:
    """What a peer says. Raises InvalidArgument for what is no message."""
    which = envelope.WhichOneof("message")
    if which == "hello":
        hello = envelope.hello
        return Hello(
            protocol=hello.protocol,
            node_id=hello.node_id,
            key=hello.node_key,
            incarnation=hello.incarnation,
            wants=tuple(hello.spaces),
            only_by=hello.only_by,
            cursors=dict(hello.cursors),
            nonce=hello.nonce,
            life=hello.life,
        )
    if which == "proof":
        return Proof(envelope.proof.signature)
    if which == "batch":
        batch = envelope.batch
        return Batch(
            feed=batch.feed,
            after=batch.after,
            last_seq=batch.last_seq,
            head=batch.head,
            entries=tuple(_from_entry(one) for one in batch.entries),
            keys={node: key for node, key in batch.keys.items() if _bounded("keys", node, key, KEY_BYTES)},
        )
    if which == "ack":
        return Ack(envelope.ack.feed, envelope.ack.seq, envelope.ack.full)
    if which == "digest":
        digest = envelope.digest
        return Digest(digest.space, {number: value.hex() for number, value in digest.buckets.items()})
    if which == "ping":
        return Ping(envelope.ping.number)
    if which == "pong":
        return Pong(envelope.pong.number)
    if which == "digests_end":
        end = envelope.digests_end
        return DigestsEnd(end.number, end.back, end.serves)
    if which == "compared":
        return Compared(envelope.compared.number)
    if which == "resend":
        return Resend(envelope.resend.number, envelope.resend.space, tuple(envelope.resend.buckets))
    if which == "resent":
        return Resent(envelope.resent.number)
    if which == "refusal":
        return Refusal(envelope.refusal.code, envelope.refusal.reason)
    known = "hello, proof, batch, ack, digest, digests_end, compared, resend, resent, ping, pong or refusal"
    raise InvalidArgument("message", "none", known)


def _entry(one: Entry) -> sync_pb2.SyncEntry:
    return sync_pb2.SyncEntry(
        doc=one.doc,
        space=one.space,
        type=one.type,
        hash=bytes.fromhex(one.hash),
        raw=one.raw,
        agent=one.agent,
        node_id=one.node,
        signature=one.signature,
        at=timestamp(one.at),
    )


def _from_entry(one: sync_pb2.SyncEntry) -> Entry:
    """What the ledger would keep even when it refuses it is bounded here."""
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
        doc=one.doc,
        space=one.space,
        type=one.type,
        hash=one.hash.hex(),
        raw=one.raw,
        agent=one.agent,
        node=one.node_id,
        signature=one.signature,
        at=moment(one, "at") or 0,
    )


def _bounded(field: str, whose: str, data: bytes, size: int) -> bool:
    if len(data) != size:
        raise InvalidArgument(field, f"{len(data)} bytes for {shorten(whose)}", f"{size} bytes")
    return True
