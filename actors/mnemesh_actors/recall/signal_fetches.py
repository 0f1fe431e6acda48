"""The needs of optional signals beside the memories, one row each: vectors, votes, nearness, a model's judgements.

A fetch gives the same sight, completed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from mnemesh_actors.generations.active_index import IndexGeneration
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.consolidation.votes import votes
from mnemesh_memory.ranking.second_look import astrocyte_votes, completion, graph_nearness, rerank
from mnemesh_memory.ranking.second_look.optional_signal import Sight
from mnemesh_memory.ranking.signals import OPTIONAL
from mnemesh_memory.values.errors import Unavailable

# A cross-encoder reads each pair anew, some 10 ms of one core.
RERANKED: Final = 20
# The share of a recall's time that it may take; then the order stays as it is.
RERANKING_SHARE: Final = 0.5


async def _vectors(parts: NodePorts, index_generation: IndexGeneration, sight: Sight) -> Sight:
    if sight.vector is None:
        return sight
    ids = list(sight.memories)
    vectors = await index_generation.follower.read(
        lambda shard: shard.vectors(ids, index_generation.embedder.generation)
    )
    return sight._replace(vectors=vectors)


async def _votes(parts: NodePorts, index_generation: IndexGeneration, sight: Sight) -> Sight:
    return sight._replace(values=votes(sight.query.text, sight.memories, parts.clock()))


async def _nearness(parts: NodePorts, index_generation: IndexGeneration, sight: Sight) -> Sight:
    if parts.graph is None:
        return sight
    spaces = sorted({memory.space for memory in sight.memories.values()})
    nearness = await parts.graph.nearness(sight.query.text, list(sight.memories), spaces, parts.clock())
    return sight._replace(values=nearness)


async def _judgements(parts: NodePorts, index_generation: IndexGeneration, sight: Sight) -> Sight:
    if parts.reranker is None:
        return sight
    shown = [look.id for look in sight.looks[:RERANKED] if look.id in sight.memories]
    texts = [sight.memories[id_].content for id_ in shown]
    try:
        async with asyncio.timeout(parts.config.recall_timeout_s * RERANKING_SHARE):
            judged = dict(zip(shown, await parts.reranker.relevance(sight.query.text, texts), strict=True))
    except TimeoutError:
        raise Unavailable("it has not answered in time", part="reranker") from None
    return sight._replace(values=judged)


FETCHES: Final[Mapping[str, Callable[[NodePorts, IndexGeneration, Sight], Awaitable[Sight]]]] = {
    completion.ROW.name: _vectors,
    astrocyte_votes.ROW.name: _votes,
    graph_nearness.ROW.name: _nearness,
    rerank.ROW.name: _judgements,
}
if wrong := FETCHES.keys() ^ {name for name, row in OPTIONAL.items() if row.fetches}:
    raise LookupError(f"FETCHES has other rows than the signals that fetch: {sorted(wrong)}")
