"""The assembly of a mesh: directory, ledger, model and index in the order in which they depend on each other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mnemesh_actors.actor_table import ACCESS, EMBEDDER, GRAPH, LEDGER, PAIRS, RERANKER, TRANSCRIPTS
from mnemesh_actors.consumers.consumer import ConsumerSet
from mnemesh_actors.consumers.consumer_table import ConsumerParts
from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.consumers.judge_parts import JudgeParts
from mnemesh_actors.embedding.answer_reading import PACKAGED, PackagedReranker
from mnemesh_actors.embedding.embedder import EmbeddingPool
from mnemesh_actors.files.project_files import ProjectFiles
from mnemesh_actors.generations.active_index import Serving
from mnemesh_actors.generations.generation_factory import Workshop, spawn_embedders
from mnemesh_actors.generations.generation_file import Generation, GenerationFile, Generations, ModelChoice, choice_of
from mnemesh_actors.generations.reembedding import Reembedding
from mnemesh_actors.index.shard_config import ServerConfig
from mnemesh_actors.knowledge.graph_operations import Graphing
from mnemesh_actors.knowledge.graph_store import GraphStore
from mnemesh_actors.ledger.commands import Command, Committed
from mnemesh_actors.models.embedding_model import MODEL_NAME, ModelConfig, ModelInfo
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node.sleep_parts import start_sleep
from mnemesh_actors.node_ports import MeshConfig, NodePorts
from mnemesh_actors.notices import EMBEDDED_WITH, Notices
from mnemesh_actors.ports import IndexPort, LedgerPort, LedgerWrite, Rerank
from mnemesh_actors.replication.members import Move
from mnemesh_actors.replication.replica_record import read_record, refuse_elsewhere
from mnemesh_actors.replication.replicas import LEDGER_WAIT_S, Fleet
from mnemesh_actors.replication.scrubber import Scrubber
from mnemesh_actors.runtime.base import Handle, Machine, Place, Runtime
from mnemesh_actors.runtime.batch import Batcher
from mnemesh_actors.runtime.tasks import cancelled
from mnemesh_actors.sleep.idle_scheduler import SleepConfig
from mnemesh_actors.storage.data_directory import DataDirectory, load_key
from mnemesh_actors.streams.sync_port import Syncing, signing_with
from mnemesh_actors.transcripts.transcript_operations import Transcribing
from mnemesh_actors.watch.cursor_seal import CursorSeal
from mnemesh_crdt.sync.greeting import Me
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, MnemeshError, Unavailable

COMMIT_COMMANDS_MAX = 256
log = structlog.get_logger("mnemesh.start")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartConfig:
    """The needs of `start_mesh` beyond the directory and the runtime."""

    clock: Callable[[], int]
    entropy: Callable[[int], bytes]
    model: ModelConfig
    mesh: MeshConfig = field(default_factory=MeshConfig)
    qdrant: ServerConfig | None = None  # holds the index; without a server the data directory does
    reranker: ModelConfig | None = None
    replica_dir: str = ""  # on each machine of a Ray cluster; "" for the default
    ledger_wait_s: float = LEDGER_WAIT_S  # at the start, for ledgers that may hold more than those in the cluster
    workers: int = 0  # that embed; 0 for the usual number
    sleep: SleepConfig = field(default_factory=SleepConfig)


async def start_mesh(directory: DataDirectory, runtime: Runtime, config: StartConfig) -> Mesh:
    """A ready mesh. Raises what its parts raise: DataLoss, FailedPrecondition, Unavailable, each with what to do; the
    runtime is closed then."""
    async with AsyncExitStack() as undo:
        undo.push_async_callback(runtime.close)
        mesh = await _start(directory, runtime, config, undo)
        mesh.closes(undo.pop_all())
        return mesh


async def _start(directory: DataDirectory, runtime: Runtime, config: StartConfig, undo: AsyncExitStack) -> Mesh:
    notices = Notices()
    machines = await runtime.machines()
    fleet = _fleet(directory, runtime, config, machines, notices)
    if fleet is not None:
        machines = tuple(await fleet.awaited(machines))
    known = (file := GenerationFile(directory.path)).read()
    choice = known.active.choice if known else choice_of(config.model)
    places = _where_to_embed(machines, config.workers or _usual_workers(runtime, machines))
    embeds = spawn_embedders(runtime, choice.config(config.model), places)
    ledger, embedders = await _ledger_and_embedders(directory, runtime, embeds, fleet, machines, undo)
    status = await ledger.status()
    for alarm in status.alarms:
        log.error("ledger_alarm", alarm=alarm)
    workshop = Workshop(
        directory=directory,
        runtime=runtime,
        model=config.model,
        embeds_at=places,
        notice=notices,
        ledger=ledger,
        machine=_machine_of_index(fleet, machines),
        replica_dir=config.replica_dir,
        server=config.qdrant and replace(config.qdrant, owner=directory.node_id, read_s=config.mesh.recall_timeout_s),
        write_timeout_s=config.mesh.write_timeout_s,
    )
    (model, state), shard = await _model_and_index(embedders, choice, known, file, workshop)
    log.info("model_ready", name=model.name, source=model.source, generation=model.generation, dir=model.directory)
    _say_unheard(config.model, state, notices)
    for fault in embedders.faults:
        notices(f"does not embed, the others do: {fault}")
    serving = Serving(await workshop.index_generation(state.active, model, embedders, shard=shard))
    await _opened(serving.current.follower, status.seq, patient=workshop.server is not None)
    parts = NodePorts(
        ledger=ledger,
        serving=serving,
        commits=Batcher("ledger", _publishing(ledger, serving), COMMIT_COMMANDS_MAX, limits.INBOX_MESSAGES_MAX),
        clock=config.clock,
        entropy=config.entropy,
        config=config.mesh,
        news=serving.current.follower.news,
        files=ProjectFiles(directory.path),
        node_id=directory.node_id,
        reranker=await _reranker(runtime, config, serving),
        graph=(graph := await GRAPH.spawn_here(undo, str(directory.derived("graph.sqlite")))),
        pairs=await PAIRS.spawn_here(undo, str(directory.derived("pairs.sqlite"))),
    )
    key = load_key(directory.key_file)
    syncing = _syncing(parts, directory, config, status.incarnation, key)
    consumers = await _consumers(parts, notices, graph)
    if fleet is not None:
        _follow(fleet, serving, syncing, consumers)
    else:
        undo.push_async_callback(Scrubber(ledger).start().close)
    sleeping = await start_sleep(directory, runtime, parts, config.sleep, notices, undo)
    graphing = Graphing(graph, ledger, consumers, config.clock)
    said = await _transcribing(directory, config, undo)
    access = await ACCESS.spawn_here(undo, str(directory.derived("access.sqlite")))
    rest = (said, CursorSeal(key), consumers, sleeping, directory.room, graphing, access)
    (reembedding := Reembedding(serving, file, state, workshop, config.entropy)).start()
    return Mesh(parts, runtime, directory.node_id, reembedding, notices, syncing, *rest)


def _syncing(
    parts: NodePorts, directory: DataDirectory, config: StartConfig, incarnation: str, key: Ed25519PrivateKey
) -> Syncing:
    """The exchange with peers, and this node as it presents itself to them."""
    own, life = key.public_key().public_bytes_raw(), config.entropy(16).hex()
    me = Me(node_id=directory.node_id, key=own, incarnation=incarnation, life=life)
    return Syncing(parts.ledger, parts.serving.publish, parts.news, me, config.clock, signing_with(key))


async def _consumers(parts: NodePorts, notices: Notices, graph: Handle[GraphStore]) -> ConsumerSet:
    judge = JudgeParts(
        ledger=parts.ledger,
        embedder=lambda: parts.embedder,
        index=lambda: parts.follower,
        commit=parts.commits.submit,
        clock=parts.clock,
        entropy=parts.entropy,
    )
    own = ConsumerParts(
        ledger=parts.ledger,
        judge=judge,
        triggers=parts.triggers,
        rules=parts.rules,
        temporal=parts.temporal,
        graph=graph,
        pairs=parts.pairs,
        notice=notices,
        clock=parts.clock,
        publish=parts.serving.publish,
    )
    consumers = ConsumerSet(own, parts.news, parts.foreground, notices)
    await consumers.start()
    return consumers


async def _transcribing(directory: DataDirectory, config: StartConfig, undo: AsyncExitStack) -> Transcribing:
    store = await TRANSCRIPTS.spawn_here(undo, str(directory.transcripts), directory.reserve_bytes)
    return Transcribing(store, directory.transcripts, config.clock)


async def _opened(follower: IndexFollower, head: int, *, patient: bool) -> None:
    """Follow the ledger up to `head` and beyond. An index on a server may come later: what it lacks then comes from the
    ledger."""
    opened = await follower.start(head, patient=patient)
    counts = {"seq": opened.seq, "points": opened.points, "behind": head - opened.seq, "rebuilt": opened.rebuilt}
    log.info("index_away" if follower.away else "index_ready", **counts)


async def _model_and_index(
    embedders: EmbeddingPool, choice: ModelChoice, known: Generations | None, file: GenerationFile, workshop: Workshop
) -> tuple[tuple[ModelInfo, Generations], Handle[IndexPort] | None]:
    """The result of `_loaded`, and the index of that generation, opened while the model was loaded; None for an index
    that does not exist yet."""
    # An actor of Ray that turns out to be of another model could not be made anew under its name at once.
    early = known is not None and workshop.runtime.name == "local"
    ahead = asyncio.create_task(_index_ahead(workshop, known)) if known and early else None
    try:
        model, state = await _loaded(embedders, choice, known, file)
        shard = None if ahead is None else await ahead
    finally:
        await cancelled(ahead)
    if shard is not None and known is not None and state.active != known.active:
        await workshop.runtime.drop(shard)  # it holds vectors of another model
        shard = None
    return (model, state), shard


async def _index_ahead(workshop: Workshop, known: Generations) -> Handle[IndexPort]:
    """The index as it was used last. An error here shows again at the index's first use."""
    shard = await workshop.shard(known.active)
    with suppress(MnemeshError):
        await shard.open()
    return shard


async def _loaded(
    embedders: EmbeddingPool, choice: ModelChoice, known: Generations | None, file: GenerationFile
) -> tuple[ModelInfo, Generations]:
    """The model, and the state that it gives. Raises FailedPrecondition for another model than the memories are
    embedded with. A node that finds its model by itself makes the index anew instead."""
    remedy = f"put it back; or delete {file.path}, and the index is made anew with the model that the settings name"
    try:
        model = await embedders.load()
    except (InvalidArgument, Unavailable) as error:
        if known is None or choice.by_itself:
            raise
        raise FailedPrecondition(
            f"the memories are embedded with {choice.shown}, which can't be loaded ({error.message}): {remedy}",
            field="model_dir",
            value=choice.shown,
        ) from error
    active = Generation.of(model, choice, known.active.slot if known else "")
    if known is not None and known.active != active and not choice.by_itself:
        raise FailedPrecondition(
            f"the memories are embedded with generation {known.active.fingerprint} of {choice.shown}, and the files "
            f"there give {model.generation} now: {remedy}",
            field="model_dir",
            value=model.generation,
            limit=known.active.fingerprint,
        )
    state = known.with_active(active) if known else Generations(active)
    if state != known:
        file.write(state)
    return model, state


def _say_unheard(config: ModelConfig, state: Generations, notice: Notices) -> None:
    """Say that the settings name another model than the present one."""
    wanted, used = choice_of(config), state.active.choice
    if wanted in (ModelChoice(), used, state.next and state.next.choice):
        return
    how = f"--model {wanted.model or MODEL_NAME} --precision {wanted.precision}"
    notice(
        f"the settings name the model {wanted.shown}, but the memories are embedded with {used.shown}, which stays in "
        f"use: `mnemesh reembed {how}` changes over; or take model_dir and model_precision out of the settings",
        EMBEDDED_WITH,
    )


def _fleet(
    directory: DataDirectory,
    runtime: Runtime,
    config: StartConfig,
    machines: Sequence[Machine],
    notice: Callable[[str], None],
) -> Fleet | None:
    """The ledgers on several machines, or None for the one in the data directory."""
    if runtime.name == "ray" and (len(machines) > 1 or read_record(directory.path).replicas):
        chance, wait_s = config.entropy, config.ledger_wait_s
        return Fleet(directory, runtime, config.replica_dir, config.clock, chance, notice, wait_s)
    refuse_elsewhere(directory)
    return None


def _machine_of_index(fleet: Fleet | None, machines: Sequence[Machine]) -> str:
    """Not the primary ledger's machine, so that one machine does not take both; "" for this one, beside its only
    ledger."""
    if fleet is None:
        return ""
    primary = fleet.ledger.primary.machine
    return next((machine.id for machine in reversed(machines) if machine.id != primary), machines[-1].id)


def _usual_workers(runtime: Runtime, machines: Sequence[Machine]) -> int:
    """Two in this process, which share the weights. On Ray one for each machine with processors, except the machine of
    the doors."""
    return EMBEDDER.count if runtime.name == "local" else max(1, sum(machine.processors for machine in machines[1:]))


def _where_to_embed(machines: Sequence[Machine], workers: int) -> list[Place]:
    """Where each embedding worker lives. On several machines the workers live away from the doors, which need their
    processors. The first is not on the last machine, the usual place of the index. When a machine is gone, Ray takes
    another. A machine that offers no processors is left alone, unless none offers any."""
    able = [machine for machine in machines if machine.processors]
    works = bool(able)
    if len(machines) == 1 or not able:
        return [Place(roams=True, works=works)] * workers
    others = [machine for machine in able if machine != machines[0]] or able
    first = len(others) - 2
    return [
        Place(machine=others[(first - number) % len(others)].id, roams=True, works=True) for number in range(workers)
    ]


def _follow(fleet: Fleet, serving: Serving, syncing: Syncing, consumers: ConsumerSet) -> None:
    """Index, watchers, consumers and peers follow the ledger of another machine when that goes on."""

    def moved(move: Move) -> None:
        syncing.move(move.incarnation)
        serving.move(move.incarnation, move.head, move.known)
        consumers.move(move.incarnation, move.head, move.known)

    fleet.ledger.follow(serving.publish, moved, serving.expect)


async def _ledger_and_embedders(
    directory: DataDirectory,
    runtime: Runtime,
    embeds: Coroutine[Any, Any, EmbeddingPool],
    fleet: Fleet | None,
    machines: Sequence[Machine],
    undo: AsyncExitStack,
) -> tuple[Handle[LedgerPort], EmbeddingPool]:
    """The model takes longest; the ledger checks its pages meanwhile."""
    embedders = asyncio.create_task(embeds)
    try:
        if fleet is not None:
            replicated = await fleet.open(machines)
            undo.push_async_callback(fleet.close)
            return replicated, await embedders
        ledger = await LEDGER.spawn(
            runtime, str(directory.ledger(0)), str(directory.key_file), directory.node_id, directory.reserve_bytes
        )
        return ledger, await embedders
    finally:
        await cancelled(embedders)


def _publishing(
    ledger: Handle[LedgerWrite], serving: Serving
) -> Callable[[list[Command]], Awaitable[Sequence[Committed | Exception]]]:
    """The ledger's commit, followed by the news for the index: also when nobody waits for the answer any more."""

    async def commit(commands: list[Command]) -> Sequence[Committed | Exception]:
        try:
            results = await ledger.commit(commands)
        except MnemeshError:
            # A ledger that died may have committed before it could answer.
            serving.look()
            raise
        serving.committed(commands, results)
        return results

    return commit


async def _reranker(
    runtime: Runtime, config: StartConfig, serving: Serving
) -> Handle[Rerank] | PackagedReranker | None:
    """Loaded when configured, so that a node without its reranker fails at the start."""
    if config.reranker is None:
        return None
    if config.reranker.name == PACKAGED:
        return PackagedReranker(lambda: serving.current.embedder)
    reranker = await RERANKER.spawn(runtime, config.reranker)
    await reranker.load()
    return reranker
