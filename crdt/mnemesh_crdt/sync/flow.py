"""The numbers of one feed in one direction: said and heard so far, and next.

A sender goes through its log once and may go back to the acknowledged place. A receiver takes batches in the order of
their numbers, whatever their order of arrival. So a saved cursor never leaves anything out. Batches that no honest
sender says are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mnemesh_crdt.sync.handshake import SEQ_MAX, StreamRefused, is_name
from mnemesh_crdt.sync.messages import Batch
from mnemesh_memory.values.errors import shorten
from mnemesh_memory.values.limits import BATCH_BYTES_MAX, BATCH_ITEMS_MAX, SYNC_CURSOR_LAG_MAX


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
    size = sum(len(one.raw) for one in batch.entries)
    if len(batch.entries) > BATCH_ITEMS_MAX or size > BATCH_BYTES_MAX:
        raise StreamRefused(
            "fault", f"a batch holds at most {BATCH_ITEMS_MAX} entries of {BATCH_BYTES_MAX} bytes together"
        )
    if not 0 <= batch.after <= batch.last_seq <= SEQ_MAX or (batch.entries and batch.after == batch.last_seq):
        raise StreamRefused("fault", f"a batch goes from {batch.after} to {batch.last_seq}")
