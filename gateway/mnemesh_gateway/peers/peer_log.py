"""What the log says of a peer that this node calls: one line when it is away or refuses, one when it is there.

A peer may be away for weeks, so the attempts in between are counted in its status, not told.
"""

from __future__ import annotations

import structlog

from mnemesh_gateway.peers.peer_status import PeerStatus

log = structlog.get_logger("mnemesh.sync")


class PeerLog:
    """Knows what it said last of the peer called `name` at `address`."""

    def __init__(self, name: str, address: str) -> None:
        self._peer = {"peer": name, "address": address}
        self._said = ""

    def gone(self, status: PeerStatus, again_s: float, again_s_max: float) -> None:
        """A call has ended like this; the next is made in `again_s` seconds, a later one at most `again_s_max` after
        the one before it."""
        if status.state == self._said or status.state == "connecting":
            return
        self._said = status.state
        tell = log.warning if status.state == "refused" else log.info
        told = {"reason": status.last_error, "again_in_s": round(again_s, 1), "again_s_max": again_s_max}
        tell("peer_refuses" if status.state == "refused" else "peer_away", **self._peer, **told)

    def there(self, node_id: str) -> None:
        """A stream with the peer stands."""
        if self._said != "connected":
            self._said = "connected"
            log.info("peer_connected", **self._peer, node=node_id)
