"""Decides what to tell a peer, and when: one state machine a stream. Knows no clock, network, ledger or thread.

`Stream.handle(event)` returns effects; the shell carries them out in order and answers with events (messages.py says
which). The same events always give the same effects.

1. Each side says Hello, the dialer first. Protocol, identity and patterns are checked; what does not fit is refused
   with a reason, and both nodes stay up. Then each side reads its log from the other's cursor and sends what both its
   grant and the other's wishes cover: spaces by pattern, authors by principal. A private space travels only when both
   name it.
2. A Batch says from where to where its numbers go. A receiver takes it in when it continues what it has, so a cursor
   never steps over a lost batch; late and repeated ones cost nothing. It acknowledges after the commit (TakeIn, Took),
   never before. At most `window` batches fly; Tick without progress sends the rest again, and then gives up.
3. What a peer's present incarnation brought is not sent back to it. What an earlier one brought is: a node that was put
   back from an old backup may have lost it.
4. A cursor in a feed that is not known starts at 0. A cursor beyond the log's end is refused as a matter of identity:
   the log was put back without a new incarnation, and would say different entries under numbers already read.
5. Compare waits until both directions are caught up, then each space's digest is sent; the receiver sends again what it
   has in the differing buckets, and, once, its own digest, so that one comparison repairs both ways.
6. What may be said is fixed when the stream opens. A changed grant ends it; the next one has a feed of another name.

A Hello says which node it is from, but does not prove it: the shell keeps cursors apart by the principal of the stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from mnemesh_crdt.audience import Audience, common_patterns, feed_name
from mnemesh_crdt.comparison import Comparison
from mnemesh_crdt.flow import Inflow, check_batch
from mnemesh_crdt.handshake import DIALER, Me, StreamRefused, check_hello, hello_of
from mnemesh_crdt.messages import (
    Ack,
    Batch,
    Close,
    Closed,
    Compare,
    Digest,
    Effect,
    Event,
    Got,
    Granted,
    Hello,
    Measured,
    Meet,
    Message,
    Met,
    Misread,
    News,
    Opened,
    Read,
    Refusal,
    Reread,
    Send,
    Status,
    TakeIn,
    Tick,
    Took,
)
from mnemesh_crdt.outgoing import Outgoing
from mnemesh_memory.errors import shorten
from mnemesh_memory.grants import PeerGrant, any_matches
from mnemesh_memory.limits import (
    SPACE_BYTES_MAX,
    SYNC_REFUSED_ENTRIES_MAX,
    SYNC_SILENT_TICKS_MAX,
    SYNC_WINDOW_BATCHES,
)

_REPAIR: Final = "repair"


class Stream:
    """One stream with one peer. `grant` is what the peer may read here and bring here; `expects` is the node id that it
    must have, "" for any. `handle` is the only way to change it; nothing comes out after Close."""

    def __init__(self, me: Me, grant: PeerGrant, *, expects: str = "", window: int = SYNC_WINDOW_BATCHES) -> None:
        self.me = me
        self.grant = grant
        self.expects = expects
        self.window = window
        self.status = Status()
        self._phase = "new"
        self._ended = ("", "")
        self._dialer = False
        self._peer: Hello | None = None
        self._effects: list[Effect] = []
        # what we say
        self._head = 0
        self._out = Outgoing()
        # what we hear
        self._cursors: Mapping[str, int] = {}
        self._feed_in = ""
        self._in = Inflow()
        self._repair_in = Inflow()
        self._peer_head = 0
        self._taking: Batch | None = None
        self._refused = 0
        # comparison
        self._comparison = Comparison(grant.write, f"{me.incarnation}/{_REPAIR}")
        # time
        self._progress = True
        self._silent = 0

    def handle(self, event: Event) -> list[Effect]:
        """Take in one event; the effects are for the shell to carry out, in order."""
        self._effects = []
        if self._phase != "closed":
            try:
                self._on(event)
            except StreamRefused as refused:
                self._refuse(refused.code, refused.reason)
        status = self._status()
        if status != self.status:
            self.status = status
            self._effects.append(status)
        return self._effects

    # ---- events ------------------------------------------------------------------------------------------------------

    def _on(self, event: Event) -> None:
        match event:
            case Got(message):
                self._got(message)
            case Misread(reason):
                raise StreamRefused("fault", reason)
            case Read():
                self._read(event)
            case Took():
                self._took(event)
            case News(head):
                self._head = max(self._head, head)
                self._pump()
            case Opened():
                self._opened(event)
            case Met(cursors):
                self._cursors = cursors
                self._greet()
                self._begin()
            case Compare():
                self._comparison.ask()
                self._maybe_compare()
            case Measured():
                self._measured(event)
            case Reread():
                self._reread(event)
            case Granted(grant):
                if grant != self.grant:
                    raise StreamRefused("changed", "what this stream may do was changed; connect again")
            case Tick():
                self._tick()
            case Closed(reason):
                self._close("", reason)
            case _ as unreachable:
                assert_never(unreachable)

    def _opened(self, event: Opened) -> None:
        self._phase = "greeting"
        self._dialer = event.role == DIALER
        self._head = event.head
        if self._dialer:
            self._cursors = event.cursors
            self._greet()

    def _tick(self) -> None:
        waits = self._phase == "greeting" or self._out.flow.flying or self._comparison.flying
        if self._progress or not waits:
            self._silent, self._progress = 0, False
            return
        self._silent += 1
        if self._phase == "greeting" or self._silent > SYNC_SILENT_TICKS_MAX:
            raise StreamRefused("silent", f"no answer for {self._silent + 1} ticks; connect again later")
        self._out.audience.name_again()
        if self._out.flow.flying:
            self._out.flow.rewind()
        self._comparison.rewind()
        self._pump()

    @property
    def _known(self) -> Hello:
        assert self._peer is not None
        return self._peer

    # ---- messages ----------------------------------------------------------------------------------------------------

    def _got(self, message: Message) -> None:
        if isinstance(message, Refusal):
            return self._close("", f"{shorten(message.code)}: {message.reason[:400]}", code=message.code)
        if isinstance(message, Hello):
            return self._hello(message)
        if self._phase != "open":
            raise StreamRefused("fault", f"{type(message).__name__} came before Hello")
        match message:
            case Batch():
                self._batch(message)
            case Ack(feed, seq):
                self._ack(feed, seq)
            case Digest():
                self._digest(message)
            case _ as unreachable:
                assert_never(unreachable)
        return None

    def _hello(self, hello: Hello) -> None:
        if self._peer is not None:
            if hello != self._peer:
                raise StreamRefused("fault", "a second Hello says something else")
            return
        check_hello(hello, self.me, self.expects, self.grant)
        self._peer = hello
        self._progress = True
        if self._dialer:
            self._begin()
        else:
            self._effects.append(Meet(hello.node_id))

    def _greet(self) -> None:
        self._send(hello_of(self.me, self.grant, self._cursors))

    def _begin(self) -> None:
        """Both sides know each other: say what the other has not got."""
        peer = self._known
        self._phase = "open"
        audience = Audience(common_patterns(self.grant.read, peer.wants), peer.only_by)
        feed = feed_name(self.me.incarnation, audience.patterns, peer.only_by)
        at = peer.cursors.get(feed, 0)
        if at > self._head:
            raise StreamRefused(
                "identity",
                f"you have read {at} entries of incarnation {self.me.incarnation}, whose log ends at {self._head}: it "
                "was put back from a backup without a new incarnation. Restart that node from its backup once more",
            )
        self._out = Outgoing(feed, audience, peer.incarnation, at)
        if batch := self._out.nothing(self._head):
            self._send(batch)
        self._pump()
        self._maybe_compare()

    def _batch(self, batch: Batch) -> None:
        peer = self._known
        feed_in = f"{peer.incarnation}/{_REPAIR}"
        flow = self._repair_in if batch.feed == feed_in else self._in
        check_batch(batch, peer.incarnation)
        if batch.entries and not self.grant.write:
            raise StreamRefused("fault", "these entries were not asked for")
        if flow is self._in:
            if not self._feed_in:
                self._feed_in = batch.feed
                flow.taken = flow.saved = self._cursors.get(batch.feed, 0)
            elif batch.feed != self._feed_in:
                raise StreamRefused("fault", "a stream carries one feed")
            self._peer_head = max(self._peer_head, batch.head)
        if batch.last_seq <= flow.taken:
            if batch.last_seq > batch.after:
                self._send(Ack(batch.feed, flow.taken))  # the first acknowledgement may be lost
            self._maybe_compare()
            return
        flow.waiting[batch.after] = batch
        if len(flow.waiting) > self.window:
            raise StreamRefused("fault", f"more than {self.window} batches without an acknowledgement")
        self._take_next()

    def _ack(self, feed: str, seq: int) -> None:
        if feed == self._comparison.feed:
            fresh = self._comparison.acknowledge(seq)
        elif feed == self._out.feed and seq <= self._out.flow.furthest:
            fresh = self._out.flow.acknowledge(seq)
        else:
            raise StreamRefused("fault", f"{seq} of {shorten(feed)} is acknowledged, but was not sent")
        if fresh:
            self._progress = True
            self._pump()
            self._maybe_compare()

    # ---- saying ------------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Ask for the next page when there is one and a batch may fly; entries missed by the peer come after it."""
        if self._phase != "open":
            return
        for wish in (self._out.ask(self._head, self.window), self._comparison.reask()):
            if wish:
                self._effects.append(wish)

    def _read(self, page: Read) -> None:
        self._head = max(self._head, page.head)
        if batch := self._out.read(page, self._head):
            self._send(batch)
        self._pump()
        self._maybe_compare()

    # ---- hearing -----------------------------------------------------------------------------------------------------

    def _take_next(self) -> None:
        peer = self._known
        for flow in (self._in, self._repair_in):
            while self._taking is None and (batch := flow.next()):
                if flow.worth_saving(batch):
                    self._taking = batch
                    self._effects.append(TakeIn(batch, peer.node_id, peer.incarnation, self.grant))
                else:
                    flow.take(batch.last_seq, durable=False)
                    self._send(Ack(batch.feed, flow.taken))
        self._maybe_compare()

    def _took(self, event: Took) -> None:
        batch, self._taking = self._taking, None
        if batch is None or event.feed != batch.feed:
            raise ValueError(f"Took {event.feed!r} answers no TakeIn")
        if event.full:
            raise StreamRefused("full", "too many changes wait here for others that they build on; connect again later")
        flow = self._in if batch.feed == self._feed_in else self._repair_in
        flow.take(batch.last_seq, durable=True)
        self._send(Ack(batch.feed, flow.taken))
        self._refused += event.refused
        if self._refused > SYNC_REFUSED_ENTRIES_MAX:
            raise StreamRefused(
                "fault",
                f"{self._refused} entries of this stream were refused, the last of them for reasons that `mnemesh sync "
                "quarantine` on this node tells",
            )
        self._take_next()

    # ---- comparing ---------------------------------------------------------------------------------------------------

    def caught_up(self) -> bool:
        """Whether each side has all that the other had for it, as far as is known here."""
        idle = self._taking is None and not self._in.waiting
        heard = not self.grant.write or (self._feed_in != "" and self._in.taken >= self._peer_head and idle)
        return self._phase == "open" and self._out.done(self._head) and heard and not self._comparison.repairing

    def _maybe_compare(self) -> None:
        if measure := self._comparison.begin(self.caught_up()):
            self._effects.append(measure)

    def _digest(self, digest: Digest) -> None:
        if not any_matches(self._out.audience.patterns, digest.space) or len(digest.space) > SPACE_BYTES_MAX:
            return  # not theirs to know of, or none
        if measure := self._comparison.heard(digest.space, digest.buckets):
            self._effects.append(measure)

    def _measured(self, event: Measured) -> None:
        for digest in self._comparison.measured(event):
            self._send(digest)
        self._pump()

    def _reread(self, page: Reread) -> None:
        entries = self._out.audience.allowed(page.entries)
        if batch := self._comparison.reread(page, entries, self._out.audience.unnamed(entries, page.keys)):
            self._send(batch)
        else:
            self._pump()
            self._maybe_compare()

    # ---- ending ------------------------------------------------------------------------------------------------------

    def _refuse(self, code: str, reason: str) -> None:
        self._send(Refusal(code, reason))
        self._close(code, reason, code=code)

    def _close(self, ours: str, reason: str, code: str = "") -> None:
        self._phase = "closed"
        self._ended = (code, reason)
        self._effects.append(Close(ours, reason))

    def _send(self, message: Message) -> None:
        self._effects.append(Send(message))

    def _status(self) -> Status:
        code, reason = self._ended
        return Status(
            phase=self._phase,
            node_id=self._peer.node_id if self._peer else self.expects,
            only_by=self._peer.only_by if self._peer else "",
            head=self._head,
            acked=self._out.flow.acked,
            sending=len(self._out.flow.flying),
            peer_head=self._peer_head,
            taken=self._in.taken,
            caught_up=self.caught_up(),
            code=code,
            reason=reason,
        )
