"""The needs of optional signals beside the memories, one row each: vectors, votes, nearness, a model's judgements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.generations.active_index import VectorSpace
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.consolidation.votes import votes
from mnemesh_memory.ranking.second_look import astrocyte_votes, completion, graph_nearness, rerank
from mnemesh_memory.ranking.second_look.optional_signal import Sight

# A cross-encoder reads each pair anew, some 10 ms of one core.
RERANKED: Final = 20


async def _vectors(parts: NodePorts, space: VectorSpace, sight: Sight) -> tuple[Vector, Mapping[str, Vector]] | None:
    if sight.vector is None:
        return None
    ids = list(sight.memories)
    vectors = await space.follower.read(lambda shard: shard.vectors(ids, space.embedder.generation))
    return (sight.vector, vectors) if vectors else None


async def _votes(parts: NodePorts, space: VectorSpace, sight: Sight) -> Mapping[str, float]:
    return votes(sight.query.text, sight.memories, parts.clock())


async def _nearness(parts: NodePorts, space: VectorSpace, sight: Sight) -> Mapping[str, float] | None:
    if parts.graph is None:
        return None
    spaces = {memory.space for memory in sight.memories.values()}
    return await parts.graph.nearness(sight.query.text, list(sight.memories), sorted(spaces), parts.clock())


async def _judgements(parts: NodePorts, space: VectorSpace, sight: Sight) -> Mapping[str, float] | None:
    if parts.reranker is None:
        return None
    shown = [look.id for look in sight.looks[:RERANKED] if look.id in sight.memories]
    texts = [sight.memories[id_].content for id_ in shown]
    return dict(zip(shown, await parts.reranker.relevance(sight.query.text, texts), strict=True))


# By signal what becomes its `Sight.fetched`.
FETCHES: Final[Mapping[str, Callable[[NodePorts, VectorSpace, Sight], Awaitable[Any]]]] = {
    completion.ROW.name: _vectors,
    astrocyte_votes.ROW.name: _votes,
    graph_nearness.ROW.name: _nearness,
    rerank.ROW.name: _judgements,
}
