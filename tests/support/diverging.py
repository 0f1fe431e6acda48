"""Memories in conflict, made as they come to be: by writers who did not see each other's change."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from mnemesh_actors.directory import DataDirectory
from mnemesh_actors.ledger.actor import Ledger
from mnemesh_actors.ledger.commands import Command, Create
from mnemesh_crdt.document import Edit, MemoryDocument
from mnemesh_crdt.revisions import fields_of, heads, shown
from mnemesh_memory.ids import fingerprint, uuid7
from mnemesh_memory.model import Draft, Memory
from mnemesh_memory.text import duplicate_key

SEEDED_AT = 1_700_000_000_000


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


def seed_conflicts(directory: DataDirectory, space: str, count: int) -> list[str]:
    """Ids of `count` new memories in `space` that ana and bob changed at once. No node runs on `directory`."""
    ledger = Ledger(str(directory.ledger(0)), str(directory.key_file), directory.node_id)
    ids = []
    for number in range(count):
        seed = hashlib.sha512(f"{space} {number}".encode()).digest()
        draft = Draft(content=f"The release of {space} number {number} is open.", kind="fact", space=space)
        id_ = uuid7(SEEDED_AT + number, seed[:10])
        create = Create(
            agent="ana/agent", at=SEEDED_AT, actor=seed[:16], draft=draft, id=id_, spare_id=id_,
            duplicate_key=duplicate_key(draft.content), fingerprint=fingerprint(draft),
        )  # fmt: skip
        (made,) = ledger.commit([create])
        assert not isinstance(made, Exception), made
        edits = [
            (f"{who}/agent", f"The release of {space} number {number} is on {day}.\nIt is final.", SEEDED_AT + later)
            for who, day, later in (("ana", "Monday", 1000), ("bob", "Friday", 2000))
        ]
        diverge(ledger, made.memory, *edits)
        ids.append(made.memory.id)
    ledger.close()
    return ids


def texts(memory: Memory) -> set[str]:
    """All that a memory says."""
    return {memory.content, *(head.content for head in memory.conflicts)}
