"""Taking in what other nodes wrote: an entry is appended, waits for what it builds on, or is quarantined with a reason.

Nothing reaches a document before its signature, the stream's grant and its operations are found good. What is kept, and
why, does not depend on the order in which entries come: a copy that was refused never keeps out a good one, and what
was put aside because of a refused change comes back when a good copy of that change is taken in. Erasing wins over
every change, before or after. Runs inside the transaction of its caller; the batch and its cursor are saved together.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from mnemesh_actors.ledger.journal import Journal, Received
from mnemesh_crdt.admission import admit
from mnemesh_crdt.chunk import ChangeHead, read_head
from mnemesh_crdt.document import MemoryDocument, genesis_hash
from mnemesh_crdt.envelope import CHANGE, ERASE, SIGNATURE_BYTES, Entry, erase_hash, node_id_of, verify
from mnemesh_crdt.refusal import Refused
from mnemesh_crdt.replica import Key
from mnemesh_crdt.shape import DocumentState
from mnemesh_memory import limits, validate
from mnemesh_memory.errors import DataLoss, FailedPrecondition, InvalidArgument
from mnemesh_memory.grants import PeerGrant, any_matches, principal_of

COLUMNS: Final = "doc, space, type, hash, raw, agent, node, signature, at, origin, received, awaited"
_PLACES: Final = ", ".join("?" * 12)
_Loaded: TypeAlias = tuple[MemoryDocument, DocumentState]
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_NODE: Final = re.compile(r"[0-9a-f]{32}")
_SHOWN_CHARS: Final = 200

# The head of a change that may enter its document, whose changes are given by hash, None when it has to wait anyway.
# Raises Refused.
Judge = Callable[[Key, Entry, Mapping[str, bytes] | None], ChangeHead]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIn:
    """What became of a batch. `seq` is the cursor that is durable now; `first` and `last` are the numbers of what was
    appended, 0 for nothing. `full`: some had to wait and no more may; the cursor stays, send them again later."""

    seq: int = 0
    accepted: int = 0
    duplicates: int = 0
    held: int = 0
    quarantined: int = 0
    dropped: int = 0
    erased: int = 0
    full: bool = False
    first: int = 0
    last: int = 0


@dataclass(slots=True)
class _Arrival:
    """A change on its way, found good but for what it builds on. `kept`: it was durable here before."""

    entry: Entry
    head: ChangeHead
    origin: str
    received: int
    kept: bool = False


@dataclass(slots=True)
class _Document:
    """What is known of a document while a batch is taken in. `spaces`: where its id is, and whether erased there."""

    key: Key
    genesis: str = ""
    known: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    spaces: dict[str, bool] = field(default_factory=dict)
    changes: dict[str, bytes] = field(default_factory=dict)
    waits: dict[str, list[_Arrival]] = field(default_factory=dict)
    erasures: list[tuple[Entry, str, int]] = field(default_factory=list)

    @property
    def here(self) -> bool:
        return self.key.space in self.spaces

    @property
    def erased(self) -> bool:
        return self.spaces.get(self.key.space, False)

    @property
    def elsewhere(self) -> str:
        return next((space for space, gone in self.spaces.items() if space != self.key.space and not gone), "")


class Intake:
    """`judge` says whether a change's operations are allowed; at most `pending_max` changes wait."""

    def __init__(
        self,
        db: sqlite3.Connection,
        journal: Journal,
        judge: Judge = admit,
        pending_max: int = limits.PENDING_CHANGES_MAX,
    ) -> None:
        self._db = db
        self._journal = journal
        self._judge = judge
        self._pending_max = pending_max

    def take_in(
        self, origin: str, grant: PeerGrant, entries: Sequence[Entry], keys: Mapping[str, bytes], now: int
    ) -> TakenIn:
        """Take in what a stream with `grant` brought from the node `origin` at `now` (ms); `keys` are public keys of
        nodes by id. `seq` of the outcome is left to the caller, who saves the cursor."""
        batch = _Batch(self._db, self._journal, self._judge, self._pending_max, origin, grant, now)
        return batch.take_in(entries, keys)


class _Batch:
    """One call of `take_in`."""

    def __init__(
        self,
        db: sqlite3.Connection,
        journal: Journal,
        judge: Judge,
        pending_max: int,
        origin: str,
        grant: PeerGrant,
        now: int,
    ) -> None:
        self._db = db
        self._journal = journal
        self._judge = judge
        self._room = pending_max - _count(db, "pending")
        self._quarantine = _count(db, "quarantine")  # at least: what is replaced counts twice
        self._pending = self._room < pending_max
        self._origin = origin
        self._grant = grant
        self._now = now
        self._keys: dict[str, bytes] = {}
        self._named: dict[tuple[str, str], str] = {}  # spaces and agents that were looked at: what is wrong with them
        self._tally = TakenIn()

    def take_in(self, entries: Sequence[Entry], keys: Mapping[str, bytes]) -> TakenIn:
        by_document: dict[Key, list[Entry]] = {}
        for entry in entries:
            if why := self._misshapen(entry):
                self._put_aside(_presentable(entry), why)
            else:
                by_document.setdefault(Key(entry.space, entry.doc), []).append(entry)
        self._learn(keys, {entry.node for group in by_document.values() for entry in group})
        for document in self._documents(list(by_document)):
            self._settle(document, by_document[document.key])
        return self._tally

    # ---- look-ups, once a batch -------------------------------------------------------------------------------

    def _learn(self, keys: Mapping[str, bytes], nodes: set[str]) -> None:
        marks = ", ".join("?" * len(nodes))
        self._keys = dict(self._db.execute(f"SELECT node, key FROM node_key WHERE node IN ({marks})", tuple(nodes)))
        fresh = {node: bytes(keys[node]) for node in nodes if node in keys and node not in self._keys}
        self._fresh_keys = {node: key for node, key in fresh.items() if node_id_of(key) == node}

    def _documents(self, keys: Sequence[Key]) -> list[_Document]:
        found = {key: _Document(key) for key in keys}
        ids = tuple({key.id for key in keys})
        marks = ", ".join("?" * len(ids))
        for doc, space, hash in self._db.execute(f"SELECT doc, space, hash FROM entry WHERE doc IN ({marks})", ids):
            if (here := found.get(Key(space, doc))) is not None:
                here.known.add(hash.hex())
        if self._pending:
            for doc, space, hash in self._db.execute(
                f"SELECT doc, space, hash FROM pending WHERE doc IN ({marks})", ids
            ):
                if (here := found.get(Key(space, doc))) is not None:
                    here.waiting.add(hash.hex())
        spaces: dict[str, dict[str, bool]] = {}
        for doc, space, erased in self._db.execute(
            f"SELECT doc, space, erased FROM document WHERE doc IN ({marks})", ids
        ):
            spaces.setdefault(doc, {})[space] = bool(erased)
        for key, document in found.items():
            document.spaces = spaces.setdefault(key.id, {})
        return list(found.values())

    # ---- what is wrong with an entry --------------------------------------------------------------------------

    def _misshapen(self, entry: Entry) -> str:
        """What no honest node sends, or ""."""
        if entry.type not in (CHANGE, ERASE):
            return "its type is neither change nor erase"
        if not (_HASH.fullmatch(entry.hash) and _NODE.fullmatch(entry.node)):
            return "its hash or node is not in hex of the right length"
        if len(entry.signature) != SIGNATURE_BYTES:
            return f"its signature has {len(entry.signature)} bytes instead of {SIGNATURE_BYTES}"
        if len(entry.raw) > limits.CHANGE_BYTES_MAX:
            return f"its change has {len(entry.raw)} bytes, at most {limits.CHANGE_BYTES_MAX} are allowed"
        if not limits.TIME_MS_MIN <= entry.at <= limits.TIME_MS_MAX:
            return "its time is no time"
        return (
            self._misnamed("doc", entry.doc)
            or self._misnamed("space", entry.space)
            or self._misnamed("agent", entry.agent)
        )

    def _misnamed(self, what: str, value: str) -> str:
        if (what, value) not in self._named:
            why = ""
            try:
                if what == "doc":
                    clean = validate.memory_id(what, value)
                elif what == "space":
                    clean = validate.space_path(what, value)
                else:
                    clean = validate.line(what, value, limits.AGENT_BYTES_MAX)
                if clean != value or not value:
                    why = f"its {what} is not written as we write it"
            except InvalidArgument as error:
                why = error.message
            self._named[what, value] = why
        return self._named[what, value]

    def _objection(self, entry: Entry) -> str:
        """Why this stream may not bring this entry, or ""."""
        key = self._keys.get(entry.node) or self._fresh_keys.get(entry.node)
        if key is None:
            return f"no key of node {entry.node} came with it"
        try:
            verify(entry, key)
        except DataLoss as error:
            return error.message
        if entry.node in self._fresh_keys:
            if _count(self._db, "node_key") >= limits.NODE_KEYS_MAX:
                return f"keys of {limits.NODE_KEYS_MAX} nodes are kept, no more are allowed"
            self._db.execute("INSERT INTO node_key VALUES (?, ?)", (entry.node, key))
            self._keys[entry.node] = self._fresh_keys.pop(entry.node)
        if not any_matches(self._grant.write, entry.space):
            return f"this peer may not write to {entry.space}"
        if not self._grant.may_speak_for(entry.agent):
            return f"this peer may not speak for {entry.agent}"
        if entry.type == ERASE and (
            entry.raw or entry.hash != erase_hash(entry.doc, entry.space, entry.agent, entry.node)
        ):
            return "it is not what an erasure of this memory looks like"
        return ""

    # ---- one document -----------------------------------------------------------------------------------------

    def _settle(self, document: _Document, entries: Sequence[Entry]) -> None:
        arrivals: deque[_Arrival] = deque()
        seen: set[str] = set()
        for entry in entries:
            if entry.hash in document.known or entry.hash in document.waiting or entry.hash in seen:
                self._count(duplicates=1)
            elif document.erased:
                self._drop(entry)
            elif why := self._refused(document, entry):
                self._refuse(document, entry, self._origin, self._now, why)
            elif entry.type == ERASE:
                seen.add(entry.hash)
                document.erasures.append((entry, self._origin, self._now))
            elif (head := self._head(document, entry)) is not None:
                seen.add(entry.hash)
                arrivals.append(_Arrival(entry, head, self._origin, self._now))
        if document.erasures and self._grant.relay:
            self._erase(document)
        if document.erased:
            for arrival in arrivals:
                self._drop(arrival.entry)
            return
        if arrivals:
            self._take(document, arrivals)
        if document.erasures:
            self._erase_as_author(document)

    def _refused(self, document: _Document, entry: Entry) -> str:
        """Why an entry is refused whatever its change says, or ""."""
        if document.elsewhere:
            return f"its id is that of a memory in {document.elsewhere}"
        return self._objection(entry)

    def _head(self, document: _Document, entry: Entry) -> ChangeHead | None:
        """The head of a change; None when it is refused now, because it is none or has a hash of its own."""
        try:
            head = read_head(entry.raw)
        except DataLoss as error:
            self._refuse(document, entry, self._origin, self._now, error.message)
            return None
        if head.hash == entry.hash and head.deps:
            return head
        why = "it builds on nothing, not even on its memory's beginning" if head.deps == () else "it has another hash"
        self._refuse(document, entry, self._origin, self._now, why)
        return None

    def _take(self, document: _Document, arrivals: deque[_Arrival]) -> None:
        if not document.genesis:
            document.genesis = genesis_hash(document.key.id, document.key.space)
        if document.known:
            document.changes = self._journal.log(document.key.id)
        before = list(document.changes.values())
        ready = self._in_order(document, arrivals)
        if ready:
            self._append(document, before, ready)
        # What was durable before first: there is always room for it.
        left = sorted((one for group in document.waits.values() for one in group), key=lambda one: not one.kept)
        document.waits.clear()
        for arrival in left:
            self._hold(document, arrival)

    def _in_order(self, document: _Document, arrivals: deque[_Arrival]) -> list[_Arrival]:
        """The changes that wait for nothing and may enter, each after those that it builds on, with those that waited
        for them here; the others are left in `waits`."""
        ready: list[_Arrival] = []
        if not document.here:
            arrivals.extend(self._released(document, document.genesis))
        while arrivals:
            arrival = arrivals.popleft()
            hash = arrival.entry.hash
            missing = self._missing(document, arrival)
            if missing:
                document.waits.setdefault(missing, []).append(arrival)
            elif hash in document.changes:
                self._count(duplicates=1)
            elif self._allowed(document, arrival):
                document.changes[hash] = arrival.entry.raw
                ready.append(arrival)
                arrivals.extend(document.waits.pop(hash, ()))
                arrivals.extend(self._released(document, hash))
        return ready

    def _missing(self, document: _Document, arrival: _Arrival) -> str:
        """A change that this one builds on and that is not here, or ""."""
        here = document.changes
        return next((dep for dep in arrival.head.deps if dep not in here and dep != document.genesis), "")

    def _allowed(self, document: _Document, arrival: _Arrival) -> bool:
        """Whether a change may enter now that all that it builds on is here; one that may not is quarantined."""
        why = ""
        if len(document.changes) >= limits.DOCUMENT_CHANGES_MAX:
            why = f"its memory has {limits.DOCUMENT_CHANGES_MAX} changes, more are not allowed"
        else:
            try:
                self._judge(document.key, arrival.entry, document.changes)
            except Refused as refused:
                why = refused.reason
        if why:
            self._refuse(document, arrival.entry, arrival.origin, arrival.received, why)
        return not why

    def _released(self, document: _Document, hash: str) -> Iterator[_Arrival]:
        """What waits here for a change that is good now, taken out of its table."""
        for table, any_there in (("pending", self._pending), ("quarantine", self._quarantine > 0)):
            for entry, origin, received in self._taken_out(document, table, hash) if any_there else ():
                if entry.type == ERASE:
                    document.erasures.append((entry, origin, received))
                else:
                    yield _Arrival(entry, read_head(entry.raw), origin, received, kept=True)

    def _taken_out(self, document: _Document, table: str, hash: str) -> list[tuple[Entry, str, int]]:
        named = (bytes.fromhex(hash), document.key.id, document.key.space)
        where = f"FROM {table} WHERE awaited = ? AND doc = ? AND space = ?"
        rows = self._db.execute(f"SELECT {COLUMNS} {where} ORDER BY id", named).fetchall()
        if rows:
            self._db.execute(f"DELETE {where}", named)
            if table == "pending":
                self._room += len(rows)
        found = [(entry_of(row), str(row[9]), int(row[10])) for row in rows]
        document.waiting.difference_update(entry.hash for entry, _, _ in found)
        return found

    def _append(self, document: _Document, before: list[bytes], ready: list[_Arrival]) -> None:
        key = document.key
        loaded = _loaded(key, [*before, *(one.entry.raw for one in ready)])
        if isinstance(loaded, str):
            ready, loaded = self._readable(document, before, ready)
        if not ready or isinstance(loaded, str):
            return
        last = self._stored(document, loaded, ready)
        if not last:
            return
        document.known.update(one.entry.hash for one in ready)
        document.spaces[key.space] = False
        if self._quarantine:
            self._db.executemany(
                "DELETE FROM quarantine WHERE doc = ? AND space = ? AND hash = ?",
                [(key.id, key.space, bytes.fromhex(one.entry.hash)) for one in ready],
            )
        self._count(accepted=len(ready), appended=(last - len(ready) + 1, last))

    def _stored(self, document: _Document, loaded: _Loaded, ready: list[_Arrival]) -> int:
        """Append; the last entry's number. What does not fit the file, though it was found good, is quarantined, so
        that one entry never holds up all that come after it; 0 then."""
        mark = self._journal.digest.mark()
        self._db.execute("SAVEPOINT document")
        try:
            received = [Received(one.entry, one.head.actor, one.origin, one.received) for one in ready]
            last = self._journal.take(*loaded, received, new=not document.here)
        except (sqlite3.IntegrityError, OverflowError, UnicodeError) as error:
            self._db.execute("ROLLBACK TO document")
            self._journal.digest.undo(mark)
            last = 0
            for one in ready:
                document.changes.pop(one.entry.hash, None)
                self._refuse(document, one.entry, one.origin, one.received, f"the ledger does not take it ({error})")
        self._db.execute("RELEASE document")
        return last

    def _readable(
        self, document: _Document, before: list[bytes], ready: list[_Arrival]
    ) -> tuple[list[_Arrival], _Loaded | str]:
        """The document with those of `ready`, one by one, with which it can be read; the others are refused."""
        good: _Loaded | str = "nothing"
        if before:
            good = _loaded(document.key, before)
            if isinstance(good, str):
                raise DataLoss(good, field="document", value=document.key.id)
        kept: list[_Arrival] = []
        refused: dict[str, str] = {}
        for arrival in ready:
            culprit = next((dep for dep in arrival.head.deps if dep in refused), "")
            tried: _Loaded | str = f"it builds on {culprit}, which is quarantined"
            if not culprit:
                tried = _loaded(document.key, [*before, *(one.entry.raw for one in kept), arrival.entry.raw])
            if isinstance(tried, str):
                refused[arrival.entry.hash] = culprit
                del document.changes[arrival.entry.hash]
                self._refuse(document, arrival.entry, arrival.origin, arrival.received, tried, culprit)
            else:
                good = tried
                kept.append(arrival)
        return kept, good

    # ---- what does not enter a document -----------------------------------------------------------------------

    def _hold(self, document: _Document, arrival: _Arrival) -> None:
        """Keep a change until what it builds on comes: in quarantine when that is there."""
        missing = [dep for dep in arrival.head.deps if dep not in document.changes and dep != document.genesis]
        if (culprit := self._quarantined(document.key, missing)) is not None:
            why = f"it builds on {culprit}, which is quarantined"
            self._refuse(document, arrival.entry, arrival.origin, arrival.received, why, culprit)
        elif self._room <= 0 and not arrival.kept:
            self._tally = replace(self._tally, full=True)
        else:
            try:
                if not arrival.kept:
                    self._judge(document.key, arrival.entry, None)
            except Refused as refused:
                self._refuse(document, arrival.entry, arrival.origin, arrival.received, refused.reason)
                return
            self._wait(document, arrival.entry, arrival.origin, arrival.received, missing[0])
            self._count(held=not arrival.kept)

    def _wait(self, document: _Document, entry: Entry, origin: str, received: int, awaited: str) -> None:
        self._db.execute(f"INSERT INTO pending ({COLUMNS}) VALUES ({_PLACES})", _row(entry, origin, received, awaited))
        document.waiting.add(entry.hash)
        self._pending = True
        self._room -= 1

    def _quarantined(self, key: Key, hashes: Iterable[str]) -> str | None:
        if not self._quarantine:
            return None
        for hash in hashes:
            if self._db.execute(
                "SELECT 1 FROM quarantine WHERE doc = ? AND space = ? AND hash = ?",
                (key.id, key.space, bytes.fromhex(hash)),
            ).fetchone():
                return hash
        return None

    def _refuse(
        self, document: _Document, entry: Entry, origin: str, received: int, why: str, culprit: str = ""
    ) -> None:
        """Quarantine an entry, and with it what waits for it."""
        todo = [(entry, origin, received, why, culprit)]
        while todo:
            one, origin, received, why, culprit = todo.pop()
            self._put_aside(one, why, culprit, origin, received)
            because = f"it builds on {one.hash}, which is quarantined"
            for arrival in document.waits.pop(one.hash, ()):
                todo.append((arrival.entry, arrival.origin, arrival.received, because, one.hash))
            for waiter, its_origin, its_receipt in (
                self._taken_out(document, "pending", one.hash) if self._pending else ()
            ):
                todo.append((waiter, its_origin, its_receipt, because, one.hash))

    def _put_aside(
        self, entry: Entry, why: str, culprit: str = "", origin: str | None = None, received: int | None = None
    ) -> None:
        row = _row(
            entry, self._origin if origin is None else origin, self._now if received is None else received, culprit
        )
        if self._quarantine < limits.QUARANTINE_ENTRIES_MAX:
            self._db.execute(
                f"INSERT OR REPLACE INTO quarantine ({COLUMNS}, reason) VALUES ({_PLACES}, ?)", (*row, why)
            )
            self._quarantine += 1
        self._count(quarantined=1)

    # ---- erasing ----------------------------------------------------------------------------------------------

    def _drop(self, entry: Entry) -> None:
        if entry.type == ERASE:  # it is erased already, by somebody else
            self._count(duplicates=1)
        else:
            self._count(dropped=1)

    def _erase(self, document: _Document) -> None:
        (entry, origin, received), *others = document.erasures
        before = _count(self._db, "pending") if self._pending else 0
        seq, _ = self._journal.erase(entry, None, origin, received)
        if self._pending:
            self._room += before - _count(self._db, "pending")
        document.spaces[document.key.space] = True
        document.erasures.clear()
        self._count(erased=1, duplicates=len(others), appended=(seq, seq))

    def _erase_as_author(self, document: _Document) -> None:
        """Over a stream that may not relay, only who wrote a memory erases it. While nobody here knows who did, an
        erasure waits for the memory's beginning."""
        waiting, document.erasures = document.erasures, []
        if not document.here:
            document.genesis = document.genesis or genesis_hash(document.key.id, document.key.space)
            for entry, origin, received in waiting:
                if self._room <= 0:
                    self._tally = replace(self._tally, full=True)
                else:
                    self._wait(document, entry, origin, received, document.genesis)
                    self._count(held=1)
            return
        changes = self._journal.changes(document.key.id)
        writers = writers_of(MemoryDocument(document.key.id, document.key.space, changes).state())
        for entry, origin, received in waiting:
            if document.erased:
                self._drop(entry)
            elif writers == {principal_of(entry.agent)}:
                document.erasures = [(entry, origin, received)]
                self._erase(document)
            else:
                why = f"{entry.agent} did not write this memory alone; erasing it needs its writer or an admin"
                self._refuse(document, entry, origin, received, why)

    def _count(
        self,
        *,
        accepted: int = 0,
        duplicates: int = 0,
        held: int = 0,
        quarantined: int = 0,
        dropped: int = 0,
        erased: int = 0,
        appended: tuple[int, int] = (0, 0),
    ) -> None:
        so_far, (first, last) = self._tally, appended
        self._tally = replace(
            so_far,
            accepted=so_far.accepted + accepted,
            duplicates=so_far.duplicates + duplicates,
            held=so_far.held + held,
            quarantined=so_far.quarantined + quarantined,
            dropped=so_far.dropped + dropped,
            erased=so_far.erased + erased,
            first=so_far.first or first,
            last=max(so_far.last, last),
        )


def writers_of(state: DocumentState) -> set[str]:
    """The principals that began a memory: each of them wrote a revision without parents."""
    return {principal_of(one.by) for one in state.revisions.values() if not one.parents}


def entry_of(row: Sequence[object]) -> Entry:
    """The entry of a row of COLUMNS."""
    doc, space, type_, hash_, raw, agent, node, signature, at = row[:9]
    assert isinstance(hash_, bytes)
    assert isinstance(raw, bytes)
    assert isinstance(signature, bytes)
    assert isinstance(at, int)
    return Entry(
        doc=str(doc),
        space=str(space),
        type=str(type_),
        hash=hash_.hex(),
        raw=raw,
        agent=str(agent),
        node=str(node),
        signature=signature,
        at=at,
    )


def _row(entry: Entry, origin: str, received: int, awaited: str) -> tuple[object, ...]:
    return (
        *(entry.doc, entry.space, entry.type, bytes.fromhex(entry.hash), entry.raw, entry.agent, entry.node),
        *(entry.signature, entry.at, origin, received, bytes.fromhex(awaited) if awaited else None),
    )


def _loaded(key: Key, changes: list[bytes]) -> _Loaded | str:
    """The document of `changes` and what it holds, or why it can not be read."""
    try:
        document = MemoryDocument(key.id, key.space, changes)
        return document, document.state()
    except (DataLoss, FailedPrecondition) as error:
        return error.message


def _presentable(entry: Entry) -> Entry:
    """A misshapen entry in a form that can be kept and shown; its hash is of what it holds."""
    texts = (entry.doc, entry.space, entry.type, entry.agent, entry.node)
    doc, space, type_, agent, node = (
        text[:_SHOWN_CHARS].encode("utf-8", "replace").decode("utf-8", "replace") for text in texts
    )
    held = repr((texts, entry.hash, entry.signature, entry.raw)).encode("utf-8", "replace")
    return replace(
        entry,
        doc=doc,
        space=space,
        type=type_,
        agent=agent,
        node=node,
        hash=hashlib.sha256(held).hexdigest(),
        raw=entry.raw if len(entry.raw) <= limits.CHANGE_BYTES_MAX else b"",
        signature=entry.signature[:SIGNATURE_BYTES],
        at=min(max(entry.at, limits.TIME_MS_MIN), limits.TIME_MS_MAX),
    )


def _count(db: sqlite3.Connection, table: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
