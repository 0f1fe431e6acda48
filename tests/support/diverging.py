"""Memories in conflict, made as they come to be: by writers who did not see each other's change."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from mnemesh_actors.ledger.actor import Ledger
from mnemesh_actors.ledger.commands import Command
from mnemesh_crdt.document import Edit, MemoryDocument
from mnemesh_crdt.revisions import fields_of, heads, shown
from mnemesh_memory.model import Memory


def diverge(ledger: Ledger, memory: Memory, *edits: tuple[str, str, int]) -> Memory:
    """`memory` after each of `edits`, (agent, content, ms), was made by somebody who saw only what is there now."""
    journal = ledger._journal
    changes = list(journal.changes(memory.id))
    with ledger._transaction():
        for agent, content, at in edits:
            document = MemoryDocument(memory.id, memory.space, changes)
            now = document.state()
            said = replace(fields_of(shown(now)), content=content, by=agent, at=at, parents=heads(now))
            actor = hashlib.sha256(f"{memory.id} {agent} {content}".encode()).digest()[:16]
            journal.write(document, Edit(revision=said, at=at), actor, Command(agent=agent, at=at, actor=actor))
    ledger.rebuild_view()
    return ledger.read([memory.id])[memory.id]


def texts(memory: Memory) -> set[str]:
    """All that a memory says."""
    return {memory.content, *(head.content for head in memory.conflicts)}
