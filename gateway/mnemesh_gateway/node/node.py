"""One node, from start to drain. Start opens the doors and builds the mesh behind them. Stop goes in the reverse order.

HTTP and gRPC open first and calls wait at the gate, so that a host that starts us is answered at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import secrets
import shutil
import signal
import time
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from importlib.metadata import version
from itertools import takewhile
from typing import TYPE_CHECKING

import structlog

from mnemesh_actors.runtime.local import LocalRuntime
from mnemesh_actors.runtime.zones import zone_named
from mnemesh_actors.sleep.idle_scheduler import SleepConfig
from mnemesh_actors.storage.data_directory import DataDirectory, keep_owner, open_directory
from mnemesh_actors.storage.disk import START_ROOM_BYTES, DiskRoom, keep_start_room, take_start_room
from mnemesh_gateway.backup.backups import Backups
from mnemesh_gateway.doors.open_doors import Doors, open_doors
from mnemesh_gateway.node.addresses import refuse_unusable
from mnemesh_gateway.node.node_limits import agent_quota, bounds, peer_quotas
from mnemesh_gateway.node.presence import NodeLock, is_there, owner_token, withdraw
from mnemesh_gateway.node.settings import Loaded, Settings
from mnemesh_gateway.operations.gate import MeshGate
from mnemesh_gateway.peers.peer_book import PeerBook
from mnemesh_gateway.security.access import ACCESS_FILE, Access
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.policy.dynamics.heat import half_lives_of
from mnemesh_memory.policy.rules.stored_rules import rules_of
from mnemesh_memory.ranking.signals import DEFAULT_WEIGHTS, OPTIONAL
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, MnemeshError, Unavailable
from mnemesh_proto.rendezvous import LOCK_FILE, NodeAddress, write_node

if TYPE_CHECKING:
    from mnemesh_actors.node.assembly import StartConfig
    from mnemesh_actors.node.mesh import Mesh
    from mnemesh_actors.runtime.base import Runtime
    from mnemesh_gateway.peers.peers import Peers

MCP_HEAD_START_S = 0.1
LOSS_WATCH_S = 1.0
log = structlog.get_logger("mnemesh.node")


class Node:
    """`serve` runs until `stop` is called. `on_ready` is told once everything answers."""

    def __init__(
        self, loaded: Loaded, on_ready: Callable[[MeshGate], None], tell_repeats: Callable[[], None] = lambda: None
    ) -> None:
        self._tell_repeats = tell_repeats
        self._settings = loaded.settings
        self._given = loaded.given()
        self._data_dir = loaded.data_dir
        self._on_ready = on_ready
        self._stop = asyncio.Event()
        self._mesh: Mesh | None = None
        self._peers: Peers | None = None
        self._runtime_used: Runtime | None = None  # one that can be lost

    def stop(self) -> None:
        """Begin to drain. Calls inside go on for up to drain_s."""
        self._stop.set()

    async def serve(self) -> None:
        """Start, serve, drain. Raises MnemeshError when the start is refused. Nothing goes on then, and no directory is
        left that was made for it."""
        there = is_there(self._data_dir)
        above = list(takewhile(lambda folder: not folder.exists(), self._data_dir.parents))
        refuse_unusable(self._settings, new=not there)
        lock = NodeLock(self._data_dir)
        made = not there and os.listdir(self._data_dir) == [LOCK_FILE]  # and by no other process meanwhile
        try:
            full = take_start_room(DiskRoom(self._data_dir, self._settings.disk_reserve_bytes))
            if full is not None:
                log.warning("disk_full", reason=full.message)
            await self._live()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise FailedPrecondition(
                f"data_dir: the disk of {self._data_dir} is full: a start needs {START_ROOM_BYTES >> 20} MiB there; "
                "free some and start again, nothing is lost",
                field="data_dir",
                value=str(self._data_dir),
            ) from error
        except MnemeshError:
            if made and self._mesh is None:
                shutil.rmtree(self._data_dir, ignore_errors=True)
                with contextlib.suppress(OSError):  # somebody else has put something there meanwhile
                    for folder in above:
                        folder.rmdir()
            raise
        finally:
            lock.close()
        log.info("stopped")  # not of a start that was refused

    async def _live(self) -> None:
        settings, lost = self._settings, ""
        try:
            directory = open_directory(self._data_dir, settings.disk_reserve_bytes)
            token = owner_token(self._data_dir)
            access = Access(self._data_dir / ACCESS_FILE, _now_ms, settings.owner, agent_quota(settings))
            authenticator = Authenticator(token, access, settings.owner)
            gate = self._gate(access)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self.stop)
            async with (
                _kept_up(access, directory.room, self._tell_repeats),
                self._published_doors(gate, authenticator) as (grpc_door, mcp),
            ):
                # A host that had the node started asks at once. The library for its answer then loads before the
                # actors'.
                await mcp.loaded_if_asked(within_s=MCP_HEAD_START_S)
                try:
                    self._mesh = await self._build_unless_stopped(directory)
                except MnemeshError as error:
                    gate.fail(error.message)  # those who wait at the gate learn why, and the doors close at once
                    raise
                if self._mesh is not None:
                    # Everything loaded stays for the node's life: the collector need not walk it again and again.
                    gc.freeze()
                    from mnemesh_gateway.peers.peers import Peers

                    book, tokens = PeerBook(self._data_dir), authenticator.peer_grants
                    self._mesh.syncing.quotas.quota_of = peer_quotas(settings, access)
                    self._mesh.rules.revoked = access.revoked
                    self._peers = peers = Peers(book, self._mesh.syncing, _now_ms, settings.owner, tokens=tokens)
                    await peers.start()
                    keep_start_room(directory.room)
                    keep_owner(directory, settings.owner)  # not that of a start that failed
                    gate.open(self._mesh, peers)
                    await grpc_door.set_serving(True)
                    self._on_ready(gate)
                    mcp.load()
                    lost = await self._stopped_or_lost()
                    if lost:
                        log.error("runtime_lost", reason=lost)
                        gate.fail(f"the node ends: {lost}")
                log.info("draining", seconds_max=settings.drain_s)
                if not lost:
                    gate.drain()
                if self._peers is not None:
                    await self._peers.close()
                if self._mesh is not None:
                    self._mesh.end_watches("the node is stopping; watch again with the last cursor")
        finally:
            if self._mesh is not None:
                await self._mesh.close()
        if lost:
            raise Unavailable(
                f"the node has ended: {lost}. Every acknowledged write is kept. Start the node again; with "
                "--ray-address, first start Ray on its machines",
                part="ray",
            )

    def _gate(self, access: Access) -> MeshGate:
        return MeshGate(
            version=version("mnemesh"),
            data_dir=str(self._data_dir),
            pid=os.getpid(),
            ready_timeout_s=self._settings.ready_timeout_s,
            access=access,
            backups=Backups(self._data_dir, _now_ms),
            settings=self._given,
        )

    async def _stopped_or_lost(self) -> str:
        """Return "" when the node was told to stop, or why its actors can't be asked any more."""
        while not self._stop.is_set():
            if self._runtime_used is not None and (lost := await self._runtime_used.lost()):
                return lost
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), LOSS_WATCH_S if self._runtime_used else None)
        return ""

    @contextlib.asynccontextmanager
    async def _published_doors(self, gate: MeshGate, authenticator: Authenticator) -> AsyncIterator[Doors]:
        settings = self._settings
        async with open_doors(
            gate,
            authenticator,
            bounds(settings),
            grpc=settings.grpc,
            http=settings.http,
            toolsets=settings.mcp_toolsets.split(","),
            metrics_open=settings.metrics_open,
            drain_s=settings.drain_s,
        ) as doors:
            try:
                write_node(self._data_dir, NodeAddress(os.getpid(), gate.grpc, gate.http, version("mnemesh")))
                yield doors
            finally:
                withdraw(self._data_dir)

    async def _build_unless_stopped(self, directory: DataDirectory) -> Mesh | None:
        """The mesh, or None when the node was told to stop before it was ready. Nothing was acknowledged then, so a
        start that does not end within drain_s (a model over a dead network) is left by ending the process."""
        building = asyncio.ensure_future(self._build(directory))
        stopping = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait((building, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if building.done():
            return building.result()
        building.cancel()
        await asyncio.wait((building,), timeout=self._settings.drain_s)
        if not building.done():
            log.warning("start_abandoned", seconds=self._settings.drain_s)
            withdraw(self._data_dir)
            os._exit(0)
        return None

    async def _build(self, directory: DataDirectory) -> Mesh:
        # The actors' libraries load while the doors answer already.
        assembly = await asyncio.to_thread(import_module, "mnemesh_actors.node.assembly")
        runtime = await self._runtime(directory.node_id)
        mesh: Mesh = await assembly.start_mesh(directory, runtime, _start_config(self._settings))
        return mesh

    async def _runtime(self, node_id: str) -> Runtime:
        if self._settings.runtime == "local":
            return LocalRuntime()
        from mnemesh_actors.runtime.ray import RayRuntime

        runtime = RayRuntime(self._data_dir / "ray", node_id, self._settings.ray_address)
        await runtime.start()
        self._runtime_used = runtime
        return runtime


def _start_config(settings: Settings) -> StartConfig:
    from mnemesh_actors.index.shard_config import ServerConfig
    from mnemesh_actors.models import ModelConfig
    from mnemesh_actors.node.assembly import StartConfig
    from mnemesh_actors.node_ports import MeshConfig

    return StartConfig(
        clock=_now_ms,
        entropy=secrets.token_bytes,
        model=ModelConfig(
            model_dir=settings.model_dir,
            precision=settings.model_precision,
            threads=settings.model_threads,
            cache_dir=settings.model_cache_dir,
            download=settings.model_download,
            pairs=settings.guard_model,
        ),
        mesh=MeshConfig(
            recall_timeout_s=settings.recall_timeout_s,
            write_timeout_s=settings.write_timeout_s,
            weights={name: getattr(settings, f"recall_weight_{name}") for name in (*DEFAULT_WEIGHTS, *OPTIONAL)},
            abstain_below=settings.abstain_below,
            rules=rules_of(settings.recall_rules),
            temporal_neighbours=settings.temporal_neighbours,
            watches_files=settings.watches_files,
            half_lives=half_lives_of(settings.half_lives),
            labile_minutes=settings.labile_minutes,
            shows_gists=settings.shows_gists,
            zone=zone_named("time_zone", settings.time_zone),
        ),
        reranker=None
        if not settings.reranker_model
        else ModelConfig(
            name=settings.reranker_model,
            threads=settings.model_threads,
            cache_dir=settings.model_cache_dir,
            download=settings.model_download,
        ),
        workers=settings.model_workers,
        sleep=SleepConfig(
            idle_s=settings.sleep_after_minutes * 60 if settings.sleep else None,
            share=settings.sleep_share,
            astrocytes=settings.astrocyte_workers,
            owner=settings.owner,
        ),
        replica_dir=settings.ray_replica_dir,
        ledger_wait_s=settings.ray_ledger_wait_s,
        qdrant=None
        if not settings.qdrant_url
        else ServerConfig(
            url=settings.qdrant_url,
            api_key=settings.qdrant_api_key,
            ca_file=settings.qdrant_ca_file,
            replicas=settings.qdrant_replicas,
            consistency=settings.qdrant_write_consistency,
        ),
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@contextlib.asynccontextmanager
async def _kept_up(access: Access, room: DiskRoom, tell_repeats: Callable[[], None]) -> AsyncIterator[None]:
    """Meanwhile how often tokens are used is written now and then, as is how often a line of the log came. At the end
    the file of tokens is closed. Room for the next start is kept on the disk."""
    ended = asyncio.Event()

    async def note() -> None:
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), limits.AGENT_USES_FLUSH_S)
            tell_repeats()
            try:
                if room.shortage() is None:
                    await asyncio.to_thread(access.flush)
                    await asyncio.to_thread(keep_start_room, room)
            except MnemeshError as error:  # the counts wait for the next time
                log.warning("uses_of_tokens_not_noted", reason=error.message)

    noting = asyncio.create_task(note(), name="uses-of-tokens")
    try:
        yield
    finally:
        ended.set()
        await noting
        access.close()
