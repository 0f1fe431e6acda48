"""The functions behind the rows of PeerService in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mnemesh_gateway.peer_book import new_peer
from mnemesh_gateway.wire import timestamp
from mnemesh_memory.errors import InvalidArgument
from mnemesh_memory.model import Caller
from mnemesh_proto.v1 import peer_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.gate import MeshGate
    from mnemesh_gateway.peer_status import PeerStatus

FIRST_CONTACT_S: Final = 5.0
NOW_S: Final = 20.0
NOW_S_MAX: Final = 600.0


async def add_peer(gate: MeshGate, caller: Caller, request: peer_pb2.AddPeerRequest) -> peer_pb2.AddPeerResponse:
    """Keep up a stream with another node."""
    peer = new_peer(request.url, request.token, request.spaces, request.direction, request.name)
    peers = await gate.peers()
    added = await peers.add(peer, FIRST_CONTACT_S)
    return peer_pb2.AddPeerResponse(peer=_status(added), note=_note(added, peers.owner))


async def remove_peer(
    gate: MeshGate, caller: Caller, request: peer_pb2.RemovePeerRequest
) -> peer_pb2.RemovePeerResponse:
    """End the stream, forget the token."""
    gone = await (await gate.peers()).remove(request.name)
    return peer_pb2.RemovePeerResponse(name=gone.name)


async def sync_status(
    gate: MeshGate, caller: Caller, request: peer_pb2.SyncStatusRequest
) -> peer_pb2.SyncStatusResponse:
    """How it stands with every peer."""
    peers = await gate.peers()
    backlog = await peers.syncing.backlog()
    return peer_pb2.SyncStatusResponse(
        node_id=peers.node_id,
        head=peers.head,
        peers=[_status(one) for one in peers.status()],
        pending=backlog.pending,
        quarantined=backlog.quarantined,
    )


async def sync_now(gate: MeshGate, caller: Caller, request: peer_pb2.SyncNowRequest) -> peer_pb2.SyncNowResponse:
    """Call and compare at once."""
    wait_s = request.wait_s if request.HasField("wait_s") else NOW_S
    if not 0 <= wait_s <= NOW_S_MAX:
        raise InvalidArgument("wait_s", wait_s, f"0 to {NOW_S_MAX:g} seconds")
    found = await (await gate.peers()).now(request.name, wait_s)
    return peer_pb2.SyncNowResponse(peers=[_status(one) for one in found])


def _note(added: PeerStatus, owner: str) -> str:
    """What the one who added a peer should know: of a node whose owner has another name, a writer's peer takes
    nothing."""
    if added.direction == "pull" or added.only_by in ("", owner):
        return ""
    return (
        f"this peer takes only what {added.only_by} wrote, and this node's owner is called {owner}: nothing that the "
        f"owner writes here goes there. Start this node with --owner {added.only_by}, or ask the peer for a token with "
        "--role admin, which may bring what anyone wrote"
    )


def _status(one: PeerStatus) -> peer_pb2.PeerStatus:
    return peer_pb2.PeerStatus(
        name=one.name,
        incoming=one.incoming,
        target=one.target,
        direction=one.direction,
        spaces=one.spaces,
        state=one.state,
        node_id=one.node_id,
        caught_up=one.caught_up,
        pending_out=one.pending_out,
        pending_in=one.pending_in,
        cursor_out=one.cursor_out,
        cursor_in=one.cursor_in,
        last_contact=timestamp(one.last_contact),
        last_error=one.last_error,
        attempts=one.attempts,
        auth=one.auth,
        lag_s=one.lag_s,
        comparing=one.comparing,
    )
