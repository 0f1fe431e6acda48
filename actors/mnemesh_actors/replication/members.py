"""The ledgers of one node as the gateway sees them, and the streams between two ledgers, inside this process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

from mnemesh_actors.ledger.peers.exchange import IncomingEntries, pack
from mnemesh_actors.ledger.peers.peer_log import ENTRY_BYTES
from mnemesh_actors.ledger.peers.replica_keys import Identity
from mnemesh_actors.ports import LedgerPort
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.bell import LogHead
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_crdt.intake.arrivals import TakenIn
from mnemesh_crdt.sync.greeting import Me
from mnemesh_crdt.sync.messages import Message, TakeIn, Took

MARKS_MAX: Final = 4096
# Ray carries up to 100 KiB with a call. More goes through its object store, which takes 13 ms longer between two
# machines. A large batch is therefore packed in 3 ms.
PLAIN_BYTES_MAX: Final = 60_000


@dataclass(frozen=True, slots=True)
class Move:
    """Another ledger is primary: its incarnation, its log's end, and `known(seq)`. Its entries up to `known(seq)` are
    among the former primary's up to `seq`."""

    incarnation: str
    head: int
    known: Callable[[int], int]


@dataclass(slots=True, eq=False)
class Member:
    """One of the ledgers. `machine` is the place of the process, `place` the directory there. `acked` is the durable
    part of the primary's log. `current` says that the ledger keeps up, `level` that the primary has all of its log."""

    handle: Handle[LedgerPort]
    identity: Identity
    machine: str = ""
    place: str = ""
    bell: LogHead = field(default_factory=LogHead)
    acked: int = 0
    current: bool = False
    level: bool = False
    base: int = 0  # the primary's head when they became level
    marks: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=MARKS_MAX))
    task: asyncio.Task[None] | None = None
    fault: str = ""

    @property
    def me(self) -> Me:
        """As it says Hello."""
        known = self.identity
        # Nobody but this process opens a stream in its name.
        return Me(node_id=known.node_id, key=known.key, incarnation=known.incarnation, life=known.incarnation)

    def begin_anew(self) -> None:
        """Nothing is known any more of how it stands to the primary."""
        self.acked, self.current, self.level, self.base = 0, False, False, 0
        self.marks.clear()


class Side(Syncing):
    """One of the two ends of a stream: the ledger of a member. `published` hears the last number that was taken in,
    `marked` up to where the other's feed was read."""

    def __init__(
        self,
        member: Member,
        clock: Callable[[], int],
        published: Callable[[int], None],
        marked: Callable[[int, bool], None],
    ) -> None:
        super().__init__(member.handle, published, member.bell, member.me, clock, member.handle.prove)
        self._marked = marked

    async def take_in(self, order: TakeIn, peer: str) -> Took:
        """As Syncing.take_in."""
        took = await super().take_in(order, peer)
        self._marked(order.batch.last_seq, order.batch.feed.endswith("/repair"))
        return took

    async def _hand(self, batch: IncomingEntries, now: int) -> TakenIn:
        if sum(len(entry.raw) + ENTRY_BYTES for entry in batch.entries) <= PLAIN_BYTES_MAX:
            return await super()._hand(batch, now)
        return await self.ledger.take_packed(pack(batch), now)


class Pipe:
    """A channel between two tasks of this process."""

    def __init__(self, out: asyncio.Queue[Message | None], into: asyncio.Queue[Message | None]) -> None:
        self._out = out
        self._into = into

    @classmethod
    def pair(cls) -> tuple[Pipe, Pipe]:
        """Both ends."""
        one: asyncio.Queue[Message | None] = asyncio.Queue()
        two: asyncio.Queue[Message | None] = asyncio.Queue()
        return cls(one, two), cls(two, one)

    async def send(self, message: Message) -> None:
        """Never waits: the state machine bounds what is under way."""
        self._out.put_nowait(message)

    async def messages(self) -> AsyncIterator[Message]:
        """Until `end`."""
        while (message := await self._into.get()) is not None:
            yield message

    def end(self) -> None:
        """Nothing more comes from this end."""
        self._out.put_nowait(None)
