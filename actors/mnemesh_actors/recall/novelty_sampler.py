"""Samples of novelty of a space, from its stored vectors, when the space is first written to after a start.

Nothing is embedded, and no write waits. The newest memories stand for the space.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.runtime.tasks import begin_beside, cancelled
from mnemesh_memory.policy.dynamics.surprisal import SAMPLES_MAX
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import ListQuery

FILLED_WITH: Final = min(128, SAMPLES_MAX, limits.LIST_LIMIT_MAX)
CHANCE_BYTES: Final = 8
log = structlog.get_logger("mnemesh.novelty")


class NoveltySampler:
    """`parts.novelties` gets a sample for each space in use."""

    def __init__(self, parts: NodePorts) -> None:
        self._parts = parts
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, space: str) -> None:
        """A memory was written there."""
        if self._parts.novelties.knows(space):
            return
        self._parts.novelties.begin(space)
        begin_beside(self._tasks, self._fill(space), "novelty-filling")

    async def close(self) -> None:
        """Give up what was begun: a sample is a hint, and a shard that is gone never answers."""
        await cancelled(*self._tasks)

    async def _fill(self, space: str) -> None:
        parts = self._parts
        try:
            page = await parts.ledger.page(ListQuery(within=(space,), limit=FILLED_WITH))
            with parts.serving.current.held() as index_generation:
                stored = await index_generation.embedder.stored_of(parts.ledger, page.memories)
                known = [(id_, of[0]) for id_, of in stored.items() if of]
                asked = [(vector, space) for _, vector in known]
                near: list[list[tuple[str, float]]] = await index_generation.follower.read(
                    lambda shard: shard.neighbours_batch(asked, 2, index_generation.embedder.generation)
                )
        except MnemeshError as error:  # a hint of the next answers less
            log.warning("novelty_not_sampled", space=space, reason=error.message)
            return
        for (id_, _), neighbours in zip(known, near, strict=True):
            others = [cosine for other, cosine in neighbours if other != id_]
            if others:
                chance = int.from_bytes(parts.entropy(CHANCE_BYTES))
                parts.novelties.note(space, min(1.0, max(0.0, 1.0 - max(others))), chance)
