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

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from mnemesh_crdt.envelope import Entry, node_id_of
from mnemesh_crdt.flow import Inflow, Outflow
from mnemesh_crdt.messages import (
    Ack,
    Ask,
    Batch,
    Buckets,
    Close,
    Closed,
    Compare,
    Digest,
    Effect,
    Event,
    Got,
    Granted,
    Hello,
    Measure,
    Measured,
    Meet,
    Message,
    Met,
    News,
    Opened,
    Read,
    Reask,
    Refusal,
    Reread,
    Send,
    Status,
    TakeIn,
    Tick,
    Took,
)
from mnemesh_memory.errors import InvalidArgument, shorten
from mnemesh_memory.grants import BELOW, EVERY_SHARED, PATTERNS_MAX, PeerGrant, any_matches, check_pattern, principal_of
from mnemesh_memory.limits import (
    BATCH_BYTES_MAX,
    BATCH_ITEMS_MAX,
    SYNC_CURSORS_MAX,
    SYNC_DIGEST_SPACES_MAX,
    SYNC_SILENT_TICKS_MAX,
    SYNC_WINDOW_BATCHES,
)

__all__ = [
    "DIALER",
    "LISTENER",
    "PROTOCOL",
    "REFUSALS",
    "Ack",
    "Ask",
    "Batch",
    "Buckets",
    "Close",
    "Closed",
    "Compare",
    "Digest",
    "Effect",
    "Event",
    "Got",
    "Granted",
    "Hello",
    "Me",
    "Measure",
    "Measured",
    "Meet",
    "Message",
    "Met",
    "News",
    "Opened",
    "Read",
    "Reask",
    "Refusal",
    "Reread",
    "Send",
    "Status",
    "Stream",
    "TakeIn",
    "Tick",
    "Took",
]

PROTOCOL: Final = 1_000  # major * 1000 + minor
DIALER: Final = "dialer"
LISTENER: Final = "listener"
# Why a stream is ended: another major protocol; a wrong or doubled node id; grants that changed (connect again at
# once); no room for entries that wait (later); no answer (later); a message that no honest peer sends.
REFUSALS: Final = ("protocol", "identity", "changed", "full", "silent", "fault")
_REPAIR: Final = "repair"
_BUCKETS: Final = 4096
_HASH_HEX: Final = 64
_NAME_CHARS_MAX: Final = 64  # of an incarnation, a principal, the scope in a feed's name
_SEQ_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """This node as it says Hello: its id, raw public key, and the incarnation of its log."""

    node_id: str
    key: bytes
    incarnation: str


@dataclass(slots=True)
class _Repair:
    """Buckets of a space that are sent again, and how far: `after` is acknowledged, `read` is under way."""

    space: str
    buckets: tuple[int, ...]
    after: int = 0
    read: int = 0
    last: bool = False
    flying: bool = False
    again: bool = False


class _Refused(Exception):
    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


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
        self._patterns: tuple[str, ...] = ()
        self._feed = ""
        self._out = Outflow()
        self._asked = False
        self._named: set[str] = set()
        # what we hear
        self._cursors: Mapping[str, int] = {}
        self._feed_in = ""
        self._in = Inflow()
        self._repair_in = Inflow()
        self._peer_head = 0
        self._taking: Batch | None = None
        # comparison
        self._compare = False
        self._measuring = False
        self._theirs: dict[str, Buckets] = {}
        self._digested: set[str] = set()
        self._repairs: deque[_Repair] = deque()
        self._repair_seq = 0
        self._reasked = False
        # time
        self._progress = True
        self._silent = 0

    def handle(self, event: Event) -> list[Effect]:
        """Take in one event; the effects are for the shell to carry out, in order."""
        self._effects = []
        if self._phase != "closed":
            try:
                self._on(event)
            except _Refused as refused:
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
                self._compare = True
                self._digested.clear()
                self._maybe_compare()
            case Measured():
                self._measured(event)
            case Reread():
                self._reread(event)
            case Granted(grant):
                if grant != self.grant:
                    raise _Refused("changed", "what this stream may do was changed; connect again")
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
        waits = self._phase == "greeting" or self._out.flying or (self._repairs and self._repairs[0].flying)
        if self._progress or not waits:
            self._silent, self._progress = 0, False
            return
        self._silent += 1
        if self._phase == "greeting" or self._silent > SYNC_SILENT_TICKS_MAX:
            raise _Refused("silent", f"no answer for {self._silent + 1} ticks; connect again later")
        self._named.clear()
        if self._out.flying:
            self._out.rewind()
        if self._repairs and self._repairs[0].flying:
            self._repairs[0].flying, self._repairs[0].again = False, True
        self._pump()

    # ---- messages ----------------------------------------------------------------------------------------------------

    def _got(self, message: Message) -> None:
        if isinstance(message, Refusal):
            return self._close("", f"{shorten(message.code)}: {message.reason[:400]}", code=message.code)
        if isinstance(message, Hello):
            return self._hello(message)
        if self._phase != "open":
            raise _Refused("fault", f"{type(message).__name__} came before Hello")
        match message:
            case Batch():
                self._batch(message)
            case Ack(feed, seq):
                self._ack(feed, seq)
            case Digest(space, buckets):
                self._digest(space, buckets)
            case _ as unreachable:
                assert_never(unreachable)
        return None

    def _hello(self, hello: Hello) -> None:
        if self._peer is not None:
            if hello != self._peer:
                raise _Refused("fault", "a second Hello says something else")
            return
        _check_hello(hello, self.me, self.expects)
        self._peer = hello
        self._progress = True
        if self._dialer:
            self._begin()
        else:
            self._effects.append(Meet(hello.node_id))

    def _greet(self) -> None:
        grant = self.grant
        self._send(
            Hello(
                protocol=PROTOCOL,
                node_id=self.me.node_id,
                key=self.me.key,
                incarnation=self.me.incarnation,
                wants=grant.write,
                only_by="" if grant.relay else grant.principal,
                cursors=self._cursors,
            )
        )

    def _begin(self) -> None:
        """Both sides know each other: say what the other has not got."""
        peer = self._peer
        assert peer is not None
        self._phase = "open"
        self._patterns = common_patterns(self.grant.read, peer.wants)
        self._feed = feed_name(self.me.incarnation, self._patterns, peer.only_by)
        at = peer.cursors.get(self._feed, 0)
        if at > self._head:
            raise _Refused(
                "identity",
                f"you have read {at} entries of incarnation {self.me.incarnation}, whose log ends at {self._head}: it "
                "was put back from a backup without a new incarnation. Restart that node from its backup once more",
            )
        self._out.start(at)
        if at >= self._head or not self._patterns:  # so that the other side knows that there is nothing to come
            self._send(Batch(feed=self._feed, after=at, last_seq=at, head=at, entries=()))
        self._pump()
        self._maybe_compare()

    def _batch(self, batch: Batch) -> None:
        peer = self._peer
        assert peer is not None
        feed_in = f"{peer.incarnation}/{_REPAIR}"
        flow = self._repair_in if batch.feed == feed_in else self._in
        _check_batch(batch, peer.incarnation)
        if batch.entries and not self.grant.write:
            raise _Refused("fault", "these entries were not asked for")
        if flow is self._in:
            if not self._feed_in:
                self._feed_in = batch.feed
                flow.taken = flow.saved = self._cursors.get(batch.feed, 0)
            elif batch.feed != self._feed_in:
                raise _Refused("fault", "a stream carries one feed")
            self._peer_head = max(self._peer_head, batch.head)
        if batch.last_seq <= flow.taken:
            if batch.last_seq > batch.after:
                self._send(Ack(batch.feed, flow.taken))  # the first acknowledgement may be lost
            self._maybe_compare()
            return
        flow.waiting[batch.after] = batch
        if len(flow.waiting) > self.window:
            raise _Refused("fault", f"more than {self.window} batches without an acknowledgement")
        self._take_next()

    def _ack(self, feed: str, seq: int) -> None:
        if feed == f"{self.me.incarnation}/{_REPAIR}":
            self._ack_repair(seq)
        elif feed != self._feed or seq > self._out.furthest:
            raise _Refused("fault", f"{seq} of {shorten(feed)} is acknowledged, but was not sent")
        elif self._out.acknowledge(seq):
            self._progress = True
            self._pump()
            self._maybe_compare()

    # ---- saying ------------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Ask for the next page when there is one and a batch may fly; entries missed by the peer come after it."""
        if self._phase != "open":
            return
        peer, out = self._peer, self._out
        assert peer is not None
        if self._patterns and not self._asked and out.read < self._head and len(out.flying) < self.window:
            self._asked = True
            self._effects.append(Ask(out.read, self._patterns, peer.incarnation))
        if self._repairs and not self._reasked and not self._repairs[0].flying:
            first = self._repairs[0]
            self._reasked = True
            self._effects.append(Reask(first.space, first.buckets, first.after))

    def _read(self, page: Read) -> None:
        self._asked = False
        self._head = max(self._head, page.head)
        if self._phase == "open" and page.after == self._out.read:
            self._out.read = max(self._out.read, page.last_seq)
            entries = self._allowed(page.entries)
            if entries or self._out.read >= self._head:
                self._say(entries, page.keys)
        self._pump()
        self._maybe_compare()

    def _say(self, entries: tuple[Entry, ...], keys: Mapping[str, bytes]) -> None:
        out = self._out
        if out.read > out.said:
            batch = Batch(
                feed=self._feed,
                after=out.said,
                last_seq=out.read,
                head=self._head,
                entries=entries,
                keys=self._unnamed(entries, keys),
            )
            out.announce(out.read)
            self._send(batch)

    def _allowed(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        """Only what the peer may have leaves, whatever the page holds."""
        peer = self._peer
        assert peer is not None
        only = peer.only_by
        return tuple(
            one
            for one in entries
            if any_matches(self._patterns, one.space) and (not only or principal_of(one.agent) == only)
        )

    def _unnamed(self, entries: tuple[Entry, ...], keys: Mapping[str, bytes]) -> dict[str, bytes]:
        wanted = {one.node for one in entries} - self._named
        self._named |= wanted & keys.keys()
        return {node: keys[node] for node in sorted(wanted & keys.keys())}

    # ---- hearing -----------------------------------------------------------------------------------------------------

    def _take_next(self) -> None:
        peer = self._peer
        assert peer is not None
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
            raise _Refused("full", "too many changes wait here for others that they build on; connect again later")
        flow = self._in if batch.feed == self._feed_in else self._repair_in
        flow.take(batch.last_seq, durable=True)
        self._send(Ack(batch.feed, flow.taken))
        self._take_next()

    # ---- comparing ---------------------------------------------------------------------------------------------------

    def caught_up(self) -> bool:
        """Whether each side has all that the other had for it, as far as is known here."""
        said = not self._patterns or (self._out.read >= self._head and not self._out.flying and not self._asked)
        idle = self._taking is None and not self._in.waiting
        heard = not self.grant.write or (self._feed_in != "" and self._in.taken >= self._peer_head and idle)
        return self._phase == "open" and said and heard and not self._repairs

    def _maybe_compare(self) -> None:
        if self._compare and not self._measuring and self.caught_up():
            self._compare = False
            if self.grant.write:
                self._measuring = True
                self._effects.append(Measure(self.grant.write))

    def _digest(self, space: str, buckets: Buckets) -> None:
        if not any_matches(self._patterns, space):
            return  # not theirs to know of
        if len(self._theirs) >= SYNC_DIGEST_SPACES_MAX and space not in self._theirs:
            raise _Refused("fault", f"more than {SYNC_DIGEST_SPACES_MAX} digests at a time")
        if any(not 0 <= one < _BUCKETS or len(value) != _HASH_HEX for one, value in buckets.items()):
            raise _Refused("fault", f"a digest has {_BUCKETS} buckets of {_HASH_HEX} hex digits")
        self._theirs[space] = buckets
        self._effects.append(Measure((space,)))

    def _measured(self, event: Measured) -> None:
        ordered = event.patterns == self.grant.write and self._measuring
        if ordered:
            self._measuring = False
        for space in sorted({*event.digests, *(self._theirs.keys() & set(event.patterns))}):
            ours = event.digests.get(space, {})
            theirs = self._theirs.pop(space, None)
            differing = () if theirs is None else _differing(ours, theirs)
            if differing and ours:
                self._repairs.append(_Repair(space, differing))
            wanted = any_matches(self.grant.write, space) and space not in self._digested
            if wanted and (ordered or differing):
                self._digested.add(space)
                self._send(Digest(space, ours))
        self._pump()

    def _reread(self, page: Reread) -> None:
        self._reasked = False
        if not self._repairs:
            raise ValueError(f"Reread of {page.space!r} answers no Reask")
        first = self._repairs[0]
        first.read, first.last = page.last_seq, page.done
        entries = self._allowed(page.entries)
        if entries:
            self._repair_seq += not first.again
            first.flying, first.again = True, False
            self._send(
                Batch(
                    feed=f"{self.me.incarnation}/{_REPAIR}",
                    after=self._repair_seq - 1,
                    last_seq=self._repair_seq,
                    head=0,
                    entries=entries,
                    keys=self._unnamed(entries, page.keys),
                )
            )
        else:
            self._repaired(first)

    def _ack_repair(self, seq: int) -> None:
        if seq > self._repair_seq:
            raise _Refused("fault", f"batch {seq} of a repair is acknowledged, but was not sent")
        if seq == self._repair_seq and self._repairs and self._repairs[0].flying:
            self._progress = True
            self._repaired(self._repairs[0])

    def _repaired(self, first: _Repair) -> None:
        first.flying, first.after = False, first.read
        if first.last:
            self._repairs.popleft()
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
            head=self._head,
            acked=self._out.acked,
            sending=len(self._out.flying),
            peer_head=self._peer_head,
            taken=self._in.taken,
            caught_up=self.caught_up(),
            code=code,
            reason=reason,
        )


# ---- pure helpers ----------------------------------------------------------------------------------------------------


def common_patterns(left: Iterable[str], right: Iterable[str]) -> tuple[str, ...]:
    """Patterns of the spaces that both sides cover, sorted, without those that others cover."""
    other = tuple(right)
    both = {q if _covers(p, q) else p for p in left for q in other if _covers(p, q) or _covers(q, p)}
    return tuple(sorted(p for p in both if not any(q != p and _covers(q, p) for q in both)))


def feed_name(incarnation: str, patterns: tuple[str, ...], only_by: str) -> str:
    """The name of what a log of that incarnation has for a peer that gets these spaces and authors."""
    scope = hashlib.sha256("\n".join([only_by, *patterns]).encode()).hexdigest()[:16]
    return f"{incarnation}/{scope}"


def _covers(wide: str, narrow: str) -> bool:
    if narrow.startswith("@") or wide == narrow:
        return wide == narrow or (wide.startswith("@") and narrow.startswith(wide + "/"))
    return wide == EVERY_SHARED or (wide.endswith(BELOW) and narrow.startswith(wide[:-1]))


def _differing(ours: Buckets, theirs: Buckets) -> tuple[int, ...]:
    return tuple(sorted(one for one in {*ours, *theirs} if ours.get(one) != theirs.get(one)))


def _check_hello(hello: Hello, me: Me, expects: str) -> None:
    theirs, ours = hello.protocol // 1000, PROTOCOL // 1000
    if theirs != ours:
        older = "this node" if theirs > ours else "the other node"
        raise _Refused("protocol", f"protocol {hello.protocol} and {PROTOCOL} do not fit; upgrade Mnemesh on {older}")
    if hello.node_id == me.node_id:
        raise _Refused(
            "identity",
            "two nodes with one id: one is a copy; give the copy a new identity with `mnemesh node new-identity`",
        )
    if node_id_of(hello.key) != hello.node_id:
        raise _Refused("identity", f"node id {shorten(hello.node_id)} is not that of the key shown with it")
    if expects not in ("", hello.node_id):
        raise _Refused(
            "identity",
            f"this is node {hello.node_id}, not {expects} as when the peer was added; if that is right, remove the "
            "peer and add it again",
        )
    if not _is_name(hello.incarnation) or len(hello.only_by) > _NAME_CHARS_MAX:
        raise _Refused("fault", f"an incarnation and a principal are names of at most {_NAME_CHARS_MAX} characters")
    if len(hello.wants) > PATTERNS_MAX or len(hello.cursors) > SYNC_CURSORS_MAX:
        raise _Refused("fault", f"at most {PATTERNS_MAX} patterns of spaces and {SYNC_CURSORS_MAX} cursors are allowed")
    if not all(0 <= seq <= _SEQ_MAX for seq in hello.cursors.values()):
        raise _Refused("fault", "a cursor is out of range")
    try:
        for pattern in hello.wants:
            check_pattern("wants", pattern)
    except InvalidArgument as error:
        raise _Refused("fault", error.message) from error


def _check_batch(batch: Batch, incarnation: str) -> None:
    origin, _, scope = batch.feed.partition("/")
    if origin != incarnation or not _is_name(scope):
        raise _Refused("fault", f"feed {shorten(batch.feed)} is not one of incarnation {incarnation}")
    size = sum(len(one.raw) for one in batch.entries)
    if len(batch.entries) > BATCH_ITEMS_MAX or size > BATCH_BYTES_MAX:
        raise _Refused("fault", f"a batch holds at most {BATCH_ITEMS_MAX} entries of {BATCH_BYTES_MAX} bytes together")
    if not 0 <= batch.after <= batch.last_seq <= _SEQ_MAX or (batch.entries and batch.after == batch.last_seq):
        raise _Refused("fault", f"a batch goes from {batch.after} to {batch.last_seq}")


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _NAME_CHARS_MAX and text.isascii() and text.replace("-", "").isalnum()
