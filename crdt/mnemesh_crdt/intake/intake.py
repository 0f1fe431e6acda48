"""Taking in entries of other nodes: an entry is appended, waits for its dependencies, or is quarantined with a reason.

Nothing reaches a document before its signature, the stream's grant and its operations are found good. The outcome does
not depend on the order of arrival. A refused copy never keeps out a good one. Entries put aside because of a refused
change come back when a good copy of that change is taken in. Erasing wins over every change, before or after.

Knows no storage: the ledger hands in a shelf on SQLite, the simulated mesh one in memory. Runs inside the transaction
of its caller. The batch and its cursor are saved together.

Another ledger of the same node has written or judged its entries with the same code. Neither their operations nor every
signature (see senders) are judged a second time. Only such a stream has a grant of EVERY_SPACE, which no peer can get.
Both its ends are actors of one gateway. Bytes and hash are proved, and the document has to load.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mnemesh_crdt.admission.admission import RULES, Judge, admit
from mnemesh_crdt.admission.ancestry import Changes
from mnemesh_crdt.admission.erasure import begun_by, disputed
from mnemesh_crdt.changes.chunk import ChangeHead, read_head
from mnemesh_crdt.changes.envelope import CHANGE, ERASE, ERASURES, RETRACT, Entry, Key, Refused, verify
from mnemesh_crdt.document.document import genesis_hash
from mnemesh_crdt.intake.arrivals import (
    COUNTED,
    Arrival,
    Brought,
    Document,
    Loaded,
    Reader,
    TakenIn,
    because,
    read_document,
    tried,
)
from mnemesh_crdt.intake.senders import Sender, Verifier, presentable
from mnemesh_crdt.intake.shares import Shares
from mnemesh_crdt.intake.shelf import PENDING, QUARANTINE, Shelf, Unstorable
from mnemesh_memory.access.grants import EVERY_SPACE, PeerGrant
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss


@dataclass(slots=True, kw_only=True)
class Intake:
    """Takes in the entries of peers, on a shelf. Another function for `judge`, `read` or `verify` must decide as the
    default does."""

    shelf: Shelf
    judge: Judge = admit  # whether the operations of a change are allowed
    read: Reader = read_document
    verify: Verifier = verify
    pending_max: int = limits.PENDING_CHANGES_MAX  # changes that may wait
    # Memories whose log is damaged, by id, with the hash of a change that has to be restored first.
    damaged: Mapping[str, str] = field(default_factory=dict)

    def take_waiting(self, key: Key, awaited: str) -> TakenIn:
        """Take in what waited for a damaged change that is restored. The change was signed, and came by a stream that
        might bring it."""
        total = TakenIn()
        for item in self.shelf.take(PENDING, key, awaited):
            grant = PeerGrant(read=(), write=(key.space,), principal="", relay=True)
            total = total.and_then(self.take_in(item.origin, grant, [item.entry], {}, item.received, item.sender))
        return total

    def take_in(
        self,
        origin: str,
        grant: PeerGrant,
        entries: Sequence[Entry],
        keys: Mapping[str, bytes],
        now: int,
        name: str = "",
    ) -> TakenIn:
        """Take in entries that a stream with `grant` brought from the ledger `origin` at `now` (ms). `keys` are public
        keys of nodes by id. `name` has a share of the entries put aside. `seq` of the outcome is left to the caller,
        who saves the cursor."""
        return _Batch(self, grant, name).take_in([Brought(entry, origin, now, name) for entry in entries], keys)


class _Batch:
    """One call of `take_in`."""

    def __init__(self, intake: Intake, grant: PeerGrant, name: str) -> None:
        whole = EVERY_SPACE in grant.write  # another ledger of this node brings everything that came there
        self._shelf = intake.shelf
        self._judge = intake.judge
        self._read = intake.read
        self._damaged = intake.damaged
        self._shares = Shares(intake.shelf, intake.pending_max, name, whole=whole)
        self._sender = Sender(intake.shelf, intake.verify, grant, name, whole=whole)
        self._relay, self._judged = grant.relay, whole
        self._tally = dict.fromkeys(COUNTED, 0)
        self._full = False
        self._first = self._last = 0

    def take_in(self, brought: Sequence[Brought], keys: Mapping[str, bytes]) -> TakenIn:
        by_document: dict[Key, list[Brought]] = {}
        for item in brought:
            if why := self._sender.misshapen(item.entry):
                self._shares.put_aside(replace(item, entry=presentable(item.entry)), why)
                self._tally["quarantined"] += 1
            else:
                by_document.setdefault(Key(item.entry.space, item.entry.doc), []).append(item)
        self._sender.show(keys, {item.entry.node for group in by_document.values() for item in group})
        for document in self._documents(list(by_document)):
            self._settle(document, by_document[document.key])
        return TakenIn(**self._tally, full=self._full, first=self._first, last=self._last)

    def _documents(self, keys: Sequence[Key]) -> list[Document]:
        """The knowledge of these documents, asked for once a batch."""
        documents = {key: Document(key) for key in keys}
        ids = {key.id for key in keys}
        for key, hash, actor in self._shelf.logged(ids):
            if (here := documents.get(key)) is not None:
                here.known.add(hash)
                if actor:
                    here.actors.append(actor)
        for key, waiting in self._shares.waiting(ids):
            if key in documents:
                documents[key].waiting.add(waiting)
        spaces: dict[str, dict[str, bool]] = {}
        for key, erased in self._shelf.homes(ids):
            spaces.setdefault(key.id, {})[key.space] = erased
        for key, document in documents.items():
            document.spaces = spaces.setdefault(key.id, {})
        return list(documents.values())

    # ---- one document -----------------------------------------------------------------------------------------

    def _settle(self, document: Document, brought: Sequence[Brought]) -> None:
        arrivals: deque[Arrival] = deque()
        seen: set[str] = set()
        for item in brought:
            hash = item.entry.hash
            again = item.entry.type == RETRACT and self._relay  # what waits here may be believed of this stream
            if hash in document.known or (hash in document.waiting and not again) or hash in seen:
                self._tally["duplicates"] += 1
            elif document.erased:
                self._drop(item)
            elif isinstance(head := self._looked_at(document, item), str):
                self._refuse(document, replace(item, key=self._sender.not_kept(item.entry.node)), head)
            else:
                seen.add(hash)
                if head is None:
                    document.erasures.append(item)
                else:
                    arrivals.append(Arrival(item, head))
        for erasure in [item for item in document.erasures if item.entry.type == ERASE][:1]:
            self._erase(document, erasure)
        if document.erased:
            for arrival in arrivals:
                self._drop(arrival.brought)
            return
        if document.key.id in self._damaged:
            self._await_repair(document, [*(arrival.brought for arrival in arrivals), *document.erasures])
            return
        if arrivals:
            self._take(document, arrivals)
        if document.erasures or document.retractions:
            self._retract(document)

    def _await_repair(self, document: Document, brought: Sequence[Brought]) -> None:
        """Nothing can be judged beside a damaged change: it waits until that is restored."""
        for item in brought:
            if item.entry.type == CHANGE and self._shares.full:
                self._full = True
            else:
                self._wait(document, item, self._damaged[document.key.id])
                self._tally["held"] += 1

    def _looked_at(self, document: Document, item: Brought) -> ChangeHead | str | None:
        """The head of a change, None for an erasure, or why an entry is refused, whatever its change does."""
        if why := self._sender.objection(item.entry):
            return why
        if item.entry.type in ERASURES:
            return None
        try:
            head = read_head(item.entry.raw)
        except DataLoss as error:
            return error.message
        if head.hash != item.entry.hash:
            return "its change has another hash"
        return head if head.deps else "its change builds on nothing, not even on its memory's beginning"

    def _take(self, document: Document, arrivals: deque[Arrival]) -> None:
        document.genesis = genesis_hash(document.key.id, document.key.space)
        if document.known:
            document.changes = Changes(self._shelf.changes(document.key.id), document.actors)
        before = dict(document.changes)
        ready = self._in_order(document, arrivals)
        if ready:
            self._append(document, before, ready)
        # Changes that were durable before come first: there is always room for these.
        left = sorted((held for group in document.waits.values() for held in group), key=lambda held: not held.kept)
        document.waits.clear()
        for arrival in left:
            self._hold(document, arrival)

    def _in_order(self, document: Document, arrivals: deque[Arrival]) -> list[Arrival]:
        """The changes that may enter now, each after its dependencies, with the released ones. The others are left in
        `waits`."""
        ready: list[Arrival] = []
        if not document.here:
            arrivals.extend(self._released(document, document.genesis))
        while arrivals:
            arrival = arrivals.popleft()
            if missing := document.missing(arrival.head):
                document.waits.setdefault(missing, []).append(arrival)
            elif arrival.hash in document.changes:
                self._tally["duplicates"] += 1
            elif why := self._not_allowed(document, arrival):
                self._refuse(document, arrival.brought, why, rules=RULES)
            else:
                document.changes.enter(arrival.head, arrival.brought.entry.raw)
                ready.append(arrival)
                arrivals.extend(document.waits.pop(arrival.hash, ()))
                arrivals.extend(self._released(document, arrival.hash))
        return ready

    def _not_allowed(self, document: Document, arrival: Arrival) -> str:
        """The reason why a change may not enter, with all dependencies here, or ""."""
        try:
            if arrival.kept or not self._judged:
                self._judge(document.key, arrival.brought.entry, document.changes)
        except Refused as refused:
            if refused.__cause__ is not None:
                self._check_log(document)
            return refused.reason
        # An id that names its space has no beginning in another space. An older id may have one, and one space is kept.
        return f"its id is that of a memory in {document.elsewhere}" if document.elsewhere else ""

    def _check_log(self, document: Document) -> None:
        """A change that can't be judged may be good, with damaged dependencies here. Raises DataLoss then."""
        if not document.checked:
            document.checked = True
            for hash, raw in self._shelf.changes(document.key.id).items():
                if read_head(raw).hash != hash:
                    raise DataLoss(f"change {hash[:16]} has another hash", field="document", value=document.key.id)

    def _released(self, document: Document, hash: str) -> Iterator[Arrival]:
        """The entries that waited here for a change that is good now, taken out of pending and quarantine."""
        for table in (PENDING, QUARANTINE):
            for item in self._shares.take(table, document.key, hash):
                document.waiting.discard(item.entry.hash)
                if item.entry.type in ERASURES:
                    document.retractions.append(item)
                else:
                    yield Arrival(item, read_head(item.entry.raw), kept=True)

    def _append(self, document: Document, before: dict[str, bytes], ready: list[Arrival]) -> None:
        now = tried(self._read, document.key, document.changes)
        if isinstance(now, str):
            ready, now = self._readable(document, before, ready)
        if not ready or isinstance(now, str):
            return
        last = self._stored(document, now, ready)
        if last:
            self._shares.acquit(document.key, [arrival.hash for arrival in ready])
            document.known.update(arrival.hash for arrival in ready)
            document.spaces[document.key.space] = False
            self._tally["accepted"] += len(ready)
            self._appended(last - len(ready) + 1, last)

    def _stored(self, document: Document, now: Loaded, ready: list[Arrival]) -> int:
        """Append, and return the last entry's number. A good change that the storage does not take is quarantined, so
        that no entry holds up the later ones. Returns 0 then."""
        brought = [(arrival.brought, arrival.head.actor) for arrival in ready]
        try:
            return self._shelf.append(now, brought, new=not document.here)
        except Unstorable as error:
            for arrival in ready:
                del document.changes[arrival.hash]
                self._refuse(document, arrival.brought, f"the ledger does not take it ({error})")
        return 0

    def _readable(
        self, document: Document, before: dict[str, bytes], ready: list[Arrival]
    ) -> tuple[list[Arrival], Loaded | str]:
        """The document with the changes of `ready` that keep it readable, tried one by one. The others are refused."""
        good: Loaded | str = ""
        if before:
            good = tried(self._read, document.key, before)
            if isinstance(good, str):
                raise DataLoss(good, field="document", value=document.key.id)
        kept: list[Arrival] = []
        refused: set[str] = set()
        for arrival in ready:
            culprit = next((dep for dep in arrival.head.deps if dep in refused), "")
            changes = before | {sound.hash: sound.brought.entry.raw for sound in (*kept, arrival)}
            outcome = because(culprit) if culprit else tried(self._read, document.key, changes)
            if isinstance(outcome, str):
                refused.add(arrival.hash)
                del document.changes[arrival.hash]
                self._refuse(document, arrival.brought, outcome, culprit)
            else:
                good = outcome
                kept.append(arrival)
        return kept, good

    # ---- what does not enter a document -----------------------------------------------------------------------

    def _hold(self, document: Document, arrival: Arrival) -> None:
        """Keep a change until its dependencies come: in quarantine when a dependency is there."""
        missing = [dep for dep in arrival.head.deps if dep not in document.changes and dep != document.genesis]
        if culprit := self._shares.culprit(document.key, missing):
            self._refuse(document, arrival.brought, because(culprit), culprit)
        elif arrival.kept:
            self._wait(document, arrival.brought, missing[0])
        elif self._shares.full:
            self._full = True
        else:
            try:
                self._judge(document.key, arrival.brought.entry, None)
            except Refused as refused:
                self._refuse(document, arrival.brought, refused.reason, rules=RULES)
            else:
                self._wait(document, arrival.brought, missing[0])
                self._tally["held"] += 1

    def _wait(self, document: Document, item: Brought, awaited: str) -> None:
        self._shares.acquit(document.key, [item.entry.hash])  # a forged copy condemns nothing that builds on it
        self._shares.wait(item, awaited)
        document.waiting.add(item.entry.hash)

    def _refuse(self, document: Document, item: Brought, why: str, culprit: str = "", rules: int = 0) -> None:
        """Quarantine an entry, and the entries that wait for it. `rules` as in Shares.put_aside."""
        todo = [(item, why, culprit, rules)]
        while todo:
            item, why, culprit, rules = todo.pop()
            hash = item.entry.hash
            self._shares.put_aside(item, why, culprit, rules)
            self._tally["quarantined"] += 1
            waiters = [arrival.brought for arrival in document.waits.pop(hash, ())]
            waiters += self._shares.take(PENDING, document.key, hash)
            document.waiting.difference_update(waiter.entry.hash for waiter in waiters)
            todo += [(waiter, because(hash), hash, 0) for waiter in waiters]

    # ---- erasing ----------------------------------------------------------------------------------------------

    def _drop(self, item: Brought) -> None:
        """Of an erased document: a late copy, or another erasure of it."""
        self._tally["duplicates" if item.entry.type in ERASURES else "dropped"] += 1

    def _erase(self, document: Document, erasure: Brought) -> None:
        seq = self._shelf.erase(erasure)
        self._shares.recount()
        document.spaces[document.key.space] = True
        self._tally["erased"] += 1
        self._tally["duplicates"] += len(document.erasures) - (erasure in document.erasures)
        document.erasures = []
        document.retractions = []
        self._appended(seq, seq)

    def _retract(self, document: Document) -> None:
        """The principal that began a memory may retract it. While its beginning is unknown here, a stream that may
        relay is believed. Over another stream, a retraction waits for the beginning."""
        key = document.key
        began = begun_by(self._read(key, self._shelf.changes(key.id))[1]) if document.here else frozenset()
        waited, brought = document.retractions, document.erasures
        document.retractions = []
        for erasure in (*waited, *brought):
            if document.erased:
                break  # and they with it
            if why := disputed(erasure.entry, began):
                self._refuse(document, erasure, why)
                document.erasures = [other for other in document.erasures if other is not erasure]
            elif began or (erasure in brought and self._relay):
                self._erase(document, erasure)
            else:
                self._wait(document, erasure, genesis_hash(key.id, key.space))
                self._tally["held"] += erasure in brought

    def _appended(self, first: int, last: int) -> None:
        self._first, self._last = self._first or first, max(self._last, last)
