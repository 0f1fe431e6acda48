"""Texts to vectors for the rest of the node: a bounded cache in front of the workers, and batch-while-busy.

A model may want other words before a question than before a text to be found, and the packaged one has an encoder for
questions. The cache knows a text with those words and whether it is a question, so a question's vector never stands for
a text's. A question goes before texts to be stored, and a call with such texts is small. So a reader waits for one call
at most, and for none when there are several workers. A model that makes another vector space meanwhile yields to both.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from mnemesh_actors.models.embedding_model import LENGTH_TOLERANCE, NO_PREFIXES, PAIRS_OFF, ModelInfo, Prefixes
from mnemesh_actors.models.worker import Vectors
from mnemesh_actors.ports import Embed, LedgerRead
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.batch import Batcher
from mnemesh_actors.runtime.worker_pool import WorkerPool
from mnemesh_memory.policy.judge.reading import READINGS_MAX, AskedReading, Reading, reading_of
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, MnemeshError, Unavailable
from mnemesh_memory.values.model import Memory

Vector = NDArray[np.float32]
BATCH_TEXTS_MAX = 64
# The model runs for some milliseconds without the interpreter, but needs the interpreter for its tokens first. Work
# that starts earlier than this delays the vector.
MODEL_BEGINS_S: Final = 0.001
# How long after a question a worker is kept for the next one, where each worker has a processor of its own.
KEPT_S: Final = 2.0
# The answers of one call are handled while the next is with the model; a single large call would delay them all.
QUESTIONS_A_CALL_MAX = 8
# Some hundredths of a second.
PAIRS_A_CALL_MAX = READINGS_MAX
# Readings of pairs that come again: the guard and the table of pairs read the same ones, and questions are repeated.
READINGS_KEPT = 4096
STEP_TEXTS_MAX = 8 * BATCH_TEXTS_MAX
# About 8 passages of 200 tokens, up to 20 in rare words: some tenths of a second.
CALL_BYTES_MAX = 8_000
# Questions that come again. The texts of an import pass through, 2 KB each.
CACHE_TEXTS_MAX = 1024
CACHE_CHARS_MAX = 4 * 1024 * 1024
# For a yielding model: calls of a tenth of a second, and the longest wait for the model that answers.
YIELDING_BYTES_MAX = 2_000
YIELDED_S = 0.5
# A longer text is no question, and hardly comes again.
CACHED_TEXT_CHARS_MAX = 2_000
# Of a long memory that is compared with others.
PASSAGES_COMPARED_MAX: Final = 8
_FLOAT_BYTES: Final = 4
# WordPiece gives up on a word of more than 100 characters.
_PLAIN_WORD: Final = re.compile(r"(?<!\w)[A-Za-z0-9]{1,100}(?!\w)")

log = structlog.get_logger("mnemesh.embedder")


# Of text that is asked about. A worker that has nothing else to do takes a fifth of the patience for as much.
PATIENCE_CHARS = 1_000
Answer = TypeVar("Answer")
Row: TypeAlias = list[float]
ReadPairs: TypeAlias = Callable[[list[tuple[str, str]], str], Coroutine[Any, Any, Vectors]]
Ask: TypeAlias = Callable[[Handle[Embed]], Coroutine[Any, Any, Answer]]


class ModelText(NamedTuple):
    """A text as the model gets it. A question has a vector of its own kind."""

    text: str
    is_question: bool


class EmbeddingPool(WorkerPool[Embed]):
    """The workers that embed: one model for all, loaded where it is missing. In one process the workers share the
    model's weights, so that a second worker costs a thread. On Ray they are processes. A worker that is down, or can't
    have the model, leaves its work to the others. `faults` names the workers that could not load the model when the
    others did."""

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

    async def embed_questions(self, questions: list[str], generation: str) -> Vectors:
        """The vectors of `questions`, to compare with those of texts."""
        return await self._ask(lambda worker: worker.embed_questions(questions), sum(map(len, questions)), generation)

    async def reads(self, text: str, generation: str) -> bool:
        """Whether the model knows any word of `text`."""
        return await self._ask(lambda worker: worker.reads(text), len(text), generation)

    async def read_pairs(self, pairs: list[tuple[str, str]], generation: str) -> Vectors:
        """Of each pair (older, newer) of texts how likely the newer one says the same, gives another value, or neither.
        Raises Unavailable when no worker can read pairs."""
        size = sum(len(older) + len(newer) for older, newer in pairs)
        return await self._ask(lambda worker: worker.read_pairs(pairs), size, generation)

    async def read_answers(self, question: str, texts: list[str], generation: str) -> list[float]:
        """Of each text how likely it answers the question. Raises Unavailable when no worker can read them."""
        size = sum(len(question) + len(text) for text in texts)
        return await self._ask(lambda worker: worker.read_answers(question, texts), size, generation)

    async def read_asked(self, pairs: list[tuple[str, str]], generation: str) -> Vectors:
        """Of each pair (question with an older text, newer text) how likely the newer text answers in the place of the
        older one. Raises Unavailable when no worker can read them."""
        size = sum(len(asked) + len(newer) for asked, newer in pairs)
        return await self._ask(lambda worker: worker.read_asked(pairs), size, generation)

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


@dataclass(eq=False)
class Embedder:
    """`workers` do the work; `generation` is the fingerprint of the model, `dimensions` its width. With `yields_to`,
    each call first waits a while for the other embedder to finish. `prefixes` are the words that the model wants."""

    workers: EmbeddingPool
    generation: str
    dimensions: int
    cache_texts_max: int = CACHE_TEXTS_MAX
    yields_to: Embedder | None = None
    prefixes: Prefixes = NO_PREFIXES
    pairs: str = PAIRS_OFF  # PAIRS_READY, PAIRS_OFF, or why no pairs of texts are read.
    pair_reader: str = ""  # As in ModelInfo.
    pairs_fault: str = field(default="", init=False)  # Why the last reading of pairs failed, "" when it did not.
    questions: str = ""  # As in ModelInfo.
    answers: str = PAIRS_OFF  # As in ModelInfo.
    asked: str = PAIRS_OFF  # As in ModelInfo.
    _cache: OrderedDict[ModelText, Vector] = field(default_factory=OrderedDict, init=False)
    _cached_chars: int = field(default=0, init=False)
    _readings: OrderedDict[bytes, Row] = field(default_factory=OrderedDict, init=False)  # by digest of kind and texts
    _told_damaged: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._batcher: Batcher[ModelText, Vector] = Batcher(
            "embedder",
            self._run,
            BATCH_TEXTS_MAX,
            limits.INBOX_MESSAGES_MAX * 4,
            lambda asked: bytes_of(asked.text),
            CALL_BYTES_MAX if self.yields_to is None else YIELDING_BYTES_MAX,
            QUESTIONS_A_CALL_MAX,
            self.workers.size,
            KEPT_S if self.workers.apart else math.inf,
        )

    @property
    def lanes(self) -> int:
        """How many calls of texts to be stored can be under way at once."""
        return self.workers.size if self.workers.apart else max(1, self.workers.size - 1)

    async def _run(self, asked: list[ModelText]) -> list[Vector | Exception]:
        if self.yields_to is not None:
            await self.yields_to.idle(YIELDED_S)
        # Questions are the urgent items, and a call has urgent items alone or none.
        embed = self.workers.embed_questions if asked[0].is_question else self.workers.embed
        return list(await embed([item.text for item in asked], self.generation))

    def knows(self, question: str) -> bool:
        """Whether the vector of `question` is at hand."""
        return ModelText(self.prefixes.query + question, True) in self._cache

    async def reads(self, question: str) -> bool:
        """Whether the model knows any word of `question`; else its vector says nothing of it. The model is asked only
        about a question without a short word of ASCII: any model knows such a word by its letters."""
        return _PLAIN_WORD.search(question) is not None or (await self.workers.reads(question, self.generation))

    async def read_pairs(
        self, pairs: Sequence[tuple[str, str]], *, yields: bool = False
    ) -> AsyncGenerator[list[Reading]]:
        """The readings of each pair (older, newer), a few at a time, so that a question waits for no more. With
        `yields`, each call first waits a while until nothing is embedded. Raises what the worker raised."""
        for call in (pairs[at : at + PAIRS_A_CALL_MAX] for at in range(0, len(pairs), PAIRS_A_CALL_MAX)):
            try:
                rows = await self._read(self.workers.read_pairs, "pair", call, yields=yields)
            except MnemeshError as error:
                self.pairs_fault = error.message
                raise
            self.pairs_fault = ""
            yield [reading_of(row) for row in rows]

    async def read_asked(self, pairs: Sequence[tuple[str, str]]) -> AsyncGenerator[list[AskedReading]]:
        """The readings of each pair (question with an older text, newer text), a few at a time. Raises what the worker
        raised."""
        for call in (pairs[at : at + PAIRS_A_CALL_MAX] for at in range(0, len(pairs), PAIRS_A_CALL_MAX)):
            rows = await self._read(self.workers.read_asked, "asked", call)
            yield [AskedReading(answers, whole > 0) for answers, whole in rows]

    async def _read(
        self, read: ReadPairs, kind: str, pairs: Sequence[tuple[str, str]], *, yields: bool = False
    ) -> list[Row]:
        """The numbers of a model for each pair. The latest readings are kept, by `kind` of the reading."""
        call = {_digest(kind, pair): pair for pair in pairs}
        known = {digest: self._readings[digest] for digest in call if digest in self._readings}
        if missing := [digest for digest in call if digest not in known]:
            if yields:
                await self.idle(YIELDED_S)
            rows = await read([call[digest] for digest in missing], self.generation)
            known |= zip(missing, rows.tolist(), strict=True)
        for digest, row in known.items():
            self._readings[digest] = row
            self._readings.move_to_end(digest)
        while len(self._readings) > READINGS_KEPT:
            self._readings.popitem(last=False)
        return [known[_digest(kind, pair)] for pair in pairs]

    async def read_answers(self, question: str, texts: Sequence[str]) -> list[float]:
        """Of each text how likely it answers the question, in [0, 1]. Raises what the worker raised."""
        return await self.workers.read_answers(question, list(texts), self.generation)

    async def idle(self, limit_s: float) -> None:
        """Return once nothing is being embedded, or after `limit_s`."""
        await self._batcher.idle(limit_s)

    async def embed_one(self, question: str) -> Vector:
        """The unit vector of `question`, shape (dimensions,), ahead of whatever `embed` was asked for."""
        asked = ModelText(self.prefixes.query + question, True)
        if (known := self._cache.get(asked)) is not None:
            self._cache.move_to_end(asked)
            return known
        vector = await self._batcher.submit(asked, urgent=True)
        self._keep(asked, vector)
        return vector

    async def embed(self, passages: Sequence[str]) -> list[Vector]:
        """The unit vectors of `passages`, texts that are searched, in order. Raises what the worker raised, for all."""
        texts = [ModelText(self.prefixes.passage + passage, False) for passage in passages]
        # The cache may drop these texts while the others are made.
        vectors = {text: self._cache[text] for text in texts if text in self._cache}
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        # In steps, so that one long list does not fill the queue by itself.
        for start in range(0, len(missing), STEP_TEXTS_MAX):
            step = missing[start : start + STEP_TEXTS_MAX]
            for text, result in zip(step, await self._batcher.submit_many(step), strict=True):
                if isinstance(result, BaseException):
                    raise result
                vectors[text] = result
                self._keep(text, result)
        return [vectors[text] for text in texts]

    def stored(self, kept: Mapping[str, bytes]) -> dict[str, Vector]:
        """Vectors that the ledger has kept, each under its key. A vector of another width, not finite or not of length
        1 was damaged on disk. It is left out and made again."""
        if not kept:
            return {}
        keys = [key for key, data in kept.items() if len(data) == self.dimensions * _FLOAT_BYTES]
        rows = np.frombuffer(b"".join(map(kept.__getitem__, keys)), np.float32).reshape(len(keys), self.dimensions)
        with np.errstate(over="ignore", invalid="ignore"):
            whole = np.abs(np.linalg.norm(rows, axis=1) - 1.0) <= LENGTH_TOLERANCE  # of NaN that is not so
        vectors = dict(zip(compress(keys, whole), rows[whole], strict=True))
        if len(vectors) < len(kept) and not self._told_damaged:
            self._told_damaged = True
            log.warning("cached_vectors_damaged", damaged=len(kept) - len(vectors), generation=self.generation)
        return vectors

    async def stored_of(self, ledger: Handle[LedgerRead], memories: Sequence[Memory]) -> dict[str, list[Vector]]:
        """The vectors that the ledger has kept of each memory's passages, the first PASSAGES_COMPARED_MAX."""
        hashes = {
            memory.id: [content_hash(dense) for dense, _ in index_texts(memory)[:PASSAGES_COMPARED_MAX]]
            for memory in memories
        }
        wanted = [digest for part in hashes.values() for digest in part]
        stored = self.stored(await ledger.vectors(wanted, self.generation) if wanted else {})
        return {id_: [stored[digest] for digest in part if digest in stored] for id_, part in hashes.items()}

    def forget(self) -> None:
        """Drop every text from the cache: which of them an erased memory said, in any revision, nobody knows any
        more."""
        self._cache.clear()
        self._cached_chars = 0
        self._readings.clear()

    def _keep(self, asked: ModelText, vector: Vector) -> None:
        if len(asked.text) > CACHED_TEXT_CHARS_MAX:
            return
        if asked not in self._cache:
            self._cached_chars += len(asked.text)
        self._cache[asked] = vector
        while len(self._cache) > self.cache_texts_max or self._cached_chars > CACHE_CHARS_MAX:
            self._cached_chars -= len(self._cache.popitem(last=False)[0].text)


def bytes_of(text: str) -> int:
    """A measure of a text's tokens that holds for any script."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def mean_vector(vectors: Sequence[Vector]) -> Vector | None:
    """The direction of the first passages of a text, None without any."""
    if not vectors:
        return None
    mean = np.mean(np.stack(vectors), axis=0)
    length = float(np.linalg.norm(mean))
    return (mean / length).astype(np.float32) if length > 0.0 else None


def _digest(kind: str, pair: tuple[str, str]) -> bytes:
    return hashlib.blake2b(json.dumps([kind, *pair]).encode(), digest_size=16).digest()
