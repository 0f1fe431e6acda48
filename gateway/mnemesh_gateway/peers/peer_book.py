"""The peers that this node calls, with the tokens of these peers: peers.json in the data directory, readable by the
owner alone. Never synced, never shown: the listing leaves the tokens out."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from mnemesh_actors.storage.data_directory import lost, replace_file
from mnemesh_actors.storage.file_format import refuse_newer
from mnemesh_gateway.security.access import refuse_open
from mnemesh_memory.access.grants import PATTERNS_MAX, PeerGrant, check_pattern
from mnemesh_memory.values.errors import AlreadyExists, FailedPrecondition, InvalidArgument, NotFound, Unavailable

UNKNOWN: Final = "sync status shows the names"
PEERS_FILE: Final = "peers.json"
FORMAT: Final = 1
DIRECTIONS: Final = ("both", "push", "pull")
SCHEMES: Final = ("", "grpc")
PEERS_MAX: Final = 100
NAME_CHARS_MAX: Final = 64
TOKEN_CHARS_MAX: Final = 4096
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A peer to call at `target` (host:port). `spaces` are patterns of what is exchanged in `direction` (both, push or
    pull). `node_id` is pinned at the first contact, "" before."""

    name: str
    target: str
    token: str
    spaces: tuple[str, ...]
    direction: str = "both"
    node_id: str = ""

    @property
    def grant(self) -> PeerGrant:
        """The rights of the peer here, to read and to bring. The owner chose the peer, so it may relay entries of
        others."""
        return PeerGrant(
            read=() if self.direction == "pull" else self.spaces,
            write=() if self.direction == "push" else self.spaces,
            principal="",
            relay=True,
        )


def new_peer(url: str, token: str, spaces: Sequence[str], direction: str = "", name: str = "") -> Peer:
    """A checked peer. Without a name it is called by its host and port. Raises InvalidArgument."""
    target = target_of(url)
    token = peer_token(token)
    if direction not in ("", *DIRECTIONS):
        raise InvalidArgument("direction", direction, "one of " + ", ".join(DIRECTIONS))
    if not 1 <= len(spaces) <= PATTERNS_MAX:
        most = f"1 to {PATTERNS_MAX}, such as team/* or @me"
        raise InvalidArgument("spaces", f"{len(spaces)} patterns", most, missing=not spaces)
    called = name or re.sub(r"[^a-z0-9._-]+", "-", target.lower()).strip("-.")
    if len(called) > NAME_CHARS_MAX or not _NAME.fullmatch(called):
        raise InvalidArgument("name", called, f"at most {NAME_CHARS_MAX} characters of a-z, 0-9, . _ -")
    return Peer(
        name=called,
        target=target,
        token=token,
        spaces=tuple(dict.fromkeys(check_pattern("spaces", pattern) for pattern in spaces)),
        direction=direction or "both",
    )


def peer_token(token: str) -> str:
    """The token of a peer without the space around it. Raises InvalidArgument."""
    if not token.strip() or len(token) > TOKEN_CHARS_MAX or not token.isprintable():
        raise InvalidArgument(
            "token",
            f"{len(token)} characters",
            "the token that `mnemesh agent add` showed on the peer",
            missing=not token.strip(),
        )
    return token.strip()


def target_of(url: str) -> str:
    """host:port of a peer's URL, `grpc://host:port` or `host:port`. Raises InvalidArgument."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme not in SCHEMES or not host or not port or parts.path.strip("/") or parts.username or parts.query:
        raise InvalidArgument("url", url, "the gRPC address of the peer, as grpc://host:port or host:port")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class PeerBook:
    """Reads the file when it is made. Every change is on disk before it counts."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / PEERS_FILE
        self._peers: dict[str, Peer] = {peer.name: peer for peer in self._read()}

    def all(self) -> tuple[Peer, ...]:
        """By name."""
        return tuple(self._peers[name] for name in sorted(self._peers))

    def get(self, name: str) -> Peer:
        """Raises NotFound."""
        if name not in self._peers:
            raise NotFound("peer", name, UNKNOWN)
        return self._peers[name]

    def add(self, peer: Peer) -> None:
        """Raises AlreadyExists for a name that is taken."""
        if peer.name in self._peers:
            raise AlreadyExists(
                f"peer {peer.name} is there already; remove it first, or give another name", field="name"
            )
        if len(self._peers) >= PEERS_MAX:
            raise FailedPrecondition(f"at most {PEERS_MAX} peers; remove one first", field="name", limit=str(PEERS_MAX))
        self._write({**self._peers, peer.name: peer})

    def remove(self, name: str) -> Peer:
        """Forget a peer and its token. Raises NotFound."""
        gone = self.get(name)
        self._write({other: peer for other, peer in self._peers.items() if other != name})
        return gone

    def give_token(self, name: str, token: str) -> Peer:
        """Note another token. Gives the peer with that token. Raises NotFound."""
        peer = replace(self.get(name), token=token)
        self._write({**self._peers, name: peer})
        return peer

    def pin(self, name: str, node_id: str) -> None:
        """Note the node id of the peer. The peer must be that node from now on."""
        if name in self._peers and self._peers[name].node_id != node_id:
            self._write({**self._peers, name: replace(self._peers[name], node_id=node_id)})

    def _read(self) -> list[Peer]:
        if not self._path.exists():
            return []
        refuse_open(self._path)
        try:
            kept = json.loads(self._path.read_text("utf-8"))
            refuse_newer(FORMAT, int(kept["format"]), self._path)
            return [Peer(**{**peer, "spaces": tuple(peer["spaces"])}) for peer in kept["peers"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise lost(self._path, f"is damaged ({error}); remove it and add the peers again") from error

    def _write(self, peers: dict[str, Peer]) -> None:
        text = json.dumps({"format": FORMAT, "peers": [asdict(peer) for peer in peers.values()]}, indent=1)
        try:
            replace_file(self._path, text + "\n")
        except OSError as error:
            raise Unavailable(f"{self._path} can not be written: {error}; nothing was changed", part="peers") from error
        self._peers = peers
