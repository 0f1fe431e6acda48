"""The streams between the primary ledger of a node and each of the others, and what they tell of how far those are.

Decides neither who is primary nor what a writer is told.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import structlog

from mnemesh_actors.ledger.peers.replica_keys import cursor_name
from mnemesh_actors.notices import Notice
from mnemesh_actors.replication.members import Member, Pipe, Side
from mnemesh_actors.runtime.bell import News
from mnemesh_actors.streams.stream_shell import StreamShell
from mnemesh_crdt.sync.handshake import DIALER, LISTENER
from mnemesh_crdt.sync.messages import Status
from mnemesh_crdt.sync.stream import Stream
from mnemesh_memory.access.grants import EVERY_SPACE, PeerGrant
from mnemesh_memory.values.errors import MnemeshError

RECONNECT_S: Final = 0.3
KEYS_PAGE: Final = 500
ALL: Final = PeerGrant(read=(EVERY_SPACE,), write=(EVERY_SPACE,), principal="", relay=True)
log = structlog.get_logger("mnemesh.replication")


class Links(ABC):
    """`members` with their streams. `_moves` counts how often the primary was another one; `_acks` is how far of its
    log the furthest of the others durably has. `missing` are the ledgers, by id with their places, that may hold
    acknowledged writes which the primary lacks."""

    def __init__(
        self, members: Sequence[Member], primary: Member, clock: Callable[[], int], notice: Callable[[str], None]
    ) -> None:
        self.members = list(members)
        self.primary = primary
        self._clock = clock
        self._notice = notice
        self._acks = News()
        self._published: Callable[[int], None] = lambda seq: None
        self._moves = 0
        self.missing: dict[str, str] = {}
        self._admitting: set[asyncio.Task[None]] = set()

    def _others(self) -> list[Member]:
        return [member for member in self.members if member is not self.primary]

    def _current(self) -> list[Member]:
        return [member for member in self._others() if member.current]

    @abstractmethod
    def _tell(self) -> None:
        """Say how the ledgers stand, when that has changed."""

    @abstractmethod
    def _no_longer_missing(self, member: Member) -> None:
        """The primary has everything that `member` has, which was missing."""

    async def join(self, member: Member) -> None:
        """Another ledger: it fills from the primary, and the primary from it."""
        _, head = await member.handle.position()
        member.bell.tell(head)
        self.members.append(member)
        self.connect(member)

    def connect(self, member: Member) -> None:
        """Keep a stream between the primary and `member`."""
        member.task = asyncio.create_task(self._keep_level(member), name=f"replica-{member.identity.node_id[:8]}")
        member.task.add_done_callback(partial(self._ended, member))

    def _ended(self, member: Member, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            member.current, member.fault = False, f"ended by a fault of ours: {error!r}; restart the node"
            log.error("replica_ended", replica=member.identity.node_id, exc_info=error)
            id_ = member.identity.node_id
            self._notice(Notice(f"ledger {id_}", f"ledger replica {id_}: {member.fault}"))

    async def _keep_level(self, member: Member) -> None:
        while True:
            try:
                last = await self._stream(member)
                member.fault = last.reason
            except MnemeshError as error:
                member.fault = error.message
            member.current = False
            log.info("replica_away", replica=member.identity.node_id, reason=member.fault)
            await asyncio.sleep(RECONNECT_S)

    async def _stream(self, member: Member) -> Status:
        """One stream between the primary and `member`, to its end; how it stood then, on the primary's side."""
        primary, moves = self.primary, self._moves
        here = Side(primary, self._clock, partial(self._primary_took, moves), lambda seq, repair: None)
        there = Side(member, self._clock, member.bell.tell, partial(self._mark, member, moves))
        cursors = await here.cursors(cursor_name(member.identity.node_id))
        near, far = Pipe.pair()
        told = partial(self._heard, member, moves)
        stream = Stream(primary.me, ALL, expects=member.identity.node_id)
        shell = StreamShell(here, stream, cursor_name, told, back=True)
        answering = Stream(member.me, ALL, expects=primary.identity.node_id)
        other = StreamShell(there, answering, cursor_name, lambda status: None, compare=False)
        listening = asyncio.create_task(other.run(LISTENER, far), name="replica-listen")
        listening.add_done_callback(lambda _: far.end())
        try:
            return await shell.run(DIALER, near, cursors)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    def _primary_took(self, moves: int, seq: int) -> None:
        """Entries of another ledger are in the primary's log."""
        if moves == self._moves and seq > self.primary.bell.head:
            self.primary.bell.tell(seq)
            self._published(seq)

    def _mark(self, member: Member, moves: int, taken: int, repair: bool) -> None:
        """`member` has read the primary's log up to `taken`, or was sent entries again from anywhere in it."""
        if moves != self._moves or not member.level:
            return
        if repair:
            member.base = self.primary.bell.head
        else:
            member.marks.append((max(taken, member.base), member.bell.head))

    def _heard(self, member: Member, moves: int, status: Status) -> None:
        """The stream with `member` stands like this, as the primary's side sees it."""
        if moves != self._moves or status.phase != "open":
            return
        member.fault = ""
        member.acked = max(member.acked, status.acked)
        if status.caught_up and not member.level:
            member.level, member.base = True, self.primary.bell.head
            member.marks.append((member.base, member.bell.head))
            log.info("replica_level", replica=member.identity.node_id, seq=member.acked)
        if member.level and not member.current and member.acked >= self.primary.bell.head:
            # An event loop keeps no task by itself.
            task = asyncio.create_task(self._admit(member, moves), name="admit-replica")
            self._admitting.add(task)
            task.add_done_callback(self._admitting.discard)
        if member.current:
            self._acks.tell(member.acked)

    async def _admit(self, member: Member, moves: int) -> None:
        """A member that has every entry is counted once it has the idempotency keys, too. One that was missing has keys
        of its own, which are handed over first."""
        primary = self.primary
        with suppress(MnemeshError):  # tried again with the next status
            if member.identity.node_id in self.missing:
                await _teach(member, primary)
                if moves == self._moves:
                    self._no_longer_missing(member)
            await _teach(primary, member)
            if moves == self._moves and not member.current:
                member.current = True
                self._acks.tell(member.acked)
                self._tell()


async def _teach(source: Member, target: Member) -> None:
    """`target` knows every idempotency key that `source` does."""
    after = ("", "")
    while keys := await source.handle.used_keys(0, after, KEYS_PAGE):
        await target.handle.learn(keys)
        after = (keys[-1].agent, keys[-1].key)
