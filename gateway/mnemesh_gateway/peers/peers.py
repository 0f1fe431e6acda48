"""Streams with other nodes: those kept up by this node, and those opened by others. Each is retried and told of.

A peer that can not be reached, does not answer or refuses the token is called again, with exponential back-off and full
jitter (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). The node itself is never held up.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from weakref import WeakValueDictionary

import grpc
import structlog

from mnemesh_actors.runtime.tasks import cancelled
from mnemesh_actors.streams.stream_shell import StreamShell
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_crdt.sync.greeting import DIALER, LISTENER
from mnemesh_crdt.sync.messages import Status
from mnemesh_crdt.sync.stream import Stream
from mnemesh_gateway.peers.peer_book import UNKNOWN, Peer, PeerBook
from mnemesh_gateway.peers.peer_guard import NEEDS_A_PERSON, Faults, NodeCopies, TurnedAway, watched
from mnemesh_gateway.peers.peer_status import SAVE_S, Contacts, LivePeer, NotTaken, PeerLog, PeerStatus, cursor_name
from mnemesh_gateway.peers.sync_channel import DialedChannel, ServedChannel
from mnemesh_memory.access.grants import OWNER, PeerGrant, any_matches
from mnemesh_memory.values.errors import FailedPrecondition, MnemeshError, NotFound, Overloaded, Unauthenticated

FIRST_WAIT_S: Final = 0.5
WAIT_S_MAX: Final = 60.0
SERVED_MAX: Final = 64
SERVED_A_PRINCIPAL_MAX: Final = 8
CLOSE_S: Final = 5.0
COMPARE_AGAIN_S: Final = 3600.0
# To be called now, a stream is opened anew when nothing was heard on it for so long, and not again for so long.
SILENT_S: Final = 1.0
ANEW_S: Final = 10.0
log = structlog.get_logger("mnemesh.sync")


class _Line(LivePeer):
    """A peer to keep up: its status, and a bell that ends the wait for the next call."""

    def __init__(self, peer: Peer, status: PeerStatus, clock: Callable[[], int], contacts: Contacts) -> None:
        super().__init__(status, clock, contacts.level)
        self.peer = peer
        self.log = PeerLog(peer.name, peer.target)
        self.task: asyncio.Task[None] | None = None
        self.compared = -COMPARE_AGAIN_S
        self.anew = -ANEW_S
        self.hung_up = False
        self.awake = asyncio.Event()


@dataclass(eq=False)
class Peers:
    """`book` holds the peers to call. `owner` is the name of this node's owner. `tokens()` gives the rights of each
    standing token on a stream, by its principal."""

    book: PeerBook
    syncing: Syncing
    clock: Callable[[], int]
    owner: str = OWNER
    tokens: Callable[[], Mapping[str, PeerGrant]] = dict

    def __post_init__(self) -> None:
        self._lines: dict[str, _Line] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._served: list[LivePeer] = []
        self._turned_away = TurnedAway()
        self._faults = Faults()
        self._copies = NodeCopies()
        self._contacts = Contacts(self.syncing)
        self.not_taken = NotTaken(self.syncing)
        self._saving: asyncio.Task[None] | None = None
        self._compared: dict[str, float] = {}  # when a stream of a principal compared last
        self._closed = False

    async def start(self) -> None:
        """Call every peer in the book. Raises Unavailable or DataLoss when the ledger can not be read."""
        await self._contacts.load()
        for peer in self.book.all():
            self._keep_up(peer)
        self._saving = asyncio.create_task(self._save_contacts(), name="peer-contacts")

    def _keep_up(self, peer: Peer, known: PeerStatus | None = None) -> _Line:
        status = known or PeerStatus(
            name=peer.name,
            incoming=False,
            target=peer.target,
            direction=peer.direction,
            spaces=peer.spaces,
            node_id=peer.node_id,
        )
        line = self._lines[peer.name] = _Line(peer, self._contacts.of(status), self.clock, self._contacts)
        line.task = asyncio.create_task(self._call_again_and_again(line), name=f"peer-{peer.name}")
        line.task.add_done_callback(lambda task: self._ended(line, task))
        return line

    def _ended(self, line: _Line, task: asyncio.Task[None]) -> None:
        """A bug ended the calls to a peer: say so, because nothing is exchanged with it any more."""
        if not task.cancelled() and (error := task.exception()) is not None:
            why = f"ended by a fault of ours: {error!r}; restart the node"
            log.error("peer_ended", peer=line.peer.name, exc_info=error)
            line.ended("refused", why)

    async def add(self, peer: Peer, wait_s: float) -> PeerStatus:
        """Keep a peer up from now on. Gives the status after the first contact, or after `wait_s`. Raises
        AlreadyExists, and FailedPrecondition when the peer refuses this node. It is then not kept."""
        async with self._turn(peer.name):
            self.book.add(peer)
            line = self._keep_up(peer)
            await line.settled(wait_s)
            if line.status.state != "refused":
                return self._noted([line.status])[0]
            await self._forget(peer.name)
            raise FailedPrecondition(
                f"{line.status.last_error}; the peer was not added", field="url", value=peer.target
            )

    async def give_token(self, name: str, token: str, wait_s: float) -> PeerStatus:
        """Call a peer with another token from now on. Gives the status after the first contact, or after `wait_s`.
        Raises NotFound, and FailedPrecondition when the peer refuses this node. The token is then what it was."""
        async with self._turn(name):
            before = self.book.get(name)
            status = await self._call_with(token, name, wait_s)
            if status.state == "refused":
                await self._call_with(before.token, name, 0)
                raise FailedPrecondition(f"{status.last_error}; the token was not changed", field="token", value=name)
            return status

    def _turn(self, name: str) -> asyncio.Lock:
        """Changes to a peer wait for each other, or two lines would call it."""
        return self._turns.setdefault(name, asyncio.Lock())

    async def _call_with(self, token: str, name: str, wait_s: float) -> PeerStatus:
        peer, line = self.book.give_token(name, token), self._lines[name]
        try:
            await cancelled(line.task)
        finally:  # also when the caller hangs up meanwhile: a peer of the book is called
            line = self._keep_up(peer, line.status.ended("connecting", "", self.clock()))
        await line.settled(wait_s)
        return self._noted([line.status])[0]

    async def remove(self, name: str) -> None:
        """End the stream and forget the peer with its token. Without such a peer, forget the absent callers with the
        token of that name. Exchanged entries stay. Raises NotFound, FailedPrecondition when all of them are connected.
        """
        async with self._turn(name):
            await self._forget(name)

    async def _forget(self, name: str) -> None:
        if name in self._lines:
            self.book.remove(name)
            await cancelled(self._lines.pop(name).task)
        elif not await self._contacts.forget(name, here := [live.status for live in self._served]):
            if not any(status.name == name for status in here):
                raise NotFound("peer", name, UNKNOWN)
            why = f"{name} called this node and is connected; end its token first: agent revoke {name}"
            raise FailedPrecondition(why, field="name", value=name)

    def status(self) -> tuple[PeerStatus, ...]:
        """Every peer that is kept up, by name. Then the streams of others, now or not long ago."""
        served = [live.status for live in self._served]
        served = sorted([*served, *self._contacts.away(served)], key=lambda status: (status.name, status.node_id))
        kept_up = (self._lines[name].status for name in sorted(self._lines))
        return self._noted((*kept_up, *served, *self._turned_away.of()))

    def deaf(self, space: str, principal: str, others: bool) -> list[str]:
        """The names of the called peers for `space` that do not erase there what `principal` erases. `others` stands
        for memories of other principals, for which a peer believes only nodes that may relay."""
        called = [self._lines[name].status for name in sorted(self._lines)]
        asked = [peer for peer in called if any_matches(peer.spaces, space)]
        return [peer.name for peer in asked if not peer.hears(space, principal) or (others and peer.only_by)]

    def names(self) -> dict[str, str]:
        """The names of the called nodes, by the name under which the ledger knows their entries."""
        return {_called(peer.node_id): peer.name for peer in self.book.all() if peer.node_id}

    def sender(self, name: str) -> str:
        """The ledger's name of a peer: of a peer of the book, or of a caller with that token."""
        return next((sender for sender, called in self.names().items() if called == name), name)

    def grants_now(self) -> dict[str, PeerGrant]:
        """The present rights of each peer, by the name under which the ledger knows its entries."""
        called = {_called(peer.node_id): peer.grant for peer in self.book.all() if peer.node_id}
        return {**self.tokens(), **called}

    def _noted(self, statuses: Iterable[PeerStatus]) -> tuple[PeerStatus, ...]:
        tokens, head, now = self.tokens(), self.syncing.head, self.clock()
        copy, slowed = self._copies.note, self.syncing.quotas.note
        shown = (status.noted(copy(status.node_id) or slowed(status.contact_name)).at(head, now) for status in statuses)
        return tuple(status.come(tokens.get(status.name)) if status.incoming else status for status in shown)

    async def now(self, name: str, wait_s: float) -> tuple[PeerStatus, ...]:
        """Call the peer (or all, for "") at once, and compare all entries on both sides. Streams of others with a token
        called `name` take part. The statuses come once both sides are level and repaired, or after `wait_s`, absent
        callers of that name included. Raises NotFound."""
        lines = [line for line in self._lines.values() if name in ("", line.peer.name)]
        served = [live for live in self._served if name in ("", live.status.name)]
        # Callers with a token of that name, unless this node itself calls a peer of that name.
        callers = [] if lines else self._contacts.away(live.status for live in self._served)
        away = [peer for peer in callers if peer.name == name] + self._turned_away.of(name)
        if name and not (lines or served or away):
            raise NotFound("peer", name, UNKNOWN)
        for line in lines:
            self._call_now(line)
        for live in served:
            if live.shell is not None:
                live.shell.compare()
        asked = [*lines, *served]
        await asyncio.gather(*(peer.settled(wait_s, compared=True) for peer in asked))
        return self._noted((*(peer.status for peer in asked), *away))

    def _call_now(self, line: _Line) -> None:
        line.compared = -COMPARE_AGAIN_S
        shell, anew_s = line.shell, time.monotonic() - line.anew
        if shell is None or line.status.state != "connected":
            line.tell(replace(line.status, state="connecting"))
        line.awake.set()
        # A peer may say nothing for a while when it compares and measures all entries.
        if shell is not None and anew_s > ANEW_S and shell.silent_s() > (ANEW_S if shell.comparing else SILENT_S):
            # The network may have been away: a connection from before waits long until it tries again.
            line.anew, line.hung_up = time.monotonic(), True
            line.ended("connecting", "")
            shell.hang_up("called anew")
        elif shell is not None:
            shell.compare()

    # ---- calling --------------------------------------------------------------------------------------------------

    async def _call_again_and_again(self, line: _Line) -> None:
        wait_s, changed = FIRST_WAIT_S, False
        while True:
            began = time.monotonic()
            code = await self._call(line)
            if code == "changed" and not changed:
                wait_s, changed = FIRST_WAIT_S, True  # once at once. A peer that says it again and again is waited for
                continue
            changed = False
            if time.monotonic() - began > WAIT_S_MAX:
                wait_s = FIRST_WAIT_S  # it held for a while: the next failure is a new one
            if code in NEEDS_A_PERSON:
                wait_s = WAIT_S_MAX
            again_s = FIRST_WAIT_S / 2 + wait_s * random.random()
            line.log.gone(line.status, again_s, FIRST_WAIT_S / 2 + WAIT_S_MAX)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(line.awake.wait(), again_s)
            line.awake.clear()
            wait_s = min(WAIT_S_MAX, wait_s * 2)

    async def _call(self, line: _Line) -> str:
        """One stream, from its opening to its end. The code of the end comes back, "changed" for a stream to open
        anew."""
        peer = line.peer
        channel = DialedChannel(peer.target, peer.token)
        me = self.syncing.me  # before the cursors: the stream ends when both are not of one log
        try:
            cursors = await self.syncing.ledger.cursors(_called(peer.node_id)) if peer.node_id else {}
            stream = Stream(me, peer.grant, expects=peer.node_id)
            compare = time.monotonic() - line.compared >= COMPARE_AGAIN_S
            line.shell = shell = StreamShell(
                self.syncing,
                stream,
                _called,
                lambda status: self._heard(line, status),
                admit=lambda node_id, life: self._copies.admit(shell, peer.name, node_id, life),
                compare=compare,
                back=True,
            )
            last = await shell.run(DIALER, channel, cursors)
            why, code = channel.refused or last.reason, last.code
        except MnemeshError as error:
            why, code = error.message, ""
        finally:
            self._copies.leave(line.shell)
            line.over()
            with contextlib.suppress(TimeoutError):  # closing may hang on a peer that was killed
                await asyncio.wait_for(channel.close(), CLOSE_S)
        if line.hung_up:
            line.hung_up = False
            return "changed"
        refused = bool(channel.refused) or code in NEEDS_A_PERSON
        ended = line.status.ended("refused" if refused else "offline", why, self.clock())
        auth = "refused" if channel.refused else ended.auth
        line.tell(replace(ended, auth=auth, attempts=ended.attempts + 1))
        return code

    def _heard(self, line: _Line, status: Status) -> None:
        if line.hung_up:
            return  # the last words of a stream that is opened anew
        if status.phase == "open":
            line.log.there(status.node_id)
            if line.peer.node_id != status.node_id:
                self.book.pin(line.peer.name, status.node_id)
                line.peer = replace(line.peer, node_id=status.node_id)
            if status.compared:
                line.compared = time.monotonic()
        line.heard(status)

    # ---- being called ---------------------------------------------------------------------------------------------

    async def serve(
        self, context: grpc.aio.ServicerContext[Any, Any], principal: str, grant_now: Callable[[], PeerGrant | None]
    ) -> None:
        """Carry a stream that a peer opened with the token of `principal`. `grant_now` says what that token grants at
        the moment, None when nothing any more. Raises Unauthenticated, Overloaded."""
        grant = grant_now()
        if grant is None:
            raise Unauthenticated("this token opens no stream")
        self._faults.check(principal)
        own = sum(live.status.name == principal for live in self._served)
        if self._closed or len(self._served) >= SERVED_MAX or own >= SERVED_A_PRINCIPAL_MAX:
            raise Overloaded("sync streams", SERVED_A_PRINCIPAL_MAX if own >= SERVED_A_PRINCIPAL_MAX else SERVED_MAX)
        spaces = tuple(dict.fromkeys((*grant.read, *grant.write)))
        direction = "both" if grant.read and grant.write else "pull" if grant.write else "push"
        target = str(context.peer())
        status = PeerStatus(name=principal, incoming=True, target=target, direction=direction, spaces=spaces)
        live = LivePeer(status, self.clock, self._contacts.level)
        live.shell = shell = StreamShell(
            self.syncing,
            Stream(self.syncing.me, grant),
            lambda node_id: cursor_name(principal, node_id),
            live.heard,
            admit=lambda node_id, life: self._copies.admit(shell, principal, node_id, life),
            compare=time.monotonic() - self._compared.get(principal, -COMPARE_AGAIN_S) >= COMPARE_AGAIN_S,
        )
        self._compared[principal] = time.monotonic()
        self._served.append(live)
        why = ""
        try:
            async with watched(shell, grant_now):
                last = await shell.run(LISTENER, ServedChannel(context))
            why = last.reason
            self._turned_away.note(live.status, last, self.clock())
            if shell.refused == "fault":
                log.warning("peer_at_fault", principal=principal, peer=str(context.peer()), reason=last.reason)
            self._faults.note(principal, last.reason if shell.refused == "fault" else "")
        finally:
            self._copies.leave(shell)
            self._served.remove(live)
            live.over()
            cut = "the node is stopping" if self._closed else "the peer ended the stream, or its connection broke"
            live.tell(live.status.ended("offline", why or cut, self.clock()))
            if grant_now() is None:
                live.tell(replace(live.status, auth="refused"))
            self._contacts.left(live.status)

    async def close(self) -> None:
        """End every stream. Cursors and what was taken in are on disk already."""
        self._closed = True
        statuses = [peer.status for peer in (*self._lines.values(), *self._served)]
        if self._saving is not None:
            await self._contacts.save(statuses, last=True)
        await cancelled(self._saving, *(line.task for line in self._lines.values()))
        self._lines.clear()

    async def _save_contacts(self) -> None:
        while True:
            await asyncio.sleep(SAVE_S)
            await self._contacts.save([peer.status for peer in (*self._lines.values(), *self._served)])


def _called(node_id: str) -> str:
    return cursor_name("", node_id)
