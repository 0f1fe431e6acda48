"""Peers without streams: a book in a dict, whose peers are connected at once."""

from __future__ import annotations

from mnemesh_actors.ledger.peers import Backlog, Quarantined
from mnemesh_crdt.envelope import Entry
from mnemesh_gateway.peer_book import Peer
from mnemesh_gateway.peer_status import PeerStatus
from mnemesh_memory.errors import AlreadyExists, NotFound

START_MS = 1_800_000_000_000


class FakeSyncing:
    """One entry in quarantine."""

    async def backlog(self) -> Backlog:
        return Backlog(pending=2, quarantined=1, erased=0)

    async def quarantined(self, limit: int) -> list[Quarantined]:
        entry = Entry(
            doc="d", space="team/x", type="change", hash="ab", raw=b"", agent="bob", node="n", signature=b"", at=0
        )
        return [Quarantined(id=1, entry=entry, origin="inc", received=START_MS, reason="forged")][:limit]


class FakePeers:
    """`hub` is there."""

    node_id = "0" * 32
    head = 7
    owner = "owner"

    def __init__(self) -> None:
        self.syncing = FakeSyncing()
        self._peers = {"hub": self._status("hub", "hub.example:7433", ("team/*",), "both")}

    def _status(self, name: str, target: str, spaces: tuple[str, ...], direction: str) -> PeerStatus:
        return PeerStatus(
            name=name, incoming=False, target=target, direction=direction, spaces=spaces, state="connected",
            node_id="1" * 32, caught_up=True, last_contact=START_MS,
        )  # fmt: skip

    async def add(self, peer: Peer, wait_s: float) -> PeerStatus:
        if peer.name in self._peers:
            raise AlreadyExists(f"peer {peer.name} is there already", field="name")
        self._peers[peer.name] = self._status(peer.name, peer.target, peer.spaces, peer.direction)
        return self._peers[peer.name]

    async def remove(self, name: str) -> Peer:
        if name not in self._peers:
            raise NotFound("peer", name)
        gone = self._peers.pop(name)
        return Peer(name=name, target=gone.target, token="", spaces=gone.spaces)

    def status(self) -> tuple[PeerStatus, ...]:
        return tuple(self._peers.values())

    async def now(self, name: str, wait_s: float) -> tuple[PeerStatus, ...]:
        if name and name not in self._peers:
            raise NotFound("peer", name)
        return tuple(one for one in self._peers.values() if name in ("", one.name))
