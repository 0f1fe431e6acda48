"""The numbers of one feed in one direction: said and heard so far, and next.

A sender goes through its log once and may go back to the acknowledged place. A receiver takes batches in the order of
their numbers, whatever their order of arrival. So a saved cursor never leaves anything out. Batches that no honest
sender says are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mnemesh_crdt.sync.audience import Audience, keys_of
from mnemesh_crdt.sync.greeting import SEQ_MAX, StreamRefused, is_name
from mnemesh_crdt.sync.messages import Ack, Ask, Batch, Effect, Hello, Read, Send, TakeIn, Took
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.errors import shorten
from mnemesh_memory.values.limits import BATCH_BYTES_MAX, BATCH_ITEMS_MAX, SYNC_CURSOR_LAG_MAX, SYNC_REFUSED_ENTRIES_MAX

REPAIR: Final = "repair"


@dataclass(slots=True)
class Outflow:
    """Our side of a feed: the log is looked through up to `read`, announced up to `said`, acknowledged up to `acked`.

    `flying` are the ends of batches that wait for their acknowledgement; `furthest` is the largest end ever announced.
    """

    read: int = 0
    said: int = 0
    acked: int = 0
    furthest: int = 0
    flying: list[int] = field(default_factory=list)

    def start(self, at: int) -> None:
        """The other side has everything up to `at`."""
        self.read = self.said = self.acked = self.furthest = at

    def announce(self, end: int) -> None:
        """A batch up to `end` goes out."""
        self.said = end
        self.furthest = max(self.furthest, end)
        self.flying.append(end)

    def acknowledge(self, seq: int) -> bool:
        """Whether `seq` is news."""
        if seq <= self.acked:
            return False
        self.acked = seq
        self.said, self.read = max(self.said, seq), max(self.read, seq)
        self.flying = [end for end in self.flying if end > seq]
        return True

    def rewind(self) -> None:
        """Say again all that is not acknowledged."""
        self.read = self.said = self.acked
        self.flying = []


@dataclass(slots=True)
class Inflow:
    """The peer's side of a feed: all up to `taken` is here, `saved` is the durable cursor. The two differ only by
    entries that are not for us. Batches that came early wait in `waiting`, by where they begin."""

    taken: int = 0
    saved: int = 0
    waiting: dict[int, Batch] = field(default_factory=dict)

    def next(self) -> Batch | None:
        """The batch that continues at `taken`, or None. Batches without news are dropped."""
        for after in sorted(self.waiting):
            if after > self.taken:
                return None
            batch = self.waiting.pop(after)
            if batch.last_seq > self.taken:
                return batch
        return None

    def worth_saving(self, batch: Batch) -> bool:
        """Whether to write to disk: not for each step over entries that are none of ours."""
        return bool(batch.entries) or batch.last_seq - self.saved >= SYNC_CURSOR_LAG_MAX

    def take(self, last_seq: int, durable: bool) -> None:
        """The batch up to `last_seq` is done."""
        self.taken = max(self.taken, last_seq)
        if durable:
            self.saved = self.taken


def check_batch(batch: Batch, incarnation: str) -> None:
    """Whether a peer with that incarnation may send this. Raises StreamRefused."""
    origin, _, scope = batch.feed.partition("/")
    if origin != incarnation or not is_name(scope):
        raise StreamRefused("fault", f"feed {shorten(batch.feed)} is not one of incarnation {incarnation}")
    size = sum(len(entry.raw) for entry in batch.entries)
    if len(batch.entries) > BATCH_ITEMS_MAX or size > BATCH_BYTES_MAX:
        raise StreamRefused(
            "fault", f"a batch holds at most {BATCH_ITEMS_MAX} entries of {BATCH_BYTES_MAX} bytes together"
        )
    if not 0 <= batch.after <= batch.last_seq <= SEQ_MAX or (batch.entries and batch.after == batch.last_seq):
        raise StreamRefused("fault", f"a batch goes from {batch.after} to {batch.last_seq}")


class Incoming:
    """The peer's log as it arrives: batches in any order, taken in one after the other, acknowledged after the commit.
    Knows the taken and the waiting batches, and says what to do. Does nothing itself.

    `grant` says what may come, `window` how many batches may fly. `head` is the last known end of the peer's log.
    `full`: nothing is taken in, because no more may wait here."""

    def __init__(self, grant: PeerGrant, window: int) -> None:
        self._grant = grant
        self._window = window
        self._peer: Hello
        self._cursors: Mapping[str, int] = {}
        self._feed = ""
        self._flow = Inflow()
        self._repair = Inflow()
        self._taking: Batch | None = None
        self._refused = 0
        self.full = False
        self.head = 0

    @property
    def taken(self) -> int:
        """How far the peer's feed was read."""
        return self._flow.taken

    @property
    def done(self) -> bool:
        """Whether all is here that the peer has for this side, as far as it said."""
        idle = self._taking is None and not self._flow.waiting
        return not self._grant.write or (self._feed != "" and self.taken >= self.head and idle)

    def start(self, peer: Hello, cursors: Mapping[str, int]) -> None:
        """The peer has proved its identity. `cursors` are the saved cursors in its feeds."""
        self._peer, self._cursors = peer, cursors

    def batch(self, batch: Batch) -> list[Effect]:
        """A batch came. Raises StreamRefused for one that no honest peer sends."""
        flow = self._repair if batch.feed == f"{self._peer.incarnation}/{REPAIR}" else self._flow
        check_batch(batch, self._peer.incarnation)
        if batch.entries and not self._grant.write:
            raise StreamRefused("fault", "these entries were not asked for")
        if flow is self._flow:
            if not self._feed:
                self._feed = batch.feed
                flow.taken = flow.saved = self._cursors.get(batch.feed, 0)
            elif batch.feed != self._feed:
                raise StreamRefused("fault", "a stream carries one feed")
            self.head = max(self.head, batch.head)
        if batch.last_seq <= flow.taken:
            # The first acknowledgement may be lost.
            return [Send(Ack(batch.feed, flow.taken))] if batch.last_seq > batch.after else []
        flow.waiting[batch.after] = batch
        if len(flow.waiting) > self._window:
            raise StreamRefused("fault", f"more than {self._window} batches without an acknowledgement")
        return self._take_next()

    def took(self, event: Took) -> list[Effect]:
        """The batch that was being taken in is durably here, or waits until there is room for it."""
        batch, self._taking = self._taking, None
        if batch is None or event.feed != batch.feed:
            raise ValueError(f"Took {event.feed!r} answers no TakeIn")
        flow = self._flow if batch.feed == self._feed else self._repair
        if event.full:
            self.full = True
            flow.waiting[batch.after] = batch
            return [Send(Ack(batch.feed, flow.taken, full=True))]
        flow.take(batch.last_seq, durable=True)
        self._refused += event.refused
        return [Send(Ack(batch.feed, flow.taken))]

    def go_on(self) -> list[Effect]:
        """Take in what waited meanwhile. Raises StreamRefused after too many entries that were quarantined."""
        if self._refused > SYNC_REFUSED_ENTRIES_MAX:
            raise StreamRefused(
                "fault",
                f"{self._refused} entries of this stream were refused, the last of them for reasons that `mnemesh sync "
                "quarantine` on this node tells",
            )
        return self._take_next()

    def again(self) -> list[Effect]:
        """It is time to see whether there is room by now."""
        self.full = False
        return self._take_next()

    def _take_next(self) -> list[Effect]:
        effects: list[Effect] = []
        for flow in (self._flow, self._repair):
            while self._taking is None and not self.full and (batch := flow.next()):
                if flow.worth_saving(batch):
                    self._taking = batch
                    effects.append(TakeIn(batch, self._peer.node_id, self._peer.origin, self._grant))
                else:
                    flow.take(batch.last_seq, durable=False)
                    effects.append(Send(Ack(batch.feed, flow.taken)))
        return effects


class Outgoing:
    """The own log as one peer hears it: page by page, only entries that the peer may have, a window at a time. Knows
    the place of the peer and the open questions to the ledger. Sends nothing itself.

    `feed` is its name. `not_from` is the log whose own entries are left out, `at` the last
    number that the peer has. `full`: the peer has no room for more."""

    def __init__(self, feed: str = "", audience: Audience | None = None, not_from: str = "", at: int = 0) -> None:
        self.feed = feed
        self.audience = audience or Audience()
        self.flow = Outflow()
        self.flow.start(at)
        self._not_from = not_from
        self._asked = False
        self.full = False

    def done(self, head: int) -> bool:
        """Whether the peer has all that it may have of the log up to `head`, as far as is known here."""
        flow = self.flow
        return not self.audience.patterns or (flow.read >= head and not flow.flying and not self._asked)

    def ask(self, head: int, window: int) -> Ask | None:
        """The page of the log to read next, when there is one and a batch may fly."""
        flow, patterns = self.flow, self.audience.patterns
        if not patterns or self._asked or flow.read >= head or len(flow.flying) >= window:
            return None
        self._asked = True
        return Ask(flow.read, patterns, self._not_from)

    def read(self, page: Read, head: int) -> Batch | None:
        """A page was read: the batch to send, None when none of it is for the peer and more is to come."""
        self._asked = False
        flow = self.flow
        if page.after != flow.read:
            return None  # asked for before it was said again
        flow.read = max(flow.read, page.last_seq)
        entries = self.audience.allowed(page.entries)
        if flow.read <= flow.said or (not entries and flow.read < head):
            return None
        after, keys = flow.said, keys_of(entries, page.keys)
        flow.announce(flow.read)
        return Batch(feed=self.feed, after=after, last_seq=flow.read, head=head, entries=entries, keys=keys)

    def nothing(self, head: int) -> Batch | None:
        """The batch that says there is nothing to come, if that is so: the peer has to know."""
        at = self.flow.read
        if at < head and self.audience.patterns:
            return None
        return Batch(feed=self.feed, after=at, last_seq=at, head=at, entries=())
