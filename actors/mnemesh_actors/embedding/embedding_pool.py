"""The workers that embed: one model for all, loaded where it is missing.

In one process the workers share the model's weights, so that a second worker costs a thread. On Ray they are processes.
A worker that is down, or can't have the model, leaves its work to the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from mnemesh_actors.models.embedding_model import ModelInfo
from mnemesh_actors.models.worker import Vectors
from mnemesh_actors.ports import Embed
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.worker_pool import WorkerPool
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, Unavailable

# Of text that is asked about. A worker that has nothing else to do takes a fifth of the patience for as much.
PATIENCE_CHARS = 1_000
Answer = TypeVar("Answer")
Ask: TypeAlias = Callable[[Handle[Embed]], Coroutine[Any, Any, Answer]]


class EmbeddingPool(WorkerPool[Embed]):
    """`faults` names the workers that could not load the model when the others did."""

    def __init__(self, workers: Sequence[Handle[Embed]], patience_s: float | None = None) -> None:
        super().__init__(workers, patience_s, rounds=1)  # each call asks a worker that was started anew once more
        self.faults: tuple[str, ...] = ()

    async def load(self) -> ModelInfo:
        """Load the model wherever it is not loaded yet. Raises what the first worker raises when none can load, and
        FailedPrecondition when machines have different models: their vectors must never meet."""
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

    async def embed(self, texts: list[str], generation: str) -> Vectors:
        """The vectors of `texts`, made by the model of `generation`. Raises Unavailable when no worker can."""
        return await self._ask(lambda worker: worker.embed(texts), sum(map(len, texts)), generation)

    async def reads(self, text: str, generation: str) -> bool:
        """Whether the model knows any word of `text`."""
        return await self._ask(lambda worker: worker.reads(text), len(text), generation)

    async def read_pairs(self, pairs: list[tuple[str, str]], generation: str) -> Vectors:
        """Of each pair (older, newer) of texts how likely the newer one says the same, gives another value, or neither.
        Raises Unavailable when no worker can read pairs."""
        size = sum(len(older) + len(newer) for older, newer in pairs)
        return await self._ask(lambda worker: worker.read_pairs(pairs), size, generation)

    async def _ask(self, ask: Ask[Answer], chars: int, generation: str) -> Answer:
        return await self.ask(partial(_answer, ask=ask, generation=generation), 1 + chars / PATIENCE_CHARS)


async def _answer(worker: Handle[Embed], ask: Ask[Answer], generation: str) -> Answer:
    try:
        return await ask(worker)
    except Unavailable:
        # A worker whose process died has been started anew and holds no model yet.
        model = await worker.load()
    if model.generation != generation:
        raise FailedPrecondition(
            f"the embedding model has changed while the node ran ({model.generation}, not {generation}); "
            "restart the node, which makes the index anew",
            field="model",
            value=model.generation,
            limit=generation,
        )
    return await ask(worker)
