"""The peer's log as it arrives: batches in any order, taken in one after the other, acknowledged after the commit.

Knows the taken and the waiting batches, and says what to do. Does nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mnemesh_crdt.sync.flow import Inflow, check_batch
from mnemesh_crdt.sync.handshake import StreamRefused
from mnemesh_crdt.sync.messages import Ack, Batch, Effect, Hello, Send, TakeIn, Took
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.limits import SYNC_REFUSED_ENTRIES_MAX

REPAIR: Final = "repair"


class Incoming:
    """`grant` says what may come, `window` how many batches may fly. `head` is the last known end of the peer's log.
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
