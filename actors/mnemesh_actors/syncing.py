"""The shell of a sync stream: carries out what the state machine (mnemesh_crdt.sync) decides, with ledger and channel.

Decides nothing itself. One stream is one `run`: it ends when either side closes it, when the channel breaks, or when
this node's ledger fails; what was acknowledged by then is on disk, and the next stream goes on from the saved cursors.
No more is read of a peer than is handled, so that none can fill this node's memory or its ledger's inbox.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, Protocol, TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mnemesh_actors.ledger.commands import TakenIn
from mnemesh_actors.ledger.exchange import Incoming
from mnemesh_actors.ledger.peers import Backlog, Quarantined
from mnemesh_actors.news import News as Bell
from mnemesh_actors.runtime.base import Handle
from mnemesh_crdt.handshake import DIALER, Me
from mnemesh_crdt.messages import (
    Ask,
    Close,
    Closed,
    Compare,
    Effect,
    Event,
    Got,
    Granted,
    Measure,
    Measured,
    Meet,
    Message,
    Met,
    Misread,
    News,
    Opened,
    Prove,
    Proved,
    Read,
    Reask,
    Reread,
    Send,
    Status,
    TakeIn,
    Tick,
    Took,
)
from mnemesh_crdt.proof import NONCE_BYTES, Claim, proof_bytes
from mnemesh_crdt.sync import Stream
from mnemesh_memory.errors import InvalidArgument, MnemeshError, Unavailable
from mnemesh_memory.limits import (
    BATCH_BYTES_MAX,
    BATCH_ITEMS_MAX,
    SYNC_MESSAGES_WAITING_MAX,
    SYNC_OUTBOX_MESSAGES_MAX,
    SYNC_QUESTIONS_MAX,
)

TICK_S: Final = 10.0
COMPARE_S: Final = 3600.0


class Channel(Protocol):
    """A stream of messages to one peer. Both ends raise MnemeshError when it breaks; `messages` raises InvalidArgument
    for what is no message."""

    async def send(self, message: Message) -> None:
        """Give one message; waits while the peer does not read."""
        ...

    def messages(self) -> AsyncIterator[Message]:
        """What the peer says, until it ends the stream."""
        ...


class Publisher(Protocol):
    """Who must know how far the log is: the follower of the index."""

    def publish(self, seq: int) -> None:
        """The ledger has committed up to `seq`."""
        ...


Signing: TypeAlias = Callable[[Claim], Awaitable[bytes]]


class Syncing:
    """This node as its peers see it: identity, log, news. `clock` gives milliseconds since the epoch, `sign` the
    signature of a claim by the key of `me`."""

    def __init__(
        self, ledger: Handle, follower: Publisher, bell: Bell, me: Me, clock: Callable[[], int], sign: Signing
    ) -> None:
        self.me = me
        self._sign = sign
        self._ledger = ledger
        self._follower = follower
        self._bell = bell
        self._clock = clock

    @property
    def head(self) -> int:
        """The last sequence number of this node's log."""
        return self._bell.head

    async def cursors(self, peer: str) -> Mapping[str, int]:
        """How far the feeds of `peer` were read, durably."""
        found: Mapping[str, int] = await self._ledger.cursors(peer)
        return found

    async def prove(self, claim: Claim) -> Proved:
        """This node's signature of what it claims to be on one stream."""
        return Proved(await self._sign(claim))

    async def page(self, ask: Ask) -> Read:
        """A page of the log for a peer."""
        page = await self._ledger.sync_page(ask.after, ask.patterns, ask.not_from, BATCH_ITEMS_MAX, BATCH_BYTES_MAX)
        return Read(
            after=ask.after, entries=tuple(page.entries), last_seq=page.last_seq, head=page.head, keys=page.keys
        )

    async def take_in(self, order: TakeIn, peer: str) -> Took:
        """Take a batch in durably, with its cursor, and let index and watchers know."""
        batch = order.batch
        incoming = Incoming(
            peer=peer,
            origin=order.origin,
            grant=order.grant,
            entries=batch.entries,
            feed=batch.feed,
            last_seq=batch.last_seq,
            keys=batch.keys,
        )
        taken: TakenIn = await self._ledger.take_in(incoming, self._clock())
        self._follower.publish(taken.last)
        return Took(batch.feed, batch.last_seq, taken.full, taken.quarantined)

    async def measure(self, patterns: tuple[str, ...]) -> Measured:
        """The digests of the spaces that the patterns cover."""
        return Measured(patterns, await self._ledger.digests(patterns))

    async def reread(self, order: Reask) -> Reread:
        """Entries of buckets that differ."""
        page = await self._ledger.resend(order.space, order.buckets, order.after, BATCH_ITEMS_MAX, BATCH_BYTES_MAX)
        return Reread(
            space=order.space,
            after=order.after,
            entries=tuple(page.entries),
            last_seq=page.last_seq,
            done=page.done,
            keys=page.keys,
        )

    async def backlog(self) -> Backlog:
        """How many entries wait or are in quarantine."""
        found: Backlog = await self._ledger.backlog()
        return found

    async def quarantined(self, limit: int) -> list[Quarantined]:
        """The first entries that were not let in."""
        found: list[Quarantined] = await self._ledger.quarantined(0, limit)
        return found

    async def news_after(self, seq: int) -> int:
        """Wait for entries after `seq`; the new head."""
        await self._bell.after(seq)
        return self._bell.head

    def move(self, incarnation: str) -> None:
        """The ledger of another machine goes on: streams that were opened with the old one end, so that its numbers
        are never taken for the other's."""
        self.me = replace(self.me, incarnation=incarnation)


def signing_with(key: Ed25519PrivateKey) -> Signing:
    """Signs claims, and nothing else, with a key of this process."""

    async def sign(claim: Claim) -> bytes:
        return key.sign(proof_bytes(claim))

    return sign


class StreamShell:
    """One stream, run once. `peer_key` gives the name under which a node's cursors are kept; `told` hears every change
    of the status. `compare` is whether to compare digests as soon as both sides are caught up. `refused` says as what
    this side ended it, "" when it did not."""

    def __init__(
        self,
        syncing: Syncing,
        stream: Stream,
        peer_key: Callable[[str], str],
        told: Callable[[Status], None],
        *,
        compare: bool = True,
    ) -> None:
        self._syncing = syncing
        self._stream = stream
        self._peer_key = peer_key
        self._told = told
        self._compare = compare
        self.refused = ""
        self._heard_at = 0.0
        # Neither is bounded by itself: what comes in by `_room`, what goes out by `_send`.
        self._events: asyncio.Queue[Event | BaseException] = asyncio.Queue()
        self._outbox: asyncio.Queue[Message | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self._unheard = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions: set[asyncio.Task[None]] = set()
        self._taking: set[asyncio.Task[None]] = set()
        self._weigh()

    def say(self, event: Granted | Compare) -> None:
        """Tell the machine something from outside: a changed grant, or that it is time to compare."""
        self._events.put_nowait(event)

    def silent_s(self) -> float:
        """For how many seconds nothing was heard of the peer, which may have nothing to say."""
        return asyncio.get_running_loop().time() - self._heard_at

    def hang_up(self, why: str) -> None:
        """End the stream at once, without a word to the peer."""
        self._events.put_nowait(Closed(why))

    async def run(self, role: str, channel: Channel, cursors: Mapping[str, int] | None = None) -> Status:
        """Carry the stream until it ends; the last status. Cancelling ends it at once, but for a batch that is being
        taken in."""
        head = self._syncing.head
        self._heard_at = asyncio.get_running_loop().time()
        writer = asyncio.create_task(self._write(channel), name="sync-write")
        for work in (self._listen(channel), self._tick(), self._hear_news(head), self._compare_hourly()):
            self._spawn(work, self._tasks)
        try:
            known = dict(cursors or {}) if role == DIALER else {}
            event: Event = Opened(role=role, head=head, nonce=secrets.token_bytes(NONCE_BYTES), cursors=known)
            while self._carry(self._stream.handle(event)):
                event = await self._next()
            if self.refused:
                self._outbox.put_nowait(None)
                with suppress(TimeoutError, MnemeshError):  # a peer that does not read its refusal has had its time
                    await asyncio.wait_for(writer, TICK_S)
        finally:
            for task in {writer, *self._tasks, *self._questions} - self._taking:
                task.cancel()
            await asyncio.gather(writer, *self._tasks, *self._questions, return_exceptions=True)
        return self._stream.status

    async def _next(self) -> Event:
        event = await self._events.get()
        if isinstance(event, BaseException):  # a bug of ours
            raise event
        if isinstance(event, Got):
            self._unheard -= 1
            self._weigh()
        return event

    def _carry(self, effects: list[Effect]) -> bool:
        """Carry out the effects in order; False when the stream is over."""
        going = True
        for effect in effects:
            match effect:
                case Send(message):
                    self._send(message)
                case Close(code):
                    self.refused = code
                    going = False
                case Status():
                    self._told(effect)
                case Meet(node_id):
                    self._ask(self._met(node_id))
                case Prove(claim):
                    self._ask(self._syncing.prove(claim))
                case Ask():
                    self._ask(self._syncing.page(effect))
                case TakeIn():
                    # Nothing stops it in the middle: the index has to hear of what the ledger takes in.
                    self._taking = {self._ask(self._syncing.take_in(effect, self._peer_key(effect.node_id)))}
                case Measure(patterns):
                    self._ask(self._syncing.measure(patterns))
                case Reask():
                    self._ask(self._syncing.reread(effect))
        return going

    def _send(self, message: Message) -> None:
        if self._outbox.qsize() == SYNC_OUTBOX_MESSAGES_MAX:
            self._events.put_nowait(Closed(f"the peer left {SYNC_OUTBOX_MESSAGES_MAX} messages unread"))
        elif self._outbox.qsize() < SYNC_OUTBOX_MESSAGES_MAX:
            self._outbox.put_nowait(message)

    async def _met(self, node_id: str) -> Met:
        return Met(await self._syncing.cursors(self._peer_key(node_id)))

    def _ask(self, question: Coroutine[Any, Any, Event]) -> asyncio.Task[None]:
        """Let the ledger answer."""
        task = self._spawn(self._answer(question), self._questions)
        self._weigh()
        return task

    async def _answer(self, question: Awaitable[Event]) -> None:
        """What the ledger says is an event; when it fails, so does the stream."""
        try:
            event = await question
            self._check_log()
        except MnemeshError as error:
            event = Closed(f"this node's ledger: {error.message}")
        self._events.put_nowait(event)

    def _weigh(self) -> None:
        """Whether more of what the peer says is wanted now."""
        if self._unheard < SYNC_MESSAGES_WAITING_MAX and len(self._questions) < SYNC_QUESTIONS_MAX:
            self._room.set()
        else:
            self._room.clear()

    def _check_log(self) -> None:
        """The stream speaks of one log. Raises Unavailable once that of another machine goes on in its place."""
        if self._stream.me.incarnation != self._syncing.me.incarnation:
            raise Unavailable("that of another machine goes on; connect again", part="ledger")

    async def _listen(self, channel: Channel) -> None:
        try:
            async for message in channel.messages():
                self._heard_at = asyncio.get_running_loop().time()
                self._events.put_nowait(Got(message))
                self._unheard += 1
                self._weigh()
                await self._room.wait()
            self._events.put_nowait(Closed("the peer ended the stream"))
        except InvalidArgument as error:
            self._events.put_nowait(Misread(error.message))
        except MnemeshError as error:
            self._events.put_nowait(Closed(error.message))

    async def _write(self, channel: Channel) -> None:
        with suppress(MnemeshError):  # the channel broke; why, the side that listens learns
            while (message := await self._outbox.get()) is not None:
                await channel.send(message)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._events.put_nowait(Tick())

    async def _hear_news(self, head: int) -> None:
        while True:
            try:
                head = await self._syncing.news_after(head)
                self._check_log()
            except MnemeshError as error:  # the node is stopping
                self._events.put_nowait(Closed(error.message))
                return
            self._events.put_nowait(News(head))

    async def _compare_hourly(self) -> None:
        if self._compare:
            self._events.put_nowait(Compare())
        while True:
            await asyncio.sleep(COMPARE_S)
            self._events.put_nowait(Compare())

    def _spawn(self, work: Coroutine[Any, Any, None], among: set[asyncio.Task[None]]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        among.add(task)

        def ended(task: asyncio.Task[None]) -> None:
            among.discard(task)
            self._weigh()
            if not task.cancelled() and (error := task.exception()) is not None:
                self._events.put_nowait(error)

        task.add_done_callback(ended)
        return task
