"""Decisions of a person between two memories that may not both hold, as the ledger writes them.

The memory that does not hold is superseded by the other one. When both hold, a link `both-hold` takes the place of
`contradicts` or `may-replace`. It travels with the memory, so no node judges the pair again. Decided inside the
commit, where no other write can come between.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence

from mnemesh_actors.ledger.commit.commands import Committed, Decide
from mnemesh_actors.ledger.commit.write_admission import Admission, refuse_endless
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_crdt.document.document import Edit
from mnemesh_crdt.document.revisions import supersede
from mnemesh_memory.policy.standing import undecided
from mnemesh_memory.values.errors import FailedPrecondition
from mnemesh_memory.values.memory_links import BOTH_HOLD, OPEN_TYPES
from mnemesh_memory.values.model import Link, Memory


class Decisions:
    """Writes over the ledger's connection."""

    def __init__(self, db: sqlite3.Connection, journal: Journal, admission: Admission) -> None:
        self._db = db
        self._journal = journal
        self._admission = admission

    def decide(self, command: Decide) -> Committed:
        """End a contradiction. Gives the memory that holds, or the one asked about when both do. Raises NotFound,
        FailedPrecondition."""
        memory, other = self._journal.writable(command.id), self._journal.writable(command.other, field="other")
        stand = memory.state == other.state == "active"
        if not stand or not undecided(memory, other):
            raise FailedPrecondition(
                f"{memory.id} and {other.id} do not contradict each other now; `conflicts` lists the pairs that do",
                field="other",
                value=other.id,
                limit="two memories that stand and contradict each other, or of which one may replace the other",
            )
        if not command.keep:
            return self._both(memory, other, command)
        kept, closed = (memory, other) if command.keep == memory.id else (other, memory)
        return self._replace(kept, closed, command)

    def _both(self, memory: Memory, other: Memory, command: Decide) -> Committed:
        changed, seq = memory, 0
        for one, against in ((memory, other), (other, memory)):
            opposed = [link for link in one.links if link.id == against.id and link.type in OPEN_TYPES]
            if not (opposed or one is memory):
                continue
            put = (Link(BOTH_HOLD, against.id),) if one is memory else ()
            written, seq = self._write(one, put, opposed, command, first=one is memory)
            changed = written if one is memory else changed
        said = f"{memory.id} and {other.id} both hold; the pair is not judged again"
        return Committed(action="RESOLVE", memory=changed, seq=seq, reason=said)

    def _replace(self, kept: Memory, closed: Memory, command: Decide) -> Committed:
        if kept.space != closed.space:
            raise FailedPrecondition(
                f"other: {closed.id} lies in {closed.space}; a memory is replaced in its own space",
                field="other",
                value=command.other,
                limit=f"two memories of {kept.space}",
            )
        document = self._journal.document(closed)
        edit = supersede(document.state(), kept.id, command.agent, command.at)
        if edit is None:
            raise FailedPrecondition(f"other: {closed.id} has nothing to replace", field="other", value=closed.id)
        opposed = [link for link in kept.links if link.id == closed.id and link.type in OPEN_TYPES]
        changed, _ = self._write(kept, (Link("supersedes", closed.id),), opposed, command, first=True)
        self._admission.refuse_last(closed, command.agent)
        gone = self._journal.write(document, edit, os.urandom(16), command)[0]
        said = f"{kept.id} was kept; it replaces {closed.id}"
        return Committed(
            action="RESOLVE", memory=changed, seq=self._journal.last_seq(), reason=said, superseded=(gone,)
        )

    def _write(
        self, memory: Memory, put: Sequence[Link], removed: Sequence[Link], command: Decide, *, first: bool
    ) -> tuple[Memory, int]:
        refuse_endless(self._db, memory, command.agent)
        edit = Edit(links_put=tuple(put), links_remove=tuple(removed), at=command.at)
        actor = command.actor if first else os.urandom(16)
        return self._journal.write(self._journal.document(memory), edit, actor, command)
