"""The operations on peers, for the owner's or an admin's token. Each function builds the Call of one operation."""

from __future__ import annotations

from collections.abc import Iterable

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh_proto.v1 import peer_pb2


def add_peer(
    url: str, *, token: str, spaces: Iterable[str], direction: str = "", name: str = ""
) -> Call[values.AddedPeer]:
    """Keep up a stream with the node at `url` (grpc://host:port), which issued `token` for this one.

    `spaces` are paths, `team/*` for all below, `*` for every shared space; `direction` both, push or pull. Raises
    AlreadyExists for a name that is taken, FailedPrecondition when the peer refuses the token. A peer that can not be
    reached yet is kept and called again.

    >>> client.add_peer("grpc://hub.example:7433", token=token, spaces=["team/*"]).peer.state
    'connected'
    """
    fields = {"url": url, "token": token, "spaces": spaces, "direction": direction, "name": name}
    return ask(peer_pb2, "AddPeer", fields, values.AddedPeer, repeatable=False)


def set_peer_token(name: str, *, token: str) -> Call[values.AddedPeer]:
    """Call a peer with another token from now on, for example after the end of the first. Nothing else changes. Raises
    NotFound, and FailedPrecondition when the peer refuses the token. The earlier token then stays.

    >>> client.set_peer_token("hub", token=token).peer.auth
    'accepted'
    """
    return ask(peer_pb2, "SetPeerToken", {"name": name, "token": token}, values.AddedPeer, repeatable=False)


def remove_peer(name: str) -> Call[values.RemovedPeer]:
    """End the stream with a peer and forget its token. Or forget an absent caller with a token of that name. Exchanged
    entries stay. Raises NotFound, FailedPrecondition while such a node is connected.

    >>> client.remove_peer("hub")
    """
    return ask(peer_pb2, "RemovePeer", {"name": name}, values.RemovedPeer, repeatable=False)


def sync_status() -> Call[values.SyncStatus]:
    """The state of the exchange with every peer: pending out and in, cursors, lag, last contact, last error, and
    whether the token counts. Callers of the last 30 days are included.

    >>> [peer.name for peer in client.sync_status().peers if peer.lag_s is None or peer.lag_s > 3600]
    """
    return ask(peer_pb2, "SyncStatus", {}, values.SyncStatus, repeatable=True)


def sync_now(name: str = "", *, wait_s: float | None = None) -> Call[values.Synced]:
    """Call one peer, or all, at once, and have both sides compare all entries. Callers of this node are included.
    Answers after the repair of all differences, or after `wait_s` seconds (20, and never longer than this client's own
    limit). Raises NotFound.

    >>> all(peer.caught_up for peer in client.sync_now().peers)
    """
    return ask(peer_pb2, "SyncNow", {"name": name, "wait_s": wait_s}, values.Synced, repeatable=True)


def quarantine(
    *, limit: int | None = None, cursor: str = "", space: str = "", peer: str = "", oldest_first: bool = False
) -> Call[values.Quarantine]:
    """Refused entries of peers, each with the reason, the newest first. At most `limit` (1 to 200, 50). `space`
    (`team/*` for all below) and `peer` (the name of a peer or of its token) filter. `cursor` comes from the page
    before.

    >>> [entry.reason for entry in client.quarantine(peer="ana").entries]
    """
    fields = {"limit": limit, "cursor": cursor, "space": space, "peer": peer, "oldest_first": oldest_first}
    return ask(peer_pb2, "ListQuarantine", fields, values.Quarantine, repeatable=True)


def retry_quarantine(
    ids: Iterable[str] = (), *, everything: bool = False, space: str = "", peer: str = "", trust: bool = False
) -> Call[values.Retried]:
    """Judge entries in quarantine again, by the present rights of the peer. `ids` (at most 256) name the entries, or
    `everything` means all of `space` and `peer`. `trust` lets the named entries in as if an admin's peer had brought
    them.

    >>> client.retry_quarantine(everything=True, peer="ana").accepted
    3
    """
    fields = {"ids": ids, "everything": everything, "space": space, "peer": peer, "trust": trust}
    return ask(peer_pb2, "RetryQuarantine", fields, values.Retried, repeatable=False)


def discard_quarantine(
    ids: Iterable[str] = (), *, everything: bool = False, space: str = "", peer: str = ""
) -> Call[values.Discarded]:
    """Delete entries in quarantine, named by `ids` (at most 256), or `everything` of `space` and `peer`. A peer with a
    copy may bring an entry again.

    >>> client.discard_quarantine(everything=True).discarded
    12
    """
    fields = {"ids": ids, "everything": everything, "space": space, "peer": peer}
    return ask(peer_pb2, "DiscardQuarantine", fields, values.Discarded, repeatable=False)


def pending(
    *, limit: int | None = None, cursor: str = "", space: str = "", peer: str = "", oldest_first: bool = False
) -> Call[values.Pending]:
    """Changes that wait for their ancestors, and erasures that wait for their memory. Arguments as of `quarantine`.

    >>> [entry.awaits for entry in client.pending(space="team/*").entries]
    """
    fields = {"limit": limit, "cursor": cursor, "space": space, "peer": peer, "oldest_first": oldest_first}
    return ask(peer_pb2, "ListPending", fields, values.Pending, repeatable=True)


def discard_pending(
    ids: Iterable[str] = (), *, everything: bool = False, space: str = "", peer: str = ""
) -> Call[values.Discarded]:
    """Delete waiting entries, named by `ids` (at most 256), or `everything` of `space` and `peer`. A peer with a copy
    may bring an entry again.

    >>> client.discard_pending(everything=True, peer="ana").discarded
    2
    """
    fields = {"ids": ids, "everything": everything, "space": space, "peer": peer}
    return ask(peer_pb2, "DiscardPending", fields, values.Discarded, repeatable=False)
