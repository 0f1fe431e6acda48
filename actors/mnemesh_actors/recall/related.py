"""The neighbourhood of a memory: nearest by stored vectors, beside it in its session or in time, linked either way.

Nothing is embedded for it, and asking is no use of what is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.generations.active_index import IndexGeneration
from mnemesh_actors.memory_lookup import find_many, granted
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.access import grants
from mnemesh_memory.policy.dynamics.engram import in_words
from mnemesh_memory.policy.judge import guard
from mnemesh_memory.ranking.answers import Nearby, Neighbourhood, left_out
from mnemesh_memory.text.text import snippet
from mnemesh_memory.validation import field_checks
from mnemesh_memory.validation.filters import states_rule
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.memory_links import MAY_REPLACE, OUT
from mnemesh_memory.values.model import Caller, Memory

# Neighbours on each side in the session.
BESIDE: Final = 3
# One of so many results is a neighbour in time, if there is any.
IN_TIME_SHARE: Final = 4
SCORE_DECIMALS: Final = 6


async def related(
    parts: NodePorts, caller: Caller, key: str, limit: int = 10, spaces: Sequence[str] = ()
) -> Neighbourhood:
    """Up to `limit` active memories that the caller may read, without the one of `key`. Ends of its links come first,
    then the nearest by cosine, equal ones by id. A title is looked for in `spaces`. Raises NotFound,
    InvalidArgument."""
    field_checks.whole("limit", limit, 1, limits.RELATED_LIMIT_MAX)
    (middle,) = await find_many(parts, caller, [key], spaces=spaces)
    if isinstance(middle, MnemeshError):
        raise middle
    with parts.serving.current.held() as index_generation:
        return await _around(parts, index_generation, caller, middle, limit)


async def _around(
    parts: NodePorts, index_generation: IndexGeneration, caller: Caller, middle: Memory, limit: int
) -> Neighbourhood:
    """`related` by the vectors of one generation."""
    reasons: dict[str, list[str]] = {}
    ends = await parts.ledger.linked([middle.id], grants.readable(caller))
    for end in ends[middle.id][0] if middle.id in ends else ():
        if end.id and end.type != MAY_REPLACE:  # a title may lead nowhere, and a mere mark brings in nothing
            way = "linked by it" if end.direction == OUT else "links to it"
            reasons.setdefault(end.id, []).append(f"{way}: {end.type}")
    linked = set(reasons)
    if middle.source.session:
        line, here = await parts.ledger.timeline(middle.id, BESIDE, BESIDE)
        for place, memory in enumerate(line):
            side = f"{abs(place - here)} {'before' if place < here else 'after'}"
            reasons.setdefault(memory.id, []).append(f"same session: {side}")
    in_time = parts.temporal.neighbours(middle.id) if parts.config.temporal_neighbours else []
    for neighbour in in_time:
        reasons.setdefault(neighbour.id, []).append(in_words(neighbour))
    own = (await index_generation.embedder.stored_of(parts.ledger, [middle]))[middle.id]
    near, degraded = await _nearest(index_generation, middle, own, limit + 1)
    for id_ in near:
        reasons.setdefault(id_, []).append("similar text")
    reasons.pop(middle.id, None)
    memories = await parts.ledger.read(list(reasons))
    if absent := [id_ for id_ in reasons if id_ not in memories]:
        degraded = (*degraded, *left_out(await parts.ledger.lost(absent, grants.readable(caller))))
    shown = [other for other in memories.values() if other.state == "active" and grants.may_read(caller, other.space)]
    shown = [other for other in shown if not states_rule(other)]
    shown = await granted(parts, caller, shown)
    theirs = await index_generation.embedder.stored_of(parts.ledger, [other for other in shown if other.id not in near])
    nearby = [
        Nearby(
            memory=other,
            score=round(min(1.0, max(0.0, near.get(other.id, _cosine(own, theirs.get(other.id, []))))), SCORE_DECIMALS),
            reasons=tuple(reasons[other.id]),
            snippet=snippet(other.content, middle.title or middle.content[: limits.SNIPPET_CHARS_MAX]),
        )
        for other in shown
    ]
    nearby.sort(key=lambda hit: (hit.memory.id not in linked, -hit.score, hit.memory.id))
    results = with_some(nearby, {neighbour.id for neighbour in in_time}, limit)
    return Neighbourhood(id=middle.id, results=tuple(results), degraded=degraded)


def with_some(nearby: Sequence[Nearby], wanted: Collection[str], limit: int) -> list[Nearby]:
    """The first `limit`. One in IN_TIME_SHARE of them is of `wanted` if there are so many, in the order of all: the
    texts of neighbours in time may have little in common."""
    extra = [hit for hit in nearby[limit:] if hit.memory.id in wanted]
    lacking = limit // IN_TIME_SHARE - sum(hit.memory.id in wanted for hit in nearby[:limit])
    added = extra[: max(0, lacking)]
    return [*nearby[: limit - len(added)], *added]


async def _nearest(
    index_generation: IndexGeneration, middle: Memory, own: list[Vector], number: int
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Cosines of the nearest memories of its space that are worth a look, and why there are none."""
    if not own:
        return {}, ("index: the text is not embedded yet",)
    asked = [(vector, middle.space) for vector in own]
    try:
        lists: list[list[tuple[str, float]]] = await index_generation.follower.read(
            lambda shard: shard.neighbours_batch(asked, number, index_generation.embedder.generation)
        )
    except MnemeshError as error:
        return {}, (f"index: {error.message}; only links and the session are looked at",)
    best: dict[str, float] = {}
    for id_, cosine in (pair for hits in lists for pair in hits if pair[1] >= guard.NEAR_MIN):
        best[id_] = max(cosine, best.get(id_, 0.0))
    return best, ()


def _cosine(some: list[Vector], others: list[Vector]) -> float:
    """The best of all pairs of unit vectors; 0 without any."""
    if not some or not others:
        return 0.0
    return float((np.stack(some) @ np.stack(others).T).max())
