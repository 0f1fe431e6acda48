"""Shared by the tests of mnemesh_crdt: short ways to write a memory, a forger of foreign changes, the intake on a shelf
in memory, a small mesh.

Nothing here is random: actors are counted, so a failing example replays exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from automerge.core import ROOT, Document, ObjType, ScalarType
from memory_shelf import Aside, MemoryShelf

from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import ERASE, Entry, Key, erase_hash
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.document import Edit, MemoryDocument, RevisionFields
from mnemesh_crdt.document.shape import DocumentState
from mnemesh_crdt.intake.arrivals import COUNTED, read_document
from mnemesh_crdt.intake.intake import Intake
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import Link, Memory

ID = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
OTHER = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a22"
SPACE = "team/payments"
KEY = Key(SPACE, ID)
AGENT = "owner/test"
NODE = "0" * 32
RELAY = PeerGrant(read=(), write=("*",), principal="hub", relay=True)


def actor(number: int) -> bytes:
    """A fresh actor for each number; uneven, so that the order of actors is not the order of numbers."""
    return hashlib.sha256(f"actor {number}".encode()).digest()[:16]


def put(content: str, parents: tuple[str, ...] = (), at: int = 1000, **more: Any) -> RevisionFields:
    return RevisionFields(op="put", kind="fact", title="", content=content, by=AGENT, at=at, parents=parents, **more)


def entry_of(key: Key, raw: bytes, **fields: Any) -> Entry:
    """The entry of a change by AGENT on NODE, signed by nobody."""
    try:
        hash = read_head(raw).hash
    except DataLoss:
        hash = "ab" * 32
    given: dict[str, Any] = {"type": "change", "hash": hash, "raw": raw, "agent": AGENT, "node": NODE}
    return Entry(doc=key.id, space=key.space, **{**given, "signature": bytes(64), "at": 0, **fields})


def erasure_of(key: Key, agent: str = AGENT, node: str = NODE, type: str = ERASE) -> Entry:
    hash = erase_hash(type, key.id, key.space, agent, node)
    return entry_of(key, b"", type=type, hash=hash, agent=agent, node=node)


class Replica:
    """The product's intake on a shelf in memory. Unless `rules` say otherwise, every signature is believed."""

    def __init__(self, **rules: Any) -> None:
        self.shelf = MemoryShelf()
        self._intake = Intake(shelf=self.shelf, **{"verify": lambda entry, key: None, **rules})

    def told(
        self, *entries: Entry, grant: PeerGrant = RELAY, keys: Mapping[str, bytes] | None = None
    ) -> dict[str, int | bool]:
        """What becomes of a batch: the counts that are not 0. Without `keys` the node of each entry is known here."""
        for entry in entries if keys is None else ():
            self.shelf.keep_key(entry.node, bytes(32), "")
        taken = self._intake.take_in("a log", grant, entries, keys or {}, 1, "hub")
        return {name: value for name in (*COUNTED, "full") if (value := getattr(taken, name))}

    def raws(self, key: Key = KEY) -> list[bytes]:
        return list(self.shelf.raws(key).values())

    def state(self, key: Key = KEY) -> DocumentState | None:
        changes = self.shelf.raws(key)
        return read_document(key, changes)[1] if changes else None

    def refused(self) -> list[Aside]:
        return list(self.shelf.quarantine.values())

    def waiting(self) -> list[Entry]:
        return [one.brought.entry for one in self.shelf.pending.values()]

    def all_entries(self) -> list[Entry]:
        return [one.entry for one in self.shelf.log.values()] + self.waiting()


def document(*changes: bytes) -> MemoryDocument:
    return MemoryDocument(ID, SPACE, changes)


def written(doc: MemoryDocument, edit: Edit | None, number: int) -> bytes:
    """The bytes of the change that `edit` makes; fails when it makes none."""
    return doc.write(edit, actor(number)).raw


def created(content: str = "first", number: int = 1, at: int = 1000, **more: Any) -> bytes:
    """The change that creates the memory."""
    return written(document(), Edit(revision=put(content, at=at), at=at, **more), number)


def edited(log: Iterable[bytes], content: str, number: int, at: int = 2000) -> bytes:
    """The change of a writer who sees `log` and replaces all heads."""
    doc = document(*log)
    return written(doc, Edit(revision=put(content, revisions.heads(doc.state()), at), at=at), number)


def memory(*log: bytes) -> Memory:
    found = revisions.materialise(document(*log).state())
    assert found is not None
    return found


def genesis() -> Document:
    """The first change of ID in SPACE, written out by hand: what any other implementation has to compute."""
    doc = Document(actor_id=bytes(16))
    with doc.transaction() as transaction:
        transaction.put(ROOT, "v", ScalarType.Int, 1)
        transaction.put(ROOT, "id", ScalarType.Str, ID)
        transaction.put(ROOT, "space", ScalarType.Str, SPACE)
        for name in ("rev", "tags", "links", "pins", "feedback"):
            transaction.put_object(ROOT, name, ObjType.Map)
    return doc


def foreign(log: Iterable[bytes], number: int, write: Callable[[Any, Callable[[str], bytes]], None]) -> bytes:
    """A change as another program could write it: `write(transaction, collection)` may do anything."""
    first = genesis().get_changes([])[0].raw_bytes
    doc = Document.load(b"".join([bytes(first), *log]))
    doc.set_actor(actor(number))
    before = doc.get_heads()
    with doc.transaction() as transaction:
        write(transaction, lambda name: transaction.get(ROOT, name)[1])
    (change,) = doc.get_changes(before)
    return bytes(change.raw_bytes)


def with_checksum(raw: bytes) -> bytes:
    """The same change after somebody altered its body and made the checksum fit again."""
    return raw[:4] + hashlib.sha256(raw[8:]).digest()[:4] + raw[8:]


VERBS = ("edit", "edit one head", "forget", "restore", "tag", "untag", "link", "unlink", "rate", "supersede")


@dataclass
class Mesh:
    """Replicas that write and hand changes to each other, and what a model has to know to judge the outcome.

    `history` maps each written change to all changes seen by its writer. `tag_touches` maps it to the tags put
    (True) or removed (False).
    """

    size: int
    replicas: list[Replica] = field(default_factory=list)
    raws: dict[Key, list[bytes]] = field(default_factory=dict)
    history: dict[str, frozenset[str]] = field(default_factory=dict)
    tag_touches: dict[Key, list[tuple[str, str, bool]]] = field(default_factory=dict)
    writes: int = 0

    def __post_init__(self) -> None:
        self.replicas = [Replica() for _ in range(self.size)]

    def do(self, who: int, verb: str, which: int, tag: str) -> None:
        """`who` writes to memory `which` (0 or 1) with its clock standing still: times must not decide anything."""
        key = (KEY, Key(SPACE, OTHER))[which]
        replica = self.replicas[who % self.size]
        doc = MemoryDocument(key.id, key.space, replica.raws(key))
        edit = self._edit(doc, verb, tag) if "edit" in verb or replica.raws(key) else None
        self.writes += 1
        change = doc.write(edit, actor(self.writes)) if edit else None
        if change is None or edit is None:
            return
        self.history[change.hash] = frozenset(read_head(raw).hash for raw in replica.raws(key))
        touches = [(one, True) for one in edit.tags_put] + [(one, False) for one in edit.tags_remove]
        self.tag_touches.setdefault(key, []).extend((one, change.hash, is_put) for one, is_put in touches)
        self.raws.setdefault(key, []).append(change.raw)
        replica.told(entry_of(key, change.raw))

    def _edit(self, doc: MemoryDocument, verb: str, tag: str) -> Edit | None:
        state = doc.state()
        names = revisions.heads(state)
        link = Link("see-also", f"018f6f0e-7c1a-7000-8000-00000000000{len(tag)}")
        match verb:
            case "forget":
                return revisions.forget(state, AGENT, 1000)
            case "restore":
                return revisions.restore(state, AGENT, 1000)
            case "supersede":
                return revisions.supersede(state, OTHER if doc.id == ID else ID, AGENT, 1000)
            case "tag":
                return Edit(tags_put=(tag,), at=1000)
            case "untag":
                return Edit(tags_remove=(tag,), at=1000)
            case "link":
                return Edit(links_put=(link,), at=1000)
            case "unlink":
                return Edit(links_remove=(link,), at=1000)
            case "rate":
                return Edit(vote=(f"{AGENT}@{NODE}", tag == "a"), at=1000)
            case "edit one head":
                return Edit(revision=put(f"text {self.writes}", names[:1]), at=1000)
            case _:
                return Edit(revision=put(f"text {self.writes}", names), at=1000)

    def hand_over(self, giver: int, taker: int) -> None:
        merged(self.replicas[taker % self.size], self.replicas[giver % self.size])

    def settle(self) -> None:
        for taker in range(self.size):
            for giver in range(self.size):
                self.hand_over(giver, taker)


def merged(taker: Replica, *givers: Replica) -> Replica:
    """`taker`, after it was told all that the givers know."""
    for giver in givers:
        taker.told(*giver.all_entries())
    return taker


def contents(replica: Replica) -> dict[Key, Any]:
    """Everything a replica says: documents, their states, and the consequences."""
    states = {key: replica.state(key) for key in replica.shelf.memories()}
    return {key: (state, state and revisions.materialise(state)) for key, state in states.items()}
