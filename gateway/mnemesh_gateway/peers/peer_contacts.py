"""The ledger's memory of contacts with peers: read once at the start, written now and then and at the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import structlog

from mnemesh_actors.ledger.peers.contacts import Contact
from mnemesh_actors.ledger.peers.peer_log import Order
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_gateway.peers.peer_status import PeerStatus, gone
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.limits import PEER_CONTACTS_MAX

# A node that dies loses so much of it.
SAVE_S: Final = 10.0
# While nothing happens both sides are caught up. A note of this is written so often.
STILL_CAUGHT_UP_MS: Final = 600_000
log = structlog.get_logger("mnemesh.sync")


class Contacts:
    """Contacts by the name of their cursors, as on the disk and as now."""

    def __init__(self, syncing: Syncing) -> None:
        self._syncing = syncing
        self._on_disk: dict[str, Contact] = {}
        self._gone: dict[str, PeerStatus] = {}

    async def load(self) -> None:
        """Read what the last life left."""
        self._on_disk = {one.peer: one for one in await self._syncing.contacts()}
        for name, one in self._on_disk.items():
            if not name.startswith(":"):
                self._gone[name] = gone(one)

    def of(self, status: PeerStatus) -> PeerStatus:
        """The status of a peer without a word in this life, completed from its contact."""
        contact = self._on_disk.get(status.contact_name)
        return status if contact is None or status.last_contact is not None else status.with_contact(contact)

    def left(self, status: PeerStatus) -> None:
        """A stream that the peer had opened is over."""
        if status.contact() is not None:
            self._gone.pop(status.contact_name, None)
            self._gone[status.contact_name] = status
            while len(self._gone) > PEER_CONTACTS_MAX:  # the first that left. A token may prove any number of keys
                del self._gone[next(iter(self._gone))]

    def level(self, node_id: str) -> int | None:
        """The last time (ms) when a node and this one were level, under any name. None for never."""
        known = [*self._on_disk.values(), *(one.contact() for one in self._gone.values())]
        times = [one.caught_up for one in known if one is not None and one.peer.rpartition(":")[2] == node_id]
        return max((at for at in times if at is not None), default=None)

    async def forget(self, principal: str, present: Iterable[PeerStatus]) -> bool:
        """Know nothing more of who called with the token of `principal` and is not among `present`. False when nothing
        was known."""
        names = [one.contact_name for one in self.away(present) if one.name == principal]
        if names:
            await self._syncing.forget_contacts(names)
        for name in names:
            self._gone.pop(name, None)
            self._on_disk.pop(name, None)
        return bool(names)

    def away(self, present: Iterable[PeerStatus]) -> list[PeerStatus]:
        """Past callers that are not among `present`."""
        here = {one.contact_name for one in present}
        return [one for name, one in self._gone.items() if name not in here]

    async def save(self, statuses: Iterable[PeerStatus], *, last: bool = False) -> None:
        """Write the changes to the disk. The `last` time is exact to the moment."""
        found: dict[str, Contact] = {}
        for status in (*self._gone.values(), *statuses):
            contact = status.contact()
            if contact is not None and (contact.peer not in found or contact.heard >= found[contact.peer].heard):
                found[contact.peer] = contact
        changed = [one for name, one in found.items() if last or _differs(one, self._on_disk.get(name))]
        changed = [one for one in changed if one != self._on_disk.get(one.peer)]
        if not changed:
            return
        try:
            await self._syncing.keep_contacts(changed)
        except MnemeshError as error:  # tried again with the next ones. Nothing else depends on it
            log.warning("contacts_not_saved", reason=error.message)
        else:
            self._on_disk |= {one.peer: one for one in changed}


def _differs(now: Contact, before: Contact | None) -> bool:
    if before is None or (now.caught_up or 0) - (before.caught_up or 0) >= STILL_CAUGHT_UP_MS:
        return True
    return now != replace(before, caught_up=now.caught_up, cursor_in=now.cursor_in)


class NotTaken:
    """How many entries of this node's log each peer does not take: counted once a page, later only the new ones."""

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
