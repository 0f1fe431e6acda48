"""How many entries of this node's log a peer does not take: counted once a page, and afterwards only what is new."""

from __future__ import annotations

from mnemesh_actors.ledger.peers.peer_log import Order
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_gateway.peers.peer_status import PeerStatus


class NotTaken:
    """Counts by peer: of which log, and up to which of its numbers."""

    def __init__(self, syncing: Syncing) -> None:
        self._syncing = syncing
        self._counted: dict[str, tuple[tuple[str, Order], int, int]] = {}

    async def of(self, peer: PeerStatus) -> int:
        """How many there are now, of a peer that this node calls. Raises Unavailable or DataLoss."""
        if peer.incoming or peer.takes_all:
            self._counted.pop(peer.name, None)
            return 0
        order = Order(peer.node_id, peer.spaces, peer.takes or (), peer.only_by)
        counted = self._syncing.me.incarnation, order
        before, number, last = self._counted.get(peer.name, (counted, 0, 0))
        if before != counted:
            number = last = 0
        anew = last == 0
        while True:
            found = await self._syncing.untaken(last, order)
            if found.erased and not anew:
                number, last, anew = 0, 0, True
                continue
            number, last = number + found.number, found.last
            if found.done:
                self._counted[peer.name] = counted, number, last
                return number
