"""One ledger made of several on different machines: a write is acknowledged once two machines have committed it.

The gateway decides which ledger is asked, the primary. All are equal replicas with a log, a key and an incarnation of
their own. The state machine of sync carries every entry between the primary and the others, through this process
instead of a network. Rules.

1. A commit is answered when another ledger has durably taken it in. After ACK_S without that, it is answered if its
   ledger still lives, and says `degraded`. While no other ledger keeps up, nobody waits for it.
2. When the primary is gone, or does not answer while another does, that other goes on. Its log has other numbers: who
   follows the log is told before anything is asked of the new primary.
3. Operations on their way are then asked of the new primary. A known operation is answered from the log. An unknown one
   gets a new operation id, because the old machine may have written another change under the old id. A new memory
   that names no other keeps id and operation, for its change is the same bytes on every machine.
4. Entries that only the old machine had come back with its ledger, which is found and merged. Until then it is
   `missing`, and everybody is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, TypeVarTuple

import structlog

from mnemesh_actors.ledger.commands import Command, Committed, Create
from mnemesh_actors.ledger.peers.erase import Erase, Gone
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.ledger.peers.replica_keys import UsedKey, keys_of
from mnemesh_actors.notices import Notice
from mnemesh_actors.ports import LedgerPort
from mnemesh_actors.replication.members import Member, Move
from mnemesh_actors.replication.replica_streams import LACKING, Links
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.tasks import cancelled, looked_at
from mnemesh_crdt.intake.arrivals import TakenIn
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.errors import MnemeshError, Unavailable
from mnemesh_memory.values.model import LedgerStatus

ACK_S: Final = 1.0
# A ledger that has not answered for so long, while another does, is given up.
HUNG_S: Final = 4.0
WATCH_S: Final = 0.5
ANSWER_S: Final = 1.0
OPERATION_BYTES: Final = 16
Answer = TypeVar("Answer")
Args = TypeVarTuple("Args")
Heard: TypeAlias = Callable[[Sequence[Command], Sequence[Committed | Exception]], None]
log = structlog.get_logger("mnemesh.replication")


class _Moved(Exception):
    """The primary is another one than when the call was made."""


class ReplicatedLedger(Links, Handle[LedgerPort]):
    """Stands where the handle of a ledger does. `entropy(n)` gives n random bytes, `clock` ms since the epoch.

    `noted` keeps the primary, the ledger level with it, and the `missing` ledgers for the next start.
    """

    name = "ledger-0"

    def __init__(
        self,
        members: Sequence[Member],
        primary: Member,
        clock: Callable[[], int],
        entropy: Callable[[int], bytes],
        notice: Callable[[str], None],
        ack_s: float = ACK_S,
        hung_s: float = HUNG_S,
        noted: Callable[[], None] = lambda: None,
        missing: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(list(members), primary, clock, notice, noted, dict(missing or {}))
        self._alone = 0  # up to which number of the primary's log another one may lack acknowledged writes
        self._entropy = entropy
        self._ack_s = ack_s
        self._hung_s = hung_s
        self._tell_move: Callable[[Move], None] = lambda move: None
        self._moved = asyncio.Event()
        self._choosing = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        self._committed: Heard = lambda *of: None

    async def start(self) -> None:
        """Connect the ledgers, and watch over the primary from now on."""
        for member in self.members:
            _, head = await member.handle.position()
            member.bell.tell(head)
        self._alone = self.primary.bell.head
        for member in self._others():
            self.connect(member)
        if self.missing:
            self._tell()
        self._watch = asyncio.create_task(self._watch_primary(), name="ledger-watch")

    def follow(
        self, published: Callable[[int], None], moved: Callable[[Move], None], committed: Heard = lambda *of: None
    ) -> None:
        """Tell `published` of entries from other ledgers, and `moved` when another ledger goes on. `committed` hears of
        commands with their results while a second machine takes them in."""
        self._published = published
        self._committed = committed
        self._tell_move = moved

    async def close(self) -> None:
        """Stop. The ledgers themselves are ended by their runtime."""
        await cancelled(self._watch, *(member.task for member in self.members))

    async def leave(self, member: Member) -> None:
        """A ledger whose machine is gone. The last one stays, to be waited for."""
        if member is self.primary:
            await self._give_up(member, asked=True)
        if member is not self.primary:
            self.members.remove(member)
            await cancelled(member.task)

    # ---- asking -----------------------------------------------------------------------------------------------

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        if method.startswith("_"):
            raise AttributeError(method)
        bound = partial(self._ask, getattr(LedgerPort, method))
        self.__dict__[method] = bound
        return bound

    async def _ask(self, method: Callable[[LedgerPort, *Args], Answer], *args: *Args) -> Answer:
        """The answer of the primary, or of the next one when the primary is lost meanwhile."""
        while True:
            try:
                return await self._call(method, *args)
            except _Moved:
                continue

    async def _call(self, method: Callable[[LedgerPort, *Args], Answer], *args: *Args) -> Answer:
        """The answer of the present primary. Raises _Moved when another ledger is primary before the answer."""
        primary, moved = self.primary, self._moved
        call: asyncio.Future[Answer] = asyncio.ensure_future(getattr(primary.handle, method.__name__)(*args))
        waiting = asyncio.ensure_future(moved.wait())
        try:
            await asyncio.wait((call, waiting), return_when=asyncio.FIRST_COMPLETED)
            if moved.is_set():
                raise _Moved
            return call.result()
        except Unavailable as error:
            if error.fields.get("part") != primary.handle.name or not await self._give_up(primary):
                raise
            raise _Moved from error
        finally:
            waiting.cancel()
            if not call.done():
                call.add_done_callback(looked_at)

    # ---- writing ----------------------------------------------------------------------------------------------

    async def commit(self, commands: Sequence[Command]) -> list[Committed | Exception]:
        """As Ledger.commit, on two machines. The reason names a write that only one machine has within `ack_s`."""
        first = moves = self._moves
        asked = list(commands)
        earlier: dict[int, Committed] = {}  # by ledgers that were given up since
        while True:
            try:
                if moves != self._moves:
                    moves = self._moves
                    asked = await self._renewed(asked)
                results = await self._call(LedgerPort.commit, asked)
                if moves != first and (arrived := await self._arrived(commands, asked, results)):
                    asked = arrived
                    continue  # what is in the log by now is answered from there
                results = [_as_told(result, earlier.get(at)) for at, result in enumerate(results)]
                if moves == first:
                    self._committed(asked, results)
                done = {at: result for at, result in enumerate(results) if isinstance(result, Committed)}
                earlier |= done
                keys = keys_of(asked, results)
                if keys and moves != first:
                    await self._call(LedgerPort.learn, keys)
                why = await self._on_two(max((result.seq for result in done.values()), default=0), keys)
            except _Moved:
                continue
            why = "; ".join(filter(None, (self._lacking and LACKING, why)))
            return [_with_reason(result, why) for result in results]

    async def _renewed(self, commands: Sequence[Command]) -> list[Command]:
        """`commands` for a ledger that may not know them, or may: see rule 3."""
        known = await self._call(LedgerPort.known, [command.actor for command in commands])
        return [
            command
            if here or (isinstance(command, Create) and not command.names_others)
            else replace(command, actor=self._entropy(OPERATION_BYTES))
            for command, here in zip(commands, known, strict=True)
        ]

    async def _arrived(
        self, first: Sequence[Command], asked: Sequence[Command], results: Sequence[Committed | Exception]
    ) -> list[Command]:
        """`asked`, with the first operation where its entry came after the question for it. The repeated one has then
        changed nothing. Empty when no entry came so late."""
        idle = [
            at for at, result in enumerate(results)
            if isinstance(result, Committed) and result.action == "NOOP" and asked[at] is not first[at]
        ]  # fmt: skip
        known = await self._call(LedgerPort.known, [first[at].actor for at in idle]) if idle else []
        late = {at for at, here in zip(idle, known, strict=True) if here}
        return [first[at] if at in late else command for at, command in enumerate(asked)] if late else []

    async def _on_two(self, seq: int, keys: Sequence[UsedKey] = ()) -> str:
        """Wait until a second ledger durably has the log up to `seq` and `keys`; why that is not so, or "". Raises
        _Moved when another ledger went on meanwhile."""
        moves = self._moves
        self.primary.bell.tell(seq)
        if seq and self._current():
            late = ""
            try:
                async with asyncio.timeout(self._ack_s):
                    await self._acks.after(seq - 1)
                    if keys:  # after the entries: a key that answers for nothing would lose a write
                        await asyncio.gather(*(member.handle.learn(keys) for member in self._current()))
            except TimeoutError:
                late = f"no second machine has it within {self._ack_s:g} s"
            except MnemeshError as error:
                late = error.message
            if moves == self._moves and late:
                for member in self._current():
                    member.current, member.fault = False, late
        if seq and self._on_one:
            await self._outlive()
        if moves != self._moves:
            raise _Moved
        why = self._on_one
        if self.level != self._noted_level:
            self._note()  # before anything is acknowledged that the noted one may lack
        if why:
            self._alone = max(self._alone, seq)
        self._tell()
        return why if seq else ""

    async def _outlive(self) -> None:
        """A write on one machine only is acknowledged when that machine still answers. Mostly its own death keeps the
        second from taking the write in. Raises _Moved, and Unavailable when no ledger answers."""
        try:
            await self._call(LedgerPort.position)
        except Unavailable:
            if await self._head_of(self.primary) is None:  # its process may be back
                raise

    async def erase(self, command: Erase) -> Gone:
        """As Ledger.erase, on two machines. `alone` says why it is on one only."""
        changes = 0
        while True:
            try:
                gone = await self._call(LedgerPort.erase, command)
                changes = max(changes, gone.changes)
                why = await self._on_two(gone.seq)
            except _Moved:
                command = replace(command, actor=self._entropy(OPERATION_BYTES))
                continue
            return replace(gone, changes=changes, alone=why)

    async def take_in(self, batch: IncomingEntries, now: int) -> TakenIn:
        """As Ledger.take_in. A peer keeps what it brings, so the second machine is not waited for."""
        return await self._taken(LedgerPort.take_in, batch, now)

    async def release(self, ids: Sequence[int], now: int, grants: Mapping[str, PeerGrant] | None = None) -> TakenIn:
        """As Ledger.release. Quarantine is the primary's own."""
        return await self._taken(LedgerPort.release, ids, now, grants)

    async def _taken(self, method: Callable[[LedgerPort, *Args], TakenIn], *args: *Args) -> TakenIn:
        try:
            taken = await self._call(method, *args)
        except _Moved:
            raise Unavailable("the ledger of another machine goes on; send it again", part="ledger") from None
        self.primary.bell.tell(taken.last)
        return taken

    async def status(self) -> LedgerStatus:
        """The primary's, with every replica: the first is the primary."""
        status = await self._ask(LedgerPort.status)
        head = max(status.seq, self.primary.bell.head)
        replicas = tuple(self._shown(member, head) for member in (self.primary, *self._others()))
        alarms = [f"ledger {peer.place}: {alarm}" for peer in self._others() for alarm in await self._alarms_of(peer)]
        return replace(status, replicas=replicas, state=self.degraded or status.state, alarms=(*status.alarms, *alarms))

    async def _alarms_of(self, member: Member) -> Sequence[str]:
        """The alarms of a ledger that is not the primary. Without an answer there are none, and the replicas tell
        why."""
        try:
            status = await asyncio.wait_for(member.handle.status(), ANSWER_S)
        except (TimeoutError, MnemeshError):
            return ()
        return status.alarms

    # ---- who is primary ---------------------------------------------------------------------------------------

    async def _watch_primary(self) -> None:
        while True:
            await asyncio.sleep(WATCH_S)
            primary = self.primary
            try:
                await asyncio.wait_for(primary.handle.position(), self._hung_s)
            except TimeoutError:
                await self._give_up(primary, asked=True)
            except MnemeshError:
                await self._give_up(primary)

    async def _give_up(self, gone: Member, *, asked: bool = False) -> bool:
        """Let another ledger go on instead of `gone`, which was `asked` already and did not answer. False when it
        answers, or when no other does."""
        async with self._choosing:
            if self.primary is not gone:
                return True
            if not asked and await self._head_of(gone) is not None:
                return False
            others = self._others()
            heads = await asyncio.gather(*map(self._head_of, others))
            able = [member for member, head in zip(others, heads, strict=True) if head is not None]
            if not able:
                return False
            self._switch(max(able, key=lambda member: (member.current, member.acked, member.bell.head)))
            return True

    async def _head_of(self, member: Member) -> int | None:
        """The end of its log, or None when it does not answer."""
        try:
            _, head = await asyncio.wait_for(member.handle.position(), ANSWER_S)
        except (TimeoutError, MnemeshError):
            return None
        member.bell.tell(head)
        return head

    def _switch(self, to: Member) -> None:
        """All at once: nothing is asked of the new primary before everyone who follows the log was told."""
        old, known = self.primary, list(to.marks)
        log.warning("ledger_moved", from_machine=old.machine, to_machine=to.machine, seq=to.bell.head)
        moved_to = f"ledger moved from machine {old.machine[:12]} to {to.machine[:12]}"
        self.notice(Notice("ledger moved", moved_to))
        self._moves += 1
        self.primary = to
        if to.acked < self._alone:
            self.missing[old.identity.node_id] = old.place
        self.missing.pop(to.identity.node_id, None)
        self._alone = to.bell.head
        self._acks.restart(0)
        move = Move(
            to.identity.incarnation, to.bell.head, lambda seq: max((own for of, own in known if of <= seq), default=0)
        )
        for member in self.members:
            member.begin_anew()
            if member.task is not None:
                member.task.cancel()
                member.task = None
        self._note()  # before anything is asked of the new primary
        self._tell_move(move)
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
        for member in self._others():
            self.connect(member)


def _as_told(result: Committed | Exception, earlier: Committed | None) -> Committed | Exception:
    """The answer to an operation whose ledger was given up: as `earlier`, with the memory and the number of the ledger
    that goes on."""
    if earlier is not None and isinstance(result, Committed) and result.replayed:
        return replace(earlier, memory=result.memory, seq=result.seq)
    return result


def _with_reason(result: Committed | Exception, why: str) -> Committed | Exception:
    if why and isinstance(result, Committed):
        return replace(result, reason=f"{result.reason}; {why}")
    return result
