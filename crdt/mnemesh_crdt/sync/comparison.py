"""The comparison of two replicas by their digests, and the repair of differences: anti-entropy within one stream.

A side tells a hash for each bucket of its documents, in the spaces that the other may read (A. Demers et al., "Epidemic
algorithms for replicated database maintenance", PODC 1987). The receiver names the buckets that differ here, and the
sender sends their content again. When both sides tell, both directions are repaired. So nobody learns of a space beyond
the grant, not even its name. The only feed here is the repair feed, whose numbers count its batches. This module says
what to ask and send, and sends nothing.

Equal digests have no answer, so DigestsEnd follows any digests. The peer says Compared after a look at all digests and
a request for its missing entries. Resent says that the requested entries were sent and acknowledged. A peer that was
asked to compare as well says its own DigestsEnd. Nobody waits for the other with its own messages, so two comparisons
at once never wait for each other.

After a comparison with a difference, and its repair, the two compare once more. Some buckets of shared spaces differ in
two looks, one after the other. The two sides disagree on memories there: `differs`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from mnemesh_crdt.changes.envelope import Entry
from mnemesh_crdt.document.digest import BUCKETS, HASH_HEX
from mnemesh_crdt.sync import messages
from mnemesh_crdt.sync.greeting import StreamRefused
from mnemesh_memory.access.grants import any_matches
from mnemesh_memory.values.errors import shorten
from mnemesh_memory.values.limits import SYNC_DIGEST_SPACES_MAX

# Of one comparison. The digests of the next may come before the last are looked at.
DIGESTS_TOLD_MAX: Final = SYNC_DIGEST_SPACES_MAX // 2


@dataclass(slots=True)
class _Repair:
    """Buckets of a space that are sent again because of the peer's Resend of that number, and how far: `after` is
    acknowledged, `read` is under way."""

    number: int
    space: str
    buckets: tuple[int, ...]
    after: int = 0
    read: int = 0
    last: bool = False
    flying: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True)
class _Looks:
    """Buckets of a space that differed in the last look, and buckets that differed in the last two."""

    last: frozenset[int] = frozenset()
    stayed: frozenset[int] = frozenset()


class Comparison:
    """The comparisons and repairs of one stream. `feed` is the name of the repair feed, with the entries that the peer
    misses."""

    def __init__(self, feed: str) -> None:
        self.feed = feed
        self._told: tuple[str, ...] = ()
        self.done = 0  # so many of our comparisons are over
        self._asked = 0
        self._due = self._back = False
        self._measuring = False
        self._begun = (0, False, 0)  # the last comparison: its number, and the fields of its end
        self._covered = self._serving = 0  # our wishes and the peer's, covered by finished digests
        self._ends = self._back_end = 0  # our DigestsEnds, and the last with `back`
        self._answered = self._served = 0  # how far the peer has answered both
        self._owed = self._their_back = 0  # the same for the peer's ends
        self._lacked = self._got = 0  # our requests for buckets, and how many are answered
        self._their_lacked = self._sent = self._said_sent = 0  # the peer's requests: made, answered, told
        self._reasked = False
        self._theirs: dict[str, messages.Buckets] = {}  # digests that are looked at
        self._told_up_to = ""
        self._repairs: deque[_Repair] = deque()
        self._seq = 0
        self._taken: tuple[str, ...] = ()
        self._looks: dict[tuple[str, bool], _Looks] = {}  # by space, and whether the peer looked
        self._wished: dict[str, frozenset[int]] = {}  # by the peer because of what was told last
        self._digested: tuple[str, ...] = ()  # spaces that were told last
        self._look_again = False

    def open(self, told: tuple[str, ...], taken: tuple[str, ...] = ()) -> None:
        """The stream stands. `told` are the patterns of the spaces that the peer may read and hear digests of. `taken`
        are the patterns of spaces in which everything of the peer is taken. Spaces covered by both should be equal."""
        self._told, self._taken = told, taken

    @property
    def differs(self) -> int:
        """How many memories are not the same on both sides, counted by buckets: two in one bucket count once."""
        buckets: dict[str, frozenset[int]] = {}
        for (space, _), looks in self._looks.items():
            buckets[space] = buckets.get(space, frozenset()) | looks.stayed
        return sum(map(len, buckets.values()))

    def _look(self, space: str, peer: bool, buckets: frozenset[int]) -> None:
        if any_matches(self._told, space) and any_matches(self._taken, space):
            before = self._looks.get((space, peer), _Looks())
            self._looks[space, peer] = _Looks(buckets, before.last & buckets)

    @property
    def repairing(self) -> bool:
        """Whether anything is still to be sent again."""
        return bool(self._repairs)

    @property
    def flying(self) -> bool:
        """Whether a batch waits for its acknowledgement."""
        return bool(self._repairs) and self._repairs[0].flying

    def ask(self, *, back: bool = False) -> None:
        """It is time to compare; `begin` does it when both sides are caught up."""
        self._asked += 1
        self._due, self._back = True, self._back or back
        self._look_again = True

    def begin(self, caught_up: bool) -> messages.Measure | messages.DigestsEnd | None:
        """The measurement for a due comparison, or its end at once when nothing may be told."""
        if not self._due or self._measuring or not caught_up:
            return None
        self._begun = (self._asked, self._back, self._their_back)
        self._due = self._back = False
        if self._told:
            self._measuring = True
            return messages.Measure(self._told)
        if self._begun[1] or self._their_back > self._serving:
            return self._end()
        self._covered = self._asked
        return None

    def _end(self) -> messages.DigestsEnd:
        """The end of the comparison that was begun last."""
        self._covered, back, self._serving = self._begun
        self._ends += 1
        self._wished = {}
        if back:
            self._back_end = self._ends
        return messages.DigestsEnd(self._ends, back, self._serving)

    def ended(self, end: messages.DigestsEnd) -> None:
        """The peer has said its digests. Raises StreamRefused."""
        if end.serves > self._back_end:
            raise StreamRefused("fault", f"end {end.serves} of digests did not ask for a comparison in return")
        self._owed = max(self._owed, end.number)
        self._served = max(self._served, end.serves)
        if end.back:
            self._their_back = max(self._their_back, end.number)
            self._due = True

    def answered(self, number: int) -> None:
        """The peer has looked at our digests up to that end. Raises StreamRefused."""
        if number > self._ends:
            raise StreamRefused("fault", f"end {number} of digests is answered, but was not said")
        if number == self._ends > self._answered:
            for space in self._digested:
                self._look(space, True, self._wished.get(space, frozenset()))
        self._answered = max(self._answered, number)

    def resent(self, number: int) -> None:
        """The peer has sent again what we asked for up to that number. Raises StreamRefused."""
        if number > self._lacked:
            raise StreamRefused("fault", f"buckets were sent again for number {number}, which did not ask for any")
        self._got = max(self._got, number)

    def settle(self) -> list[messages.Compared | messages.Resent]:
        """The answers that the peer waits for, as soon as they are true. Our own comparisons may be done now, too."""
        said: list[messages.Compared | messages.Resent] = []
        if self._owed and not self._theirs:
            said.append(messages.Compared(self._owed))
            self._owed = 0
        if self._sent > self._said_sent:
            self._said_sent = self._sent
            said.append(messages.Resent(self._sent))
        answered = self._answered >= self._ends and self._served >= self._back_end and self._got >= self._lacked
        if answered and not (self._theirs or self._repairs or self._measuring):
            if self._look_again and not self._due and self._covered == self._asked:
                self._look_again = False
                self._due = any(looks.last for looks in self._looks.values())
                self._back = self._due and self._begun[1]
            if not (self._due and self._covered == self._asked):
                self.done = self._covered
        return said

    def heard(self, space: str, buckets: messages.Buckets) -> messages.Measure | None:
        """The peer's digest of a space; the own one, unless it is being measured, is needed to compare. Raises
        StreamRefused."""
        measuring = space in self._theirs
        if len(self._theirs) >= SYNC_DIGEST_SPACES_MAX and not measuring:
            raise StreamRefused("fault", f"more than {SYNC_DIGEST_SPACES_MAX} digests at a time")
        if not _are_buckets(buckets) or any(len(value) != HASH_HEX for value in buckets.values()):
            raise StreamRefused("fault", f"a digest has {BUCKETS} buckets of {HASH_HEX} hex digits")
        self._theirs[space] = buckets
        return None if measuring else messages.Measure((space,))

    def measured(self, event: messages.Measured) -> list[messages.Digest | messages.DigestsEnd | messages.Resend]:
        """The own digests are known: the requests because of the peer's digests, and our digests for the peer."""
        said: list[messages.Digest | messages.DigestsEnd | messages.Resend] = []
        for space in sorted(self._theirs.keys() & {*event.digests, *event.patterns}):
            ours, theirs = event.digests.get(space, {}), self._theirs.pop(space)
            # A request for a bucket that is empty there would tell the peer of a memory here.
            apart = (bucket for bucket in {*ours, *theirs} if ours.get(bucket) != theirs.get(bucket))
            self._look(space, False, frozenset(apart))
            if lacking := tuple(sorted(bucket for bucket in theirs if ours.get(bucket) != theirs[bucket])):
                self._lacked += 1
                said.append(messages.Resend(self._lacked, space, lacking))
        if self._measuring and event.patterns == self._told:
            self._measuring = False
            held = sorted(space for space in event.digests if any_matches(self._told, space))
            self._digested = tuple(self._turn(held))
            said += [messages.Digest(space, event.digests[space]) for space in self._digested]
            said.append(self._end())
        return said

    def _turn(self, spaces: list[str]) -> list[str]:
        """The spaces whose turn it is, when there are more than a peer hears of at a time. The order goes round and
        round, so later comparisons reach all spaces."""
        if len(spaces) <= DIGESTS_TOLD_MAX:
            return spaces
        ahead = [space for space in spaces if space > self._told_up_to] or spaces
        turn = [*ahead, *spaces][:DIGESTS_TOLD_MAX]
        self._told_up_to = turn[-1]
        return turn

    def asked_again(self, wish: messages.Resend) -> None:
        """The peer lacks entries in some buckets of our digests. Raises StreamRefused."""
        if wish.number <= self._their_lacked:
            return  # said twice
        if not any_matches(self._told, wish.space) or not wish.buckets or not _are_buckets(wish.buckets):
            raise StreamRefused("fault", f"buckets of {shorten(wish.space)} are asked for that were not told of")
        if len(self._repairs) >= SYNC_DIGEST_SPACES_MAX:
            raise StreamRefused("fault", f"more than {SYNC_DIGEST_SPACES_MAX} spaces are to be sent again")
        self._their_lacked = wish.number
        self._wished[wish.space] = frozenset(wish.buckets)
        self._repairs.append(_Repair(wish.number, wish.space, tuple(sorted(set(wish.buckets)))))

    def reask(self) -> messages.Reask | None:
        """The page to read next, when none is asked for or under way."""
        if not self._repairs or self._reasked or self._repairs[0].flying:
            return None
        first = self._repairs[0]
        self._reasked = True
        return messages.Reask(first.space, first.buckets, first.after)

    def reread(
        self, page: messages.Reread, entries: tuple[Entry, ...], keys: Mapping[str, bytes]
    ) -> messages.Batch | None:
        """A page was read; `entries` are its entries that the peer may read. The batch to send, or None without
        entries: then that page is done."""
        self._reasked = False
        if not self._repairs:
            raise ValueError(f"Reread of {page.space!r} answers no Reask")
        first = self._repairs[0]
        first.read, first.last = page.last_seq, page.done
        if not entries:
            self._done(first)
            return None
        self._seq += not first.again
        first.flying, first.again = True, False
        return messages.Batch(
            feed=self.feed, after=self._seq - 1, last_seq=self._seq, head=0, entries=entries, keys=keys
        )

    def acknowledge(self, seq: int) -> bool:
        """Whether `seq` is news. Raises StreamRefused."""
        if seq > self._seq:
            raise StreamRefused("fault", f"batch {seq} of a repair is acknowledged, but was not sent")
        if seq != self._seq or not self.flying:
            return False
        self._done(self._repairs[0])
        return True

    def rewind(self) -> None:
        """Say again what is not acknowledged."""
        if self.flying:
            self._repairs[0].flying, self._repairs[0].again = False, True

    def _done(self, first: _Repair) -> None:
        first.flying, first.after = False, first.read
        if first.last:
            self._repairs.popleft()
            self._sent = first.number


def _are_buckets(numbers: Iterable[int]) -> bool:
    return all(0 <= number < BUCKETS for number in numbers)
