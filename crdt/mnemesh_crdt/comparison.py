"""The comparison of two replicas by their digests, and the repair of what it finds: anti-entropy within one stream.

Each side tells what it holds of a space as a hash for each bucket of documents (A. Demers et al., "Epidemic algorithms
for replicated database maintenance", PODC 1987). The receiver sends again what it has in buckets that differ and, once,
its own digest, so that one comparison repairs both ways. Knows no feed but its own, whose numbers count the batches of
a repair; says what is to be asked and sent, and sends nothing.

Equal digests have no answer, so DigestsEnd follows whatever digests were said, and the peer says Compared once it has
nothing to send again because of them. A peer that was asked to compare as well says with its own DigestsEnd that it
did. Nobody waits for the other with what it says itself, so that two comparisons at once never wait for each other. A
digest is answered once a comparison: either side's next one lets a space be told of anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mnemesh_crdt.digest import BUCKETS, HASH_HEX
from mnemesh_crdt.envelope import Entry
from mnemesh_crdt.handshake import StreamRefused
from mnemesh_crdt.messages import Batch, Buckets, Compared, Digest, DigestsEnd, Measure, Measured, Reask, Reread
from mnemesh_memory.grants import any_matches
from mnemesh_memory.limits import SYNC_DIGEST_SPACES_MAX

# Of one comparison; the peer hears at most SYNC_DIGEST_SPACES_MAX at a time, its own repairs among them.
DIGESTS_TOLD_MAX: Final = SYNC_DIGEST_SPACES_MAX // 2


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


class Comparison:
    """What one stream compares and repairs. `wanted` are the patterns of the spaces that the peer may bring here,
    `feed` the name under which what it misses is sent again."""

    def __init__(self, wanted: tuple[str, ...], feed: str) -> None:
        self.feed = feed
        self._wanted = wanted
        self.done = 0  # of the comparisons that were asked of us, the first so many are over
        self._asked = 0
        self._due = self._back = False
        self._measuring = False
        self._begun = (0, False, 0)  # the last comparison: how many that were asked of us it is, and what its end says
        self._covered = self._serving = 0  # by comparisons that were told: of those asked of us, and of the peer's
        self._ends = self._back_end = 0  # that were said, and the last of them with `back`
        self._answered = self._served = 0  # how far the peer has answered the one and the other
        self._owed = self._their_back = 0  # the same of the peer's ends
        self._reasked = False
        self._round = self._their_round = 0  # comparisons of either side
        self._theirs: dict[str, tuple[Buckets, int]] = {}  # digests that are compared, and their round as it was
        self._digested: dict[str, tuple[int, int]] = {}  # spaces that were told of: in which rounds
        self._told_up_to = ""
        self._repairs: deque[_Repair] = deque()
        self._seq = 0

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
        self._round += 1

    def begin(self, caught_up: bool) -> Measure | DigestsEnd | None:
        """What to measure for a comparison that is due; its end to say at once when nothing may be missing here."""
        if not self._due or self._measuring or not caught_up:
            return None
        self._begun = (self._asked, self._back, self._their_back)
        self._due = self._back = False
        if self._wanted:
            self._measuring = True
            return Measure(self._wanted)
        if self._begun[1] or self._their_back > self._serving:
            return self._told()
        self._covered = self._asked
        return None

    def _told(self) -> DigestsEnd:
        """The end of the comparison that was begun last."""
        self._covered, back, self._serving = self._begun
        if back:
            self._back_end = self._ends + 1
        return self._end(back=back)

    def _end(self, *, back: bool = False, reply: bool = False) -> DigestsEnd:
        self._ends += 1
        return DigestsEnd(self._ends, back, self._serving, reply)

    def ended(self, end: DigestsEnd) -> None:
        """The peer has said some digests. Raises StreamRefused."""
        if end.serves > self._back_end:
            raise StreamRefused("fault", f"end {end.serves} of digests did not ask for a comparison in return")
        self._owed = max(self._owed, end.number)
        self._served = max(self._served, end.serves)
        if end.back:
            self._their_back = max(self._their_back, end.number)
            self._due = True
            self._round += 1
        self._their_round += not end.reply

    def answered(self, number: int) -> None:
        """The peer has sent again what our digests up to that end showed. Raises StreamRefused."""
        if number > self._ends:
            raise StreamRefused("fault", f"end {number} of digests is answered, but was not said")
        self._answered = max(self._answered, number)

    def settle(self) -> Compared | None:
        """Once nothing is left to be sent again: what the peer waits to hear; and what was asked of us may be done."""
        if self._theirs or self._repairs:
            return None
        if self._answered >= self._ends and self._served >= self._back_end:
            self.done = self._covered
        owed, self._owed = self._owed, 0
        return Compared(owed) if owed else None

    def heard(self, space: str, buckets: Buckets) -> Measure | None:
        """The peer's digest of a space; the own one, unless it is being measured, is needed to compare. Raises
        StreamRefused."""
        measuring = space in self._theirs
        if len(self._theirs) + len(self._repairs) >= SYNC_DIGEST_SPACES_MAX and not measuring:
            raise StreamRefused("fault", f"more than {SYNC_DIGEST_SPACES_MAX} digests at a time")
        if any(not 0 <= one < BUCKETS or len(value) != HASH_HEX for one, value in buckets.items()):
            raise StreamRefused("fault", f"a digest has {BUCKETS} buckets of {HASH_HEX} hex digits")
        self._theirs[space] = buckets, self._their_round
        return None if measuring else Measure((space,))

    def measured(self, event: Measured) -> list[Digest | DigestsEnd]:
        """The own digests are known: what to tell the peer of them. What it lacks is to be sent again."""
        ordered = event.patterns == self._wanted and self._measuring
        if ordered:
            self._measuring = False
        told: list[Digest | DigestsEnd] = []
        spaces = sorted({*event.digests, *(self._theirs.keys() & set(event.patterns))})
        if ordered:
            spaces = self._turn(spaces)
        for space in spaces:
            ours = event.digests.get(space, {})
            theirs, their_round = self._theirs.pop(space, (None, self._their_round))
            differing = () if theirs is None else _differing(ours, theirs)
            if differing and ours:
                self._repairs.append(_Repair(space, differing))
            rounds = self._round, their_round
            wanted = any_matches(self._wanted, space) and self._digested.get(space) != rounds
            if wanted and (ordered or differing):
                self._digested[space] = rounds
                told.append(Digest(space, ours))
        if ordered:
            return [*told, self._told()]
        return [*told, self._end(reply=True)] if told else []

    def _turn(self, spaces: list[str]) -> list[str]:
        """Of more spaces than a peer hears of at a time, those whose turn it is: the next ones in order, round and
        round, so that comparisons to come reach them all."""
        if len(spaces) <= DIGESTS_TOLD_MAX:
            return spaces
        ahead = [space for space in spaces if space > self._told_up_to] or spaces
        turn = [*ahead, *spaces][:DIGESTS_TOLD_MAX]
        self._told_up_to = turn[-1]
        return turn

    def reask(self) -> Reask | None:
        """The page to read next, when none is asked for or under way."""
        if not self._repairs or self._reasked or self._repairs[0].flying:
            return None
        first = self._repairs[0]
        self._reasked = True
        return Reask(first.space, first.buckets, first.after)

    def reread(self, page: Reread, entries: tuple[Entry, ...], keys: Mapping[str, bytes]) -> Batch | None:
        """A page was read; `entries` are those of it that the peer may have. The batch to send, None for none of them:
        then that page is done."""
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
        return Batch(feed=self.feed, after=self._seq - 1, last_seq=self._seq, head=0, entries=entries, keys=keys)

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


def _differing(ours: Buckets, theirs: Buckets) -> tuple[int, ...]:
    return tuple(sorted(one for one in {*ours, *theirs} if ours.get(one) != theirs.get(one)))
