"""The port between the intake and its storage: the log, the waiting and the refused entries, the keys of nodes.

The ledger keeps a shelf in SQLite, the simulated mesh in memory. tests/kernel/merge/test_shelf_contract.py holds both
to the same promises. A caller's transaction covers all calls for a batch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Protocol

from mnemesh_crdt.changes.envelope import Key
from mnemesh_crdt.intake.arrivals import Brought, Loaded

PENDING: Final = "pending"
QUARANTINE: Final = "quarantine"
NODE_KEY: Final = "node_key"


class Unstorable(Exception):
    """The storage does not take a change, and has stored nothing of the call."""


class Shelf(Protocol):
    """`table` is PENDING or QUARANTINE. `ids` are ids of memories, in every space. Hashes and actors are in hex."""

    # ---- the log

    def logged(self, ids: Collection[str]) -> Iterable[tuple[Key, str, str]]:
        """Document, hash and actor of each entry in the log. The actor of an erasure is ""."""

    def homes(self, ids: Collection[str]) -> Iterable[tuple[Key, bool]]:
        """The documents of these ids that are here, and whether they are erased."""

    def changes(self, id: str) -> dict[str, bytes]:
        """The raw changes of a memory by hash, in the order of the log. An id has changes in one space only."""

    def append(self, loaded: Loaded, brought: Sequence[tuple[Brought, str]], *, new: bool) -> int:
        """Append changes, each with its actor, to a document that is `loaded` with them. Returns the number of the last
        entry. `new`: nothing was here of the document before. Raises Unstorable."""

    def erase(self, erasure: Brought) -> int:
        """Append an erasure and delete everything else of its document, with all refused entries under its id. Returns
        the entry's number."""

    # ---- waiting and refused entries

    def waiting(self, ids: Collection[str]) -> Iterable[tuple[Key, str]]:
        """Document and hash of each waiting entry."""

    def put(self, table: str, brought: Brought, awaited: str, reason: str = "", rules: int = 0) -> None:
        """Add an entry. `awaited` is the hash of a change that stops the entry, "" for none."""

    def take(self, table: str, key: Key, awaited: str) -> list[Brought]:
        """Remove the entries of a document that one change stops, oldest first. Returns these entries."""

    def is_refused(self, key: Key, hash: str, fell_as: bytes | None = None) -> bool:
        """Whether the quarantine has a copy of a change: any, or one with this signature that fell with another
        change."""

    def drop_refused(self, key: Key, hash: str, signature: bytes | None = None) -> list[str]:
        """Delete the copies of an entry from the quarantine, all or that with one signature. Returns the senders."""

    def drop_oldest(self, table: str, sender: str, *, erasures: bool = False) -> None:
        """Delete the oldest entry of a sender, the oldest erasure on request."""

    def greediest(self, table: str, *, erasures: bool = False) -> str:
        """The sender with the largest part of a table, or of the erasures in the table."""

    def count(self, table: str, sender: str | None = None, *, erasures: bool | None = None) -> int:
        """The entries of a table, or the keys of NODE_KEY: of one sender, or of all with None. `erasures` chooses
        erasures or changes."""

    # ---- keys of nodes

    def node_keys(self, nodes: Collection[str]) -> Mapping[str, bytes]:
        """The keys that are kept, by node id."""

    def keep_key(self, node: str, key: bytes, sender: str) -> None:
        """Keep a key that `sender` brought."""
