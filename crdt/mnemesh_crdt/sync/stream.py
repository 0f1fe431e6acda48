"""The decision what to tell a peer, and when: one state machine a stream. Knows no clock, network, ledger or thread.

`Stream.handle(event)` returns effects. The shell carries them out in order and answers with events (messages.py). The
same events always give the same effects.

1. Each side says Hello, the dialer first, and then proves its node id and incarnation (greeting.py). Protocol, identity
   and patterns are checked. A misfit is refused with a reason, and both nodes stay up. Nothing else is said or believed
   before. Nothing at all is said to a copy of a node whose stream stands here and answers (Admit, Ping).

   Then each side reads its log from the other's cursor. It sends the entries that its grant and the other's wishes both
   cover: spaces by pattern, authors by principal. A private space travels only when both name it.

2. A Batch says from where to where its numbers go. A receiver takes only the batch that continues the last, so a cursor
   never steps over a lost batch. Late and repeated batches cost nothing. The acknowledgement comes after the commit
   (TakeIn, Took), never before. At most `window` batches fly. Tick without progress sends the rest again, and then
   gives up.

3. Entries from a peer's present incarnation are not sent back to the peer. Entries from an earlier incarnation are,
   because they may be lost there.

4. A cursor in an unknown feed starts at 0. A cursor beyond the log's end is refused as a matter of identity. Such a log
   was put back without a new incarnation, and would say different entries under known numbers.

5. Compare waits until both directions are caught up. Then the digest of each space that the peer may read is told. The
   receiver asks for differing buckets, and gets these again. DigestsEnd, Compared and Resent tell the end. `back` has
   the peer do the same, so both directions are repaired.

6. The choice of entries is fixed when the stream opens. A changed grant ends the stream, and the next stream has a feed
   of another name.

The holder of a node's key is that node. Cursors are kept by the stream's principal: a node with two tokens has two
feeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Final, assert_never

from mnemesh_crdt.sync import messages
from mnemesh_crdt.sync.audience import Audience, common_patterns, feed_name, keys_of
from mnemesh_crdt.sync.comparison import Comparison
from mnemesh_crdt.sync.flow import REPAIR, Incoming, Outgoing
from mnemesh_crdt.sync.greeting import Greeting, Me, ProofCheck, StreamRefused
from mnemesh_crdt.sync.proof import check_proof
from mnemesh_memory.access.grants import PeerGrant, any_matches
from mnemesh_memory.values.errors import shorten
from mnemesh_memory.values.limits import (
    SPACE_BYTES_MAX,
    SYNC_SILENT_TICKS_MAX,
    SYNC_WINDOW_BATCHES,
)

FULL_THERE: Final = "the peer has no room: too many changes wait there for others that they build on"
FULL_HERE: Final = "too many changes of this peer wait here for others that they build on: see `mnemesh sync pending`"


@dataclass(eq=False)
class Stream:
    """One stream with one peer. `grant` says what the peer may read and bring here. `expects` is the required node id,
    "" for any. `check` is an equivalent check of proofs. `handle` is the only way to change it; nothing comes out after
    Close."""

    me: Me
    grant: PeerGrant
    _: KW_ONLY
    expects: str = ""
    window: int = SYNC_WINDOW_BATCHES
    check: ProofCheck = check_proof

    def __post_init__(self) -> None:
        self.status = messages.Status()
        self._phase = "new"
        self._ended = ("", "")
        self._greeting = Greeting(self.me, self.grant, self.expects, self.check)
        self.held = self._greeting.held  # what came while Admitted is waited for; read no more than a little of it
        self._effects: list[messages.Effect] = []
        # what we say
        self._head = 0
        self._out = Outgoing()
        # what we hear
        self._cursors: Mapping[str, int] = {}
        self._in = Incoming(self.grant, self.window)
        # comparison
        self._comparison = Comparison(f"{self.me.incarnation}/{REPAIR}")
        # time
        self._probes: list[int] = []
        self._progress = True
        self._silent = 0

    def handle(self, event: messages.Event) -> list[messages.Effect]:
        """Take in one event; the effects are for the shell to carry out, in order."""
        self._effects = []
        if self._phase != "closed":
            try:
                self._on(event)
            except StreamRefused as refused:
                self._refuse(refused.code, refused.reason)
        if self._phase == "open":
            for answer in self._comparison.settle():
                self._send(answer)
            self._maybe_compare()
        status = self._status()
        if status != self.status:
            self.status = status
            self._effects.append(status)
        return self._effects

    # ---- events ------------------------------------------------------------------------------------------------------

    def _on(self, event: messages.Event) -> None:
        match event:
            case messages.Got(message):
                self._got(message)
            case messages.Misread(reason):
                raise StreamRefused("fault", reason)
            case messages.Read():
                self._read(event)
            case messages.Took():
                self._effects += self._in.took(event)
                self._effects += self._in.go_on()
                self._maybe_compare()
            case messages.News(head):
                self._head = max(self._head, head)
                self._pump()
            case messages.Opened():
                self._opened(event)
            case messages.Met(cursors):
                self._cursors = cursors
                self._send(self._greeting.hello(cursors))
            case messages.Admitted(reason):
                self._greeting.admitted(reason)
                self._progress = True
                self._go_on()
            case messages.Proved(signature):
                self._send(self._greeting.proved(signature))
                self._go_on()
            case messages.Probe(number):
                self._probes.append(number)
                self._ask_who_is_alive()
            case messages.Compare(back):
                self._comparison.ask(back=back)
                self._maybe_compare()
            case messages.Measured():
                self._measured(event)
            case messages.Reread():
                self._reread(event)
            case messages.Granted(grant):
                if grant != self.grant:
                    raise StreamRefused("changed", "what this stream may do was changed; connect again")
            case messages.Tick():
                self._tick()
            case messages.Closed(reason):
                self._close("", reason)
            case _ as unreachable:
                assert_never(unreachable)

    def _opened(self, event: messages.Opened) -> None:
        self._phase = "greeting"
        self._head = event.head
        self._greeting.open(event.role, event.nonce)
        if self._greeting.is_dialer:
            self._cursors = event.cursors
            self._send(self._greeting.hello(event.cursors))

    def _tick(self) -> None:
        self._effects += self._in.again()
        waits = self._phase == "greeting" or self._out.flow.flying or self._comparison.flying
        if self._progress or not waits:
            self._silent, self._progress = 0, False
            return
        self._silent += 1
        if self._phase == "greeting" or self._silent > SYNC_SILENT_TICKS_MAX:
            raise StreamRefused("silent", "no answer for too long; connect again later")
        if self._out.flow.flying:
            self._out.flow.rewind()
        self._comparison.rewind()
        self._pump()

    # ---- messages ----------------------------------------------------------------------------------------------------

    def _got(self, message: messages.Message) -> None:
        if isinstance(message, messages.Refusal):
            return self._close("", f"{shorten(message.code)}: {message.reason[:400]}", code=message.code)
        if isinstance(message, messages.Hello):
            return self._hello(message)
        if isinstance(message, messages.Proof):
            return self._proof(message)
        if self._phase != "open":
            return self._greeting.hold(message)
        match message:
            case messages.Batch():
                self._batch(message)
            case messages.Ack():
                self._ack(message.feed, message.seq, message.full)
            case messages.Digest():
                self._digest(message)
            case messages.DigestsEnd():
                self._comparison.ended(message)
                self._maybe_compare()
            case messages.Compared(number):
                self._comparison.answered(number)
            case messages.Resend():
                self._comparison.asked_again(message)
                self._pump()
            case messages.Resent(number):
                self._comparison.resent(number)
            case messages.Ping(number):
                self._send(messages.Pong(number))
            case messages.Pong(number):
                self._effects.append(messages.Alive(number))
            case _ as unreachable:
                assert_never(unreachable)
        return None

    def _hello(self, hello: messages.Hello) -> None:
        if not self._greeting.heard(hello):
            return
        self._progress = True
        if not self._greeting.is_dialer:
            self._effects.append(messages.Meet(hello.node_id))
        self._go_on()

    def _proof(self, proof: messages.Proof) -> None:
        if self._greeting.believe(proof):
            self._progress = True
            self._effects.append(self._greeting.admit())

    def _go_on(self) -> None:
        """The next step of the opening, when it is this side's turn."""
        if prove := self._greeting.prove():
            self._effects.append(prove)
        if self._greeting.done and self._phase == "greeting":
            self._begin()

    def _begin(self) -> None:
        """Both sides know each other: say what the other has not got."""
        peer = self._greeting.peer
        self._phase = "open"
        self._in.start(peer, self._cursors)
        audience = Audience(common_patterns(self.grant.read, peer.wants), peer.only_by)
        feed = feed_name(self.me.incarnation, audience.patterns, peer.only_by)
        at = peer.cursors.get(feed, 0)
        if at > self._head:
            raise StreamRefused(
                "identity",
                f"you have read {at} entries of incarnation {self.me.incarnation}, whose log ends at {self._head}: it "
                "was put back from a backup without a new incarnation. Restart that node from its backup once more",
            )
        self._out = Outgoing(feed, audience, peer.origin, at)
        self._comparison.open(audience.patterns, self.grant.write if self.grant.relay and not peer.only_by else ())
        self._ask_who_is_alive()
        if batch := self._out.nothing(self._head):
            self._send(batch)
        self._pump()
        self._maybe_compare()
        while self.held:
            self._got(self.held.pop(0))

    def _ask_who_is_alive(self) -> None:
        """Once the other side listens to anything but the greeting."""
        if self._phase == "open":
            for number in self._probes:
                self._send(messages.Ping(number))
            self._probes.clear()

    def _batch(self, batch: messages.Batch) -> None:
        self._effects += self._in.batch(batch)
        self._maybe_compare()

    def _ack(self, feed: str, seq: int, full: bool) -> None:
        if feed == self._comparison.feed:
            fresh = self._comparison.acknowledge(seq)
        elif feed == self._out.feed and seq <= self._out.flow.furthest:
            fresh = self._out.flow.acknowledge(seq)
        else:
            raise StreamRefused("fault", f"{seq} of {shorten(feed)} is acknowledged, but was not sent")
        self._out.full, self._progress = full, self._progress or full or fresh
        if fresh:
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

    def _read(self, page: messages.Read) -> None:
        self._head = max(self._head, page.head)
        if batch := self._out.read(page, self._head):
            self._send(batch)
        self._pump()
        self._maybe_compare()

    # ---- comparing ---------------------------------------------------------------------------------------------------

    def caught_up(self) -> bool:
        """Whether each side has all that the other had for it, as far as is known here."""
        return self._phase == "open" and self._out.done(self._head) and self._in.done and not self._comparison.repairing

    def _maybe_compare(self) -> None:
        match self._comparison.begin(self.caught_up()):
            case messages.DigestsEnd() as end:
                self._send(end)
            case messages.Measure() as measure:
                self._effects.append(measure)

    def _digest(self, digest: messages.Digest) -> None:
        if not any_matches(self.grant.write, digest.space) or len(digest.space) > SPACE_BYTES_MAX:
            return  # not wanted of them, or none
        if measure := self._comparison.heard(digest.space, digest.buckets):
            self._effects.append(measure)

    def _measured(self, event: messages.Measured) -> None:
        for message in self._comparison.measured(event):
            self._send(message)
        self._pump()
        self._maybe_compare()

    def _reread(self, page: messages.Reread) -> None:
        entries = self._out.audience.allowed(page.entries)
        if batch := self._comparison.reread(page, entries, keys_of(entries, page.keys)):
            self._send(batch)
        else:
            self._pump()
            self._maybe_compare()

    # ---- ending ------------------------------------------------------------------------------------------------------

    def _refuse(self, code: str, reason: str) -> None:
        self._send(messages.Refusal(code, reason))
        self._close(code, reason, code=code)

    def _close(self, ours: str, reason: str, code: str = "") -> None:
        self._phase = "closed"
        self._ended = (code, reason)
        self._effects.append(messages.Close(ours, reason))

    def _send(self, message: messages.Message) -> None:
        self._effects.append(messages.Send(message))

    def _status(self) -> messages.Status:
        code, reason = self._ended
        known = self._greeting.done
        return messages.Status(
            phase=self._phase,
            node_id=self._greeting.peer.node_id if known else self.expects,
            takes=self._out.audience.patterns,
            wants=self._greeting.peer.wants if known else (),
            only_by=self._greeting.peer.only_by if known else "",
            head=self._head,
            acked=self._out.flow.acked,
            sending=len(self._out.flow.flying),
            peer_head=self._in.head,
            taken=self._in.taken,
            caught_up=self.caught_up(),
            compared=self._comparison.done,
            differs=self._comparison.differs,
            code=code,
            reason=reason or (FULL_THERE if self._out.full else FULL_HERE if self._in.full else ""),
        )
