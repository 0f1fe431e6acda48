"""How the ledgers of one node on several machines stand, as people see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReplica:
    """One of the ledgers that hold a node's log on several machines."""

    actor: str  # Name of the process among the actors.
    role: str  # primary or secondary.
    state: str
    node_id: str  # Signs the entries of this ledger.
    machine: str
    place: str  # Directory on `machine`.
    incarnation: str
    seq: int
    lag: int  # Count of the primary's entries still missing.
