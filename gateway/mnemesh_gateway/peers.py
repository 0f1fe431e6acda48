"""Streams with other nodes: those that this node keeps up, and those that others opened. Each is retried and told of.

A peer that can not be reached, does not answer or refuses the token is called again, with exponential back-off and full
jitter (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015); the node itself is never held up.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import grpc
import structlog

from mnemesh_actors.syncing import StreamShell, Syncing
from mnemesh_crdt.handshake import DIALER, LISTENER
from mnemesh_crdt.messages import Compare, Granted, Status
from mnemesh_crdt.sync import Stream
from mnemesh_gateway.peer_book import Peer, PeerBook
from mnemesh_gateway.peer_status import PeerStatus
from mnemesh_gateway.sync_channel import DialedChannel, ServedChannel
from mnemesh_memory import limits
from mnemesh_memory.errors import FailedPrecondition, MnemeshError, Overloaded, Unauthenticated, Unavailable
from mnemesh_memory.grants import OWNER, PeerGrant

FIRST_WAIT_S: Final = 0.5
WAIT_S_MAX: Final = 60.0
GRANT_CHECK_S: Final = 1.0
SERVED_MAX: Final = 64
SERVED_A_PRINCIPAL_MAX: Final = 8
CLOSE_S: Final = 5.0
COMPARE_AGAIN_S: Final = 3600.0
# To be called now, a stream is opened anew when nothing was heard on it for so long, and not again for so long.
SILENT_S: Final = 1.0
ANEW_S: Final = 10.0
NEEDS_A_PERSON: Final = ("protocol", "identity")
CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", limits.GRPC_MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", limits.GRPC_MESSAGE_BYTES_MAX),
    # A dead link is noticed although nothing is sent.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)
log = structlog.get_logger("mnemesh.sync")


@dataclass(slots=True)
class _Line:
    """A peer that is kept up: its present status, its open stream, and a bell that ends a wait."""

    peer: Peer
    status: PeerStatus
    task: asyncio.Task[None] | None = None
    shell: StreamShell | None = None
    compared: float = -COMPARE_AGAIN_S
    anew: float = -ANEW_S
    hung_up: bool = False
    awake: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Peers:
    """`book` says whom to call; `owner` is what this node's owner is called; `jitter()` gives a number in [0, 1)."""

    def __init__(
        self,
        book: PeerBook,
        syncing: Syncing,
        clock: Callable[[], int],
        owner: str = OWNER,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._book = book
        self.syncing = syncing
        self.owner = owner
        self._clock = clock
        self._jitter = jitter
        self._lines: dict[str, _Line] = {}
        self._served: dict[int, PeerStatus] = {}
        self._shells: dict[int, StreamShell] = {}
        self._number = 0
        self._faults = _Faults()
        self._compared: dict[str, float] = {}  # when a stream of a principal compared last
        self._closed = False

    def start(self) -> None:
        """Call every peer in the book."""
        for peer in self._book.all():
            self._keep_up(peer)

    def _keep_up(self, peer: Peer) -> _Line:
        status = PeerStatus(
            name=peer.name,
            incoming=False,
            target=peer.target,
            direction=peer.direction,
            spaces=peer.spaces,
            node_id=peer.node_id,
        )
        line = self._lines[peer.name] = _Line(peer, status)
        line.task = asyncio.create_task(self._call_again_and_again(line), name=f"peer-{peer.name}")
        line.task.add_done_callback(lambda task: self._ended(line, task))
        return line

    def _ended(self, line: _Line, task: asyncio.Task[None]) -> None:
        """A bug ended the calls to a peer: say so, because nothing is exchanged with it any more."""
        if not task.cancelled() and (error := task.exception()) is not None:
            why = f"ended by a fault of ours: {error!r}; restart the node"
            log.error("peer_ended", peer=line.peer.name, exc_info=error)
            self._told(line, replace(line.status, state="refused", caught_up=False, last_error=why))

    async def add(self, peer: Peer, wait_s: float) -> PeerStatus:
        """Keep a peer up from now on; how it stands after the first contact, or after `wait_s`. Raises AlreadyExists,
        and FailedPrecondition when the peer refuses this node; it is then not kept."""
        self._book.add(peer)
        line = self._keep_up(peer)
        await self._settled(line, wait_s)
        if line.status.state == "refused":
            await self.remove(peer.name)
            raise FailedPrecondition(
                f"{line.status.last_error}; the peer was not added", field="url", value=peer.target
            )
        return line.status

    async def remove(self, name: str) -> Peer:
        """End the stream and forget the peer with its token; what was exchanged stays. Raises NotFound."""
        gone = self._book.remove(name)
        line = self._lines.pop(name, None)
        if line is not None and line.task is not None:
            line.task.cancel()
            await asyncio.gather(line.task, return_exceptions=True)
        return gone

    @property
    def node_id(self) -> str:
        """This node's id."""
        return self.syncing.me.node_id

    @property
    def head(self) -> int:
        """Last sequence number of this node's log."""
        return self.syncing.head

    def status(self) -> tuple[PeerStatus, ...]:
        """Every peer that is kept up by name, then the streams that others opened."""
        served = sorted(self._served.values(), key=lambda one: (one.name, one.node_id))
        kept_up = (self._lines[name].status for name in sorted(self._lines))
        return tuple(one.at(self.head) for one in (*kept_up, *served))

    async def now(self, name: str, wait_s: float) -> tuple[PeerStatus, ...]:
        """Call the peer (or all, for "") at once and compare everything; how it stands when they have caught up, or
        after `wait_s`. Raises NotFound."""
        if name:
            self._book.get(name)
        lines = [line for line in self._lines.values() if name in ("", line.peer.name)]
        for line in lines:
            line.compared = -COMPARE_AGAIN_S
            if line.shell is None or line.status.state != "connected":
                self._told(line, replace(line.status, state="connecting"))
            line.awake.set()
            if line.shell is not None and line.shell.silent_s() > SILENT_S and time.monotonic() - line.anew > ANEW_S:
                # The network may have been away: a connection from before waits long until it tries again.
                line.anew, line.hung_up = time.monotonic(), True
                self._told(line, replace(line.status, state="connecting", caught_up=False))
                line.shell.hang_up("called anew")
            elif line.shell is not None:
                line.shell.say(Compare())
        await asyncio.gather(*(self._settled(line, wait_s, caught_up=True) for line in lines))
        return tuple(line.status.at(self.head) for line in lines)

    async def _settled(self, line: _Line, wait_s: float, *, caught_up: bool = False) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while line.status.state == "connecting" or (
                    caught_up and line.status.state == "connected" and not line.status.caught_up
                ):
                    line.changed.clear()
                    await line.changed.wait()

    # ---- calling --------------------------------------------------------------------------------------------------

    async def _call_again_and_again(self, line: _Line) -> None:
        wait_s, changed = FIRST_WAIT_S, False
        while True:
            began = time.monotonic()
            code = await self._call(line)
            if code == "changed" and not changed:
                wait_s, changed = FIRST_WAIT_S, True  # once at once; a peer that says it again and again is waited for
                continue
            changed = False
            if time.monotonic() - began > WAIT_S_MAX:
                wait_s = FIRST_WAIT_S  # it held for a while: the next failure is a new one
            if code in NEEDS_A_PERSON:
                wait_s = WAIT_S_MAX
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(line.awake.wait(), FIRST_WAIT_S / 2 + wait_s * self._jitter())
            line.awake.clear()
            wait_s = min(WAIT_S_MAX, wait_s * 2)

    async def _call(self, line: _Line) -> str:
        """One stream, from its opening to its end; the code of its end, "changed" when it is to be opened anew."""
        peer = line.peer
        channel = DialedChannel(peer.target, peer.token, CHANNEL_OPTIONS)
        me = self.syncing.me  # before the cursors: the stream ends when both are not of one log
        try:
            cursors = await self.syncing.cursors(_called(peer.node_id)) if peer.node_id else {}
            stream = Stream(me, peer.grant, expects=peer.node_id)
            compare = time.monotonic() - line.compared >= COMPARE_AGAIN_S
            line.shell = StreamShell(
                self.syncing, stream, _called, lambda status: self._heard(line, status), compare=compare
            )
            last = await line.shell.run(DIALER, channel, cursors)
            why, code = channel.refused or last.reason, last.code
        except MnemeshError as error:
            why, code = error.message, ""
        finally:
            line.shell = None
            with contextlib.suppress(TimeoutError):  # closing may hang on a peer that was killed
                await asyncio.wait_for(channel.close(), CLOSE_S)
        if line.hung_up:
            line.hung_up = False
            return "changed"
        refused = bool(channel.refused) or code in NEEDS_A_PERSON
        self._told(
            line,
            replace(
                line.status,
                state="refused" if refused else "offline",
                caught_up=False,
                last_error=why,
                attempts=line.status.attempts + 1,
            ),
        )
        log.info("peer_gone", peer=peer.name, reason=why, code=code, attempts=line.status.attempts)
        return code

    def _heard(self, line: _Line, status: Status) -> None:
        if status.phase == "open":
            if line.status.state != "connected":
                log.info("peer_connected", peer=line.peer.name, node=status.node_id)
            if line.peer.node_id != status.node_id:
                self._book.pin(line.peer.name, status.node_id)
                line.peer = replace(line.peer, node_id=status.node_id)
            if status.caught_up:
                line.compared = time.monotonic()
        self._told(line, line.status.with_stream(status, self._clock()))

    def _told(self, line: _Line, status: PeerStatus) -> None:
        line.status = status
        line.changed.set()

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
        own = sum(one.name == principal for one in self._served.values())
        if self._closed or len(self._served) >= SERVED_MAX or own >= SERVED_A_PRINCIPAL_MAX:
            raise Overloaded("sync streams", SERVED_A_PRINCIPAL_MAX if own >= SERVED_A_PRINCIPAL_MAX else SERVED_MAX)
        self._number += 1
        number = self._number
        spaces = tuple(dict.fromkeys((*grant.read, *grant.write)))
        direction = "both" if grant.read and grant.write else "pull" if grant.write else "push"
        self._served[number] = PeerStatus(
            name=principal, incoming=True, target=str(context.peer()), direction=direction, spaces=spaces
        )

        def told(status: Status) -> None:
            self._served[number] = self._served[number].with_stream(status, self._clock())

        shell = StreamShell(
            self.syncing,
            Stream(self.syncing.me, grant),
            lambda node_id: f"{principal}:{node_id}",
            told,
            compare=time.monotonic() - self._compared.get(principal, -COMPARE_AGAIN_S) >= COMPARE_AGAIN_S,
        )
        self._compared[principal] = time.monotonic()
        self._shells[number] = shell
        try:
            async with _watched(shell, grant_now):
                last = await shell.run(LISTENER, ServedChannel(context))
            if shell.refused == "fault":
                log.warning("peer_at_fault", principal=principal, peer=str(context.peer()), reason=last.reason)
            self._faults.note(principal, last.reason if shell.refused == "fault" else "")
        finally:
            del self._served[number], self._shells[number]

    async def close(self) -> None:
        """End every stream; cursors and what was taken in are on disk already."""
        self._closed = True
        tasks = [line.task for line in self._lines.values() if line.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._lines.clear()


class _Faults:
    """Who said what no honest peer says is not served for a while, longer with each time, and told why."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, float, str]] = {}

    def check(self, principal: str) -> None:
        """Raises Unavailable while streams of `principal` are not served."""
        count, until, why = self._known.get(principal, (0, 0.0, ""))
        left = until - time.monotonic()
        if left > 0:
            raise Unavailable(
                f"{count} streams with the token of {principal} were ended in a row, the last because of this: {why}; "
                f"call again in {left:.1f} s",
                part="peer",
            )

    def note(self, principal: str, why: str) -> None:
        """A stream of `principal` has ended, because of a fault of theirs when there is a `why`."""
        count = self._known.get(principal, (0, 0.0, ""))[0] + 1
        if not why:
            self._known.pop(principal, None)
        else:
            wait_s = min(WAIT_S_MAX, FIRST_WAIT_S * 2.0 ** min(count, 16))
            self._known[principal] = (count, time.monotonic() + wait_s, why)


def _called(node_id: str) -> str:
    """The name of cursors in the feeds of a node that this one calls."""
    return f":{node_id}"


@contextlib.asynccontextmanager
async def _watched(shell: StreamShell, grant_now: Callable[[], PeerGrant | None]) -> AsyncIterator[None]:
    """Meanwhile a token that is revoked, expires or is given other spaces changes what the stream may do."""

    async def watch() -> None:
        while True:
            await asyncio.sleep(GRANT_CHECK_S)
            shell.say(Granted(grant_now() or PeerGrant(read=(), write=(), principal="")))

    task = asyncio.create_task(watch(), name="sync-grant")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
