"""Makes the index of a generation and removes it: the actors of model and index, and the place of the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mnemesh_actors.actor_table import EMBEDDER, SHARD
from mnemesh_actors.consumers.consumer_table import INDEX, NEXT_INDEX
from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.embedding.embedder import Embedder, EmbeddingPool
from mnemesh_actors.generations.active_index import IndexGeneration
from mnemesh_actors.generations.generation_file import Generation, ModelChoice
from mnemesh_actors.index.shard_config import MACHINE, ServerConfig, ShardConfig
from mnemesh_actors.ledger.replica_ledger import DEFAULT_ROOT
from mnemesh_actors.models.embedding_model import ModelConfig, ModelInfo
from mnemesh_actors.notices import Notice, Notices
from mnemesh_actors.ports import IndexPort, LedgerPort
from mnemesh_actors.runtime.base import Handle, Place, Runtime
from mnemesh_actors.storage.data_directory import DataDirectory
from mnemesh_memory.values import limits

# Half of what a recall gives its question's embedding.
PATIENCE_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """`machine` is the place of the indexes, "" for this one; `replica_dir` their folder there. `server` holds them
    instead, if there is one. `embeds_at` is where each worker is spawned."""

    directory: DataDirectory
    runtime: Runtime
    model: ModelConfig
    embeds_at: Sequence[Place]
    notice: Notices
    ledger: Handle[LedgerPort]
    machine: str = ""
    replica_dir: str = ""
    server: ServerConfig | None = None
    write_timeout_s: float = limits.WRITE_TIMEOUT_S

    async def embedders(self, choice: ModelChoice, suffix: str) -> EmbeddingPool:
        """The workers for that model, which is not loaded yet."""
        return await spawn_embedders(self.runtime, choice.config(self.model), self.embeds_at, suffix)

    async def dismiss(self, embedders: EmbeddingPool) -> None:
        """End the workers."""
        for worker in embedders.workers:
            await self.runtime.drop(worker)

    async def index_generation(
        self,
        generation: Generation,
        model: ModelInfo,
        embedders: EmbeddingPool,
        beside: IndexGeneration | None = None,
        shard: Handle[IndexPort] | None = None,
    ) -> IndexGeneration:
        """The generation of that model; `shard` is its index when already open. `beside` is the one that answers
        meanwhile."""
        shard = shard or await self.shard(generation)
        yields_to, news, row = None, None, INDEX
        notice: Callable[[str], None] = self.notice
        if beside is not None:
            yields_to, news, row = beside.embedder, beside.follower.news, NEXT_INDEX
            notice = self._of_the_next
        embedder = Embedder(
            embedders,
            generation.fingerprint,
            generation.dimensions,
            yields_to=yields_to,
            prefixes=model.prefixes,
            pairs=model.pairs,
            pair_reader=model.pair_reader,
            questions=model.questions,
            answers=model.answers,
            asked=model.asked,
        )
        apart = self.machine and self.server is None
        follower = IndexFollower(
            self.ledger,
            shard,
            embedder,
            notice,
            self.write_timeout_s,
            news,
            row.page_entries,
            partial(self.runtime.answers, shard) if apart else None,
        )
        return IndexGeneration(
            generation=generation,
            embedder=embedder,
            follower=follower,
            shard=shard,
            source=model.source,
            backend=self._config(generation, "").shown,
        )

    async def end(self, index_generation: IndexGeneration) -> None:
        """Remove the index of a generation that nothing uses any more, and end its actors."""
        try:
            await index_generation.shard.remove()
        finally:
            await self.runtime.drop(index_generation.shard)
            await self.dismiss(index_generation.embedder.workers)

    async def remove(self, generation: Generation) -> None:
        """Remove the index of a generation that has no actors."""
        shard = await self._spawned(self._config(generation, ""), generation)
        try:
            await shard.remove()
        finally:
            await self.runtime.drop(shard)

    def _of_the_next(self, text: str) -> None:
        subject = f"reembed {text.subject}" if isinstance(text, Notice) else ""
        self.notice(text and f"reembed: {text}", subject)

    async def shard(self, generation: Generation) -> Handle[IndexPort]:
        """The index of a generation, for the ledger as it is now; not open yet."""
        status = await self.ledger.status()
        return await self._spawned(self._config(generation, status.incarnation), generation)

    async def _spawned(self, config: ShardConfig, generation: Generation) -> Handle[IndexPort]:
        place = Place(machine=self.machine, roams=True) if self.machine else SHARD.place
        if self.server is not None:  # its client, which needs no other machine
            place = Place(here=True)
        return await SHARD.spawn(self.runtime, config, name=f"0{generation.suffix}", place=place)

    def _config(self, generation: Generation, incarnation: str) -> ShardConfig:
        return ShardConfig(
            path=self._path(generation.suffix),
            generation=generation.fingerprint,
            dimensions=generation.dimensions,
            incarnation=incarnation,
            reserve_bytes=self.directory.reserve_bytes,
            server=None if self.server is None else replace(self.server, suffix=generation.suffix),
        )

    def _path(self, suffix: str) -> str:
        """On several machines beside the ledgers of the one where the shard lives, which reads ~ and {ip} itself."""
        if not self.machine or self.server is not None:
            return f"{self.directory.index(0)}{suffix}"
        return f"{self.replica_dir or DEFAULT_ROOT}/{self.directory.node_id}-index{suffix}/{MACHINE}"


async def spawn_embedders(
    runtime: Runtime, config: ModelConfig, places: Sequence[Place], suffix: str = ""
) -> EmbeddingPool:
    """Workers for embedding, one at each place; `load` loads their model. When one can't be made, none is left."""
    workers = await EMBEDDER.spawn_each(runtime, config, places=places, suffix=suffix)
    return EmbeddingPool(workers, None if runtime.name == "local" else PATIENCE_S)
