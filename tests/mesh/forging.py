"""Changes that no honest node writes, signed by their forger.

They are votes and pins of others, links of no known type, and other beginnings for the id of a memory. Automerge itself
would take each change, so admission alone protects the document.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final

from automerge.core import ROOT, ScalarType
from mesh_node import Node

from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import CHANGE, Entry, Key
from mnemesh_crdt.document.document import Edit, MemoryDocument, RevisionFields
from mnemesh_crdt.document.revisions import heads
from mnemesh_memory.values.model import Link

VOTE: Final = "vote of another"
PIN: Final = "pin of another"
LINK: Final = "link of no known type"
BEGINNING: Final = "beginning of another's memory"
# Each with a part of the reason for which it is set aside.

FORGED_CHANGES: Final[Mapping[str, str]] = {
    VOTE: "feedback ",
    PIN: "pins ",
    LINK: "not of a known type",
    BEGINNING: "can begin in",
}


def forger(node: Node) -> Node:
    """A node outside the mesh that reads everything."""
    mallory = Node(99, node.memo, 0)
    mallory.agent = "mallory/cli"
    return mallory


def forged_change(kind: str, mallory: Node, node: Node, key: Key, victim: Node, at: int, rng: random.Random) -> Entry:
    """An entry by `mallory` that builds on the changes of `key` on `node`.

    The entry may speak for the victim's agent, as a peer that relays may. Then only the signing node is another.
    """
    document = MemoryDocument(key.id, key.space, node.disk.raws(key).values())
    name = f"{victim.agent}@{victim.id}"
    mallory.agent = rng.choice((mallory.agent, victim.agent))
    raw = _raw(kind, document, name if kind != BEGINNING else mallory.agent, at, rng)
    return mallory.signed(key, CHANGE, read_head(raw).hash, raw)


def equivocal_changes(mallory: Node, node: Node, key: Key, at: int, rng: random.Random) -> list[Entry]:
    """Two entries by `mallory` with one actor, each allowed by itself, both on the changes of `key` on `node`."""
    actor = rng.randbytes(16)
    entries = []
    for word in ("ONE", "TWO"):
        document = MemoryDocument(key.id, key.space, node.disk.raws(key).values())
        names = heads(document.state())
        text = f"{word} {rng.getrandbits(30):x}"
        said = RevisionFields(op="put", kind="fact", title="", content=text, by=mallory.agent, at=at, parents=names)
        tag = rng.choice(("db", "net", "ui"))
        link = Link("see-also", f"018f6f0e-7c1a-7000-8000-{rng.randrange(3):012d}")
        edit = Edit(revision=said if rng.random() < 0.7 else None, tags_put=(tag,), links_put=(link,), at=at)
        change = document.write(edit, actor)
        assert change is not None
        entries.append(mallory.signed(key, CHANGE, change.hash, change.raw))
    return entries


def _raw(kind: str, document: MemoryDocument, name: str, at: int, rng: random.Random) -> bytes:
    actor = rng.randbytes(16)
    if kind == PIN:
        return _pin(document, name, at, actor)
    if kind == BEGINNING:
        return _beginning(document, name, at, actor)
    link = Link("owned-by", f"018f6f0e-7c1a-7000-8000-{rng.randrange(3):012d}")
    edit = Edit(vote=(name, rng.random() < 0.5), at=at) if kind == VOTE else Edit(links_put=(link,), at=at)
    change = document.write(edit, actor)
    assert change is not None
    return change.raw


def _beginning(document: MemoryDocument, name: str, at: int, actor: bytes) -> bytes:
    said = RevisionFields(op="put", kind="fact", title="", content="mine now", by=name.partition("@")[0], at=at)
    change = MemoryDocument(document.id, document.space).write(Edit(revision=said, at=at), actor)
    assert change is not None
    return change.raw


def _pin(document: MemoryDocument, name: str, at: int, actor: bytes) -> bytes:
    """Nothing of ours writes pins yet, so Automerge is asked."""
    if document._equivocation is not None:
        document = MemoryDocument(document.id, document.space, document._equivocation.base(""))
    library = document._open()
    library.set_actor(actor)
    before = library.get_heads()
    with library.transaction() as transaction:
        pins = transaction.get(ROOT, "pins")
        assert pins is not None
        transaction.put(pins[1], name, ScalarType.Int, at)
    (change,) = library.get_changes(before)
    return bytes(change.raw_bytes)
