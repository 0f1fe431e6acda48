"""The own log as one peer hears it: page by page, only entries that the peer may have, a window at a time.

Knows the place of the peer and the open questions to the ledger. Sends nothing itself.
"""

from __future__ import annotations

from mnemesh_crdt.sync.audience import Audience, keys_of
from mnemesh_crdt.sync.flow import Outflow
from mnemesh_crdt.sync.messages import Ask, Batch, Read


class Outgoing:
    """One feed to one peer. `feed` is its name. `not_from` is the log whose own entries are left out, `at` the last
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
