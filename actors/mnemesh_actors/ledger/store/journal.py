"""The log and its view: appends entries, ours and those of other nodes, keeps view and digest in step, reads documents
back, and erases them.

The only place that appends. Runs inside the transaction of its caller and decides nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mnemesh_actors.ledger import crowded_document
from mnemesh_actors.ledger.commands import Command, Committed, KeptVectors
from mnemesh_actors.ledger.store import file_table, link_table, reads, rows, schema
from mnemesh_actors.ledger.store.entry_rows import values_of
from mnemesh_actors.ledger.store.space_digest import SpaceDigest
from mnemesh_actors.ledger.store.tally import Tally
from mnemesh_crdt.admission.budget import statement, within
from mnemesh_crdt.changes.envelope import CHANGE, Entry, Key, erase_hash, signing_bytes
from mnemesh_crdt.changes.operations import read_operations
from mnemesh_crdt.document.document import DocumentState, Edit, MemoryDocument
from mnemesh_crdt.document.revisions import materialise
from mnemesh_crdt.document.shape import rank
from mnemesh_crdt.intake.arrivals import Brought
from mnemesh_crdt.sync.proof import Claim, proof_bytes
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash, duplicate_key
from mnemesh_memory.values.errors import Aborted, DataLoss, FailedPrecondition, NotFound, Unavailable
from mnemesh_memory.values.limits import CLOCK_AHEAD_MS_MAX, LINKS_SHOWN_MAX, TAGS_SHOWN_MAX
from mnemesh_memory.values.model import Link, Memory

log = structlog.get_logger("mnemesh.ledger")
_NOWHERE: Final = "NOT EXISTS (SELECT 1 FROM memory WHERE id = ?1)"  # an admin may name a space that it is not in


class Journal:
    """`db` is the ledger's connection, `key` signs entries as `node_id`."""

    def __init__(self, db: sqlite3.Connection, key: Ed25519PrivateKey, node_id: str) -> None:
        self._db = db
        self._key = key
        self._node_id = node_id
        self.digest = SpaceDigest(db)
        self.tally = Tally(db)
        # Content hashes of erased texts, with the erasure's number: a late embedding must not bring one back.
        self._late: dict[str, int] = {}
        self._fed: dict[str, int] = {}  # up to which number the index of each generation has taken in the log

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the writes inside are stored, with their digest, or none."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self.digest.begin()
            yield
            self.digest.write()
            self._db.execute("COMMIT")
        except BaseException:  # boundary: undone, then raised again
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    # ---- appending --------------------------------------------------------------------------------------------

    def write(self, document: MemoryDocument, edit: Edit, actor: bytes, command: Command) -> tuple[Memory, int]:
        """Append the change that `edit` makes. The memory as it is then, and the entry's sequence number."""
        change = document.write(edit, actor)
        if change is None:
            raise Unavailable("an edit that differs gave no change; this is a fault of ours", part="ledger")
        if crowded_document.is_crowded(document):
            document, change = crowded_document.written(document, self.log(document.id), edit, actor, change)
        entry = self._signed(Key(document.space, document.id), CHANGE, change.hash, change.raw, command)
        seq = self._append(entry, actor)
        memory = viewed(self._db, shown(self._db, document.state()))
        if memory is None:
            raise DataLoss(f"{document.id} has no revision after a write", field="id", value=document.id)
        self._keep(document, memory, seq)
        return memory, seq

    def take(
        self, document: MemoryDocument, state: DocumentState, brought: Sequence[tuple[Brought, str]], *, new: bool
    ) -> int:
        """Append changes of other nodes, each with its actor (hex), in this order, to a document that holds them
        already. Returns the last entry's number. `new`: nothing was here of it before."""
        seq = 0
        for row, actor in brought:
            seq = self._append(row.entry, bytes.fromhex(actor), row.origin, row.received)
        fresh = {state.name_of(row.entry.hash, actor): row.received + CLOCK_AHEAD_MS_MAX for row, actor in brought}
        receipts = fresh if new else latest(self._db, state)
        memory = viewed(self._db, _in_time(state, receipts))
        if memory is not None and not new:
            self._drop_stale_vectors(memory)
        self._keep(document, memory, seq, new=new)
        return seq

    def erase(self, entry: Entry, actor: bytes | None, origin: str = "", received: int = 0) -> tuple[int, int]:
        """Append an erasure and delete everything that is kept of its document. The entry's number, and how many
        changes went. Only their hashes stay."""
        key, named = Key(entry.space, entry.doc), (entry.doc, entry.space)
        self.tally.erasing(entry.doc, entry.space)
        gone = self._db.execute(
            "SELECT hash FROM entry WHERE doc = ? AND space = ? AND type = 'change' ORDER BY seq", named
        ).fetchall()
        if gone:
            texts = self._said(key)
            self._late |= dict.fromkeys(texts, self.last_seq() + 1)
            self._db.executemany("DELETE FROM vector WHERE hash = ?", [(bytes.fromhex(digest),) for digest in texts])
        for sql, values in (
            ("DELETE FROM entry WHERE doc = ? AND space = ?", named),
            ("DELETE FROM memory WHERE id = ? AND space = ?", named),
            ("DELETE FROM damaged_memory WHERE id = ?", named[:1]),
            ("DELETE FROM text_hash WHERE doc = ? AND space = ?", named),
            (f"DELETE FROM activity WHERE id = ?1 AND {_NOWHERE}", named[:1]),
            # Links to the memory stay, as ids of nothing: those belong to other memories.
            (f"DELETE FROM file_reference WHERE doc = ?1 AND {_NOWHERE}", named[:1]),
            (f"DELETE FROM link WHERE source = ?1 AND {_NOWHERE}", named[:1]),
            (f"DELETE FROM postponed WHERE doc = ?1 AND {_NOWHERE}", named[:1]),
            # The key stays, so that a late retry does not bring the text back; what tells the text does not.
            (f"UPDATE idempotency SET fingerprint = x'' WHERE id = ?1 AND {_NOWHERE}", named[:1]),
            ("DELETE FROM pending WHERE doc = ? AND space = ?", named),
            # In every space: an id belongs to one memory, and these bytes may be of its text.
            ("DELETE FROM quarantine WHERE doc = ?", named[:1]),
        ):
            self._db.execute(sql, values)
        self._db.execute("INSERT INTO erased VALUES (?, ?, ?)", (*named, b"".join(row[0] for row in gone)))
        self.digest.change(key, (), erased=True)
        return self._append(entry, actor, origin, received), len(gone)

    def still_said(self, vectors: KeptVectors) -> KeptVectors:
        """Without those of erased texts."""
        if not self._late:
            return vectors
        return replace(vectors, items=tuple(item for item in vectors.items if item[0] not in self._late))

    def fed(self, after: int, generation: str) -> None:
        """The index of that generation has taken in everything up to `after`, so no earlier erased text is on its way
        there."""
        self._fed[generation] = after
        if self._late:
            everywhere = min(self._fed.values())
            self._late = {digest: seq for digest, seq in self._late.items() if seq > everywhere}

    def fed_only(self, generations: Sequence[str]) -> None:
        """No other generation takes in anything any more."""
        self._fed = {name: after for name, after in self._fed.items() if name in generations}

    def erasure(self, key: Key, type: str, command: Command) -> Entry:
        """The signed entry of one of the types ERASURES by which `command` erases a document."""
        hash = erase_hash(type, key.id, key.space, command.agent, self._node_id)
        return self._signed(key, type, hash, b"", command)

    def prove(self, claim: Claim) -> bytes:
        """The signature of a claim, which fits no entry."""
        return self._key.sign(proof_bytes(claim))

    def _signed(self, key: Key, type: str, hash: str, raw: bytes, command: Command) -> Entry:
        signed = signing_bytes(key.id, key.space, type, hash, command.agent, self._node_id)
        return Entry(
            doc=key.id,
            space=key.space,
            type=type,
            hash=hash,
            raw=raw,
            agent=command.agent,
            node=self._node_id,
            signature=self._key.sign(signed),
            at=command.at,
        )

    def _append(self, entry: Entry, actor: bytes | None, origin: str = "", received: int = 0) -> int:
        cursor = self._db.execute(
            "INSERT INTO entry (doc, space, type, hash, raw, agent, node, signature, at, actor, origin, received) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values_of(entry), actor, origin, received),
        )
        return int(cursor.lastrowid or 0)

    # ---- reading ----------------------------------------------------------------------------------------------

    def memory(self, id_: str) -> Memory:
        """The view's row. Raises NotFound."""
        memories = reads.by_ids(self._db, [id_])
        if id_ not in memories:
            raise NotFound("memory", id_)
        return memories[id_]

    def writable(self, id_: str, heads: Sequence[str] | None = None, field: str = "id") -> Memory:
        """A memory that is not forgotten and has the expected `heads`, if any. Raises NotFound, FailedPrecondition,
        Aborted."""
        memory = self.memory(id_)
        if memory.state == "forgotten":
            raise FailedPrecondition(f"{memory.id} is forgotten; `restore` it first", field=field, value=memory.id)
        if heads is not None and set(heads) != set(memory.heads):
            raise Aborted(
                f"{memory.id} has changed: its heads are {', '.join(memory.heads)}; read it again",
                field="expected_heads",
                value=", ".join(heads),
                limit=", ".join(memory.heads),
            )
        return memory

    def unchanged(self, memory: Memory, reason: str) -> Committed:
        """The outcome of a command that had nothing to write."""
        (seq,) = self._db.execute("SELECT seq FROM memory WHERE id = ?", (memory.id,)).fetchone()
        return Committed(action="NOOP", memory=memory, seq=seq, reason=reason)

    def document(self, memory: Memory) -> MemoryDocument:
        """The document of a memory, loaded from its entries."""
        return self.load(Key(memory.space, memory.id))

    def load(self, key: Key) -> MemoryDocument:
        """A document, whether it is in the view or says nothing yet."""
        return MemoryDocument(key.id, key.space, *within(key.id, key.space, self.log(key.id)))

    def state(self, memory: Memory) -> DocumentState:
        """The state of a memory's document, for reading: times of other nodes' clocks as in the view."""
        return shown(self._db, self.document(memory).state())

    def tags(self, memory: Memory) -> tuple[str, ...]:
        """All tags of a memory, also those that the view leaves out."""
        return self.document(memory).state().tags if len(memory.tags) >= TAGS_SHOWN_MAX else memory.tags

    def links(self, memory: Memory) -> tuple[Link, ...]:
        """The same of its links."""
        return self.document(memory).state().links if len(memory.links) >= LINKS_SHOWN_MAX else memory.links

    def log(self, doc: str) -> dict[str, bytes]:
        """The raw changes of a document by hash (hex), in the order of the log. An id has changes in one space only."""
        changes = self._db.execute("SELECT hash, raw FROM entry WHERE doc = ? AND type = 'change' ORDER BY seq", (doc,))
        return {hash.hex(): raw for hash, raw in changes}

    def written_by(self, actor: bytes) -> str:
        """The id of the memory that the operation `actor` of this node changed already, or "". Changes of other nodes
        do not count: anyone who saw an actor in one memory may use it in another."""
        docs = self._db.execute("SELECT doc FROM entry WHERE actor = ? AND node = ?", (actor, self._node_id))
        row = docs.fetchone()
        return str(row[0]) if row else ""

    def last_seq(self) -> int:
        """Sequence number of the last entry, 0 for an empty log."""
        row = self._db.execute("SELECT max(seq) FROM entry").fetchone()
        return int(row[0] or 0)

    # ---- the view ---------------------------------------------------------------------------------------------

    def rebuild_view(self, damaged: Collection[str] = ()) -> int:
        """Compute the view and the digest anew from the entries. Returns how many memories it holds. Rows of memories
        with a damaged log stay, and their checksums say whether they are served."""
        with self.transaction():
            return self._rebuild(damaged)

    def _rebuild(self, damaged: Collection[str]) -> int:
        kept = json.dumps(list(damaged))
        for table, id_ in (("memory", "id"), ("text_hash", "doc"), ("link", "source"), ("file_reference", "doc")):
            self._db.execute(f"DELETE FROM {table} WHERE {id_} NOT IN (SELECT value FROM json_each(?))", (kept,))
        self.digest.clear()
        for doc, space in self._db.execute("SELECT doc, space FROM erased").fetchall():
            self.digest.change(Key(space, doc), (), erased=True)
        docs = self._db.execute(
            "SELECT doc, space, max(seq) FROM entry WHERE type = 'change' GROUP BY doc, space"
        ).fetchall()
        for doc, space, seq in docs:
            if doc in damaged:
                self.digest.change(Key(space, doc), ())
                continue
            document = self.load(Key(space, doc))
            memory = viewed(self._db, shown(self._db, document.state()))
            self._keep(document, memory, seq)
        self._db.execute(
            "INSERT INTO meta VALUES ('view_version', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (str(schema.VIEW_VERSION),),
        )
        (count,) = self._db.execute("SELECT count(*) FROM memory").fetchone()
        return int(count)

    def rebuild_view_if_old(self, damaged: Collection[str] = ()) -> None:
        """Rebuild when another version of this code made the view."""
        row = self._db.execute("SELECT value FROM meta WHERE key = 'view_version'").fetchone()
        if row is None or row[0] != str(schema.VIEW_VERSION):
            self.rebuild_view(damaged)

    def _keep(self, document: MemoryDocument, memory: Memory | None, seq: int, *, new: bool = False) -> None:
        """The view of a document whose last entry is `seq`. Changes of other nodes may leave one that says nothing
        yet."""
        self.digest.change(Key(document.space, document.id), document.heads(), new=new)
        if memory is None:
            return
        self._db.execute(f"INSERT OR REPLACE INTO memory VALUES ({rows.PLACES})", rows.to_row(memory, seq))
        if memory.version > 1:
            self._db.execute("DELETE FROM text_hash WHERE doc = ?", (memory.id,))
        link_table.keep(self._db, memory, new=new)
        file_table.keep(self._db, memory, new=new)
        for content in {memory.content, *(head.content for head in memory.conflicts)}:
            key = bytes.fromhex(duplicate_key(content))
            self._db.execute("INSERT OR IGNORE INTO text_hash VALUES (?, ?, ?)", (memory.space, key, memory.id))

    def remake(self, document: MemoryDocument, seq: int) -> None:
        """Make the view of a document anew. `seq` is that of its last entry."""
        self._keep(document, viewed(self._db, shown(self._db, document.state())), seq)

    def _said(self, key: Key) -> set[str]:
        """Content hashes of every text that a revision of a document was ever embedded as, unread ones too. Of a
        damaged log nobody can know them, and it is erased all the same."""
        try:
            state = self.load(key).state()
        except DataLoss as error:
            log.warning("cached_vectors_left", document=key.id, reason=error.message)
            return set()
        said_now = materialise(state)
        if said_now is None:
            return set()
        texts = {(revision.title, revision.content) for revision in state.revisions.values()}
        if state.unread:
            said = (statement(read_operations(raw)) for raw in self.log(key.id).values())
            texts |= {(str(words["title"]), str(words["content"])) for words in said if words}
        return {digest for title, text in texts for digest in _hashes(replace(said_now, title=title, content=text))}

    def _drop_stale_vectors(self, memory: Memory) -> None:
        """Of texts that another node's change took out of a memory. See vectors."""
        old = reads.by_ids(self._db, [memory.id]).get(memory.id)
        if old is None or (old.title, old.content, old.conflicts) == (memory.title, memory.content, memory.conflicts):
            return
        stale = _hashes(old) - _hashes(memory)
        self._db.executemany(
            "DELETE FROM vector WHERE hash = ? AND NOT shared", [(bytes.fromhex(digest),) for digest in stale]
        )


def shown(db: sqlite3.Connection, state: DocumentState) -> DocumentState:
    """`state` with the times of other nodes' clocks moved back to CLOCK_AHEAD_MS_MAX after their receipt."""
    return _in_time(state, latest(db, state))


def viewed(db: sqlite3.Connection, state: DocumentState) -> Memory | None:
    """The memory of a state as the view keeps it: with its arrival at this node, if its author's date is earlier."""
    memory = materialise(state)
    if memory is None:
        return None
    first = db.execute(
        "SELECT CASE WHEN received > 0 THEN received ELSE at END FROM entry WHERE doc = ? ORDER BY seq LIMIT 1",
        (memory.id,),
    ).fetchone()
    arrived = int(first[0]) if first else 0
    return replace(memory, arrived_at=arrived) if arrived > memory.updated_at else memory


def latest(db: sqlite3.Connection, state: DocumentState) -> Mapping[str, int]:
    """The latest time to show for each change from another node, by its name."""
    changes = db.execute(
        "SELECT hash, actor, received FROM entry WHERE doc = ? AND space = ? AND received > 0", (state.id, state.space)
    )
    return {state.name_of(hash.hex(), actor.hex()): received + CLOCK_AHEAD_MS_MAX for hash, actor, received in changes}


def _in_time(state: DocumentState, latest: Mapping[str, int]) -> DocumentState:
    """`state` with no revision later than its change's time in `latest`."""
    if not latest:
        return state
    late = {
        id_: replace(revision, at=latest[rank(id_)[1]])
        for id_, revision in state.revisions.items()
        if revision.at > latest.get(rank(id_)[1], revision.at)
    }
    return replace(state, revisions={**state.revisions, **late}) if late else state


def _hashes(memory: Memory) -> set[str]:
    return {content_hash(dense) for dense, _ in index_texts(memory)}
