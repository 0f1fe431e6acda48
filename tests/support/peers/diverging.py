"""Memories in conflict, made by writers on two nodes that can not see each other."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from hostile_peer import Signer

from mnemesh_actors.ledger.commands import Create
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.storage.data_directory import DataDirectory
from mnemesh_crdt.document.document import Edit, MemoryDocument
from mnemesh_crdt.document.revisions import fields_of, heads, shown
from mnemesh_memory.access.grants import PeerGrant, principal_of
from mnemesh_memory.text.text import duplicate_key
from mnemesh_memory.values.ids import fingerprint, fresh_id
from mnemesh_memory.values.model import Draft, Memory

SEEDED_AT = 1_700_000_000_000
# Memories in conflict for each door, in a space of its own.
CONFLICTS_A_DOOR = 7


def diverge(ledger: Ledger, memory: Memory, *edits: tuple[str, str, int], received: int | None = None) -> Memory:
    """`memory` after `edits`, each (agent, content, ms).

    Each edit is made on a node of its agent that has only the present state. The edit comes over a stream, at once or
    at `received` (ms).
    """
    changes = list(ledger._journal.log(memory.id).values())
    for agent, content, at in edits:
        document = MemoryDocument(memory.id, memory.space, changes)
        now = document.state()
        said = replace(fields_of(shown(now)), content=content, by=agent, at=at, parents=heads(now))
        actor = hashlib.sha256(f"{memory.id} {agent} {content}".encode()).digest()[:16]
        change = document.write(Edit(revision=said, at=at), actor)
        assert change is not None
        writer = Signer(agent, agent, at)
        entry = writer.signs(memory.id, memory.space, change.raw)
        grant = PeerGrant(read=("*",), write=("*",), principal=principal_of(agent))
        batch = IncomingEntries(peer=writer.id, origin=writer.id, grant=grant, entries=(entry,), keys=writer.keys)
        done = ledger.take_in(batch, at if received is None else received)
        assert done.accepted == 1, done
    return ledger.read([memory.id])[memory.id]


def node_of(agent: str) -> str:
    """The id of the node on which `diverge` lets an agent write."""
    return Signer(agent).id


def seed_conflicts(directory: DataDirectory, space: str, count: int) -> list[str]:
    """Ids of `count` new memories in `space` that ana and bob changed at once. No node runs on `directory`."""
    ledger = Ledger(str(directory.ledger(0)), str(directory.key_file), directory.node_id)
    ids = []
    for number in range(count):
        seed = hashlib.sha512(f"{space} {number}".encode()).digest()
        draft = Draft(content=f"The release of {space} number {number} is open.", kind="fact", space=space)
        id_ = fresh_id(SEEDED_AT + number, space, "ana", seed[:16])
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
