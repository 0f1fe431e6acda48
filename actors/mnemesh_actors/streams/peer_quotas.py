"""Quotas of peers: a rate, which slows their streams, and totals, at which a stream stops and says so.

Nothing is refused for good: the peer keeps the rest and brings it when there is room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from mnemesh_actors.ledger.peers.put_aside import sender_of
from mnemesh_memory.values.errors import QuotaReached
from mnemesh_memory.values.quotas import NOTHING, UNLIMITED, Bucket, Quota, Usage

WAIT_MAX_S: Final = 5.0  # for one batch: a peer gives up a stream that makes no progress for half a minute
SLOWED_FOR_S: Final = 15.0  # after it was slowed a stream is said to be
TOTAL_RETRY_S: Final = 60.0


class PeerQuotas:
    """`quota_of` is the quota of a sender, `brought()` the usage of each, both by the ledger's names."""

    def __init__(
        self, brought: Callable[[], Awaitable[Mapping[str, Usage]]], quota_of: Callable[[str], Quota] | None = None
    ) -> None:
        self.quota_of = quota_of or (lambda sender: UNLIMITED)
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
        "nothing is lost, and it goes on when the node has a larger one",
        field=name, value=value - 1, limit=most, retry_after_s=TOTAL_RETRY_S,
    )  # fmt: skip
