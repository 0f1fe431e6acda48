"""The gate of every door: the mesh once it is ready, and facts of the node that need no mesh.

HTTP opens before the model has loaded. Calls wait here, bounded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mnemesh_gateway.operations.quota_gate import Quotas
from mnemesh_memory.values.errors import Unavailable
from mnemesh_memory.values.quotas import Usage

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
