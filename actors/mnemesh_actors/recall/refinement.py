"""The second look at the best of an answer: reads their texts, fetches vectors, asks a cross-encoder. Decides nothing.

Nothing without a weight is fetched, so a recall without weights costs one look at the question's text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import numpy as np

from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.generations.active_index import VectorSpace
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.policy.recall_rules import weighed
from mnemesh_memory.ranking import hopfield, hyperdimensional
from mnemesh_memory.ranking.fusion import OPTIONAL, Fused
from mnemesh_memory.ranking.second_look import (
    LOOKED_AT,
    Look,
    diverse,
    held,
    lifted,
    lowered,
    mixed,
    pairs_asked,
    pairs_of,
    phrases_of,
)
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError
from mnemesh_memory.values.model import Memory, Query

# A cross-encoder reads each pair anew, some 10 ms of one core.
RERANKED = 20
# Signals that are read or computed only when their weight is above 0.
COSTLY = ("structure", "completion", "rerank", "diversity")


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
    phrases = phrases_of(query.text) if weights["phrases"] else ()
    rules = [rule for rule in parts.config.rules if rule.weight]
    if not fused or not (phrases or rules or any(weights[name] for name in COSTLY)):
        return fused, ()
    first = fused[:LOOKED_AT]
    memories = await read([item.id for item in first])
    failed: list[str] = []
    values: dict[str, Mapping[str, float]] = {}
    if phrases:
        values["phrases"] = {id_: held(phrases, memory.content) for id_, memory in memories.items()}
    if weights["structure"]:
        values["structure"] = _structure(query, memories)
    if weights["completion"] and vector is not None:
        values["completion"] = await _or_nothing(_completion(space, vector, list(memories)), "completion", failed)
    by_rules = {id_: weighed(memory, rules) for id_, memory in memories.items()} if rules else {}
    values["rules"] = {id_: more for id_, (more, _) in by_rules.items()}
    looks = lifted([Look(item.id, item.score) for item in first], values, {**weights, "rules": 1.0})
    looks = lowered(looks, {id_: less for id_, (_, less) in by_rules.items()}, "rules")
    if weights["rerank"]:
        told = await _or_nothing(_relevance(parts, query, looks, memories), "reranker", failed)
        looks = mixed(looks, told, weights["rerank"]) if told else looks
    if weights["diversity"]:
        texts = {id_: memory.content for id_, memory in memories.items()}
        looks = diverse(looks, texts, weights["diversity"], query.limit)
    by_id = {item.id: item for item in first}
    seen = [by_id[look.id]._replace(score=look.score, more=look.parts) for look in looks]
    return sorted([*seen, *fused[LOOKED_AT:]], key=lambda item: (-item.score, item.id)), tuple(failed)


def optional_weights(parts: NodePorts, query: Query) -> dict[str, float]:
    """How much each optional signal counts in this recall. Raises InvalidArgument for one that is not to be had."""
    given = {**OPTIONAL, **parts.config.weights, **query.weights}
    if given["rerank"] and parts.reranker is None:
        raise InvalidArgument("weights.rerank", given["rerank"], "0 on this node: it has no reranker_model")
    return {name: given[name] for name in OPTIONAL}


async def _or_nothing(values: Awaitable[dict[str, float]], part: str, failed: list[str]) -> dict[str, float]:
    """The values of a signal; none, and the reason among `failed`, when its part is down."""
    try:
        return await values
    except MnemeshError as error:
        failed.append(f"{part}: {error.message}")
        return {}


def _structure(query: Query, memories: Mapping[str, Memory]) -> dict[str, float]:
    known = {id_: pairs_of(memory) for id_, memory in memories.items()}
    asked = pairs_asked(query.text, question_of(query.text), known.values())
    if not asked:
        return {}
    alike = hyperdimensional.likeness(
        hyperdimensional.bundled(asked), [hyperdimensional.bundled(pairs) for pairs in known.values()]
    )
    return dict(zip(known, np.clip(alike, 0.0, 1.0).tolist(), strict=True))


async def _completion(space: VectorSpace, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
    found: dict[str, Vector] = await space.follower.read(lambda shard: shard.vectors(ids, space.embedder.generation))
    if not found:
        return {}
    patterns = np.stack(list(found.values()))
    alike = hopfield.resemblance(hopfield.completed(vector, patterns), patterns)
    return dict(zip(found, alike.tolist(), strict=True))


async def _relevance(
    parts: NodePorts, query: Query, looks: Sequence[Look], memories: Mapping[str, Memory]
) -> dict[str, float]:
    assert parts.reranker is not None
    shown = [look.id for look in looks[:RERANKED] if look.id in memories]
    values = await parts.reranker.relevance(query.text, [memories[id_].content for id_ in shown])
    return dict(zip(shown, values, strict=True))
