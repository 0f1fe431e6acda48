"""The status of a peer: a value that follows from the last words of a stream, and its holder."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog

from mnemesh_actors.ledger.peers.contacts import Contact
from mnemesh_actors.ledger.peers.peer_log import Order
from mnemesh_actors.streams.stream_shell import StreamShell
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_crdt.sync.audience import common_patterns
from mnemesh_crdt.sync.messages import Status
from mnemesh_memory.access.grants import PeerGrant, any_matches
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.limits import PEER_CONTACTS_MAX

# Fields of a status and of a contact alike.
REMEMBERED: Final = ("auth", "cursor_out", "cursor_in", "head_in")
log = structlog.get_logger("mnemesh.sync")


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerStatus:
    """How it stands with one peer. `state` is connecting, connected, offline or refused (the token, the protocol or the
    identity: a person has to see to it). `incoming` streams were opened by the peer, under the name of its token.
    `pending_out` and `pending_in` count log entries not yet known to be taken over, or looked through. Times in ms.
    `takes` are patterns of the spaces of which the peer takes entries from here, None before the first contact in this
    life of the node. `wants` are the patterns of all that the peer would take. `only_by` is the principal whose entries
    alone the peer takes, or brings when `incoming`, "" for anyone's. `auth` is unknown, accepted or refused: what
    became of the token at the last contact. `caught_up_at` is when both sides last were level, as far as known here.
    `lag_s` is the time since then, None for never. `comparing`: a comparison that somebody waits for is not over.
    `differs`: in how many memories of the spaces that both sides share the last comparison found them not to agree."""

    name: str
    incoming: bool
    target: str
    direction: str
    spaces: tuple[str, ...]
    state: str = "connecting"
    auth: str = "unknown"
    node_id: str = ""
    takes: tuple[str, ...] | None = None
    wants: tuple[str, ...] = ()
    only_by: str = ""
    caught_up: bool = False
    caught_up_at: int | None = None
    lag_s: float | None = None
    comparing: bool = False
    differs: int = 0
    pending_out: int = 0
    pending_in: int = 0
    cursor_out: int = 0
    cursor_in: int = 0
    head_in: int = 0
    last_contact: int | None = None
    last_error: str = ""
    attempts: int = 0

    def at(self, head: int, now: int) -> PeerStatus:
        """With what is pending at `now` (ms), when the own log ends at `head`."""
        gives, takes = self.effective in ("both", "push"), self.direction != "push"
        lag_ms = 0 if self.caught_up else None if self.caught_up_at is None else max(0, now - self.caught_up_at)
        return replace(
            self,
            pending_out=max(0, head - self.cursor_out) if gives and not self.caught_up else 0,
            pending_in=max(0, self.head_in - self.cursor_in) if takes else 0,
            lag_s=None if lag_ms is None else lag_ms / 1000,
        )

    def noted(self, why: str) -> PeerStatus:
        """While connected, with a note on its node for a person, "" for nothing."""
        return replace(self, last_error=why) if why and self.state == "connected" else self

    def come(self, grant: PeerGrant | None) -> PeerStatus:
        """Of a caller: with the principal whose entries alone its token brings."""
        only_by = self.name if grant is not None and grant.write and not grant.relay else ""
        return replace(self, only_by=only_by)

    @property
    def effective(self) -> str:
        """The direction that the peer's token leaves: both, push, pull, or none."""
        if self.takes or self.takes is None or self.direction == "pull":
            return self.direction
        return "pull" if self.direction == "both" else "none"

    @property
    def takes_all(self) -> bool:
        """Whether the peer takes all that this node would give it, as far as is known."""
        offered = common_patterns(self.spaces, self.spaces)
        return self.direction == "pull" or self.takes is None or (self.takes == offered and not self.only_by)

    def hears(self, space: str, principal: str) -> bool:
        """Whether an entry of `principal` in a space that is exchanged goes there, as far as is known."""
        allowed = self.takes is None or (any_matches(self.takes, space) and self.only_by in ("", principal))
        return self.direction != "pull" and allowed

    def with_stream(self, status: Status, now: int) -> PeerStatus:
        """After the stream said at `now` (ms) how it stands."""
        caught_up_at = now if status.caught_up or self.caught_up else self.caught_up_at
        if status.phase != "open":
            return replace(self, caught_up=False, caught_up_at=caught_up_at)
        return replace(
            self,
            state="connected",
            auth="accepted",
            node_id=status.node_id,
            takes=status.takes,
            wants=status.wants,
            only_by=status.only_by,
            caught_up=status.caught_up,
            caught_up_at=caught_up_at,
            differs=status.differs,
            cursor_out=status.acked,
            cursor_in=status.taken,
            head_in=status.peer_head,
            last_error=status.reason,
            attempts=0,
        )

    def ended(self, state: str, why: str, now: int) -> PeerStatus:
        """After the stream ended, or did not begin."""
        at = now if self.caught_up else self.caught_up_at
        return replace(self, state=state, caught_up=False, caught_up_at=at, comparing=False, last_error=why)

    def with_contact(self, contact: Contact) -> PeerStatus:
        """With what was known at the end of the node's last life."""
        same = {name: getattr(contact, name) for name in REMEMBERED}
        heard, level = contact.heard, contact.caught_up
        return replace(self, last_contact=heard, caught_up_at=level, last_error=contact.error, **same)

    @property
    def contact_name(self) -> str:
        """The name of its cursors. "" while its node is not known."""
        return cursor_name(self.name if self.incoming else "", self.node_id) if self.node_id else ""

    def contact(self) -> Contact | None:
        """The contact to remember over a restart, None without a word of the peer."""
        if self.last_contact is None or not self.contact_name:
            return None
        same: dict[str, Any] = {name: getattr(self, name) for name in (*REMEMBERED, "target", "direction", "spaces")}
        name, heard, level = self.contact_name, self.last_contact, self.caught_up_at
        return Contact(peer=name, heard=heard, caught_up=level, error=self.last_error, **same)


def cursor_name(principal: str, node_id: str) -> str:
    """The name of cursors in the feeds of a node. `principal` owns the token of a caller, and is "" for a node that
    this one calls."""
    return f"{principal}:{node_id}"


def gone(contact: Contact) -> PeerStatus:
    """How it stands with a peer that called this node once."""
    principal, _, node_id = contact.peer.rpartition(":")
    status = PeerStatus(
        name=principal,
        incoming=True,
        target=contact.target,
        direction=contact.direction,
        spaces=contact.spaces,
        state="offline",
        node_id=node_id,
    )
    return status.with_contact(contact)


class LivePeer:
    """The open stream of a peer, its status, and a bell for every change of the status. `clock` gives ms.
    `level(node_id)` gives the time when both sides last were level, under any name and token, None for never: a node
    with another token is still the same node."""

    def __init__(
        self, status: PeerStatus, clock: Callable[[], int], level: Callable[[str], int | None] = lambda node_id: None
    ) -> None:
        self.shell: StreamShell | None = None
        self._status = status
        self._clock = clock
        self._level = level
        self._changed = asyncio.Event()

    @property
    def status(self) -> PeerStatus:
        """With what was last heard on the open stream."""
        if self.shell is None or self.shell.heard_ms is None:
            return self._status
        # Nothing is said while nothing happens: a side that is caught up is so until it knows better.
        at = self._clock() if self._status.caught_up else self._status.caught_up_at
        return replace(self._status, last_contact=self.shell.heard_ms, caught_up_at=at, comparing=self.shell.comparing)

    def tell(self, status: PeerStatus) -> None:
        """It stands like this from now on."""
        self._status = status
        self._changed.set()

    def heard(self, status: Status) -> None:
        """The stream says how it stands."""
        before = self.status
        if status.phase == "open" and before.caught_up_at is None:
            before = replace(before, caught_up_at=self._level(status.node_id))
        self.tell(before.with_stream(status, self._clock()))

    def ended(self, state: str, why: str) -> None:
        """The stream has ended, or did not begin."""
        self.tell(self.status.ended(state, why, self._clock()))

    def over(self) -> None:
        """There is no stream any more. Its last status stays."""
        self._status, self.shell = self.status, None

    async def settled(self, wait_s: float, *, compared: bool = False) -> None:
        """Return after the first contact. When `compared`, return once both sides have caught up and no comparison is
        under way. Also return when that is impossible, or after `wait_s`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while self.status.state == "connecting" or (compared and self._at_it):
                    self._changed.clear()
                    await self._changed.wait()

    @property
    def _at_it(self) -> bool:
        now = self.status
        return now.state == "connected" and (now.comparing or not now.caught_up)


class PeerLog:
    """One line in the log when the peer `name` at `address` is away or refuses, another when it is there. A peer may be
    away for weeks, so its status counts the attempts in between."""

    def __init__(self, name: str, address: str) -> None:
        self._peer = {"peer": name, "address": address}
        self._said = ""

    def gone(self, status: PeerStatus, again_s: float, again_s_max: float) -> None:
        """A call has ended. The next call comes in `again_s` seconds, a later one at most `again_s_max` after its
        predecessor."""
        if status.state == self._said or status.state == "connecting":
            return
        self._said = status.state
        tell = log.warning if status.state == "refused" else log.info
        fields = {"reason": status.last_error, "again_in_s": round(again_s, 1), "again_s_max": again_s_max}
        tell("peer_refuses" if status.state == "refused" else "peer_away", **self._peer, **fields)

    def there(self, node_id: str) -> None:
        """A stream with the peer stands."""
        if self._said != "connected":
            self._said = "connected"
            log.info("peer_connected", **self._peer, node=node_id)


# ---- contacts, as the ledger keeps them -----------------------------------------------------------------------------

# A node that dies loses so much of it.
SAVE_S: Final = 10.0
# While nothing happens both sides are caught up. A note of this is written so often.
STILL_CAUGHT_UP_MS: Final = 600_000


class Contacts:
    """Contacts by the name of their cursors, as on the disk and as now: read once at the start, written now and then
    and at the end."""

    def __init__(self, syncing: Syncing) -> None:
        self._syncing = syncing
        self._on_disk: dict[str, Contact] = {}
        self._gone: dict[str, PeerStatus] = {}

    async def load(self) -> None:
        """Read what the last life left."""
        self._on_disk = {contact.peer: contact for contact in await self._syncing.contacts()}
        for name, contact in self._on_disk.items():
            if not name.startswith(":"):
                self._gone[name] = gone(contact)

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
        known = [*self._on_disk.values(), *(peer.contact() for peer in self._gone.values())]
        times = [entry.caught_up for entry in known if entry is not None and entry.peer.rpartition(":")[2] == node_id]
        return max((at for at in times if at is not None), default=None)

    async def forget(self, principal: str, present: Iterable[PeerStatus]) -> bool:
        """Know nothing more of who called with the token of `principal` and is not among `present`. False when nothing
        was known."""
        names = [peer.contact_name for peer in self.away(present) if peer.name == principal]
        if names:
            await self._syncing.ledger.forget_contacts(names)
        for name in names:
            self._gone.pop(name, None)
            self._on_disk.pop(name, None)
        return bool(names)

    def away(self, present: Iterable[PeerStatus]) -> list[PeerStatus]:
        """Past callers that are not among `present`."""
        here = {peer.contact_name for peer in present}
        return [peer for name, peer in self._gone.items() if name not in here]

    async def save(self, statuses: Iterable[PeerStatus], *, last: bool = False) -> None:
        """Write the changes to the disk. The `last` time is exact to the moment."""
        contacts: dict[str, Contact] = {}
        for status in (*self._gone.values(), *statuses):
            contact = status.contact()
            if contact is not None and (contact.peer not in contacts or contact.heard >= contacts[contact.peer].heard):
                contacts[contact.peer] = contact
        changed = [contact for name, contact in contacts.items() if last or _differs(contact, self._on_disk.get(name))]
        changed = [contact for contact in changed if contact != self._on_disk.get(contact.peer)]
        if not changed:
            return
        try:
            await self._syncing.keep_contacts(changed)
        except MnemeshError as error:  # tried again with the next ones. Nothing else depends on it
            log.warning("contacts_not_saved", reason=error.message)
        else:
            self._on_disk |= {contact.peer: contact for contact in changed}


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
            part = await self._syncing.ledger.untaken(last, order)
            if part.erased and not anew:
                number, last, anew = 0, 0, True
                continue
            number, last = number + part.number, part.last
            if part.done:
                self._counted[peer.name] = counted, number, last
                return number
