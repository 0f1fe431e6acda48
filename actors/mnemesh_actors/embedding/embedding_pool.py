"""The workers that embed: one model for all, loaded where it is missing. A call goes to the least busy worker.

In one process the workers share the model's weights, so that a second worker costs a thread. On Ray they are processes.
A worker that is down, or can't have the model, leaves the work to the others. A worker whose machine was cut off says
nothing for the half minute until Ray gives it up. After a moment of patience another worker is asked as well, and the
first answer counts (a hedged request: Dean and Barroso, The Tail at Scale, 2013).
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
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, Unavailable

# Of text that is asked about. A worker that has nothing else to do takes a fifth of the patience for as much.
PATIENCE_CHARS = 1_000
Answer = TypeVar("Answer")
Ask: TypeAlias = Callable[[Handle[Embed]], Coroutine[Any, Any, Answer]]


class EmbeddingPool:
    """At least one worker. A worker is late `patience_s` after a call of weight 1, None where none can be cut off.
    `faults` names the workers that could not load the model when the others did."""

    def __init__(self, workers: Sequence[Handle[Embed]], patience_s: float | None = None) -> None:
        self.workers = tuple(workers)
        self._patience_s = patience_s
        self._calls = [0] * len(self.workers)
        self._late = [0] * len(self.workers)  # calls of each worker that another worker was asked, too
        self.faults: tuple[str, ...] = ()
        self._under_way: set[asyncio.Task[Any]] = set()

    @property
    def size(self) -> int:
        """How many calls the pool can be busy with at once."""
        return len(self.workers)

    @property
    def apart(self) -> bool:
        """Whether the workers are processes of their own, mostly on machines of their own."""
        return self._patience_s is not None

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

    async def _ask(self, ask: Ask[Answer], chars: int, generation: str) -> Answer:
        """The answer to `ask` of the worker with the least to do. Raises Unavailable when no worker can answer."""
        call = partial(_answer, ask=ask, generation=generation)
        order = sorted(range(len(self.workers)), key=lambda number: (self._late[number], self._calls[number]))
        if self._patience_s is not None and len(order) > 1:
            return await self._first(order, self._patience_s * (1 + chars / PATIENCE_CHARS), call)
        gone: Unavailable | None = None
        for number in order:
            self._calls[number] += 1
            try:
                return await call(self.workers[number])
            except Unavailable as error:
                gone = error
            finally:
                self._calls[number] -= 1
        assert gone is not None
        raise gone

    async def _first(self, order: Sequence[int], patience_s: float, call: Ask[Answer]) -> Answer:
        """The first answer of the workers in `order`. Each is asked when those before are late or can't answer."""
        gone: Unavailable | None = None
        waiting: dict[asyncio.Task[Answer], int] = {}
        left = iter(order)
        while (number := next(left, None)) is not None or waiting:
            if number is not None:
                waiting[self._begun(number, call(self.workers[number]))] = number
            patience = None if number is None else patience_s
            done, _ = await asyncio.wait(waiting, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if not done and number is not None:
                self._is_late(number, next(task for task, of in waiting.items() if of == number))
            for task in done:
                del waiting[task]
                try:
                    return task.result()
                except Unavailable as error:
                    gone = error
        assert gone is not None
        raise gone

    def _begun(self, number: int, call: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        """A call that continues without a caller: its worker is busy from now on until the answer."""
        task = asyncio.create_task(call, name="worker-call")
        self._calls[number] += 1
        self._under_way.add(task)
        task.add_done_callback(partial(self._ended, number))
        return task

    def _ended(self, number: int, task: asyncio.Task[Any]) -> None:
        self._calls[number] -= 1
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be left who reads it

    def _is_late(self, number: int, task: asyncio.Task[Any]) -> None:
        """Until it answers, the others are asked before it."""

        def answered(_: asyncio.Task[Any]) -> None:
            self._late[number] -= 1

        self._late[number] += 1
        task.add_done_callback(answered)


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
