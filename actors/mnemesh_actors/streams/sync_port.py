"""This node as its peers see it: the questions of a stream's shell to ledger, index and key, and the answers for a
person.

Decides nothing and keeps nothing: each question is one call of the ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mnemesh_actors.ledger.peers.contacts import Contact
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.ledger.peers.put_aside import Which, sender_of
from mnemesh_actors.ports import LedgerPeers
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.bell import LogHead
from mnemesh_crdt.changes.envelope import ERASURES, Entry
from mnemesh_crdt.intake.arrivals import TakenIn
from mnemesh_crdt.sync import messages as sync
from mnemesh_crdt.sync.greeting import Me
from mnemesh_crdt.sync.proof import Claim, proof_bytes
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.errors import QuotaReached
from mnemesh_memory.values.limits import BATCH_BYTES_MAX, BATCH_ITEMS_MAX
from mnemesh_memory.values.quotas import NOTHING, UNLIMITED, Bucket, Quota, Usage

Signing: TypeAlias = Callable[[Claim], Awaitable[bytes]]
# Why the peer of that node id and life is a copy, or "".
Admission: TypeAlias = Callable[[str, str], Awaitable[str]]


def signing_with(key: Ed25519PrivateKey) -> Signing:
    """Signs with a key of this process."""

    async def sign(claim: Claim) -> bytes:
        return key.sign(proof_bytes(claim))

    return sign


async def anyone(node_id: str, life: str) -> str:
    """Admits every peer."""
    return ""


@dataclass(eq=False)
class Syncing:
    """This node as its peers see it: identity, log, news. What `ledger` alone says is asked there. `clock` gives
    milliseconds since the epoch, `sign` the signature of a claim by the key of `me`."""

    ledger: Handle[LedgerPeers]
    published: Callable[[int], None]
    bell: LogHead
    me: Me
    clock: Callable[[], int]
    sign: Signing

    def __post_init__(self) -> None:
        self.quotas = PeerQuotas(self.ledger.brought)

    @property
    def head(self) -> int:
        """The last sequence number of this node's log."""
        return self.bell.head

    async def prove(self, claim: Claim) -> sync.Proved:
        """This node's signature of its claim on one stream."""
        return sync.Proved(await self.sign(claim))

    async def page(self, ask: sync.Ask) -> sync.Read:
        """A page of the log for a peer."""
        page = await self.ledger.sync_page(ask.after, ask.patterns, ask.not_from, BATCH_ITEMS_MAX, BATCH_BYTES_MAX)
        return sync.Read(
            after=ask.after, entries=tuple(page.entries), last_seq=page.last_seq, head=page.head, keys=page.keys
        )

    async def take_in(self, order: sync.TakeIn, peer: str) -> sync.Took:
        """Take a batch in durably, with its cursor, and let index and watchers know. Waits while the peer is too fast.
        Raises QuotaReached at a total of the peer."""
        batch = order.batch
        incoming = IncomingEntries(
            peer=peer,
            origin=order.origin,
            grant=order.grant,
            entries=batch.entries,
            feed=batch.feed,
            last_seq=batch.last_seq,
            keys=batch.keys,
        )
        sender = sender_of(peer)
        try:
            await self._within_quota(sender, batch.entries)
        except QuotaReached:
            # An erasure takes no room. The cursor stays, so that the rest of the batch comes again.
            if erasures := tuple(entry for entry in batch.entries if entry.type in ERASURES):
                taken = await self._hand(replace(incoming, entries=erasures, feed=""), self.clock())
                self.published(taken.last)
            raise
        taken = await self._hand(incoming, self.clock())
        self.quotas.took(sender, Usage(taken.brought_memories, taken.brought_bytes))
        self.published(taken.last)
        return sync.Took(batch.feed, batch.last_seq, taken.full, taken.quarantined)

    async def _within_quota(self, sender: str, entries: Sequence[Entry]) -> None:
        """Wait until the sender may bring these. Erasures alone it always may. Raises QuotaReached."""
        if not entries or any(entry.type not in ERASURES for entry in entries):
            await self.quotas.admit(sender, len(entries))

    async def _hand(self, batch: IncomingEntries, now: int) -> TakenIn:
        return await self.ledger.take_in(batch, now)

    async def measure(self, patterns: tuple[str, ...]) -> sync.Measured:
        """The digests of the spaces that the patterns cover."""
        return sync.Measured(patterns, await self.ledger.digests(patterns))

    async def reread(self, order: sync.Reask) -> sync.Reread:
        """Entries of buckets that differ."""
        page = await self.ledger.resend(order.space, order.buckets, order.after, BATCH_ITEMS_MAX, BATCH_BYTES_MAX)
        return sync.Reread(
            space=order.space,
            after=order.after,
            entries=tuple(page.entries),
            last_seq=page.last_seq,
            done=page.done,
            keys=page.keys,
        )

    async def judge_again(self, ids: Sequence[int], grants: Mapping[str, PeerGrant] | None) -> TakenIn:
        """Judge refused entries again, see Ledger.release, and let index and watchers know."""
        total = TakenIn()
        for some in _chunks(ids):
            taken = await self.ledger.release(some, self.clock(), grants)
            self.published(taken.last)
            total = total.and_then(taken)
        return total

    async def numbers(self, table: str, which: Which) -> list[int]:
        """The numbers of all entries of a table that match, the oldest first."""
        numbers: list[int] = []
        while some := await self.ledger.aside_numbers(table, which, numbers[-1] if numbers else 0, BATCH_ITEMS_MAX):
            numbers += some
        return numbers

    async def discard(self, table: str, ids: Sequence[int]) -> int:
        """Delete entries that wait for others or were not let in. Returns how many there were."""
        return sum([await self.ledger.discard(table, some) for some in _chunks(ids)])

    async def contacts(self) -> list[Contact]:
        """How it stood with every node that was heard of lately, as far as the disk knows."""
        return await self.ledger.contacts(self.clock())

    async def keep_contacts(self, contacts: Sequence[Contact]) -> None:
        """Have the disk know how it stands with these."""
        await self.ledger.keep_contacts(contacts, self.clock())

    async def news_after(self, seq: int) -> int:
        """Wait for entries after `seq`. The new head."""
        await self.bell.after(seq)
        return self.bell.head

    def move(self, incarnation: str) -> None:
        """The ledger of another machine goes on: streams opened with the old ledger end, so that the numbers of both
        are never mixed up."""
        self.me = replace(self.me, incarnation=incarnation)


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[at : at + BATCH_ITEMS_MAX] for at in range(0, len(ids), BATCH_ITEMS_MAX))


# ---- quotas of peers -------------------------------------------------------------------------------------------------
# A rate, which slows their streams, and totals, at which a stream stops and says so. Nothing is refused for good: the
# peer keeps the rest and brings it when there is room.

WAIT_MAX_S: Final = 5.0  # for one batch: a peer gives up a stream that makes no progress for half a minute
SLOWED_FOR_S: Final = 15.0  # after it was slowed a stream is said to be
TOTAL_RETRY_S: Final = 60.0


class PeerQuotas:
    """`quota_of` is the quota of a sender, `brought()` the usage of each, both by the ledger's names."""

    def __init__(self, brought: Callable[[], Awaitable[Mapping[str, Usage]]]) -> None:
        self.quota_of: Callable[[str], Quota] = lambda sender: UNLIMITED
        self._brought = brought
        self._buckets: dict[str, Bucket] = {}
        self._known: dict[str, Usage] = {}
        self._slowed: dict[str, float] = {}

    async def admit(self, sender: str, entries: int) -> None:
        """Wait until so many entries may be taken in. Raises QuotaReached at a total."""
        quota = self.quota_of(sender)
        if quota == UNLIMITED:
            return
        if sender not in self._known:
            self._known[sender] = (await self._brought()).get(sender, NOTHING)
        if over := self._known[sender].and_also(1, 1).exceeds(quota):
            raise _full(*over, self._known[sender])
        if rate := quota.writes_per_second:
            now = asyncio.get_running_loop().time()
            bucket = self._buckets.setdefault(sender, Bucket(now))
            wait_s = min(WAIT_MAX_S, bucket.wait_s(rate, now))
            bucket.take(entries)
            if wait_s:
                self._slowed[sender] = now + wait_s
                await asyncio.sleep(wait_s)

    def took(self, sender: str, brought: Usage) -> None:
        """The usage of a sender now, as the ledger says."""
        if brought != NOTHING:
            self._known[sender] = brought

    def note(self, peer: str) -> str:
        """A note about the open stream of a peer, named as its cursors: that it is slowed, or ""."""
        sender = sender_of(peer)
        since = self._slowed.get(sender)
        if since is None or asyncio.get_running_loop().time() - since > SLOWED_FOR_S:
            return ""
        rate = self.quota_of(sender).writes_per_second
        return f"slowed: it brings more than {rate:g} entries a second (peer_entries_per_second); nothing is lost"


def _full(name: str, value: int, most: int, known: Usage) -> QuotaReached:
    has = f"{known.memories:,} memories" if name == "max_memories" else f"{known.bytes:,} bytes"
    return QuotaReached(
        f"stopped at a quota: this peer has brought {has} of at most {most:,} (peer_{name}, or {name} of its token); "
        "nothing is lost, and the exchange goes on with a larger quota",
        field=name, value=value - 1, limit=most, retry_after_s=TOTAL_RETRY_S,
    )  # fmt: skip
