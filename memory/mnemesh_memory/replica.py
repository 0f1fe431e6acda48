"""How the ledgers of one node on several machines stand, as people see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReplica:
    """One of the ledgers that hold a node's log on several machines. `actor` names its process among the actors, `role`
    is primary or secondary, `state` ok or why it is behind, `node_id` signs what it writes, `place` is its directory on
    `machine`, `lag` how many of the primary's entries it has yet to take in."""

    actor: str
    role: str
    state: str
    node_id: str
    machine: str
    place: str
    incarnation: str
    seq: int
    lag: int
