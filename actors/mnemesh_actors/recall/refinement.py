"""The second look at the best of an answer: reads their texts, fetches vectors, asks a cross-encoder. Decides nothing.

Nothing without a weight is fetched, so a recall without weights costs one look at the question's text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.generations.active_index import VectorSpace
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.consolidation.votes import votes
from mnemesh_memory.policy.rules.recall_rules import weighed
from mnemesh_memory.ranking.fusion import Fused
from mnemesh_memory.ranking.second_look import LOOKED_AT, Look, Sight, lifted, lowered
from mnemesh_memory.ranking.signals import OPTIONAL
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError
from mnemesh_memory.values.model import Memory, Query

# A cross-encoder reads each pair anew, some 10 ms of one core.
RERANKED = 20


async def second_look(
    parts: NodePorts,
    space: VectorSpace,
    query: Query,
    vector: Vector | None,
    fused: Sequence[Fused],
    read: Callable[[Sequence[str]], Awaitable[Mapping[str, Memory]]],
) -> tuple[Sequence[Fused], tuple[str, ...]]:
    """The candidates, best first, and which signal could not be had, with the reason. `read` gives memories as they
    are shown."""
    weights = optional_weights(parts, query)
    signals = [row for row in OPTIONAL.values() if weights[row.name] and row.concerns(query.text)]
    gains = [(row.name, row.gain) for row in signals if row.gain]
    changes = [(row.name, row.change) for row in signals if row.change]
    rules = query.weighing
    if not fused or not (gains or changes or rules):
        return fused, ()
    first = fused[:LOOKED_AT]
    sight = Sight(query, weights, await read([item.id for item in first]))
    looks = [Look(item.id, item.score) for item in first]
    failed: list[str] = []

    async def seen(name: str) -> Sight:
        try:
            return sight._replace(fetched=await _fetched(name, parts, space, vector, looks, sight))
        except MnemeshError as error:
            failed.append(f"{'reranker' if name == 'rerank' else name}: {error.message}")
            return sight

    values = {name: gain(await seen(name)) for name, gain in gains}
    by_rules = {id_: weighed(memory, rules) for id_, memory in sight.memories.items()} if rules else {}
    values["rules"] = {id_: more for id_, (more, _) in by_rules.items()}
    looks = lifted(looks, values, {**weights, "rules": 1.0})
    looks = lowered(looks, {id_: less for id_, (_, less) in by_rules.items()}, "rules")
    for name, change in changes:
        looks = change(looks, await seen(name))
    by_id = {item.id: item for item in first}
    again = [by_id[look.id]._replace(score=look.score, more=look.parts) for look in looks]
    return sorted([*again, *fused[LOOKED_AT:]], key=lambda item: (-item.score, item.id)), tuple(failed)


def optional_weights(parts: NodePorts, query: Query) -> dict[str, float]:
    """How much each optional signal counts in this recall. Raises InvalidArgument for one that is not to be had."""
    given = {**parts.config.weights, **query.weights}
    weights = {name: given.get(name, row.weight) for name, row in OPTIONAL.items()}
    if weights["rerank"] and parts.reranker is None:
        raise InvalidArgument("weights.rerank", weights["rerank"], "0 on this node: it has no reranker_model")
    return weights


async def _fetched(
    name: str, parts: NodePorts, space: VectorSpace, vector: Vector | None, looks: Sequence[Look], sight: Sight
) -> Any:
    """The needs of a signal beside the memories: vectors from the index, judgements of the cross-encoder."""
    if name == "completion" and vector is not None:
        ids = list(sight.memories)
        vectors = await space.follower.read(lambda shard: shard.vectors(ids, space.embedder.generation))
        return (vector, vectors) if vectors else None
    if name == "votes":
        return votes(sight.query.text, sight.memories, parts.clock())
    if name == "graph" and parts.graph is not None:
        spaces = {memory.space for memory in sight.memories.values()}
        return await parts.graph.nearness(sight.query.text, list(sight.memories), sorted(spaces), parts.clock())
    if name == "rerank" and parts.reranker is not None:
        shown = [look.id for look in looks[:RERANKED] if look.id in sight.memories]
        texts = [sight.memories[id_].content for id_ in shown]
        return dict(zip(shown, await parts.reranker.relevance(sight.query.text, texts), strict=True))
    return None
