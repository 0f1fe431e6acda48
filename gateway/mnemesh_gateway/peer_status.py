"""How it stands with one peer, as the node tells it: a value that follows from what a stream said last."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mnemesh_crdt.messages import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerStatus:
    """How it stands with one peer. `state` is connecting, connected, offline or refused (the token, the protocol or the
    identity: a person has to see to it). `incoming` streams were opened by the peer, under the name of its token.
    `pending_out` and `pending_in` count log entries not yet known to be taken over, or looked through; times in ms.
    `only_by` is the principal whose entries alone the peer takes, "" for anyone's."""

    name: str
    incoming: bool
    target: str
    direction: str
    spaces: tuple[str, ...]
    state: str = "connecting"
    node_id: str = ""
    only_by: str = ""
    caught_up: bool = False
    pending_out: int = 0
    pending_in: int = 0
    cursor_out: int = 0
    cursor_in: int = 0
    last_contact: int | None = None
    last_error: str = ""
    attempts: int = 0

    def at(self, head: int) -> PeerStatus:
        """With what is pending now that the own log ends at `head`."""
        return replace(self, pending_out=0 if self.caught_up else max(0, head - self.cursor_out))

    def with_stream(self, status: Status, now: int) -> PeerStatus:
        """After the stream said how it stands."""
        if status.phase != "open":
            return replace(self, caught_up=False)
        return replace(
            self,
            state="connected",
            node_id=status.node_id,
            only_by=status.only_by,
            caught_up=status.caught_up,
            pending_in=max(0, status.peer_head - status.taken),
            cursor_out=status.acked,
            cursor_in=status.taken,
            last_contact=now,
            last_error="",
            attempts=0,
        )
