"""The real ledger's intake beside the model: told of each commit of a simulated node, and judged after it.

The model is `Replica` on a few dictionaries. The twin is `Intake` and `Journal` on SQLite in memory, as a node has them
on disk. After every commit both must have logged, kept pending, quarantined and erased the same entries.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from replica_model import Received, Replica

from mnemesh_actors.ledger.commit.write_admission import Admission
from mnemesh_actors.ledger.peers.sqlite_shelf import SqliteShelf
from mnemesh_actors.ledger.store import schema
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_crdt.changes.envelope import Key
from mnemesh_crdt.document.revisions import materialise
from mnemesh_crdt.intake.intake import Intake
from mnemesh_crdt.intake.senders import Verifier
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.model import Link

_NOW: Final = 1_700_000_000_000
_KEY: Final = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"twin").digest())


class Twin:
    """A ledger in memory for the node `node_id`."""

    verify: ClassVar[Verifier]  # that of the simulated nodes

    def __init__(self, node_id: str) -> None:
        self._node_id = node_id
        self._db = schema.connect(Path(":memory:"))
        self._begin()

    def _begin(self) -> None:
        self._journal = Journal(self._db, _KEY, self._node_id)
        self._intake = Intake(shelf=SqliteShelf(self._db, self._journal), verify=Twin.verify)

    def copy(self) -> Twin:
        """One with the same file."""
        other = Twin.__new__(Twin)
        other._node_id = self._node_id
        other._db = sqlite3.connect(":memory:", isolation_level=None)
        self._db.backup(other._db)
        other._begin()
        return other

    def commit(self, events: Iterable[Received], origin: str, keys: Mapping[str, bytes]) -> None:
        """Take in the events of one transaction of the node, in order, with their `keys`.

        The node's own writes come as from a trusted peer.
        """
        self._db.execute("BEGIN IMMEDIATE")
        self._journal.digest.begin()
        for event in events:
            own = PeerGrant(read=(), write=(event.entry.space,), principal="", relay=True)
            self._intake.take_in(origin, event.grant or own, [event.entry], keys, _NOW)
        self._journal.digest.write()
        self._db.execute("COMMIT")

    def taken(self, id_: str) -> bool:
        """Whether the ledger refuses this id to a new memory."""
        return Admission(self._db, self._journal, lambda ids, at: None).taken(id_)

    def trust(self, node_id: str, key: bytes) -> None:
        """The key of a node, as the ledger knows its own."""
        self._db.execute("INSERT OR IGNORE INTO node_key (node, key) VALUES (?, ?)", (node_id, key))

    def differences(self, model: Replica, origins: Mapping[str, str]) -> list[str]:
        """The differences of model and ledger; `origins` are the logs that brought the model's entries, by hash."""
        logged = {one.hash for key in (*model.documents(), *model.erased()) for one in model.entries(key)}
        # A ledger drops refused entries under the id of an erased memory, in any space.
        gone = {key.id for key in model.erased()}
        refused = set(self._db.execute("SELECT hash, doc FROM quarantine"))
        pairs: dict[str, tuple[Any, Any]] = {
            "logged": (logged, self._hashes("entry")),
            "waiting": ({one.hash for one in model.pending()}, self._hashes("pending")),
            "quarantined": (
                {kept.entry.hash for kept in model.quarantined() if kept.entry.doc not in gone},
                {hash.hex() for hash, doc in refused if doc not in gone},
            ),
            "erased": (
                {(key.id, key.space) for key in model.erased()},
                set(self._db.execute("SELECT doc, space FROM erased")),
            ),
        }
        pairs["links"] = (
            {(key.id, link.type, link.id) for key in model.documents() for link in _links(model, key)},
            set(self._db.execute("SELECT source, type, target FROM link")),
        )
        brought = self._db.execute("SELECT hash, origin FROM entry UNION ALL SELECT hash, origin FROM pending")
        pairs["brought by"] = (dict(origins), {hash.hex(): origin for hash, origin in brought})
        for (space,) in self._db.execute("SELECT DISTINCT space FROM document").fetchall():
            pairs[f"digest of {space}"] = (model.digest(space), self._journal.digest.of(space))
        return [f"{what}: {_apart(*pair)}" for what, pair in pairs.items() if pair[0] != pair[1]]

    def _hashes(self, table: str) -> set[str]:
        return {hash.hex() for (hash,) in self._db.execute(f"SELECT hash FROM {table}")}


def _links(model: Replica, key: Key) -> tuple[Link, ...]:
    state = model.state(key)
    memory = materialise(state) if state is not None else None
    return memory.links if memory is not None else ()


def _apart(model: Any, ledger: Any) -> str:
    if isinstance(model, dict):
        model, ledger = set(model.items()), set(ledger.items())
    return f"only the model {sorted(map(str, model - ledger))}, only the ledger {sorted(map(str, ledger - model))}"
