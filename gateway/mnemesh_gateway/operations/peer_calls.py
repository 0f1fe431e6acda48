"""The functions behind the rows of PeerService in the table of operations."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from mnemesh_crdt.sync.audience import common_patterns
from mnemesh_gateway.contract.wire import Answer, message_of, optional
from mnemesh_gateway.peers.peer_book import new_peer, peer_token
from mnemesh_memory.access.grants import OWN, OWNER, may
from mnemesh_memory.values.errors import InvalidArgument, count_of
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import peer_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate
    from mnemesh_gateway.peers.peer_status import PeerStatus
    from mnemesh_gateway.peers.peers import Peers

FIRST_CONTACT_S: Final = 5.0
NOW_S: Final = 20.0
NOW_S_MAX: Final = 600.0


async def add_peer(gate: MeshGate, caller: Caller, request: peer_pb2.AddPeerRequest) -> Answer:
    """Keep up a stream with another node."""
    peer = new_peer(request.url, request.token, request.spaces, request.direction, request.name)
    peers = await gate.peers()
    added = await peers.add(peer, FIRST_CONTACT_S)
    return {"peer": await _status(peers, added), "note": note(added, peers.owner)}


async def set_peer_token(gate: MeshGate, caller: Caller, request: peer_pb2.SetPeerTokenRequest) -> Answer:
    """Call a peer with another token."""
    token, peers = peer_token(request.token), await gate.peers()
    found = await peers.give_token(request.name, token, FIRST_CONTACT_S)
    return {"peer": await _status(peers, found), "note": note(found, peers.owner)}


async def remove_peer(gate: MeshGate, caller: Caller, request: peer_pb2.RemovePeerRequest) -> Answer:
    """End the stream, forget the token."""
    await (await gate.peers()).remove(request.name)
    return {"name": request.name}


async def sync_status(gate: MeshGate, caller: Caller, request: peer_pb2.SyncStatusRequest) -> Answer:
    """How it stands with every peer."""
    peers = await gate.peers()
    backlog = await peers.syncing.backlog()
    return {
        "node_id": peers.node_id,
        "head": peers.head,
        "peers": [await _status(peers, one) for one in peers.status()],
        "pending": backlog.pending,
        "quarantined": backlog.quarantined,
    }


async def sync_now(gate: MeshGate, caller: Caller, request: peer_pb2.SyncNowRequest) -> Answer:
    """Call and compare at once."""
    wait_s = optional(request, "wait_s", NOW_S)
    if not 0 <= wait_s <= NOW_S_MAX:
        raise InvalidArgument("wait_s", wait_s, f"0 to {NOW_S_MAX:g} seconds")
    peers = await gate.peers()
    found = await peers.now(request.name, wait_s)
    return {"peers": [await _status(peers, one) for one in found]}


def not_told(gate: MeshGate, caller: Caller, spaces: Iterable[str], *, others: Collection[str] = ()) -> list[str]:
    """Peers that do not erase what `caller` erases in `spaces`, for the owner. For others how many there are. In
    `others` it is not only what the caller began itself."""
    if (peers := gate.peers_now()) is None:
        return []
    found = sorted({name for space in spaces for name in peers.deaf(space, caller.principal, space in others)})
    if found and not may(caller, OWN, "admin"):
        return [f"{count_of(len(found), 'peer')} of the node; its owner sees which"]
    return found


def note(peer: PeerStatus, owner: str) -> str:
    """Advice for somebody who gives a token, "" for none: the limits of the token, and nodes with the same owner."""
    if peer.takes is None:
        return ""
    if peer.wants and not common_patterns(peer.wants, peer.spaces):
        return (
            f"nothing is exchanged with this peer: its token covers {', '.join(peer.wants)}, and none of "
            f"{', '.join(peer.spaces)}. Remove it and add it with spaces of the former, or ask the "
            "peer for a token that covers the latter"
        )
    if peer.direction == "pull":
        return ""
    if not peer.takes:
        return (
            "this peer takes nothing from here, and gives only what its token covers, if any of these: it does not "
            "let this node bring anything. Ask the peer for one with --role admin, which may bring what anyone "
            "wrote, or with --role writer, and call this node's owner as that token is called (--owner NAME)"
        )
    if peer.only_by not in ("", owner):
        return (
            f"this peer takes only what {peer.only_by} wrote, and this node's owner is called {owner}: nothing that "
            f"the owner writes here goes there. Start this node with --owner {peer.only_by}, or ask the peer for a "
            "token with --role admin, which may bring what anyone wrote"
        )
    if peer.takes != common_patterns(peer.spaces, peer.spaces):
        return f"this peer takes only entries of {', '.join(peer.takes)} from here: its token covers no more"
    if owner == OWNER and peer.effective == "both":
        return (
            "this node's owner is called owner, as that of every node that was given no other name. If the peer's is, "
            "too, the two are one: each may erase what the other wrote. When they are two people, start this node with "
            "--owner NAME"
        )
    return ""


async def _status(peers: Peers, one: PeerStatus) -> peer_pb2.PeerStatus:
    not_taken = await peers.not_taken.of(one)
    return message_of(peer_pb2.PeerStatus, one, effective_direction=one.effective, not_taken=not_taken)
