"""Enemies in a process of their own send a node every kind of garbage, as fast as possible, for a given time.

Run as a program: reads one JSON object from stdin (see `main`), and prints one with the counts of messages and ends.
Each kind has a token of its own, so no kind is held off for the garbage of another.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import grpc
from hostile_peer import HostileStream, Signer, resealed, stream_to

from mnemesh_crdt.changes.envelope import ERASE, RETRACT, Entry
from mnemesh_crdt.sync.messages import Ack, Batch, Digest, Hello, Message, Ping, Proof, Refusal, Resend
from mnemesh_gateway.peers.sync_channel import to_wire
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.ids import fresh_id
from mnemesh_proto.v1 import sync_pb2

BATCH = 100
# The refused entries of a stream, below the number for which a peer is held off.
BATCHES_A_STREAM = limits.SYNC_REFUSED_ENTRIES_MAX // BATCH - 1
SHOUTS_A_STREAM = 50
BASES = 100
HEAVY_BATCHES = 150
SAID_A_LIFE_MAX = 10_000
NAMES = 20  # node keys of each enemy but the one who has thousands
STOLEN = 500
HALF_OPEN = 8
HELD_S = 3.0
TURN_S = 20.0  # no turn of an enemy lasts longer, whatever the node does
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
GONE = (EOFError, OSError, TimeoutError, grpc.aio.AioRpcError, grpc.aio.UsageError, asyncio.InvalidStateError)


@dataclass
class Enemy:
    """One kind of garbage, sent with the token of `name`. `sent` counts messages and entries, `ended` how turns
    ended, in grpc's or the node's own words."""

    name: str
    grpc: str
    http: str
    token: str
    chance: random.Random
    sent: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._names: Iterator[int] = cycle(range(NAMES))
        self._seed = self.chance.getrandbits(32)
        self._lives = 0
        # An entry takes a millisecond to write and far less to damage.
        author = self.signer()
        self.bases = [author.says(f"base {number} of {self._seed}") for number in range(BASES)]

    def signer(self) -> Signer:
        """A node in a new life of its log, so that no cursor of the hub stands in the way."""
        self._lives += 1
        name = f"far {self._seed} {next(self._names)}"
        who = Signer(name, self.name, count=self._lives * SAID_A_LIFE_MAX, life=f"life-{self._lives}")
        who.incarnation = f"{self.chance.getrandbits(128):032x}"
        return who

    async def say(self, stream: HostileStream, message: Message) -> None:
        await stream.say(message)
        self.sent["messages"] += 1
        self.sent["entries"] += len(message.entries) if isinstance(message, Batch) else 0

    async def shout(self, stream: HostileStream, data: bytes) -> None:
        await stream.shout(data)
        self.sent["messages"] += 1
        self.sent["bytes of noise"] += len(data)

    @asynccontextmanager
    async def greeted(self) -> AsyncIterator[tuple[HostileStream, Signer]]:
        """An open stream, and the signer who said Hello."""
        who = self.signer()
        async with stream_to(self.grpc, self.token) as stream:
            await stream.greet(who)
            yield stream, who

    async def give(self, make: Callable[[Signer, int], Entry], batches: int = BATCHES_A_STREAM) -> None:
        """One stream of batches, each answered before the next. `make` gives each entry for a signer and a number."""
        async with self.greeted() as (stream, who):
            for turn in range(batches):
                entries = [make(who, number) for number in range(turn * BATCH, (turn + 1) * BATCH)]
                await self.say(stream, who.batch(turn * BATCH, *entries))
                answer = await stream.hear(Ack, Refusal)
                if isinstance(answer, Refusal) or answer.full:
                    raise EOFError(getattr(answer, "code", "full"))

    # ---- kinds ------------------------------------------------------------------------------------------------

    async def noise(self) -> None:
        """Bytes that are no message, or nearly one."""
        who = self.signer()
        async with stream_to(self.grpc, self.token) as stream:
            if self.chance.random() < 0.5:
                await stream.say(who.hello())
            else:
                await stream.greet(who)
            for _ in range(SHOUTS_A_STREAM):
                await self.shout(stream, self._nearly(who))
            await stream.hear(Refusal)

    def _nearly(self, who: Signer) -> bytes:
        chance, base = self.chance, self.chance.choice(self.bases)
        kinds: tuple[Callable[[], bytes], ...] = (
            lambda: chance.randbytes(chance.randrange(1, 4_000)),
            lambda: wired(who.batch(0, base))[: chance.randrange(1_000)],
            lambda: self._damaged(wired(who.batch(0, base, *chance.sample(self.bases, 3)))),
            lambda: wired(who.batch(9, last_seq=3)),
            lambda: wired(who.batch(0, feed=f"{chance.getrandbits(128):032x}/scope")),
            lambda: wired(Resend(1, "home/x", (chance.randrange(5_000),))),
            lambda: wired(Ack("ab/scope", chance.getrandbits(62))),
            lambda: wired(who.batch(0, replace(base, type="drop"))),
            lambda: wired(who.batch(0, replace(base, at=chance.choice((-(2**62), 2**62))))),
            lambda: wired(Digest("team/x", {5_000: "ab" * 32})),
        )
        return chance.choice(kinds)()

    def _damaged(self, data: bytes) -> bytes:
        damaged = bytearray(data)
        for _ in range(self.chance.randrange(1, 20)):
            damaged[self.chance.randrange(len(damaged))] = self.chance.randrange(256)
        return bytes(damaged)

    async def lies(self) -> None:
        """Entries that are forged, altered, misnamed or of other spaces."""
        await self.give(lambda who, number: self._lie(who))

    def _lie(self, who: Signer) -> Entry:
        chance, base = self.chance, self.chance.choice(self.bases)
        at = chance.randrange(12, len(base.raw))
        kinds: tuple[Callable[[], Entry], ...] = (
            lambda: replace(base, raw=base.raw[:at] + bytes([base.raw[at] ^ 16]) + base.raw[at + 1 :]),
            lambda: replace(base, raw=base.raw[:at]),
            lambda: replace(base, raw=chance.randbytes(at), hash=f"{chance.getrandbits(256):064x}"),
            lambda: replace(base, signature=chance.randbytes(64)),
            lambda: replace(base, node=f"{chance.getrandbits(128):032x}"),
            lambda: who.signs(base.doc, "home/x", base.raw),
            lambda: who.signs(base.doc, "team/x", base.raw, agent="ana/cli"),
            lambda: who.signs("not-an-id", base.space, base.raw),
            lambda: who.signs(base.doc, f"team/{chance.randrange(1_000)}", base.raw),
            lambda: who.signs(self._id(), "team/x", base.raw),
        )
        return chance.choice(kinds)()

    def _id(self) -> str:
        """The id of a memory that does not exist."""
        return fresh_id(self.chance.getrandbits(40), "team/x", self.name, self.chance.randbytes(16))

    async def altered(self) -> None:
        """Changes with flipped bits, checksums made right again, and a good signature over what came out."""

        def make(who: Signer, number: int) -> Entry:
            base = self.chance.choice(self.bases)
            raw = base.raw
            for _ in range(self.chance.randrange(1, 4)):
                raw = resealed(raw, self.chance.randrange(12, len(raw)), 1 << self.chance.randrange(8))
            try:
                return who.signs(base.doc, base.space, raw)
            except DataLoss:
                return replace(base, raw=raw)

        await self.give(make)

    async def heavy(self) -> None:
        """Refused entries of the largest size, so that the quarantine grows; and larger entries."""
        async with self.greeted() as (stream, who):
            for turn in range(HEAVY_BATCHES):
                base = self.chance.choice(self.bases)
                size = limits.CHANGE_BYTES_MAX - self.chance.randrange(1_000)
                lies = [
                    replace(base, raw=self.chance.randbytes(size), hash=f"{self.chance.getrandbits(256):064x}")
                    for _ in range(6)
                ]
                await self.say(stream, who.batch(turn * 6, *lies))
                if isinstance(await stream.hear(Ack, Refusal), Refusal):
                    return
            huge = [replace(base, raw=bytes(150_000))] * 8
            await self.shout(stream, wired(who.batch(HEAVY_BATCHES * 6, *huge)))
            await stream.hear(Refusal)

    async def swollen(self) -> None:
        """Messages beyond the size of one, small on the wire."""
        async with self.greeted() as (stream, _):
            await self.shout(stream, bytes(limits.GRPC_MESSAGE_BYTES_MAX * self.chance.randrange(2, 8)))
            await stream.hear(Refusal)

    async def replays(self) -> None:
        """Entries that the node gave or took, again and again; whole, or with other names."""
        stolen: list[Entry] = []
        keys: dict[str, bytes] = {}
        async with self.greeted() as (stream, who):
            while len(stolen) < STOLEN:
                batch = await stream.hear(Batch)
                stolen += batch.entries
                keys |= batch.keys
                await stream.say(Ack(batch.feed, batch.last_seq))
                if batch.last_seq >= batch.head:
                    break

            def again(number: int) -> Entry:
                if not stolen or number % 3 == 0:
                    return self.bases[number % BASES]
                one = self.chance.choice(stolen)
                if number % 3 == 1:
                    return one
                return replace(one, **self.chance.choice(({"agent": self.name}, {"space": "team/y"}, {"at": 0})))

            for turn in range(BATCHES_A_STREAM * 2):
                entries = [again(number) for number in range(BATCH)]
                await self.say(stream, who.batch(turn * BATCH, *entries, keys=keys | who.keys))
                await stream.hear(Ack)

    async def disorder(self) -> None:
        """Changes of memories that never come, erasures of memories that nobody has, batches out of order."""

        def make(who: Signer, number: int) -> Entry:
            if number % 4 == 0:
                return who.erases(self.chance.choice((ERASE, RETRACT)), self._id())
            return who.adds(who.says(f"never sent {number}"), f"builds on nothing {number}")

        await self.give(make, batches=2)
        async with self.greeted() as (stream, who):
            for after in self.chance.sample(range(0, 10_000, 10), 5):
                await self.say(stream, who.batch(after, self.chance.choice(self.bases)))
            await stream.hear(Refusal)

    async def keys(self) -> None:
        """Entries of thousands of nodes, well signed and not allowed."""
        async with self.greeted() as (stream, who):
            for turn in range(BATCHES_A_STREAM):
                base, shown, entries = self.chance.choice(self.bases), {}, []
                for _ in range(BATCH):
                    other = Signer(f"one of many {self.chance.getrandbits(64)}", self.name)
                    shown |= other.keys
                    entries.append(other.signs(base.doc, base.space, resealed(base.raw, len(base.raw) // 2)))
                await self.say(stream, who.batch(turn * BATCH, *entries, keys=shown))
                await stream.hear(Ack)

    async def masks(self) -> None:
        """Callers in the name of another node, without a proof."""
        who, other = self.signer(), self.signer()
        async with stream_to(self.grpc, self.token) as stream:
            if self.chance.random() < 0.3:
                await self.say(stream, who.hello(node_id=f"{self.chance.getrandbits(128):032x}"))
                await stream.hear(Refusal)
            await self.say(stream, other.hello())
            theirs = await stream.hear(Hello)
            await self.say(stream, self.chance.choice((who.proof(theirs, node_id=other.id), Proof(bytes(64)))))
            await stream.hear(Refusal)

    async def idle(self) -> None:
        """Allowed messages without content, on one stream, as fast as the node reads."""
        async with self.greeted() as (stream, who):
            for number in range(2_000):
                chosen = self.chance.choice((Digest(f"team/{number % 50}", {}), Ping(number), who.hello()))
                await self.say(stream, chosen)

    async def half_open(self) -> None:
        """Streams without a word, without a proof, or without a reader of the answers."""

        async def one(number: int) -> None:
            who = self.signer()
            async with stream_to(self.grpc, self.token) as stream:
                if number % 3 == 1:
                    await self.say(stream, who.hello())
                elif number % 3 == 2:
                    await stream.greet(who)
                    for space in range(200):
                        await self.say(stream, Ping(space))
                with suppress(TimeoutError):
                    await asyncio.wait_for(stream.hear(Refusal), HELD_S)

        await asyncio.gather(*(one(number) for number in range(HALF_OPEN + 2)), return_exceptions=True)

    async def strangers(self) -> None:
        """Connections that no token opened, to both ports: noise, half a request, silence; and tokens that are none."""

        async def one(target: str) -> None:
            host, port = target.rsplit(":", 1)
            reader, writer = await asyncio.open_connection(host, int(port))
            try:
                noise = self.chance.randbytes(self.chance.randrange(1, 20_000))
                half = b"POST /v1/memories HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n{"
                said = self.chance.choice((noise, PREFACE + noise, PREFACE, half, b""))
                writer.write(said)
                await writer.drain()
                self.sent["bytes of noise"] += len(said)
                self.sent["connections"] += 1
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(65_536), 0.2)
            finally:
                writer.close()

        await asyncio.gather(
            *(one(self.chance.choice((self.grpc, self.http))) for _ in range(20)), return_exceptions=True
        )
        async with stream_to(self.grpc, f"mnm_{self.chance.getrandbits(128):x}") as stream:
            await stream.say(self.signer().hello())
            await stream.hear(Refusal)

    async def go_on(self, name: str, until: float) -> None:
        """Turns of one kind, one after the other."""
        turn: Callable[[], Awaitable[None]] = getattr(self, name.replace("-", "_"))
        while time.monotonic() < until:
            try:
                await asyncio.wait_for(turn(), TURN_S)
                how = "to its end"
            except GONE as error:
                how = _shortly(error)
            self.sent["turns"] += 1
            self.ended[how] += 1


KINDS = (
    "noise", "lies", "altered", "heavy", "swollen", "replays", "disorder", "keys", "masks", "idle", "half-open",
    "strangers",
)  # fmt: skip


def wired(message: Message) -> bytes:
    return to_wire(message, sync_pb2.SyncRequest).SerializeToString()


def _shortly(error: BaseException) -> str:
    """The kind of an end, without what differs from one to the next."""
    said = str(error)
    if "ended in a row" in said:
        return "held off"
    return said.partition(":")[0][:60] or type(error).__name__


async def attack(asked: dict[str, Any]) -> dict[str, Any]:
    """All kinds at once for `asked["seconds"]`."""
    until = time.monotonic() + asked["seconds"]
    enemies = {
        name: Enemy(name, asked["grpc"], asked["http"], token, random.Random(f"{asked['seed']} {name}"))
        for name, token in asked["tokens"].items()
    }
    await asyncio.gather(*(enemy.go_on(name, until) for name, enemy in enemies.items()))
    return {name: {"sent": dict(enemy.sent), "ended": dict(enemy.ended)} for name, enemy in enemies.items()}


def main() -> None:
    """`{"grpc", "http", "tokens", "seed", "seconds"}` in, what was sent of each kind out. `tokens` has one for each
    kind, issued to a principal of its name."""
    print(json.dumps(asyncio.run(attack(json.load(sys.stdin)))))


if __name__ == "__main__":
    main()
