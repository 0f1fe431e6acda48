"""The quotas of callers: the one place where a write of any door is counted before it is done.

The totals are estimates that never lie too low, so that a write costs a look into memory. Once an estimate reaches a
quota the ledger is asked what there really is. The owner has no quota.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mnemesh_memory.access.grants import OWNER
from mnemesh_memory.values.errors import QuotaReached
from mnemesh_memory.values.model import Caller
from mnemesh_memory.values.quotas import NOTHING, Bucket, Quota, Usage

if TYPE_CHECKING:
    from mnemesh_gateway.operations.operation import Operation
    from mnemesh_gateway.security.access import Access

# The overhead of an entry in the log, at most, and the number of bytes that count as one write.
ENTRY_BYTES: Final = 2_048
BYTES_A_WRITE: Final = 64 * 1024
TOTAL_RETRY_S: Final = 3_600.0  # room is made by a person
SEVERAL: Final = ("items", "ids")


@dataclass(slots=True)
class _Account:
    """The account of one principal: bucket, totals of the last answer of the ledger, and estimates of later and
    unfinished writes."""

    bucket: Bucket
    known: Usage | None = None
    since: Usage = NOTHING
    inside: Usage = NOTHING


@dataclass(slots=True)
class Quotas:
    """The accounts of all principals."""

    access: Access  # Knows the quota of each principal.
    usage: Callable[[], Awaitable[Mapping[str, Usage]]]  # Asks the ledger for the totals of each principal.
    clock: Callable[[], float] = time.monotonic  # In seconds.
    _accounts: dict[str, _Account] = field(default_factory=dict, init=False)

    async def run(self, operation: Operation, caller: Caller, request: Any, work: Callable[[], Awaitable[Any]]) -> Any:
        """The outcome of `work`, which is what `operation` does. Raises QuotaReached before it begins."""
        if caller.role == OWNER:
            return await work()
        quota = self.access.quota(caller.principal)
        account = self._accounts.get(caller.principal)
        if account is None:
            account = self._accounts[caller.principal] = _Account(Bucket(self.clock()))
        writes, size = _count(request), request.ByteSize()
        self._refuse_fast(caller.principal, account, quota)
        if quota.writes_per_second:
            account.bucket.take(writes + size // BYTES_A_WRITE)
        if operation.frees:
            return await work()
        more = (writes if operation.begins else 0, size + writes * ENTRY_BYTES)
        await self._refuse_full(caller.principal, account, quota, more)
        account.inside = account.inside.and_also(*more)
        try:
            return await work()
        finally:
            account.inside = account.inside.and_also(-more[0], -more[1])
            account.since = account.since.and_also(*more)

    def _refuse_fast(self, principal: str, account: _Account, quota: Quota) -> None:
        rate = quota.writes_per_second
        if rate and (wait_s := account.bucket.wait_s(rate, self.clock())):
            raise QuotaReached(
                f"{principal} may write {rate:g} times a second in the long run; try again in {wait_s:.1f} s",
                field="writes_per_second", value=rate, limit=rate, principal=principal, retry_after_s=round(wait_s, 3),
            )  # fmt: skip

    async def _refuse_full(self, principal: str, account: _Account, quota: Quota, more: tuple[int, int]) -> None:
        if not (quota.max_memories or quota.max_bytes):
            return
        if self._estimate(account, more).exceeds(quota) or account.known is None:
            before = account.since
            account.known = (await self.usage()).get(principal, NOTHING)
            account.since = account.since.and_also(-before.memories, -before.bytes)
        # Judged by the totals without this write: an estimate is no reason to refuse the last one.
        inside = account.known.and_also(account.inside.memories + more[0], account.inside.bytes + 1)
        if over := inside.exceeds(quota):
            name, _, most = over
            used = account.known.memories if name == "max_memories" else account.known.bytes
            what = "memories" if name == "max_memories" else "bytes"
            raise QuotaReached(
                f"{principal} has {used:,} {what} of at most {most:,}, and this needs more; purge some, or ask "
                f"the node's owner for `mnemesh agent quota {principal} --{name.replace('_', '-')} N`",
                field=name, value=used, limit=most, principal=principal, retry_after_s=TOTAL_RETRY_S,
            )  # fmt: skip

    @staticmethod
    def _estimate(account: _Account, more: tuple[int, int]) -> Usage:
        known = account.known or NOTHING
        for part in (account.since, account.inside):
            known = known.and_also(part.memories, part.bytes)
        return known.and_also(*more)


def _count(request: Any) -> int:
    """How many writes a request asks for."""
    return max(1, *(len(getattr(request, name, ())) for name in SEVERAL))
