"""The gate of every door: the mesh once it is ready, quotas, and facts of the node that need no mesh.

HTTP opens before the model has loaded. Calls wait here, bounded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mnemesh_memory.access.grants import OWNER
from mnemesh_memory.values.errors import QuotaReached, Unavailable
from mnemesh_memory.values.model import Caller
from mnemesh_memory.values.quotas import NOTHING, Bucket, Quota, Usage

if TYPE_CHECKING:
    from mnemesh_actors.node.mesh import Mesh
    from mnemesh_gateway.backup.backups import Backups
    from mnemesh_gateway.peers.peers import Peers
    from mnemesh_gateway.security.access import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """Facts of the node. `state` is starting, ready, draining or failed. `grpc` and `http` are host:port. `settings`
    are name, value and origin of all settings that differ from their defaults."""

    version: str
    state: str
    data_dir: str
    pid: int
    uptime_s: float
    grpc: str
    http: str
    settings: tuple[tuple[str, str, str], ...]


class MeshGate:
    """Opened once by the node with `open`, closed with `drain`. `access` holds the tokens of agents. A gate without
    has no agents beside the owner. `backups` makes backups of it."""

    def __init__(
        self,
        *,
        version: str,
        data_dir: str,
        pid: int,
        ready_timeout_s: float,
        access: Access | None = None,
        backups: Backups | None = None,
        settings: tuple[tuple[str, str, str], ...] = (),
    ) -> None:
        self._known: dict[str, Any] = {"version": version, "data_dir": data_dir, "pid": pid, "settings": settings}
        self._access = access
        self._backups = backups
        self._ready_timeout_s = ready_timeout_s
        self._started = time.monotonic()
        self._mesh: Mesh | None = None
        self._peers: Peers | None = None
        self._opened = asyncio.Event()
        self._state = "starting"
        self._why = ""
        self.grpc = ""
        self.http = ""
        self.quotas = None if access is None else Quotas(access, self._usage)

    def open(self, mesh: Mesh, peers: Peers | None = None) -> None:
        """The node is ready. A gate without `peers` exchanges nothing with other nodes."""
        self._mesh = mesh
        self._peers = peers
        self._state = "ready"
        self._opened.set()

    def drain(self) -> None:
        """New calls are refused from now on. Those inside go on."""
        self._state, self._why = "draining", "the node is stopping"
        self._opened.set()

    def fail(self, why: str) -> None:
        """The start failed. Every call says why."""
        self._state, self._why = "failed", why
        self._opened.set()

    async def ready(self) -> Mesh:
        """The mesh. Waits for a starting node up to `ready_timeout_s`. Raises Unavailable."""
        if self._mesh is not None and self._state == "ready":
            return self._mesh
        try:
            await asyncio.wait_for(self._opened.wait(), self._ready_timeout_s)
        except TimeoutError:
            raise Unavailable(f"the node is still starting after {self._ready_timeout_s:g} s", part="node") from None
        if self._mesh is None or self._state != "ready":
            raise Unavailable(self._why, part="node")
        return self._mesh

    def agents(self) -> Access:
        """The tokens of agents. They need no mesh. Raises Unavailable when this gate has none."""
        if self._access is None:
            raise Unavailable("this gateway issues no tokens", part="access")
        return self._access

    def backups(self) -> Backups:
        """The backups of this node. Raises Unavailable when this gate makes none."""
        if self._backups is None:
            raise Unavailable("this gateway makes no backups", part="backup")
        return self._backups

    async def peers(self) -> Peers:
        """The streams with other nodes, once the node is ready. Raises Unavailable."""
        await self.ready()
        if self._peers is None:
            raise Unavailable("this gateway exchanges nothing with other nodes", part="peers")
        return self._peers

    def peers_now(self) -> Peers | None:
        """The streams with other nodes, None of a gate that has none or is not ready."""
        return self._peers if self._state == "ready" else None

    async def _usage(self) -> Mapping[str, Usage]:
        return await (await self.ready()).usage()

    def mesh_now(self) -> Mesh | None:
        """The mesh if the node is ready, without waiting: for health and metrics."""
        return self._mesh if self._state == "ready" else None

    async def unready(self) -> str:
        """Why requests are not answered now, or "". For probes without a token, so it names the faulty part and no
        more."""
        mesh = self.mesh_now()
        if mesh is None:
            return f"the node is {self._state}; requests wait or are refused with UNAVAILABLE"
        if await mesh.ledger_fault():
            return "the node answers, but its ledger does not; `mnemesh status` and the node's log say why"
        return ""

    def describe(self) -> NodeFacts:
        """Facts that need no mesh."""
        uptime_s = round(time.monotonic() - self._started, 3)
        return NodeFacts(state=self._state, uptime_s=uptime_s, grpc=self.grpc, http=self.http, **self._known)


# ---- the quotas of callers -------------------------------------------------------------------------------------------
# The one place where a write of any door is counted before it is done. The totals are estimates that never lie too
# low, so that a write costs a look into memory. Once an estimate reaches a quota the ledger is asked what there really
# is. The owner has no quota.

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

    async def run(
        self, caller: Caller, request: Any, work: Callable[[], Awaitable[Any]], *, begins: bool, frees: bool
    ) -> Any:
        """The outcome of `work`, which `begins` memories or `frees` room. Raises QuotaReached before it begins."""
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
        if frees:
            return await work()
        more = (writes if begins else 0, size + writes * ENTRY_BYTES)
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
