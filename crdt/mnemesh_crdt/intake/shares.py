"""The limits of what is put aside: waiting and refused entries.

Each sender has a share of each table, so that nobody fills one for all. Waiting changes and waiting erasures have
separate limits, so that neither crowds out the other. A change that waits is never given up: its sender has to wait. A
refused entry gives way, and so does an erasure, which comes again once its memory is here.

Both tables hold entries as they came. `awaited` is the hash of a change that stops an entry. A pending entry waits for
that change. A quarantined entry fell with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mnemesh_crdt.changes.envelope import CHANGE, Key
from mnemesh_crdt.intake.arrivals import Brought
from mnemesh_crdt.intake.shelf import PENDING, QUARANTINE, Shelf
from mnemesh_memory.values import limits


class Shares:
    """Both tables while one batch of `sender` is taken in. At most `pending_max` changes wait. `whole`: the sender,
    another ledger of this node, may have all of both."""

    def __init__(self, shelf: Shelf, pending_max: int, sender: str = "", *, whole: bool = False) -> None:
        self._shelf = shelf
        self._pending_max = pending_max
        self._sender = sender
        self._whole = whole
        self._aside: dict[str, int] = {}  # refused entries by sender, as far as they were counted
        self.recount()

    @property
    def full(self) -> bool:
        """No more changes of this sender may wait."""
        own = 0 if self._whole else self._own_changes
        return self._changes >= self._pending_max or own >= limits.PENDING_SHARE_MAX

    def waiting(self, ids: Collection[str]) -> Iterable[tuple[Key, str]]:
        """Document and hash (hex) of each entry that waits, of the documents with these ids."""
        return self._shelf.waiting(ids) if self._pending else ()

    def wait(self, item: Brought, awaited: str) -> None:
        """Keep an entry until the change `awaited` is taken in. Of more erasures than may wait, the oldest gives
        way."""
        if item.entry.type == CHANGE:
            self._changes += 1
            self._own_changes += item.sender == self._sender
        else:
            self._room_for_erasure(item.sender)
        self._shelf.put(PENDING, item, awaited)
        self._pending += 1

    def _room_for_erasure(self, sender: str) -> None:
        own = self._shelf.count(PENDING, sender, erasures=True)
        if own >= limits.PENDING_ERASURES_SHARE_MAX and not self._whole:
            leaving = sender
        elif self._pending - self._changes >= limits.PENDING_ERASURES_MAX:
            leaving = self._shelf.greediest(PENDING, erasures=True)
        else:
            return
        self._shelf.drop_oldest(PENDING, leaving, erasures=True)
        self._pending -= 1

    def put_aside(self, item: Brought, reason: str, awaited: str = "", rules: int = 0) -> None:
        """Keep a refused entry with its reason, in the place of the same one. Beyond the share of a sender, or of all,
        the oldest gives way. `rules` is the version of the rules by which its change was refused, 0 when something else
        was wrong. A copy that is wrong itself does not replace one that fell with another change and may come back."""
        entry = item.entry
        key = Key(entry.space, entry.doc)
        if not awaited and self._quarantined and self._shelf.is_refused(key, entry.hash, entry.signature):
            return
        for sender in self._shelf.drop_refused(key, entry.hash, entry.signature):
            self._noted(sender, -1)
        if self._of(item.sender) >= limits.QUARANTINE_SHARE_MAX and not self._whole:
            self._give_way(item.sender)
        elif self._quarantined >= limits.QUARANTINE_ENTRIES_MAX:
            self._give_way(self._shelf.greediest(QUARANTINE))
        self._noted(item.sender, 1)
        self._shelf.put(QUARANTINE, item, awaited, reason, rules)

    def _give_way(self, sender: str) -> None:
        self._shelf.drop_oldest(QUARANTINE, sender)
        self._noted(sender, -1)

    def _of(self, sender: str) -> int:
        """How many refused entries of a sender are kept."""
        if sender not in self._aside:
            self._aside[sender] = self._shelf.count(QUARANTINE, sender)
        return self._aside[sender]

    def _noted(self, sender: str, more: int) -> None:
        self._quarantined += more
        if sender in self._aside:
            self._aside[sender] += more

    def take(self, table: str, key: Key, awaited: str) -> list[Brought]:
        """Take out what a table keeps of a document because of the change `awaited`. Counts down without a look at the
        whole table: a peer may have many taken, one after the other."""
        if not (self._pending if table == PENDING else self._quarantined):
            return []
        taken = self._shelf.take(table, key, awaited)
        for item in taken:
            if table == QUARANTINE:
                self._noted(item.sender, -1)
                continue
            self._pending -= 1
            if item.entry.type == CHANGE:
                self._changes -= 1
                self._own_changes -= item.sender == self._sender
        return taken

    def culprit(self, key: Key, hashes: Iterable[str]) -> str:
        """The first of these changes of a document that is quarantined, or ""."""
        if not self._quarantined:
            return ""
        return next((hash for hash in hashes if self._shelf.is_refused(key, hash)), "")

    def acquit(self, key: Key, hashes: Iterable[str]) -> None:
        """These changes are taken in, or wait: refused copies of them say nothing more."""
        for hash in hashes:
            if not self._quarantined:
                return
            for sender in self._shelf.drop_refused(key, hash):
                self._noted(sender, -1)

    def recount(self) -> None:
        """Some of what was kept is gone."""
        self._pending, self._quarantined = self._shelf.count(PENDING), self._shelf.count(QUARANTINE)
        self._changes = self._pending and self._shelf.count(PENDING, erasures=False)
        self._own_changes = self._changes and self._shelf.count(PENDING, self._sender, erasures=False)
        self._aside.clear()
