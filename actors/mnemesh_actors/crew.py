"""Several workers with one model that stand for one: a call goes to the one with the least to do.

In one process they share the model's weights, so that a second one costs a thread; on Ray they are processes, spread
over the machines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from mnemesh_actors.embedding import ModelInfo
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.errors import FailedPrecondition


class Crew:
    """`workers` are handles of EmbeddingWorkers with one configuration, at least one. Raises what they raise."""

    def __init__(self, workers: Sequence[Handle]) -> None:
        self.workers = tuple(workers)
        self._calls = [0] * len(self.workers)

    @property
    def size(self) -> int:
        """How many calls it can be busy with at once."""
        return len(self.workers)

    async def load(self) -> ModelInfo:
        """Load the model wherever it is not loaded yet. Raises FailedPrecondition when machines have different ones:
        their vectors must never meet."""
        first, *others = await asyncio.gather(*(worker.load() for worker in self.workers))
        for number, other in enumerate(others, start=1):
            if other.generation != first.generation:
                raise FailedPrecondition(
                    f"{self.workers[number].name} has found another model ({other.name}, generation {other.generation},"
                    f" in {other.directory}) than {self.workers[0].name} ({first.name}, {first.generation}): give all "
                    "machines the same one",
                    field="model_dir",
                    value=other.generation,
                    limit=first.generation,
                )
        model: ModelInfo = first
        return model

    async def ask(self, method: str, asked: str | list[str]) -> Any:
        """What the worker with the least to do answers to `method` of EmbeddingWorker, embed or reads."""
        idlest = min(range(len(self.workers)), key=self._calls.__getitem__)
        self._calls[idlest] += 1
        try:
            return await getattr(self.workers[idlest], method)(asked)
        finally:
            self._calls[idlest] -= 1
