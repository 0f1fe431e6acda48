"""The streams between the primary ledger of a node and each of the others, and the promises of these at present.

Decides neither who is primary nor whom a writer waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from mnemesh_actors.ledger.store.replica_cursors import cursor_name
from mnemesh_actors.notices import Notice
from mnemesh_actors.replication.members import Member, Pipe, Side
from mnemesh_actors.runtime.bell import LogHead
from mnemesh_actors.runtime.tasks import begin_beside, cancelled
from mnemesh_actors.streams.stream_shell import StreamShell
from mnemesh_crdt.sync.greeting import DIALER, LISTENER
from mnemesh_crdt.sync.messages import Status
from mnemesh_crdt.sync.stream import Stream
from mnemesh_memory.access.grants import EVERY_SPACE, PeerGrant
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model_status import LedgerReplica

RECONNECT_S: Final = 0.3
KEYS_PAGE: Final = 500
# In the answer to each write. `status` says which ledger is meant.
LACKING: Final = "degraded: a ledger with acknowledged writes that may be missing here is away; see `mnemesh status`"
ALL: Final = PeerGrant(read=(EVERY_SPACE,), write=(EVERY_SPACE,), principal="", relay=True)
log = structlog.get_logger("mnemesh.replication")


@dataclass(eq=False)
class Links:
    """The ledgers with their streams. `noted` keeps the primary, the ledger level with it, and the `missing` ledgers
    for the next start. No write is acknowledged without a level one before that is noted."""

    members: list[Member]
    primary: Member
    clock: Callable[[], int]
    notice: Callable[[str], None]
    noted: Callable[[], None]
    missing: dict[str, str]  # by id with places, ledgers that may hold acknowledged writes missing in the primary

    def __post_init__(self) -> None:
        self._noted_level: frozenset[str] = frozenset()
        self._acks = LogHead()  # how far of the primary's log the furthest of the others durably has
        self._published: Callable[[int], None] = lambda seq: None
        self._moves = 0  # how often another ledger became primary
        self._admitting: set[asyncio.Task[None]] = set()
        self._said = (False, False)  # the last words: writes may be missing, and writes are on one machine

    def _others(self) -> list[Member]:
        return [member for member in self.members if member is not self.primary]

    def _current(self) -> list[Member]:
        return [member for member in self._others() if member.current]

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
            self.notice(Notice(f"ledger {id_}", f"ledger replica {id_}: {member.fault}"))

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
        """One stream between the primary and `member`, to its end. Returns the last status on the primary's side."""
        primary, moves = self.primary, self._moves
        here = Side(primary, self.clock, partial(self._primary_took, moves), lambda seq, repair: None)
        there = Side(member, self.clock, member.bell.tell, partial(self._mark, member, moves))
        cursors = await here.ledger.cursors(cursor_name(member.identity.node_id))
        near, far = Pipe.pair()
        heard = partial(self._heard, member, moves)
        stream = Stream(primary.me, ALL, expects=member.identity.node_id)
        shell = StreamShell(here, stream, cursor_name, heard, back=True)
        answering = Stream(member.me, ALL, expects=primary.identity.node_id)
        other = StreamShell(there, answering, cursor_name, lambda status: None, compare=False)
        listening = asyncio.create_task(other.run(LISTENER, far), name="replica-listen")
        listening.add_done_callback(lambda _: far.end())
        try:
            return await shell.run(DIALER, near, cursors)
        finally:
            await cancelled(listening)

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
            begin_beside(self._admitting, self._admit(member, moves), "admit-replica")
        if member.current:
            self._acks.tell(member.acked)

    async def _admit(self, member: Member, moves: int) -> None:
        """A member that has every entry is counted once it has the idempotency keys, too. A ledger that was missing
        hands over its own keys first."""
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

    # ---- health -----------------------------------------------------------------------------------------------

    @property
    def level(self) -> frozenset[str]:
        """The ledger without which no write is acknowledged at present, if there is one. Of several any may be it."""
        current = self._current()
        return frozenset(member.identity.node_id for member in current) if len(current) == 1 else frozenset()

    def _note(self) -> None:
        """Keep how it stands for the next start, durably."""
        self._noted_level = self.level
        self.noted()

    @property
    def degraded(self) -> str:
        """Why less is promised at present than two ledgers with everything do, or ""."""
        return "; ".join(filter(None, (self._lacking, self._on_one)))

    @property
    def _on_one(self) -> str:
        """Why writes are on one machine only, or ""."""
        if self._current():
            return ""
        away = "; ".join(member.fault for member in self._others() if member.fault)
        return f"degraded: on one machine only, {away or 'no second ledger keeps up'}"

    @property
    def _lacking(self) -> str:
        """Which ledgers have to come back before every acknowledged write is here, or ""."""
        away = ", ".join(f"{id_[:12]} ({place})" for id_, place in self.missing.items())
        return away and (
            f"degraded: acknowledged writes may be missing until ledger {away} is back: start its machine. If that is "
            "lost for good, stop the node, take the ledger's entry out of replicas.json in the data directory, and "
            "start the node again"
        )

    def _tell(self) -> None:
        """Say how it stands, once when that changes."""
        why = (bool(self._lacking), bool(self._on_one))
        if why != self._said:
            said = self.degraded
            log.warning("ledger_degraded", reason=said) if said else log.info("ledger_on_two_machines")
            self.notice(Notice("ledger", f"ledger {said}" if said else "ledger on two machines again"))
        self._said = why

    def _no_longer_missing(self, member: Member) -> None:
        if self.missing.pop(member.identity.node_id, None) is not None:
            log.info("ledger_no_longer_missing", replica=member.identity.node_id)
            self._note()
            self._tell()

    def _shown(self, member: Member, head: int) -> LedgerReplica:
        first = member is self.primary
        return LedgerReplica(
            actor=member.handle.name,
            role="primary" if first else "secondary",
            state="ok" if first or member.current else f"behind: {member.fault}" if member.fault else "behind",
            node_id=member.identity.node_id,
            machine=member.machine,
            place=member.place,
            incarnation=member.identity.incarnation,
            seq=head if first else member.bell.head,
            lag=0 if first else max(0, head - member.acked),
        )


async def _teach(source: Member, target: Member) -> None:
    """`target` knows every idempotency key that `source` does."""
    after = ("", "")
    while keys := await source.handle.used_keys(0, after, KEYS_PAGE):
        await target.handle.learn(keys)
        after = (keys[-1].agent, keys[-1].key)
