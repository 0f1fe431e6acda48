"""Embedding the memories with another model while the node serves, and then changing over in one step.

Duties, in order:

1. Load the model, and write down that its generation is being made.
2. Follow the ledger from its beginning into a new index, a little at a time, behind readers and writers.
3. Once the new index holds as much as the old one, write down the change and switch.
4. Remove the old index after its last use.

A node that stops or dies goes on, at its next start, from the state in the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from mnemesh_actors.embedding.embedder import EmbeddingPool
from mnemesh_actors.generations.active_index import IndexGeneration, Serving, model_status
from mnemesh_actors.generations.generation_factory import Workshop
from mnemesh_actors.generations.generation_file import Generation, GenerationFile, Generations, ModelChoice
from mnemesh_actors.ledger.store.vectors import FIRST, Key
from mnemesh_actors.models.embedding_model import PRECISIONS, ModelInfo
from mnemesh_actors.notices import EMBEDDED_WITH
from mnemesh_actors.runtime.tasks import cancelled
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, MnemeshError
from mnemesh_memory.values.model_status import ReembedStatus

MODEL_CHARS_MAX = 1024
SLOT_BYTES = 4
# A failed step is tried again after this.
PAUSE_S = 1.0
# Operations that began with the old model may take so long.
LEAVE_S = 60.0
log = structlog.get_logger("mnemesh.reembed")


@dataclass(eq=False)
class Reembedding:
    """`state` is what `file` holds. `entropy(n)` gives n random bytes."""

    serving: Serving
    file: GenerationFile
    state: Generations
    workshop: Workshop
    entropy: Callable[[int], bytes]
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _cleaning: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _making: asyncio.Task[None] | None = field(default=None, init=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _fault: str = field(default="", init=False)
    _left: IndexGeneration | None = field(default=None, init=False)  # the former one, until removed

    def __post_init__(self) -> None:
        self.serving.unreached = self._unreached

    def start(self) -> None:
        """Go on where the node stopped."""
        if self.state.next is not None:
            self._making = self._spawn(self._make(self.state.next, None), "reembed")
        self._spawn(self._clean(), "reembed-clean")

    async def begin(self, choice: ModelChoice) -> ReembedStatus:
        """Begin to embed everything with that model, or go on after a fault; when it answers already, nothing is done.
        Raises InvalidArgument, Unavailable (no such model), FailedPrecondition (another one is being made)."""
        _check(choice)
        async with self._one_at_a_time:
            making = self.state.next
            if making is not None and making.choice != choice:
                raise FailedPrecondition(
                    f"the memories are being embedded with {making.choice.shown}; wait for it (`mnemesh reembed` shows "
                    "how far it is), or end it with `mnemesh reembed --cancel`",
                    field="model",
                    value=choice.shown,
                )
            if making is None:
                await self._begin(choice)
            elif self._making is None or self._making.done():
                self._making = self._spawn(self._make(making, None), "reembed")
            return self.status()

    async def _begin(self, choice: ModelChoice) -> None:
        slot = self.entropy(SLOT_BYTES).hex()
        embedders = await self.workshop.embedders(choice, f"-{slot}")
        try:
            model = await _load(embedders, choice)
            if model.generation == self.state.active.fingerprint:
                await self.workshop.dismiss(embedders)
                return
            generation = Generation.of(model, choice, slot)
            self._keep(self.state.begun(generation))
        except BaseException:  # boundary: let go, then raised again
            await self.workshop.dismiss(embedders)
            raise
        log.info("reembed_began", name=model.name, generation=model.generation, slot=slot)
        self._making = self._spawn(self._make(generation, embedders), "reembed")

    async def cancel(self) -> ReembedStatus:
        """Give up what is being made, and remove it; nothing when nothing is. The model that answers stays."""
        async with self._one_at_a_time:
            if self.state.next is not None:
                await cancelled(self._making)
            if (given_up := self.state.next) is not None:  # it may have changed over meanwhile
                index_generation, self.serving.next = self.serving.next, None
                self._keep(self.state.cancelled())
                self._fault = ""
                if index_generation is not None:
                    async with self._cleaning:
                        await self._end(index_generation)
                log.info("reembed_cancelled", name=given_up.name)
                self._spawn(self._clean(), "reembed-clean")
            return self.status()

    def status(self) -> ReembedStatus:
        """How far it is."""
        making, index_generation = self.state.next, self.serving.next
        if making is None:
            return ReembedStatus()
        fault = self._fault or (index_generation.follower.fault if index_generation is not None else "")
        follower = self.serving.current.follower if index_generation is None else index_generation.follower
        return ReembedStatus(
            state="stalled" if fault else "loading" if index_generation is None else "embedding",
            model=model_status(making, index_generation),
            done=0 if index_generation is None else index_generation.follower.applied,
            total=follower.head,
            fault=fault,
        )

    def _unreached(self) -> str:
        if self.state.leaving:
            return f"the index of {self.state.leaving[-1].choice.shown}, which answers no more, is still to be removed"
        if self.state.next is not None and self.serving.next is None:
            return "the index that `reembed` is making is not open, and drops it in its turn"
        return ""

    async def close(self) -> None:
        """Stop where it is; the next start goes on from there."""
        await cancelled(self._making, *self._tasks)
        for index_generation in (self.serving.next, self._left):
            if index_generation is not None:
                await index_generation.follower.close()

    # ---- making -----------------------------------------------------------------------------------------------

    async def _make(self, generation: Generation, embedders: EmbeddingPool | None) -> None:
        """Make the index of that generation and change over to it. `embedders` have loaded its model."""
        self._fault = ""
        try:
            if self.serving.next is None:
                self.serving.next = await self._opened(generation, embedders)
            await self._catch_up(self.serving.next)
        except MnemeshError as error:
            self._fault = error.message
            self.workshop.notice(f"reembed: {error.message}")
            log.warning("reembed_stalled", reason=error.message)
            return
        left = self.serving.switch()
        now = self.serving.current
        text = f"the memories are embedded with {generation.choice.shown} from now on"
        self.workshop.notice(text, EMBEDDED_WITH)
        log.info("reembed_done", name=generation.name, generation=generation.fingerprint, seq=now.follower.applied)
        self._spawn(self._leave(left), "reembed-leave")

    async def _opened(self, generation: Generation, embedders: EmbeddingPool | None) -> IndexGeneration:
        """The generation, following the ledger. Raises the errors of its model and its index; no actor is left then."""
        if embedders is None:
            embedders = await self.workshop.embedders(generation.choice, generation.suffix)
        index_generation: IndexGeneration | None = None
        try:
            model = await _load(embedders, generation.choice)
            if model.generation != generation.fingerprint:
                raise FailedPrecondition(
                    f"the model in {model.directory} is not the one that this was begun with; put that back, or end "
                    "this with `mnemesh reembed --cancel` and begin again",
                    field="model",
                    value=generation.choice.shown,
                )
            index_generation = await self.workshop.index_generation(generation, model, embedders, self.serving.current)
            await index_generation.follower.start(self.serving.current.follower.head, patient=True)
        except BaseException:  # boundary: let go, then raised again
            if index_generation is not None:
                await index_generation.follower.close()
                await self.workshop.runtime.drop(index_generation.shard)
            await self.workshop.dismiss(embedders)
            raise
        return index_generation

    async def _catch_up(self, index_generation: IndexGeneration) -> None:
        """Return once the next generation holds as much as the present one, and the file says so. Nothing else runs
        from then until the caller has changed over."""
        while index_generation.follower.applied < self.serving.goal:
            await _reached(index_generation, self.serving.goal)
        self._keep(self.state.switched())

    # ---- removing ---------------------------------------------------------------------------------------------

    async def _leave(self, index_generation: IndexGeneration) -> None:
        """Let operations with the old generation end, then remove it."""
        self._left = index_generation
        async with self._cleaning:
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_S):
                    await index_generation.unused()
            with suppress(MnemeshError):
                await index_generation.follower.wait_for(index_generation.follower.head)
            await self._end(index_generation)
        self._left = None
        await self._clean()

    async def _end(self, index_generation: IndexGeneration) -> None:
        await index_generation.follower.close()
        try:
            await self.workshop.end(index_generation)
        except MnemeshError as error:  # `_clean` tries again
            log.warning("index_not_removed", reason=error.message)
        else:
            self._keep(self.state.removed(index_generation.generation))

    async def _clean(self) -> None:
        """Remove the rest of generations no longer in use: their indexes, then their vectors."""
        async with self._cleaning:
            for gone in self.state.leaving:
                try:
                    await self.workshop.remove(gone)
                    self._keep(self.state.removed(gone))
                except MnemeshError as error:
                    text = f"the index of {gone.choice.shown} is not removed yet: {error.message}"
                    self.workshop.notice(f"{text}; the next start tries again")
            ledger = self.workshop.ledger
            try:
                if set(await ledger.vector_generations()) <= set(self.state.used):
                    return
                answering = self.serving.current
                while answering.follower.catching_up:  # until then the old ones tell which texts are shared
                    await _reached(answering, answering.follower.head)
                after: Key | None = FIRST
                while after is not None:
                    after = await ledger.sweep_vectors(after, self.state.used)
            except MnemeshError as error:
                log.warning("vectors_not_removed", reason=error.message)

    def _keep(self, state: Generations) -> None:
        self.file.write(state)
        self.state = state

    def _spawn(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A bug ended a task: say so, because nobody waits for it."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fault = f"{task.get_name()} ended by a fault of ours: {error!r}; restart the node"
            self.workshop.notice(self._fault)
            log.error("reembed_ended", task=task.get_name(), exc_info=error)


async def _load(embedders: EmbeddingPool, choice: ModelChoice) -> ModelInfo:
    """The workers' model, loaded. A fault of its folder is a fault of the field `model` here."""
    try:
        model = await embedders.load()
    except InvalidArgument as error:
        if error.fields["field"] != "model_dir":
            raise
        raise InvalidArgument("model", choice.model, error.fields["limit"]) from error
    return model


async def _reached(index_generation: IndexGeneration, seq: int) -> None:
    """Return once the index has taken in the log up to `seq`, or after a while."""
    try:
        await index_generation.follower.wait_for(seq)
    except MnemeshError:  # it takes long, or it can't be now
        await asyncio.sleep(PAUSE_S)


def _check(choice: ModelChoice) -> None:
    if choice.precision not in PRECISIONS:
        raise InvalidArgument("precision", choice.precision, f"one of {', '.join(PRECISIONS)}")
    if len(choice.model) > MODEL_CHARS_MAX or not choice.model.isprintable():
        raise InvalidArgument("model", choice.model, f"up to {MODEL_CHARS_MAX} printable characters")
