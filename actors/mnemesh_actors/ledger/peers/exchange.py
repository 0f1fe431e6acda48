"""The side of the ledger that peers reach: entries out, entries in, cursors, digests, quarantine, and erasing.

Duties of `take_in`, in order. Judge each entry. Append the good ones and update the view. Keep the waiting and the
refused ones. Save the cursor. Commit all at once. Answer. An answer means that everything up to its `seq` is on disk.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from mnemesh_actors.ledger.ledger_side import LedgerSide
from mnemesh_actors.ledger.peers import contacts, erase
from mnemesh_actors.ledger.peers import peer_log as peers
from mnemesh_actors.ledger.peers import put_aside as aside
from mnemesh_actors.ledger.peers.contacts import Contact
from mnemesh_actors.ledger.peers.erase import Erase, Gone
from mnemesh_actors.ledger.peers.put_aside import Which
from mnemesh_actors.ledger.store import tally
from mnemesh_actors.ledger.store.faults import question, reading
from mnemesh_crdt.admission.admission import RULES
from mnemesh_crdt.changes.envelope import ERASURES, Entry
from mnemesh_crdt.intake.arrivals import TakenIn
from mnemesh_crdt.sync.proof import Claim
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.quotas import NOTHING, Usage

PACKING: Final = 1  # the quickest: what is packed stays among the machines of one cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingEntries:
    """Entries of the node `peer`, judged by `grant`. With these `feed` is read up to `last_seq`. "" marks entries sent
    again outside a feed, which move no cursor. `origin` names the peer's log (Hello.origin): entries are not sent back
    there. `keys` are raw public keys by node id."""

    peer: str
    origin: str
    grant: PeerGrant
    entries: tuple[Entry, ...]
    feed: str = ""
    last_seq: int = 0
    keys: Mapping[str, bytes] = field(default_factory=dict)


class _NoRoom(Exception):
    """A change has to wait, and no more may."""


def pack(batch: IncomingEntries) -> bytes:
    """A batch for `take_packed`, at half its size."""
    return zlib.compress(pickle.dumps(batch, pickle.HIGHEST_PROTOCOL), PACKING)


class Exchange(LedgerSide):
    """The part of a ledger for its peers. Mixed into Ledger, which has the connection and the journal."""

    def prove(self, claim: Claim) -> bytes:
        """The signature of what this ledger claims to be on a stream, by its own key."""
        return self._journal.prove(claim)

    # ---- out --------------------------------------------------------------------------------------------------

    sync_page = question(peers.page)
    resend = question(peers.resend)
    untaken = question(peers.untaken)

    @reading
    def digest(self, space: str) -> dict[int, str]:
        """The hash of each bucket of a space that holds any document."""
        return self._journal.digest.of(space)

    @reading
    def digests(self, patterns: Sequence[str]) -> dict[str, dict[int, str]]:
        """The digest of each space that one of `patterns` covers."""
        return {space: self._journal.digest.of(space) for space in peers.spaces(self._db, patterns)}

    # ---- in ---------------------------------------------------------------------------------------------------

    def take_in(self, batch: IncomingEntries, now: int) -> TakenIn:
        """Take in what a peer sent, at `now` (ms), durably and with its cursor. Raises InvalidArgument for more than
        BATCH_ITEMS_MAX entries, DiskFull, Unavailable or DataLoss when the disk fails. Then nothing is written."""
        field_checks.whole("entries", len(batch.entries), 0, limits.BATCH_ITEMS_MAX)
        if any(entry.type not in ERASURES for entry in batch.entries):  # what is erased needs next to no room
            self._room.require()
        try:
            return self._take_in(batch, now)
        except DataLoss:
            if not self._hurt({entry.doc for entry in batch.entries}):
                raise
        return self._take_in(batch, now)  # with the damage known

    def _take_in(self, batch: IncomingEntries, now: int) -> TakenIn:
        with self._transaction():
            restored = self._scrub.restore(batch.entries)
            # Entries wait for the change that was the first damaged one when they came. A start may find another first.
            awaited = [(key, hash) for key in restored for hash in self._journal.log(key.id)]
            waited = [self._intake.take_waiting(*item) for item in awaited]
            sender = aside.sender_of(batch.peer)
            taken = self._intake.take_in(batch.origin, batch.grant, batch.entries, batch.keys, now, sender)
            if not batch.feed:
                seq = 0
            elif taken.full:
                seq = peers.cursor(self._db, batch.peer, batch.feed)
            else:
                seq = peers.save_cursor(self._db, batch.peer, batch.feed, batch.last_seq, now)
            gone = taken.erased + erase.follow(self._db, batch.peer, batch.entries)
            has = tally.bring(self._db, sender, taken.first, taken.last) if taken.last else NOTHING
        if restored:
            self._tell([], [key.id for key in restored])
        for released in waited:
            taken = taken.and_then(released)
        self._unfolded = self._unfolded or gone > 0 or taken.erased > 0
        self._fold()
        return replace(taken, seq=seq, brought_memories=has.memories, brought_bytes=has.bytes)

    def take_packed(self, packed: bytes, now: int) -> TakenIn:
        """As take_in, of a batch of another ledger of this node, as `pack` made it."""
        batch: IncomingEntries = pickle.loads(zlib.decompress(packed))
        return self.take_in(batch, now)

    cursors = question(peers.cursors)

    @reading
    def contacts(self, now: int) -> list[Contact]:
        """How it stood with the nodes that were heard of lately. See contacts.known."""
        return contacts.known(self._db, self._incarnation, now)

    def keep_contacts(self, found: Sequence[Contact], now: int) -> None:
        """Note the state of some nodes. Nodes not heard of for PEER_CONTACT_DAYS are forgotten."""
        with self._transaction():
            contacts.keep(self._db, found, self._incarnation, now)

    def forget_contacts(self, peers: Sequence[str]) -> None:
        """Know nothing more of these, by the names of their cursors."""
        with self._transaction():
            contacts.forget(self._db, peers)

    backlog = question(peers.backlog)
    brought = question(tally.brought)

    @reading
    def usage(self) -> dict[str, Usage]:
        """The usage of each principal here. See Tally."""
        return self._journal.tally.now()

    # ---- what was put aside -----------------------------------------------------------------------------------

    put_aside = question(aside.page)
    aside_numbers = question(aside.numbers)

    def release(self, ids: Sequence[int], now: int, grants: Mapping[str, PeerGrant] | None = None) -> TakenIn:
        """Judge refused entries again, each by the grant of its sender in `grants`. Those of other senders stay.
        Without `grants`, as from a peer that may write to their spaces and speak for anyone. Entries that are still not
        allowed go back with the reason."""
        field_checks.whole("ids", len(ids), 0, limits.BATCH_ITEMS_MAX)
        self._room.require()
        total = TakenIn()
        with self._transaction():
            for row in aside.take_out(self._db, ids, None if grants is None else list(grants)):
                anyone = PeerGrant(read=(), write=(row.entry.space,), principal="", relay=True)
                grant = anyone if grants is None else grants[row.sender]
                keys = {row.entry.node: row.key} if row.key else {}
                total = total.and_then(self._intake.take_in(row.origin, grant, [row.entry], keys, now, row.sender))
        self._unfolded = self._unfolded or total.erased > 0
        self._fold()
        return total

    def judge_again(self) -> None:
        """Judge the changes again that another version of the rules refused. Each change was signed, and came by a
        stream that might bring it. A change without room among the waiting ones stays."""
        with suppress(_NoRoom):
            while ids := aside.outdated(self._db, RULES, limits.BATCH_ITEMS_MAX):
                with self._transaction():
                    for row in aside.take_out(self._db, ids, None):
                        grant = PeerGrant(read=(), write=(row.entry.space,), principal="", relay=True)
                        if self._intake.take_in(row.origin, grant, [row.entry], {}, row.received, row.sender).full:
                            raise _NoRoom

    def discard(self, table: str, ids: Sequence[int]) -> int:
        """Delete entries of `table`, pending or quarantine. Returns how many there were."""
        field_checks.whole("ids", len(ids), 0, limits.BATCH_ITEMS_MAX)
        with self._transaction():
            return aside.remove(self._db, table, ids)

    def discard_all(self, table: str, which: Which) -> int:
        """Delete all of a table that match. Returns how many there were."""
        with self._transaction():
            return aside.remove_all(self._db, table, which)

    # ---- erasing ----------------------------------------------------------------------------------------------

    def erase(self, command: Erase) -> Gone:
        """Erase a memory for good, here and, with time, at every peer. Raises NotFound, PermissionDenied."""
        with self._transaction():
            gone = erase.carry_out(self._db, self._journal, command)
        self._unfolded = True
        return replace(gone, folded=self._fold())

    @reading
    def not_to_erase(self, ids: Sequence[str], agent: str) -> dict[str, str]:
        """The memories that `agent`, no admin, may not erase, with the reasons. See erase.not_to_erase."""
        return erase.not_to_erase(self._db, self._journal, ids, agent)

    def _fold(self) -> bool:
        """After an erasure: nothing of it is left in the write-ahead log. Tried again with later writes."""
        if self._unfolded:
            self._unfolded = not erase.fold(self._db)
        return not self._unfolded
