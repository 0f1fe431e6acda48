"""Several workers with one model that stand for one: a call goes to the one with the least to do.

In one process they share the model's weights, so that a second one costs a thread; on Ray they are processes, spread
over the machines. One that is down, or can't have the model, leaves the work to the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from mnemesh_actors.embedding import ModelInfo
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.errors import FailedPrecondition, InvalidArgument, Unavailable


class Crew:
    """`workers` are handles of EmbeddingWorkers with one configuration, at least one. `faults` says which of them could
    not load the model when the others did."""

    def __init__(self, workers: Sequence[Handle]) -> None:
        self.workers = tuple(workers)
        self.faults: tuple[str, ...] = ()
        self._calls = [0] * len(self.workers)

    @property
    def size(self) -> int:
        """How many calls it can be busy with at once."""
        return len(self.workers)

    async def load(self) -> ModelInfo:
        """Load the model wherever it is not loaded yet. Raises what the first one raises when nobody can, and
        FailedPrecondition when machines have different ones: their vectors must never meet."""
        answers = await asyncio.gather(*(worker.load() for worker in self.workers), return_exceptions=True)
        models: list[tuple[str, ModelInfo]] = []
        faults = []
        for worker, answer in zip(self.workers, answers, strict=True):
            if isinstance(answer, Unavailable | InvalidArgument):
                faults.append(f"{worker.name}: {answer.message}")
            elif isinstance(answer, BaseException):
                raise answer
            else:
                models.append((worker.name, answer))
        if not models:
            assert isinstance(answers[0], BaseException)
            raise answers[0]
        name, model = models[0]
        for other_name, other in models[1:]:
            if other.generation != model.generation:
                raise FailedPrecondition(
                    f"{other_name} has found another model ({other.name}, generation {other.generation}, in "
                    f"{other.directory}) than {name} ({model.name}, {model.generation}): give all machines the same",
                    field="model_dir",
                    value=other.generation,
                    limit=model.generation,
                )
        self.faults = tuple(faults)
        return model

    async def ask(self, method: str, asked: str | list[str], generation: str) -> Any:
        """What the worker with the least to do answers to `method` of EmbeddingWorker, embed or reads, with the model
        of that generation. Raises Unavailable when none of them can."""
        gone: Unavailable | None = None
        for number in sorted(range(len(self.workers)), key=self._calls.__getitem__):
            self._calls[number] += 1
            try:
                return await _answer(self.workers[number], method, asked, generation)
            except Unavailable as error:
                gone = error
            finally:
                self._calls[number] -= 1
        assert gone is not None
        raise gone


async def _answer(worker: Handle, method: str, asked: str | list[str], generation: str) -> Any:
    try:
        return await getattr(worker, method)(asked)
    except Unavailable:
        # A worker whose process died has been started anew and holds no model yet.
        model: ModelInfo = await worker.load()
    if model.generation != generation:
        raise FailedPrecondition(
            f"the embedding model has changed while the node ran ({model.generation}, not {generation}); "
            "restart the node, which makes the index anew",
            field="model",
            value=model.generation,
            limit=generation,
        )
    return await getattr(worker, method)(asked)
