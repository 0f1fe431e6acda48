"""The functions behind the rows of PeerService: the peers, and entries that wait or were refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from google.protobuf.message import Message

from mnemesh_actors.ledger.peers.put_aside import PutAside, Which
from mnemesh_crdt.intake.shelf import PENDING, QUARANTINE
from mnemesh_crdt.sync.audience import common_patterns
from mnemesh_gateway.contract.message_json import AnyMessage
from mnemesh_gateway.contract.wire import Answer, message_of, optional
from mnemesh_gateway.peers.peer_book import new_peer, peer_token
from mnemesh_memory.access.grants import OWN, OWNER, may
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, NotFound, count_of
from mnemesh_memory.values.model import Caller
from mnemesh_memory.values.spaces import space_path
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
    peer = await peers.give_token(request.name, token, FIRST_CONTACT_S)
    return {"peer": await _status(peers, peer), "note": note(peer, peers.owner)}


async def remove_peer(gate: MeshGate, caller: Caller, request: peer_pb2.RemovePeerRequest) -> Answer:
    """End the stream, forget the token."""
    await (await gate.peers()).remove(request.name)
    return {"name": request.name}


async def sync_status(gate: MeshGate, caller: Caller, request: peer_pb2.SyncStatusRequest) -> Answer:
    """How it stands with every peer."""
    peers = await gate.peers()
    backlog = await peers.syncing.ledger.backlog()
    return {
        "node_id": peers.syncing.me.node_id,
        "head": peers.syncing.head,
        "peers": [await _status(peers, status) for status in peers.status()],
        "pending": backlog.pending,
        "quarantined": backlog.quarantined,
    }


async def sync_now(gate: MeshGate, caller: Caller, request: peer_pb2.SyncNowRequest) -> Answer:
    """Call and compare at once."""
    wait_s = optional(request, "wait_s", NOW_S)
    if not 0 <= wait_s <= NOW_S_MAX:
        raise InvalidArgument("wait_s", wait_s, f"0 to {NOW_S_MAX:g} seconds")
    peers = await gate.peers()
    statuses = await peers.now(request.name, wait_s)
    return {"peers": [await _status(peers, status) for status in statuses]}


def not_told(gate: MeshGate, caller: Caller, spaces: Iterable[str], *, others: Collection[str] = ()) -> list[str]:
    """Peers that do not erase what `caller` erases in `spaces`, for the owner. For others how many there are. In
    `others` it is not only what the caller began itself."""
    if (peers := gate.peers_now()) is None:
        return []
    deaf = sorted({name for space in spaces for name in peers.deaf(space, caller.principal, space in others)})
    if deaf and not may(caller, OWN, "admin"):
        return [f"{count_of(len(deaf), 'peer')} of the node; its owner sees which"]
    return deaf


def note(peer: PeerStatus, owner: str) -> str:
    """Advice for somebody who gives a token, "" for none: the limits of the token, and nodes with the same owner."""
    if peer.takes is None:
        return ""
    if peer.wants and not common_patterns(peer.wants, peer.spaces):
        return (
            f"nothing is exchanged with this peer: its token covers {', '.join(peer.wants)}, and none of "
            f"{', '.join(peer.spaces)}. Remove the peer and add it with spaces of the former, or "
            "ask for a token for the latter"
        )
    if peer.direction == "pull":
        return ""
    if not peer.takes:
        return (
            "this peer takes nothing from here, and gives at most the spaces of its token: the token does not let "
            "this node bring anything. Ask the peer for a token with --role admin, for entries of every writer, or "
            "with --role writer, and call this node's owner as that token is called (--owner NAME)"
        )
    if peer.only_by not in ("", owner):
        return (
            f"this peer takes only what {peer.only_by} wrote, and this node's owner is called {owner}: nothing that "
            f"the owner writes here goes there. Start this node with --owner {peer.only_by}, or ask the peer for a "
            "token with --role admin, for entries of every writer"
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


async def _status(peers: Peers, status: PeerStatus) -> peer_pb2.PeerStatus:
    not_taken = await peers.not_taken.of(status)
    return message_of(peer_pb2.PeerStatus, status, effective_direction=status.effective, not_taken=not_taken)


LIMIT: Final = 50
LIMIT_MAX: Final = 200


# The two kinds of listings, and of requests that name entries, have the same fields.
Listing = peer_pb2.ListQuarantineRequest | peer_pb2.ListPendingRequest
Choice = peer_pb2.RetryQuarantineRequest | peer_pb2.DiscardQuarantineRequest | peer_pb2.DiscardPendingRequest


async def list_quarantine(gate: MeshGate, caller: Caller, request: Listing) -> peer_pb2.ListQuarantineResponse:
    """Entries that were not let in."""
    return await _listed(gate, QUARANTINE, request, peer_pb2.ListQuarantineResponse, peer_pb2.QuarantinedEntry)


async def retry_quarantine(gate: MeshGate, caller: Caller, request: peer_pb2.RetryQuarantineRequest) -> Answer:
    """Judge again what was not let in."""
    peers = await gate.peers()
    ids, which = _chosen(peers, request)
    if request.trust and which is not None:
        raise InvalidArgument("trust", "everything", "the ids of entries that a person has looked at")
    if which is None:
        await _check_there(peers, QUARANTINE, ids)
    numbers = ids if which is None else await peers.syncing.numbers(QUARANTINE, which)
    taken = await peers.syncing.judge_again(numbers, None if request.trust else peers.grants_now())
    backlog = await peers.syncing.ledger.backlog()
    return {"accepted": taken.accepted + taken.erased, "waiting": taken.held, "left": backlog.quarantined}


async def discard_quarantine(gate: MeshGate, caller: Caller, request: peer_pb2.DiscardQuarantineRequest) -> Answer:
    """Delete what was not let in."""
    return {"discarded": await _discarded(await gate.peers(), QUARANTINE, request)}


async def list_pending(gate: MeshGate, caller: Caller, request: Listing) -> peer_pb2.ListPendingResponse:
    """Entries that wait for others."""
    return await _listed(gate, PENDING, request, peer_pb2.ListPendingResponse, peer_pb2.PendingEntry)


async def discard_pending(gate: MeshGate, caller: Caller, request: peer_pb2.DiscardPendingRequest) -> Answer:
    """Delete what waits for others."""
    return {"discarded": await _discarded(await gate.peers(), PENDING, request)}


async def _listed(
    gate: MeshGate, table: str, request: Listing, answer: type[AnyMessage], entry: type[Message]
) -> AnyMessage:
    peers = await gate.peers()
    limit = field_checks.whole("limit", optional(request, "limit", LIMIT), 1, LIMIT_MAX)
    after = _after(request.cursor, request.oldest_first)
    which = _which(peers, request.space, request.peer)
    page = await peers.syncing.ledger.put_aside(table, which, after, limit, not request.oldest_first)
    cursor = f"{'oldest' if request.oldest_first else 'newest'}-{page.after}" if page.after else ""
    names = peers.names()
    entries = [_entry(entry, row, names) for row in page.entries]
    return message_of(answer, entries=entries, total=page.total, cursor=cursor)


def _entry(cls: type[Message], row: PutAside, names: Mapping[str, str]) -> Message:
    return message_of(
        cls,
        row,
        row.entry,
        id=str(row.id),
        node_id=row.entry.node,
        peer=row.origin,
        brought_by=names.get(row.sender, row.sender.removeprefix(":")),
        builds_on=row.awaited,
        awaits=row.awaited,
        at=row.received,
    )


def _after(cursor: str, oldest_first: bool) -> int:
    if not cursor:
        return 0
    order, _, number = cursor.partition("-")
    if order != ("oldest" if oldest_first else "newest") or not _is_number(number):
        raise InvalidArgument("cursor", cursor, "the cursor of the page before, in the same order, unchanged")
    return int(number)


async def _discarded(peers: Peers, table: str, request: Choice) -> int:
    ids, which = _chosen(peers, request)
    if which is None:
        await _check_there(peers, table, ids)
        return await peers.syncing.discard(table, ids)
    return await peers.syncing.ledger.discard_all(table, which)


def _chosen(peers: Peers, request: Choice) -> tuple[list[int], Which | None]:
    """The given numbers, or a choice among all entries. The choice is None beside numbers."""
    if request.everything == bool(request.ids):
        said = f"{len(request.ids)} ids"
        raise InvalidArgument("ids", said, "ids, or everything and no ids", missing=not request.ids)
    if request.everything:
        return [], _which(peers, request.space, request.peer)
    if request.space or request.peer:
        raise InvalidArgument("space" if request.space else "peer", request.space or request.peer, "none beside ids")
    if len(request.ids) > limits.BATCH_ITEMS_MAX:
        raise InvalidArgument("ids", f"{len(request.ids)} ids", f"at most {limits.BATCH_ITEMS_MAX}")
    for id_ in request.ids:
        if not _is_number(id_):
            raise InvalidArgument("ids", id_, "the id of an entry as it was listed")
    return [int(id_) for id_ in request.ids], None


async def _check_there(peers: Peers, table: str, ids: Sequence[int]) -> None:
    """Of several, some may be gone meanwhile. Raises NotFound when all are."""
    if not set(ids) & set(await peers.syncing.numbers(table, Which())):
        raise NotFound("entry", str(ids[0]), f"sync {table} lists those that there are", field="ids")


def _which(peers: Peers, space: str, peer: str) -> Which:
    if space:
        space_path("space", space.removesuffix("/*"))
    return Which(space=space, sender=peers.sender(peer) if peer else "")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18
