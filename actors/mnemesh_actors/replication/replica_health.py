"""What is promised of the ledgers of a node at present, and what a person is told when that changes.

Decides neither who is primary nor whom a writer waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import structlog

from mnemesh_actors.notices import Notice
from mnemesh_actors.replication.members import Member
from mnemesh_actors.replication.replica_streams import Links
from mnemesh_memory.values.replica_status import LedgerReplica

# In the answer to each write; `status` says which ledger is meant.
LACKING: Final = "degraded: a ledger with acknowledged writes that may be missing here is away; see `mnemesh status`"
log = structlog.get_logger("mnemesh.replication")


class ReplicaHealth(Links):
    """`noted` keeps for the next start which ledger is primary, which one is `level` with it, and which are `missing`.
    No write is acknowledged without a level one before that is noted."""

    def __init__(
        self,
        members: Sequence[Member],
        primary: Member,
        clock: Callable[[], int],
        notice: Callable[[str], None],
        noted: Callable[[], None],
        missing: Mapping[str, str],
    ) -> None:
        super().__init__(members, primary, clock, notice)
        self.missing = dict(missing)
        self._noted = noted
        self._noted_level: frozenset[str] = frozenset()
        self._said = (False, False)  # what was told last: writes may be missing, and writes are on one machine

    @property
    def level(self) -> frozenset[str]:
        """The ledger without which no write is acknowledged at present, if there is one. Of several any may be it."""
        current = self._current()
        return frozenset(member.identity.node_id for member in current) if len(current) == 1 else frozenset()

    def _note(self) -> None:
        """Keep how it stands for the next start, durably."""
        self._noted_level = self.level
        self._noted()

    @property
    def degraded(self) -> str:
        """Why less is promised at present than two ledgers with everything do, or ""."""
        return "; ".join(filter(None, (self._lacking, self._on_one)))

    @property
    def _on_one(self) -> str:
        """Why writes are on one machine only, or ""."""
        if self._current():
            return ""
        away = "; ".join(member.fault for member in self._others() if member.fault)
        return f"degraded: on one machine only, {away or 'no second ledger keeps up'}"

    @property
    def _lacking(self) -> str:
        """Which ledgers have to come back before every acknowledged write is here, or ""."""
        away = ", ".join(f"{id_[:12]} ({place})" for id_, place in self.missing.items())
        return away and (
            f"degraded: acknowledged writes may be missing until ledger {away} is back: start its machine. If that is "
            "lost for good, stop the node, take the ledger's entry out of replicas.json in the data directory, and "
            "start the node again"
        )

    def _tell(self) -> None:
        """Say how it stands, once when that changes."""
        why = (bool(self._lacking), bool(self._on_one))
        if why != self._said:
            said = self.degraded
            log.warning("ledger_degraded", reason=said) if said else log.info("ledger_on_two_machines")
            self._notice(Notice("ledger", f"ledger {said}" if said else "ledger on two machines again"))
        self._said = why

    def _no_longer_missing(self, member: Member) -> None:
        if self.missing.pop(member.identity.node_id, None) is not None:
            log.info("ledger_no_longer_missing", replica=member.identity.node_id)
            self._note()
            self._tell()

    def _shown(self, member: Member, head: int) -> LedgerReplica:
        first = member is self.primary
        return LedgerReplica(
            actor=member.handle.name,
            role="primary" if first else "secondary",
            state="ok" if first or member.current else f"behind: {member.fault}" if member.fault else "behind",
            node_id=member.identity.node_id,
            machine=member.machine,
            place=member.place,
            incarnation=member.identity.incarnation,
            seq=head if first else member.bell.head,
            lag=0 if first else max(0, head - member.acked),
        )
