"""Merges as the ledger writes them: a memory takes the place of others that say the same, and the way back.

Decided inside the commit, where no other write can come between. Nothing is erased: a merge supersedes, and its
undoing writes the last statement again.
"""

from __future__ import annotations

import os

from mnemesh_actors.ledger.commands import Absorb, Committed, Part
from mnemesh_actors.ledger.commit.write_admission import Admission
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_crdt.document.document import Edit
from mnemesh_crdt.document.revisions import SUPERSEDED_BY, reopen
from mnemesh_memory.values.errors import FailedPrecondition
from mnemesh_memory.values.memory_links import SUPERSEDES
from mnemesh_memory.values.model import Link


class Merging:
    """Writes over the ledger's journal."""

    def __init__(self, journal: Journal, admission: Admission) -> None:
        self._journal = journal
        self._admission = admission

    def absorb(self, command: Absorb) -> Committed:
        """Supersede the active ones of `others` by an active memory of the same space. Raises NotFound,
        FailedPrecondition, Aborted (other heads)."""
        for id_, heads in command.heads.items():
            self._journal.writable(id_, heads)
        memory = self._journal.writable(command.id)
        if memory.state != "active":
            raise FailedPrecondition(f"{memory.id} is {memory.state} by now", field="id", value=memory.id)
        others = self._admission.memories_here(command.others, memory.space)
        olds = [old for old in others if old.state == "active" and old.id != memory.id]
        if not olds:
            return self._journal.unchanged(memory, "nothing is left to merge")
        self._admission.refuse_endless(memory, command.agent)
        edit = Edit(
            tags_put=tuple(tag for tag in command.tags if tag not in memory.tags),
            links_put=tuple(Link(SUPERSEDES, old.id) for old in olds),
            at=command.at,
        )
        kept, _ = self._journal.write(self._journal.document(memory), edit, command.actor, command)
        return Committed(
            action="SUPERSEDE",
            memory=kept,
            superseded=tuple(self._admission.close(old, memory.id, command) for old in olds),
            seq=self._journal.last_seq(),
            reason=f"takes the place of {', '.join(old.id for old in olds)}",
        )

    def part(self, command: Part) -> Committed:
        """Take an Absorb back, as far as it still stands. Raises NotFound, FailedPrecondition."""
        memory = self._journal.writable(command.id)
        links = set(self._journal.links(memory))
        closed = [Link(SUPERSEDES, id_) for id_ in command.others if Link(SUPERSEDES, id_) in links]
        tags = tuple(tag for tag in command.tags if tag in memory.tags)
        if not closed:
            return self._journal.unchanged(memory, "nothing is merged here any more")
        self._admission.refuse_last(memory, command.agent)
        edit = Edit(tags_remove=tags, links_remove=tuple(closed), at=command.at)
        kept, _ = self._journal.write(self._journal.document(memory), edit, command.actor, command)
        back = Link(SUPERSEDED_BY, memory.id)
        for old in self._admission.memories_here([link.id for link in closed], memory.space):
            if old.state != "superseded" or back not in self._journal.links(old):
                continue
            self._admission.refuse_last(old, command.agent)
            document = self._journal.document(old)
            again = reopen(document.state(), [back], command.agent, command.at)
            self._journal.write(document, again, os.urandom(16), command)
        return Committed(
            action="RESTORE", memory=kept, seq=self._journal.last_seq(), reason="the merged memories stand again"
        )
