"""The shell of a sync stream: carries out the decisions of the state machine (mnemesh_crdt.sync.stream).

Decides nothing itself. One stream is one `run`. It ends when either side closes it, when the channel breaks, or when
this node's ledger fails. Acknowledged entries are on disk by then, and the next stream goes on from the saved cursors.
No more is read of a peer than is handled, so that none can fill this node's memory or its ledger's inbox.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

from mnemesh_actors.streams.sync_port import Admission, Syncing, anyone
from mnemesh_crdt.sync import messages as sync
from mnemesh_crdt.sync.greeting import DIALER
from mnemesh_crdt.sync.proof import NONCE_BYTES
from mnemesh_crdt.sync.stream import Stream
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError, QuotaReached, Unavailable
from mnemesh_memory.values.limits import (
    SYNC_MESSAGES_WAITING_MAX,
    SYNC_OUTBOX_MESSAGES_MAX,
    SYNC_QUESTIONS_MAX,
)

TICK_S: Final = 10.0
COMPARE_S: Final = 3600.0


class Channel(Protocol):
    """A stream of messages to one peer. Both ends raise MnemeshError when it breaks. `messages` raises InvalidArgument
    for what is no message."""

    async def send(self, message: sync.Message) -> None:
        """Give one message. Waits while the peer does not read."""
        ...

    def messages(self) -> AsyncIterator[sync.Message]:
        """The messages of the peer, until it ends the stream."""
        ...


class StreamShell:
    """One stream, run once. `peer_key` gives the name under which a node's cursors are kept. `on_status` hears every
    change of the status. `compare` is whether to compare digests as soon as both sides are caught up, `back` whether
    the peer is asked to do so as well. `refused` is the code with which this side ended the stream, or "". `heard_ms`
    is the time of the peer's last word, in ms since the epoch, None before. `admit` says of the peer's node id and life
    why it is a copy, or ""."""

    def __init__(
        self,
        syncing: Syncing,
        stream: Stream,
        peer_key: Callable[[str], str],
        on_status: Callable[[sync.Status], None],
        *,
        compare: bool = True,
        back: bool = False,
        admit: Admission = anyone,
    ) -> None:
        self._syncing = syncing
        self._stream = stream
        self._peer_key = peer_key
        self._on_status = on_status
        self._admit = admit
        self._asked: dict[int, asyncio.Future[bool]] = {}
        self.refused = ""
        self.heard_ms: int | None = None
        self._heard_at = 0.0
        # Neither is bounded by itself: what comes in by `_room`, what goes out by `_send`.
        self._events: asyncio.Queue[sync.Event | BaseException] = asyncio.Queue()
        self._outbox: asyncio.Queue[sync.Message | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self._unheard = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions: set[asyncio.Task[None]] = set()
        self._taking: set[asyncio.Task[None]] = set()
        self._weigh()
        # The count of requested comparisons, the last one that both sides make, and the count of finished ones.
        self._compares = self._mutual = self._compared = 0
        if compare:
            self._ask_to_compare(back)

    def say(self, event: sync.Granted | sync.Tick) -> None:
        """Tell the machine something from outside: a grant that may have changed, or that time has passed."""
        self._events.put_nowait(event)

    def compare(self) -> None:
        """Have both sides compare everything, unless they do already. `comparing` holds until the end."""
        if not self.comparing:
            self._ask_to_compare(back=True)

    @property
    def comparing(self) -> bool:
        """Whether a comparison that both sides make is not over yet."""
        return self._compared < self._mutual

    def _ask_to_compare(self, back: bool) -> None:
        self._compares += 1
        if back:
            self._mutual = self._compares
        self._events.put_nowait(sync.Compare(back))

    def silent_s(self) -> float:
        """For how many seconds nothing was heard of the peer, which may have nothing to say."""
        return asyncio.get_running_loop().time() - self._heard_at

    async def answers(self, within_s: float) -> bool:
        """Whether the peer is alive: it answers when it is asked now."""
        number = secrets.randbits(63)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._events.put_nowait(sync.Probe(number))
        try:
            return await asyncio.wait_for(answer, within_s)
        except TimeoutError:
            return False
        finally:
            del self._asked[number]

    def hang_up(self, why: str) -> None:
        """End the stream at once, without a word to the peer."""
        self._events.put_nowait(sync.Closed(why))

    async def run(self, role: str, channel: Channel, cursors: Mapping[str, int] | None = None) -> sync.Status:
        """Carry the stream until it ends. The last status. Cancelling ends it at once, but for a batch that is being
        taken in."""
        head = self._syncing.head
        self._heard_at = asyncio.get_running_loop().time()
        writer = asyncio.create_task(self._write(channel), name="sync-write")
        for work in (self._listen(channel), self._tick(), self._hear_news(head), self._compare_hourly()):
            self._spawn(work, self._tasks)
        try:
            known = dict(cursors or {}) if role == DIALER else {}
            event: sync.Event = sync.Opened(role=role, head=head, nonce=secrets.token_bytes(NONCE_BYTES), cursors=known)
            while self._carry(self._stream.handle(event)):
                event = await self._next()
            if self.refused:
                self._outbox.put_nowait(None)
                with suppress(TimeoutError, MnemeshError):  # a peer that does not read its refusal has had its time
                    await asyncio.wait_for(writer, TICK_S)
        finally:
            for number in self._asked:
                self._answered(number, False)
            for task in {writer, *self._tasks, *self._questions} - self._taking:
                task.cancel()
            await asyncio.gather(writer, *self._tasks, *self._questions, return_exceptions=True)
        return self._stream.status

    async def _next(self) -> sync.Event:
        event = await self._events.get()
        if isinstance(event, BaseException):  # a bug of ours
            raise event
        if isinstance(event, sync.Got):
            self._unheard -= 1
        return event

    def _carry(self, effects: list[sync.Effect]) -> bool:
        """Carry out the effects in order. False when the stream is over."""
        going = True
        for effect in effects:
            match effect:
                case sync.Send(message):
                    self._send(message)
                case sync.Close(code):
                    self.refused = code
                    going = False
                case sync.Status():
                    self._compared = effect.compared
                    self._on_status(effect)
                case sync.Meet(node_id):
                    self._ask(self._met(node_id))
                case sync.Admit(node_id, life):
                    self._ask(self._admitted(node_id, life))
                case sync.Alive(number):
                    self._answered(number, True)
                case sync.Prove(claim):
                    self._ask(self._syncing.prove(claim))
                case sync.Ask():
                    self._ask(self._syncing.page(effect))
                case sync.TakeIn():
                    # Nothing stops it in the middle: the index has to hear of what the ledger takes in.
                    self._taking = {self._ask(self._syncing.take_in(effect, self._peer_key(effect.node_id)))}
                case sync.Measure(patterns):
                    self._ask(self._syncing.measure(patterns))
                case sync.Reask():
                    self._ask(self._syncing.reread(effect))
        self._weigh()
        return going

    def _send(self, message: sync.Message) -> None:
        if self._outbox.qsize() == SYNC_OUTBOX_MESSAGES_MAX:
            self._events.put_nowait(sync.Closed(f"the peer left {SYNC_OUTBOX_MESSAGES_MAX} messages unread"))
        elif self._outbox.qsize() < SYNC_OUTBOX_MESSAGES_MAX:
            self._outbox.put_nowait(message)

    def _answered(self, number: int, alive: bool) -> None:
        if number in self._asked and not self._asked[number].done():
            self._asked[number].set_result(alive)

    async def _admitted(self, node_id: str, life: str) -> sync.Admitted:
        return sync.Admitted(await self._admit(node_id, life))

    async def _met(self, node_id: str) -> sync.Met:
        return sync.Met(await self._syncing.ledger.cursors(self._peer_key(node_id)))

    def _ask(self, question: Coroutine[Any, Any, sync.Event]) -> asyncio.Task[None]:
        """Let the ledger answer."""
        task = self._spawn(self._answer(question), self._questions)
        task.add_done_callback(lambda _: question.close())  # one that was called off before it began
        self._weigh()
        return task

    async def _answer(self, question: Awaitable[sync.Event]) -> None:
        """The ledger's answer is an event. Its failure ends the stream."""
        try:
            event = await question
            self._check_log()
        except QuotaReached as error:
            event = sync.Closed(error.message)
        except MnemeshError as error:
            event = sync.Closed(f"this node's ledger: {error.message}")
        self._events.put_nowait(event)

    def _weigh(self) -> None:
        """Whether more of what the peer says is wanted now."""
        unheard = self._unheard + len(self._stream.held)
        if unheard < SYNC_MESSAGES_WAITING_MAX and len(self._questions) < SYNC_QUESTIONS_MAX:
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
                self.heard_ms = self._syncing.clock()
                self._events.put_nowait(sync.Got(message))
                self._unheard += 1
                self._weigh()
                await self._room.wait()
            self._events.put_nowait(sync.Closed("the peer ended the stream"))
        except InvalidArgument as error:
            self._events.put_nowait(sync.Misread(error.message))
        except MnemeshError as error:
            self._events.put_nowait(sync.Closed(error.message))

    async def _write(self, channel: Channel) -> None:
        with suppress(MnemeshError):  # the channel broke. Why, the side that listens learns
            while (message := await self._outbox.get()) is not None:
                await channel.send(message)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._events.put_nowait(sync.Tick())

    async def _hear_news(self, head: int) -> None:
        while True:
            try:
                head = await self._syncing.news_after(head)
                self._check_log()
            except MnemeshError as error:  # the node is stopping
                self._events.put_nowait(sync.Closed(error.message))
                return
            self._events.put_nowait(sync.News(head))

    async def _compare_hourly(self) -> None:
        while True:
            await asyncio.sleep(COMPARE_S)
            self._ask_to_compare(back=False)

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
