"""The log and the view that follows from it: appends signed changes, keeps the view in step, reads documents back.

Runs inside the transaction of its caller and decides nothing.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mnemesh_actors.ledger import reads, rows, schema
from mnemesh_actors.ledger.commands import Command
from mnemesh_actors.ledger.faults import damaged
from mnemesh_crdt.chunk import read_head
from mnemesh_crdt.document import Edit, MemoryDocument
from mnemesh_crdt.envelope import signing_bytes
from mnemesh_crdt.revisions import materialise
from mnemesh_memory.errors import DataLoss, NotFound, Unavailable
from mnemesh_memory.model import Memory
from mnemesh_memory.text import duplicate_key


class Journal:
    """`db` is the ledger's connection, `key` signs entries as `node_id`."""

    def __init__(self, db: sqlite3.Connection, key: Ed25519PrivateKey, node_id: str) -> None:
        self._db = db
        self._key = key
        self._node_id = node_id

    def write(self, document: MemoryDocument, edit: Edit, actor: bytes, command: Command) -> tuple[Memory, int]:
        """Append the change that `edit` makes; the memory as it is then, and the entry's sequence number."""
        change = document.write(edit, actor)
        if change is None:
            raise Unavailable("an edit that differs gave no change; this is a fault of ours", part="ledger")
        digest = bytes.fromhex(change.hash)
        signed = signing_bytes(document.id, document.space, "change", change.hash, command.agent, self._node_id)
        cursor = self._db.execute(
            "INSERT INTO entry (space, doc, type, hash, actor, raw, agent, node, signature, at) "
            "VALUES (?, ?, 'change', ?, ?, ?, ?, ?, ?, ?)",
            (
                *(document.space, document.id, digest, actor, change.raw, command.agent, self._node_id),
                *(self._key.sign(signed), command.at),
            ),
        )
        memory = materialise(document.state())
        if memory is None:
            raise DataLoss(f"{document.id} has no revision after a write", field="id", value=document.id)
        seq = int(cursor.lastrowid or 0)
        self._store_view(memory, seq)
        return memory, seq

    def memory(self, id_: str) -> Memory:
        """The view's row. Raises NotFound."""
        found = reads.by_ids(self._db, [id_])
        if id_ not in found:
            raise NotFound("memory", id_)
        return found[id_]

    def document(self, memory: Memory) -> MemoryDocument:
        """The document of a memory, loaded from its entries."""
        return MemoryDocument(memory.id, memory.space, self._changes(memory.id))

    def seq_of(self, memory: Memory) -> int:
        """Sequence number of the last entry of a memory: who waits for it sees the memory as it is."""
        row = self._db.execute("SELECT seq FROM memory WHERE id = ?", (memory.id,)).fetchone()
        return int(row[0])

    def last_seq(self) -> int:
        """Sequence number of the last entry, 0 for an empty log."""
        row = self._db.execute("SELECT max(seq) FROM entry").fetchone()
        return int(row[0] or 0)

    def rebuild_view(self) -> int:
        """Compute the view anew from the entries; returns how many memories it holds."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.execute("DELETE FROM memory")
            self._db.execute("DELETE FROM text_hash")
            docs = self._db.execute("SELECT doc, space, max(seq) FROM entry GROUP BY doc").fetchall()
            for doc, space, seq in docs:
                memory = materialise(MemoryDocument(doc, space, self._changes(doc)).state())
                if memory is None:
                    raise DataLoss(f"the entries of {doc} hold no revision", field="doc", value=doc)
                self._store_view(memory, seq)
            self._db.execute(
                "INSERT INTO meta VALUES ('view_version', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                (str(schema.VIEW_VERSION),),
            )
            self._db.execute("COMMIT")
        except BaseException:  # boundary: undone, then raised again
            self._db.execute("ROLLBACK")
            raise
        return len(docs)

    def rebuild_view_if_old(self) -> None:
        """Rebuild when another version of this code made the view."""
        row = self._db.execute("SELECT value FROM meta WHERE key = 'view_version'").fetchone()
        if row is None or row[0] != str(schema.VIEW_VERSION):
            self.rebuild_view()

    def _store_view(self, memory: Memory, seq: int) -> None:
        self._db.execute(f"INSERT OR REPLACE INTO memory VALUES ({rows.PLACES})", rows.to_row(memory, seq))
        if memory.version > 1:
            self._db.execute("DELETE FROM text_hash WHERE doc = ?", (memory.id,))
        for content in {memory.content, *(head.content for head in memory.conflicts)}:
            key = bytes.fromhex(duplicate_key(content))
            self._db.execute("INSERT OR IGNORE INTO text_hash VALUES (?, ?, ?)", (memory.space, key, memory.id))

    def _changes(self, doc: str) -> list[bytes]:
        return [row[0] for row in self._db.execute("SELECT raw FROM entry WHERE doc = ? ORDER BY seq", (doc,))]


def check_log(db: sqlite3.Connection, path: Path) -> None:
    """Compare every change with its hash, because SQLite checks how its pages are built and not what they hold."""
    for seq, digest, raw in db.execute("SELECT seq, hash, raw FROM entry"):
        try:
            sound = read_head(raw).hash == digest.hex()
        except DataLoss as error:
            raise damaged(path, f"entry {seq}: {error.message}") from error
        if not sound:
            raise damaged(path, f"entry {seq}: its change has another hash")
