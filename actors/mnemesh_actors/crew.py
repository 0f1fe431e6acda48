"""Several workers with one model that stand for one: a call goes to the one with the least to do.

In one process they share the model's weights, so that a second one costs a thread; on Ray they are processes, spread
over the machines. One that is down, or can't have the model, leaves the work to the others. One whose machine was cut
off says nothing for the half minute until Ray gives it up: after a moment of patience another is asked as well, and
the first answer counts (a hedged request: Dean and Barroso, The Tail at Scale, 2013).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

from mnemesh_actors.embedding import ModelInfo
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.errors import FailedPrecondition, InvalidArgument, Unavailable

# Of text that is asked about; a worker that has nothing else to do takes a fifth of the patience for as much.
PATIENCE_CHARS = 1_000


class Crew:
    """`workers` are handles of EmbeddingWorkers with one configuration, at least one. Who has not answered after
    `patience_s`, and as long again for each PATIENCE_CHARS asked, is late; None where none can be cut off. `faults`
    says which of them could not load the model when the others did."""

    def __init__(self, workers: Sequence[Handle], patience_s: float | None = None) -> None:
        self.workers = tuple(workers)
        self.faults: tuple[str, ...] = ()
        self._patience_s = patience_s
        self._calls = [0] * len(self.workers)
        self._late = [0] * len(self.workers)  # of the calls, those that another worker was asked, too
        self._under_way: set[asyncio.Task[Any]] = set()

    @property
    def size(self) -> int:
        """How many calls it can be busy with at once."""
        return len(self.workers)

    @property
    def apart(self) -> bool:
        """Whether its workers are processes of their own, mostly on machines of their own."""
        return self._patience_s is not None

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
        order = sorted(range(len(self.workers)), key=lambda number: (self._late[number], self._calls[number]))
        if self._patience_s is not None and len(order) > 1:
            chars = sum(map(len, asked))
            return await self._first(order, self._patience_s * (1 + chars / PATIENCE_CHARS), method, asked, generation)
        gone: Unavailable | None = None
        for number in order:
            try:
                return await self._call(number, method, asked, generation)
            except Unavailable as error:
                gone = error
        assert gone is not None
        raise gone

    async def _first(
        self, order: Sequence[int], patience_s: float, method: str, asked: str | list[str], generation: str
    ) -> Any:
        """The first answer of those in `order`, of whom each is asked when the ones before are late or can't."""
        gone: Unavailable | None = None
        waiting: dict[asyncio.Task[Any], int] = {}
        left = iter(order)
        while (number := next(left, None)) is not None or waiting:
            if number is not None:
                waiting[self._begun(number, _answer(self.workers[number], method, asked, generation))] = number
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

    async def _call(self, number: int, method: str, asked: str | list[str], generation: str) -> Any:
        self._calls[number] += 1
        try:
            return await _answer(self.workers[number], method, asked, generation)
        finally:
            self._calls[number] -= 1

    def _begun(self, number: int, call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A call that goes on whoever waits for it: its worker is busy from now on until it answers."""
        task = asyncio.create_task(call, name="embedding")
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
