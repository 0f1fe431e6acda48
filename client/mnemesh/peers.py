"""The operations on peers: each builds the Call that asks for it. They need the owner's token or an admin's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mnemesh import peer_values
from mnemesh.call import Call, reading
from mnemesh.wire import to_message
from mnemesh_proto.v1 import peer_pb2

PEER: Final = "/mnemesh.v1.PeerService/"


def add_peer(
    url: str, *, token: str, spaces: Iterable[str], direction: str = "", name: str = ""
) -> Call[peer_values.AddedPeer]:
    """Keep up a stream with the node at `url` (grpc://host:port), which issued `token` for this one.

    `spaces` are paths, `team/*` for all below, `*` for every shared space; `direction` both, push or pull. Raises
    AlreadyExists for a name that is taken, FailedPrecondition when the peer refuses the token; a peer that can not be
    reached yet is kept and called again.

    >>> client.add_peer("grpc://hub.example:7433", token=token, spaces=["team/*"]).peer.state
    'connected'
    """
    fields = {"url": url, "token": token, "spaces": spaces, "direction": direction, "name": name}
    return Call(
        rpc=PEER + "AddPeer",
        request=to_message(peer_pb2.AddPeerRequest, fields),
        response=peer_pb2.AddPeerResponse,
        read=reading(peer_values.AddedPeer),
        repeatable=False,
    )


def set_peer_token(name: str, *, token: str) -> Call[peer_values.AddedPeer]:
    """Call a peer with another token from now on, which it issued in the place of one that has ended, say; nothing else
    changes. Raises NotFound, FailedPrecondition when the peer refuses it: the token is then what it was.

    >>> client.set_peer_token("hub", token=token).peer.auth
    'accepted'
    """
    return Call(
        rpc=PEER + "SetPeerToken",
        request=to_message(peer_pb2.SetPeerTokenRequest, {"name": name, "token": token}),
        response=peer_pb2.SetPeerTokenResponse,
        read=reading(peer_values.AddedPeer),
        repeatable=False,
    )


def remove_peer(name: str) -> Call[peer_values.RemovedPeer]:
    """End the stream with a peer and forget its token, or forget a node that called this one with a token of that name
    and is away; what was exchanged stays. Raises NotFound, FailedPrecondition while such a node is connected.

    >>> client.remove_peer("hub")
    """
    return Call(
        rpc=PEER + "RemovePeer",
        request=to_message(peer_pb2.RemovePeerRequest, {"name": name}),
        response=peer_pb2.RemovePeerResponse,
        read=reading(peer_values.RemovedPeer),
        repeatable=False,
    )


def sync_status() -> Call[peer_values.SyncStatus]:
    """How it stands with every peer: state, pending out and in, cursors, lag, last contact, last error, and whether its
    token counts; also with those that called this node within 30 days.

    >>> [peer.name for peer in client.sync_status().peers if peer.lag_s is None or peer.lag_s > 3600]
    """
    return Call(
        rpc=PEER + "SyncStatus",
        request=peer_pb2.SyncStatusRequest(),
        response=peer_pb2.SyncStatusResponse,
        read=reading(peer_values.SyncStatus),
        repeatable=True,
    )


def sync_now(name: str = "", *, wait_s: float | None = None) -> Call[peer_values.Synced]:
    """Call one peer, or all, at once, and have both sides compare all that they hold, those that called this node among
    them; answers when they have caught up and what was missing is repaired, or after `wait_s` seconds (20, and never
    longer than this client waits for an answer). Raises NotFound.

    >>> all(peer.caught_up for peer in client.sync_now().peers)
    """
    return Call(
        rpc=PEER + "SyncNow",
        request=to_message(peer_pb2.SyncNowRequest, {"name": name, "wait_s": wait_s}),
        response=peer_pb2.SyncNowResponse,
        read=reading(peer_values.Synced),
        repeatable=True,
    )


def quarantine(
    *, limit: int | None = None, cursor: str = "", space: str = "", peer: str = "", oldest_first: bool = False
) -> Call[peer_values.Quarantine]:
    """Entries that peers brought and that were not let in, with the reason of each, the newest first; at most `limit`
    (1 to 200, 50), of `space` (`team/*` for all below) and of what `peer` brought: its name, or that of its token.
    `cursor` is that of the page before.

    >>> [entry.reason for entry in client.quarantine(peer="ana").entries]
    """
    fields = {"limit": limit, "cursor": cursor, "space": space, "peer": peer, "oldest_first": oldest_first}
    return Call(
        rpc=PEER + "ListQuarantine",
        request=to_message(peer_pb2.ListQuarantineRequest, fields),
        response=peer_pb2.ListQuarantineResponse,
        read=reading(peer_values.Quarantine),
        repeatable=True,
    )


def retry_quarantine(
    ids: Iterable[str] = (), *, everything: bool = False, space: str = "", peer: str = "", trust: bool = False
) -> Call[peer_values.Retried]:
    """Judge entries in quarantine again, by what the peer that brought them may do now: those with `ids` (at most 256),
    or `everything` of `space` and `peer`. `trust` lets those with ids in as if an admin's peer had brought them.

    >>> client.retry_quarantine(everything=True, peer="ana").accepted
    3
    """
    fields = {"ids": ids, "everything": everything, "space": space, "peer": peer, "trust": trust}
    return Call(
        rpc=PEER + "RetryQuarantine",
        request=to_message(peer_pb2.RetryQuarantineRequest, fields),
        response=peer_pb2.RetryQuarantineResponse,
        read=reading(peer_values.Retried),
        repeatable=False,
    )


def discard_quarantine(
    ids: Iterable[str] = (), *, everything: bool = False, space: str = "", peer: str = ""
) -> Call[peer_values.Discarded]:
    """Delete entries in quarantine: those with `ids` (at most 256), or `everything` of `space` and `peer`. A peer that
    has them still may bring them again.

    >>> client.discard_quarantine(everything=True).discarded
    12
    """
    fields = {"ids": ids, "everything": everything, "space": space, "peer": peer}
    return Call(
        rpc=PEER + "DiscardQuarantine",
        request=to_message(peer_pb2.DiscardQuarantineRequest, fields),
        response=peer_pb2.DiscardQuarantineResponse,
        read=reading(peer_values.Discarded),
        repeatable=False,
    )


def pending(
    *, limit: int | None = None, cursor: str = "", space: str = "", peer: str = "", oldest_first: bool = False
) -> Call[peer_values.Pending]:
    """Entries that wait for others: for changes that they build on, or for the memory that they erase; arguments as of
    `quarantine`.

    >>> [entry.awaits for entry in client.pending(space="team/*").entries]
    """
    fields = {"limit": limit, "cursor": cursor, "space": space, "peer": peer, "oldest_first": oldest_first}
    return Call(
        rpc=PEER + "ListPending",
        request=to_message(peer_pb2.ListPendingRequest, fields),
        response=peer_pb2.ListPendingResponse,
        read=reading(peer_values.Pending),
        repeatable=True,
    )


def discard_pending(
    ids: Iterable[str] = (), *, everything: bool = False, space: str = "", peer: str = ""
) -> Call[peer_values.Discarded]:
    """Delete entries that wait for others: those with `ids` (at most 256), or `everything` of `space` and `peer`. A
    peer that has them still may bring them again.

    >>> client.discard_pending(everything=True, peer="ana").discarded
    2
    """
    fields = {"ids": ids, "everything": everything, "space": space, "peer": peer}
    return Call(
        rpc=PEER + "DiscardPending",
        request=to_message(peer_pb2.DiscardPendingRequest, fields),
        response=peer_pb2.DiscardPendingResponse,
        read=reading(peer_values.Discarded),
        repeatable=False,
    )
