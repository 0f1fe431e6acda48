"""A peer that is none of ours: free to sign and to say anything, over a real stream."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import grpc
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import CHANGE, Entry, erase_hash, node_id_of, signing_bytes
from mnemesh_crdt.document.document import Edit, MemoryDocument, RevisionFields
from mnemesh_crdt.sync.greeting import DIALER, LISTENER, PROTOCOL
from mnemesh_crdt.sync.messages import Ack, Batch, Hello, Message, Proof, Refusal
from mnemesh_crdt.sync.proof import NONCE_BYTES, Claim, check_proof, proof_bytes
from mnemesh_gateway.peers.sync_channel import METHOD, from_wire, to_wire
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.values.ids import fresh_id
from mnemesh_proto.v1 import sync_pb2

HEARD_S = 60.0
AT = 1_790_000_000_000
NONCE = bytes([7]) * NONCE_BYTES


@dataclass
class Signer:
    """A node with a key of its own that writes new memories. Nothing is random: ids come from the name and a count."""

    name: str = "far"
    agent: str = "eve"
    at: int = AT
    count: int = field(default=0)
    life: str = "first"

    def __post_init__(self) -> None:
        self.key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(self.name.encode()).digest())
        self.public = self.key.public_key().public_bytes_raw()
        self.id = node_id_of(self.public)
        self.incarnation = hashlib.sha256(self.public).hexdigest()[:32]

    @property
    def keys(self) -> dict[str, bytes]:
        return {self.id: self.public}

    @property
    def feed(self) -> str:
        return f"{self.incarnation}/scope"

    def hello(self, **changes: Any) -> Hello:
        said = Hello(
            protocol=PROTOCOL, node_id=self.id, key=self.public, incarnation=self.incarnation, wants=("*",), only_by="",
            cursors={}, nonce=NONCE, life=self.life,
        )  # fmt: skip
        return replace(said, **changes)

    def proof(self, theirs: Hello, role: str = DIALER, **changes: Any) -> Proof:
        """The proof of this node's `hello` for the node of `theirs`; `changes` are of the claim."""
        claim = Claim(
            node_id=self.id, incarnation=self.incarnation, life=self.life, role=role, nonce=NONCE,
            peer_id=theirs.node_id, peer_nonce=theirs.nonce,
        )  # fmt: skip
        return Proof(self.key.sign(proof_bytes(replace(claim, **changes))))

    def says(self, content: str, space: str = "team/x", *, by: str = "", doc: str = "") -> Entry:
        """A new memory, as an honest node writes it; `by` is named as the author of the revision."""
        noise = self._noise()
        doc = doc or fresh_id(AT + self.count, space, principal_of(by or self.agent), noise)
        return self._writes(MemoryDocument(doc, space), noise, content=content, by=by or self.agent)

    def adds(self, to: Entry, content: str, actor: bytes = b"", **fields: Any) -> Entry:
        """A revision that builds on the beginning `to`, by a fresh Automerge actor unless `actor` is given."""
        document = MemoryDocument(to.doc, to.space, [to.raw])
        fields |= {"content": content, "by": self.agent, "parents": tuple(document.state().revisions)}
        return self._writes(document, actor or self._noise(), **fields)

    def swells(self, to: Entry) -> Entry:
        """A revision that a door would take, as large as one may be and small on the wire."""
        attrs = {f"{n}": "z" * 1024 for n in range(64)}
        return self.adds(to, "y" * 32_768, attrs=attrs, refs=tuple(f"{n}".ljust(512, "p") for n in range(64)))

    def _noise(self) -> bytes:
        self.count += 1
        return hashlib.sha512(f"{self.name} {self.count}".encode()).digest()[:16]

    def _writes(self, document: MemoryDocument, actor: bytes, **fields: Any) -> Entry:
        said = RevisionFields(**{"op": "put", "kind": "fact", "title": "", "at": self.at, **fields})
        change = document.write(Edit(revision=said, at=self.at), actor)
        assert change is not None
        return self.signs(document.id, document.space, change.raw)

    def signs(self, doc: str, space: str, raw: bytes, agent: str = "", hash: str = "") -> Entry:
        return self._signed(doc, space, CHANGE, hash or read_head(raw).hash, raw, agent or self.agent)

    def erases(self, type: str, doc: str, space: str = "team/x") -> Entry:
        """That a memory is erased, by an entry of that type."""
        return self._signed(doc, space, type, erase_hash(type, doc, space, self.agent, self.id), b"", self.agent)

    def _signed(self, doc: str, space: str, type: str, hash: str, raw: bytes, agent: str) -> Entry:
        signature = self.key.sign(signing_bytes(doc, space, type, hash, agent, self.id))
        return Entry(
            doc=doc, space=space, type=type, hash=hash, raw=raw, agent=agent, node=self.id, signature=signature,
            at=self.at,
        )  # fmt: skip

    def batch(self, after: int, *entries: Entry, **changes: Any) -> Batch:
        last = after + max(1, len(entries))
        said = Batch(feed=self.feed, after=after, last_seq=last, head=last, entries=entries, keys=self.keys)
        return replace(said, **changes)


def resealed(raw: bytes, at: int, bit: int = 1) -> bytes:
    """The change with one bit flipped and its checksum made right again."""
    damaged = bytearray(raw)
    damaged[at] ^= bit
    damaged[4:8] = hashlib.sha256(bytes(damaged[8:])).digest()[:4]
    return bytes(damaged)


class HostileStream:
    """One open stream. Messages of the node are heard in order.

    Both ways raise EOFError when the stream has ended, with the reason that grpc knows.
    """

    def __init__(self, call: Any) -> None:
        self._call = call

    async def say(self, message: Message) -> None:
        await self.shout(to_wire(message, sync_pb2.SyncRequest).SerializeToString())

    async def shout(self, data: bytes) -> None:
        async with asyncio.timeout(HEARD_S):
            try:
                await self._call.write(data)
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await self._ended()

    async def greet(self, who: Signer, **changes: Any) -> Hello:
        """Say and prove who calls; what the node said first. Its own proof is heard."""
        said = who.hello(**changes)
        await self.say(said)
        theirs: Hello = await self.hear(Hello)
        await self.say(who.proof(theirs, incarnation=said.incarnation))
        check_proof(
            Claim(
                node_id=theirs.node_id, incarnation=theirs.incarnation, life=theirs.life, role=LISTENER,
                nonce=theirs.nonce, peer_id=who.id, peer_nonce=said.nonce,
            ),
            theirs.key,
            (await self.hear(Proof)).signature,
        )  # fmt: skip
        return theirs

    async def hear(self, *kinds: type[Any]) -> Any:
        """The next message of one of these kinds."""
        async with asyncio.timeout(HEARD_S):
            while True:
                try:
                    data = await self._call.read()
                except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                    data = grpc.aio.EOF
                if data is grpc.aio.EOF:
                    await self._ended()
                message = from_wire(sync_pb2.SyncResponse.FromString(data))
                if isinstance(message, kinds):
                    return message

    async def _ended(self) -> NoReturn:
        raise EOFError(f"{await self._call.code()}: {await self._call.details()}") from None


@asynccontextmanager
async def stream_to(target: str, token: str) -> AsyncIterator[HostileStream]:
    """A stream to the node at `target`, of which grpc's own limits on our side are taken away."""
    unlimited = (("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1))
    async with grpc.aio.insecure_channel(target, options=unlimited) as channel:
        call = channel.stream_stream(METHOD)(
            metadata=(("authorization", f"Bearer {token}"),), compression=grpc.Compression.Gzip
        )
        try:
            yield HostileStream(call)
        finally:
            call.cancel()


async def brings(target: str, token: str, who: Signer, *entries: Entry, first: int = 0) -> None:
    """Bring `entries` to the node at `target`, over a stream of their own, to an acknowledgement of all."""
    async with stream_to(target, token) as stream:
        await stream.greet(who)
        await stream.say(who.batch(first, *entries))
        answer = await stream.hear(Ack, Refusal)
        assert answer == Ack(who.feed, first + len(entries)), answer
