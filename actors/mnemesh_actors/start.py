"""Building a mesh: directory, ledger, model and index in the order in which they depend on each other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import structlog

from mnemesh_actors.batching import Batcher
from mnemesh_actors.directory import DataDirectory, load_key
from mnemesh_actors.embedder import Embedder
from mnemesh_actors.embedding import EmbeddingWorker, ModelConfig, ModelInfo
from mnemesh_actors.embedding.reranker import Reranker, RerankerConfig
from mnemesh_actors.follower import IndexFollower
from mnemesh_actors.handover import page_of
from mnemesh_actors.identity import signing_with
from mnemesh_actors.index.storage import ServerConfig
from mnemesh_actors.ledger.actor import Ledger
from mnemesh_actors.ledger.commands import Command, Committed
from mnemesh_actors.members import Move
from mnemesh_actors.mesh import Mesh
from mnemesh_actors.parts import MeshConfig, Parts
from mnemesh_actors.replicas import DEFAULT_ROOT, Fleet, read_known, refuse_elsewhere
from mnemesh_actors.runtime.base import Handle, Machine, Runtime
from mnemesh_actors.runtime.local import LocalHandle
from mnemesh_actors.shard import MACHINE, RetrievalShard, ShardConfig
from mnemesh_actors.syncing import Syncing
from mnemesh_actors.transcribing import Transcribing
from mnemesh_actors.transcripts.store import TranscriptStore
from mnemesh_crdt.handshake import Me
from mnemesh_memory import limits
from mnemesh_memory.errors import MnemeshError
from mnemesh_memory.model import LedgerStatus, ModelStatus

COMMIT_COMMANDS_MAX = 256
NOTICES_MAX = 50
log = structlog.get_logger("mnemesh.start")


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantConfig:
    """The server that holds the index; without one it lies in the data directory."""

    url: str
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartConfig:
    """What `start_mesh` needs beyond the directory and the runtime."""

    clock: Callable[[], int]
    entropy: Callable[[int], bytes]
    model: ModelConfig
    mesh: MeshConfig = field(default_factory=MeshConfig)
    qdrant: QdrantConfig | None = None
    reranker: RerankerConfig | None = None
    replica_dir: str = ""  # on each machine of a Ray cluster; "" for the default


async def start_mesh(directory: DataDirectory, runtime: Runtime, config: StartConfig) -> Mesh:
    """A ready mesh. Raises what its parts raise: DataLoss, FailedPrecondition, Unavailable, each with what to do; the
    runtime is closed then."""
    async with AsyncExitStack() as undo:
        undo.push_async_callback(runtime.close)
        mesh = await _start(directory, runtime, config, undo)
        mesh.closes(undo.pop_all())
        return mesh


async def _start(directory: DataDirectory, runtime: Runtime, config: StartConfig, undo: AsyncExitStack) -> Mesh:
    notices: list[str] = []

    def notice(text: str) -> None:
        # What is told again moves to the end.
        if text in notices:
            notices.remove(text)
        notices.append(text)
        del notices[:-NOTICES_MAX]

    machines = await runtime.machines()
    fleet = _fleet(directory, runtime, config, machines, notice)
    ledger, worker = await _ledger_and_worker(directory, runtime, config, fleet, machines, undo)
    model: ModelInfo = await worker.load()
    log.info("model_ready", name=model.name, source=model.source, generation=model.generation, dir=model.directory)
    status: LedgerStatus = await ledger.status()
    server = _server(directory, config)
    home = _machine_of_index(fleet, machines)
    shard_config = ShardConfig(
        path=_shard_path(directory, config) if home else str(directory.index(0)),
        generation=model.generation,
        dimensions=model.dimensions,
        incarnation=status.incarnation,
        backend="edge" if server is None else "server",
        server=server,
    )
    where: dict[str, Any] = {"machine": home.id, "roams": True} if home else {"pinned": True}
    shard = await runtime.spawn("shard-0", RetrievalShard, shard_config, **where)
    embedder = Embedder(worker, model.generation, model.dimensions)
    follower = IndexFollower(ledger, shard, embedder, notice, config.mesh.write_timeout_s)
    # A server may come later: what it lacks then comes from the ledger.
    opened = await follower.start(status.seq, patient=server is not None)
    found = {"seq": opened.seq, "points": opened.points, "behind": status.seq - opened.seq, "rebuilt": opened.rebuilt}
    log.info("index_away" if follower.away else "index_ready", **found)
    commits: Batcher[Command, Committed] = Batcher(
        "ledger", _publishing(ledger, follower), COMMIT_COMMANDS_MAX, limits.INBOX_MESSAGES_MAX
    )
    parts = Parts(
        ledger=ledger,
        embedder=embedder,
        follower=follower,
        commits=commits,
        clock=config.clock,
        entropy=config.entropy,
        config=config.mesh,
        news=follower.news,
        index_backend=shard_config.shown,
        reranker=await _reranker(runtime, config),
    )
    key = load_key(directory.key_file)
    me = Me(
        node_id=directory.node_id,
        key=key.public_key().public_bytes_raw(),
        incarnation=status.incarnation,
        life=config.entropy(16).hex(),
    )
    syncing = Syncing(ledger, follower, follower.news, me, config.clock, signing_with(key))
    if fleet is not None:
        _follow(fleet, follower, syncing)
    transcribing = await _transcribing(directory, config, undo)
    return Mesh(parts, runtime, directory.node_id, _shown(model), notices, syncing, transcribing)


async def _transcribing(directory: DataDirectory, config: StartConfig, undo: AsyncExitStack) -> Transcribing:
    """In this process whatever the runtime: the file lies in its data directory, and another process gains nothing."""
    store = LocalHandle("transcripts-0")
    await store.construct(TranscriptStore, str(directory.transcripts))
    undo.push_async_callback(store.shut)
    return Transcribing(store, directory.transcripts, config.clock)


def _shown(model: ModelInfo) -> ModelStatus:
    return ModelStatus(generation=model.generation, name=model.name, dimensions=model.dimensions, source=model.source)


def _fleet(
    directory: DataDirectory,
    runtime: Runtime,
    config: StartConfig,
    machines: Sequence[Machine],
    notice: Callable[[str], None],
) -> Fleet | None:
    """The ledgers on several machines, or None for the one in the data directory."""
    if runtime.name == "ray" and (len(machines) > 1 or read_known(directory.path)[1]):
        return Fleet(directory, runtime, config.replica_dir, config.clock, config.entropy, notice)
    refuse_elsewhere(directory)
    return None


def _machine_of_index(fleet: Fleet | None, machines: Sequence[Machine]) -> Machine | None:
    """Not the primary ledger's, so that one machine does not take both; None for this one, beside its only ledger."""
    if fleet is None:
        return None
    primary = fleet.ledger.primary.machine
    return next((one for one in reversed(machines) if one.id != primary), machines[-1])


def _where_to_embed(machines: Sequence[Machine]) -> dict[str, Any]:
    """Where the embedding worker lives. On several machines not with the doors, which need theirs, and not on the last
    one, where the index is as a rule; when that machine is gone, Ray takes another."""
    if len(machines) == 1:
        return {"roams": True}
    return {"machine": machines[max(1, len(machines) - 2)].id, "roams": True}


def _follow(fleet: Fleet, follower: IndexFollower, syncing: Syncing) -> None:
    """Index, watchers and peers go with the ledger when that of another machine goes on."""

    def moved(move: Move) -> None:
        syncing.move(move.incarnation)
        follower.move(move.incarnation, move.head, move.known)

    def committed(commands: Sequence[Command], results: Sequence[Committed | Exception]) -> None:
        follower.expect(page_of(commands, results, follower.head))

    fleet.ledger.follow(follower.publish, moved, committed)


async def _ledger_and_worker(
    directory: DataDirectory,
    runtime: Runtime,
    config: StartConfig,
    fleet: Fleet | None,
    machines: Sequence[Machine],
    undo: AsyncExitStack,
) -> tuple[Handle, Handle]:
    """The model takes longest; the ledger checks its pages meanwhile."""
    embedding = runtime.spawn("embedder-0", EmbeddingWorker, config.model, **_where_to_embed(machines))
    worker = asyncio.create_task(embedding)
    try:
        if fleet is not None:
            replicated = await fleet.open(machines)
            undo.push_async_callback(fleet.close)
            return replicated, await worker
        ledger = await runtime.spawn(
            "ledger-0", Ledger, str(directory.ledger(0)), str(directory.key_file), directory.node_id, pinned=True
        )
        return ledger, await worker
    finally:
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)


def _publishing(
    ledger: Handle, follower: IndexFollower
) -> Callable[[list[Command]], Awaitable[Sequence[Committed | Exception]]]:
    """The ledger's commit, followed by the news for the index: also when nobody waits for the answer any more."""

    async def commit(commands: list[Command]) -> Sequence[Committed | Exception]:
        try:
            results: Sequence[Committed | Exception] = await ledger.commit(commands)
        except MnemeshError:
            # A ledger that died may have committed before it could answer.
            follower.look()
            raise
        seq = max((result.seq for result in results if isinstance(result, Committed)), default=0)
        follower.publish(seq, page_of(commands, results, follower.head))
        return results

    return commit


async def _reranker(runtime: Runtime, config: StartConfig) -> Handle | None:
    """Loaded when one is configured: a node that can't do as it is told says so at its start."""
    if config.reranker is None:
        return None
    reranker = await runtime.spawn("reranker-0", Reranker, config.reranker, pinned=True)
    await reranker.load()
    return reranker


def _server(directory: DataDirectory, config: StartConfig) -> ServerConfig | None:
    if config.qdrant is None:
        return None
    return ServerConfig(
        url=config.qdrant.url,
        api_key=config.qdrant.api_key,
        owner=directory.node_id,
        read_s=config.mesh.recall_timeout_s,
    )


def _shard_path(directory: DataDirectory, config: StartConfig) -> str:
    """Beside the ledgers of the machine where the shard lives, which reads ~ and {ip} for itself."""
    return f"{config.replica_dir or DEFAULT_ROOT}/{directory.node_id}-index/{MACHINE}"
