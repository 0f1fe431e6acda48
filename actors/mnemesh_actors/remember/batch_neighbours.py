"""Near memories within one batch: the index does not hold the batch yet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.index.neighbours import cosines
from mnemesh_actors.remember.drafts import related_of
from mnemesh_memory.policy import guard
from mnemesh_memory.values.model import Memory, Related


class Siblings:
    """The written memories of a batch, in order, with their vectors."""

    def __init__(self) -> None:
        self._vectors: list[Vector] = []
        self._memories: list[Memory] = []

    def of(self, written: Sequence[tuple[Memory, Vector]]) -> dict[str, tuple[Related, ...]]:
        """Add these to the batch. Gives up to RELATED_MAX earlier memories for each new one, the nearest first."""
        first = len(self._memories)
        self._memories += [memory for memory, _ in written]
        self._vectors += [vector for _, vector in written]
        if len(self._memories) < 2 or not written:
            return {}
        whole = np.stack(self._vectors)
        near = np.tril(cosines(whole[first:], whole), first - 1)
        found: dict[str, tuple[Related, ...]] = {}
        for row in np.flatnonzero((near >= guard.NEAR_MIN).any(axis=1)):
            memory = self._memories[first + row]
            others = np.argsort(-near[row], kind="stable")[: guard.RELATED_MAX]
            found[memory.id] = tuple(
                related_of(self._memories[other], float(near[row, other]), memory.content)
                for other in others
                if near[row, other] >= guard.NEAR_MIN and self._memories[other].space == memory.space
            )
        return found
