"""`mnemesh node new-identity`: makes a copied data directory a node of its own, while no node runs on it.

The log keeps its entries, signed by the former node. From then on the node signs with a new key, under another id and
in a new incarnation.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mnemesh_actors.ledger.integrity.incarnation import end_life
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.storage.data_directory import open_directory, renew_identity
from mnemesh_gateway.node.presence import NodeLock, refuse_uninhabited


@dataclass(frozen=True, slots=True)
class Renewed:
    """Ids in hex before and after, and how many memories stay."""

    data_dir: str
    old_node_id: str
    node_id: str
    memories: int

    @property
    def text(self) -> str:
        """For a person."""
        return (
            f"{self.data_dir} is node {self.node_id} now; it was {self.old_node_id}. Its {self.memories} memories "
            "stay, signed by the node that it was.\nPeers that call it have to remove it and add it again."
        )


def give_new_identity(data_dir: Path) -> Renewed:
    """A new key, id and incarnation. The ledger keeps the old public key, which its entries were signed with. Raises
    InvalidArgument for a file, FailedPrecondition when no node lived there or one runs, DataLoss for a damaged
    directory."""
    refuse_uninhabited(data_dir)
    with closing(NodeLock(data_dir)):
        before = open_directory(data_dir)
        ledger = Ledger(str(before.ledger(0)), str(before.key_file), before.node_id)  # keeps the old key
        memories = ledger.status().memories
        ledger.close()
        end_life(before.ledger(0).with_suffix(".lock"))
        after = renew_identity(before)
    return Renewed(str(data_dir), before.node_id, after.node_id, memories)
