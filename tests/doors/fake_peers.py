"""Peers without streams: a book in a dict, whose peers are connected at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from mnemesh_actors.ledger.peers.peer_log import Backlog, Order, Untaken
from mnemesh_actors.ledger.peers.put_aside import AsidePage, PutAside, Which
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_crdt.intake.arrivals import TakenIn
from mnemesh_crdt.sync.greeting import Me
from mnemesh_gateway.peers.peer_book import Peer
from mnemesh_gateway.peers.peer_status import NotTaken, PeerStatus
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.errors import AlreadyExists, NotFound

START_MS = 1_800_000_000_000


class FakeSyncing:
    """One entry in quarantine, which the hub brought."""

    me = Me(node_id="0" * 32, key=b"", incarnation="inc", life="life")

    async def untaken(self, after: int, order: Order) -> Untaken:
        return Untaken(3 - after, 3, done=True, erased=False)

    async def backlog(self) -> Backlog:
        return Backlog(pending=2, quarantined=1, erased=0)

    async def put_aside(self, table: str, which: Which, after: int, limit: int, newest: bool) -> AsidePage:
        entry = Entry(
            doc="d", space="team/x", type="change", hash="ab", raw=b"", agent="bob", node="n", signature=b"", at=0
        )
        found = PutAside(
            id=1, entry=entry, size=9, sender=":" + "1" * 32, origin="inc", received=START_MS, awaited="cd",
            reason="forged" if table == "quarantine" else "",
        )  # fmt: skip
        here = which.sender in ("", found.sender) and not after
        return AsidePage((found,) if here else (), int(here), 0)

    async def numbers(self, table: str, which: Which) -> list[int]:
        return [1, 2]

    async def judge_again(self, ids: Sequence[int], grants: Mapping[str, PeerGrant] | None) -> TakenIn:
        return TakenIn(accepted=len(ids))

    async def discard(self, table: str, ids: Sequence[int]) -> int:
        return len(ids)

    async def discard_all(self, table: str, which: Which) -> int:
        return 1


class FakePeers:
    """`hub` is there."""

    node_id = "0" * 32
    head = 7
    owner = "owner"

    def __init__(self) -> None:
        self.syncing = FakeSyncing()
        self.not_taken = NotTaken(cast(Syncing, self.syncing))
        self._peers = {"hub": self._status("hub", "hub.example:7433", ("team/*",), "both")}

    def _status(self, name: str, target: str, spaces: tuple[str, ...], direction: str) -> PeerStatus:
        return PeerStatus(
            name=name, incoming=False, target=target, direction=direction, spaces=spaces, state="connected",
            node_id="1" * 32, caught_up=True, last_contact=START_MS, takes=spaces, only_by="owner",
        )  # fmt: skip

    def names(self) -> dict[str, str]:
        return {":" + "1" * 32: "hub"}

    def sender(self, name: str) -> str:
        return ":" + "1" * 32 if name == "hub" else name

    def grants_now(self) -> dict[str, PeerGrant]:
        return {}

    async def add(self, peer: Peer, wait_s: float) -> PeerStatus:
        if peer.name in self._peers:
            raise AlreadyExists(f"peer {peer.name} is there already", field="name")
        self._peers[peer.name] = self._status(peer.name, peer.target, peer.spaces, peer.direction)
        return self._peers[peer.name]

    async def give_token(self, name: str, token: str, wait_s: float) -> PeerStatus:
        if name not in self._peers:
            raise NotFound("peer", name)
        return self._peers[name]

    async def remove(self, name: str) -> None:
        if name not in self._peers:
            raise NotFound("peer", name)
        del self._peers[name]

    def deaf(self, space: str, principal: str, others: bool) -> list[str]:
        return ["hub"] if principal != "owner" else []

    def status(self) -> tuple[PeerStatus, ...]:
        return tuple(self._peers.values())

    async def now(self, name: str, wait_s: float) -> tuple[PeerStatus, ...]:
        if name and name not in self._peers:
            raise NotFound("peer", name)
        return tuple(one for one in self._peers.values() if name in ("", one.name))
