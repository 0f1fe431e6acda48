"""Shared by the tests of the ledger's intake: other nodes with signed entries, and short ways to hand entries over."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from ledger_builders import SPACE, START, Home

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.ledger.peers.peer_log import SyncPage
from mnemesh_actors.ledger.peers.put_aside import PutAside, Which
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import CHANGE, ERASE, RETRACT, Entry, erase_hash, node_id_of, signing_bytes
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.document import Edit, MemoryDocument, RevisionFields
from mnemesh_crdt.intake.arrivals import TakenIn
from mnemesh_memory.access.grants import PeerGrant, principal_of
from mnemesh_memory.values import limits
from mnemesh_memory.values.ids import fresh_id

ID = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
OTHER = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a22"
ANA = "ana/cli"
BOB = "bob/cli"
NOW = START + 1_000_000
FEED = "feed of the other"
EVERYTHING = PeerGrant(read=("*",), write=("*",), principal="ana", relay=True)
ANAS = PeerGrant(read=("*",), write=("team/*",), principal="ana")


@dataclass
class Node:
    """Another node: a writer and signer of changes of the memories it holds. Nothing is random: the actor of a
    change is made of the node's name and a count."""

    name: str = "far"
    agent: str = ANA
    now: int = START
    writes: int = 0
    logs: dict[tuple[str, str], list[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(self.name.encode()).digest())
        self.public = self.key.public_key().public_bytes_raw()
        self.id = node_id_of(self.public)
        self.origin = hashlib.sha256(self.id.encode()).hexdigest()[:32]

    @property
    def keys(self) -> dict[str, bytes]:
        return {self.id: self.public}

    def knows(self, *entries: Entry) -> None:
        """The node now has these changes, as if it had taken them in."""
        for entry in entries:
            self.logs.setdefault((entry.space, entry.doc), []).append(entry.raw)

    def document(self, id: str = ID, space: str = SPACE) -> MemoryDocument:
        return MemoryDocument(id, space, self.logs.get((space, id), ()))

    def own_id(self, space: str = SPACE) -> str:
        """The id of a memory that the node begins with its next change; ID and OTHER are of before there were such."""
        return fresh_id(self.now, space, principal_of(self.agent), self._actor(self.writes + 1))

    def says(
        self, content: str, id: str = ID, space: str = SPACE, *, agent: str = "", mark: str = "", **more: Any
    ) -> Entry:
        """A revision that names all heads of the node. The first revision makes the memory."""
        self.now += 1
        document = self.document(id, space)
        fields = {"op": "put", "kind": "fact", "title": "", "by": agent or self.agent, "at": self.now, **more}
        parents = revisions.heads(document.state())
        return self.edits(
            Edit(revision=RevisionFields(content=content, parents=parents, **fields), mark=mark, at=self.now),
            id,
            space,
            agent,
        )

    def forgets(self, id: str = ID, space: str = SPACE) -> Entry:
        self.now += 1
        edit = revisions.forget(self.document(id, space).state(), self.agent, self.now)
        assert edit is not None
        return self.edits(edit, id, space)

    def tags(self, *tags: str, id: str = ID, space: str = SPACE) -> Entry:
        self.now += 1
        return self.edits(Edit(tags_put=tags, at=self.now), id, space)

    def edits(self, edit: Edit, id: str = ID, space: str = SPACE, agent: str = "") -> Entry:
        self.writes += 1
        change = self.document(id, space).write(edit, self._actor(self.writes))
        assert change is not None
        self.logs.setdefault((space, id), []).append(change.raw)
        return self.signs(id, space, change.raw, agent or self.agent)

    def _actor(self, number: int) -> bytes:
        return hashlib.sha256(f"{self.name} {number}".encode()).digest()[:16]

    def erases(self, id: str = ID, space: str = SPACE, agent: str = "", type: str = ERASE) -> Entry:
        """As an admin; `retracts` as who began it."""
        self.now += 1
        by = agent or self.agent
        return self._signed(id, space, type, erase_hash(type, id, space, by, self.id), b"", by)

    def retracts(self, id: str = ID, space: str = SPACE, agent: str = "") -> Entry:
        return self.erases(id, space, agent, RETRACT)

    def signs(self, id: str, space: str, raw: bytes, agent: str) -> Entry:
        return self._signed(id, space, CHANGE, read_head(raw).hash, raw, agent)

    def _signed(self, id: str, space: str, type: str, hash: str, raw: bytes, agent: str) -> Entry:
        signature = self.key.sign(signing_bytes(id, space, type, hash, agent, self.id))
        return Entry(
            doc=id, space=space, type=type, hash=hash, raw=raw, agent=agent, node=self.id, at=self.now,
            signature=signature,
        )  # fmt: skip


def taken(
    ledger: Ledger,
    node: Node,
    *entries: Entry,
    grant: PeerGrant = EVERYTHING,
    keys: Mapping[str, bytes] | None = None,
    **more: Any,
) -> TakenIn:
    """The outcome of a batch that `node` brings, with its own key and others."""
    known = {**node.keys, **(keys or {})}
    batch = IncomingEntries(peer=node.id, origin=node.origin, grant=grant, entries=entries, keys=known, **more)
    return ledger.take_in(batch, NOW)


def outcome(result: TakenIn) -> dict[str, int | bool]:
    """Every field of a result that is not empty, without cursor and numbers."""
    words = ("accepted", "duplicates", "held", "quarantined", "dropped", "erased", "full")
    return {word: getattr(result, word) for word in words if getattr(result, word)}


def all_entries(ledger: Ledger, patterns: Sequence[str] = ("*", "@owner")) -> list[Entry]:
    return [entry for page in pages(ledger, patterns) for entry in page.entries]


def pages(ledger: Ledger, patterns: Sequence[str] = ("*", "@owner"), size: int = 256) -> Iterator[SyncPage]:
    after, done = 0, False
    while not done:
        page = ledger.sync_page(after, patterns, "", size, limits.BATCH_BYTES_MAX)
        yield page
        after, done = page.last_seq, page.done


def hand_over(giver: Ledger, taker: Ledger, home: Home, size: int = 256, now: int = NOW) -> list[TakenIn]:
    """All that `giver`, at `home`, has for `taker`, from where that stands."""
    node, feed = home.directory.node_id, giver.status().incarnation
    after, done, results = taker.cursors(node).get(feed, 0), False, []
    while not done:
        page = giver.sync_page(after, ("*", "@owner"), taker.status().incarnation, size, limits.BATCH_BYTES_MAX)
        batch = IncomingEntries(
            peer=node, origin=feed, grant=replace(EVERYTHING, write=("*", "@owner")), entries=page.entries,
            feed=feed, last_seq=page.last_seq, keys=page.keys,
        )  # fmt: skip
        results.append(taker.take_in(batch, now))
        after, done = page.last_seq, page.done
    return results


def reasons(ledger: Ledger) -> list[str]:
    return [one.reason for one in refused(ledger)]


def refused(ledger: Ledger) -> list[PutAside]:
    return list(ledger.put_aside("quarantine", Which(), 0, 10_000, False).entries)


def contents(ledger: Ledger, ids: Iterable[str] = (ID,)) -> list[str]:
    found = ledger.read(list(ids))
    return [found[id].content for id in ids if id in found]
