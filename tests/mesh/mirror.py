"""The ledger's shelf on SQLite beside that of a simulated node: both must come to the same after every commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memory_shelf import MemoryShelf
from sqlite_holdings import OpenShelf

from mnemesh_actors.ledger.commit.write_admission import Admission
from mnemesh_crdt.document.revisions import materialise
from mnemesh_crdt.intake.intake import Intake


class Mirror:
    """The shelf of the node `node_id` on SQLite."""

    def __init__(self, node_id: str, open_shelf: OpenShelf | None = None) -> None:
        self.node_id = node_id
        self._open = open_shelf or OpenShelf(node_id)

    def copy(self) -> Mirror:
        """One with the same file."""
        return Mirror(self.node_id, self._open.copy())

    def trust(self, node_id: str, key: bytes) -> None:
        """The key of a node, as the ledger knows its own."""
        self._open.shelf.keep_key(node_id, key, "")

    def follow(self, work: Callable[[Intake], object], intake: Intake) -> object:
        """Repeat the work of the node's `intake` in one transaction."""
        with self._open.journal.transaction():
            return work(replace(intake, shelf=self._open.shelf))

    def taken(self, id_: str) -> bool:
        """Whether the ledger refuses this id to a new memory."""
        return Admission(self._open.db, self._open.journal, lambda ids, at: None).taken(id_)

    def differences(self, disk: MemoryShelf, intake: Intake) -> list[str]:
        """The parts in which the two shelves differ."""
        ours, ledgers = disk.holdings(), self._open.holdings()
        memories = {key: materialise(intake.read(key, disk.raws(key))[1]) for key in disk.memories()}
        links = {(key.id, link.type, link.id) for key, memory in memories.items() if memory for link in memory.links}
        ours["links"], ledgers["links"] = links, set(self._open.db.execute("SELECT source, type, target FROM link"))
        return [f"{part}: {_apart(ours[part], ledgers[part])}" for part in ours if ours[part] != ledgers[part]]


def _apart(ours: Any, ledgers: Any) -> str:
    left, right = set(map(str, ours)), set(map(str, ledgers))
    return f"only the node {sorted(left - right)}, only the ledger {sorted(right - left)}"
