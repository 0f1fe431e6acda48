"""The actor for embedding: one model, one call at a time. Holds no cache and no queue, and knows no other actor."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_actors.models.embedding_model import (
    OWN_ENCODER,
    PAIRS_OFF,
    PAIRS_READY,
    PRECISIONS,
    Located,
    ModelConfig,
    ModelInfo,
    generation_of,
)
from mnemesh_actors.models.free_memory import give_back
from mnemesh_actors.models.model_directory import (
    answer_reader,
    asked_reader,
    cache_folder,
    locate,
    pair_judge,
    question_encoder,
)
from mnemesh_actors.models.shared_model import shared
from mnemesh_memory.values.errors import InvalidArgument, Unavailable

if TYPE_CHECKING:
    from mnemesh_actors.models.embedding_engine import Engine
    from mnemesh_actors.models.pair_reader import PairReader
    from mnemesh_actors.models.question_reader import QuestionReader

Vectors = NDArray[np.float32]
# Memory follows the padded tokens of a run: 32 texts of 256 tokens cost 250 MB more than 2, and are no faster.
PADDED_TOKENS_MAX: Final = 512
# Texts that are tokenised together: encodings of long texts are large.
BLOCK_TEXTS_MAX: Final = 64
THREADS_MAX: Final = 64
# Of several workers in a process the first finds, or makes, the model's files, and the others share what it loaded.
_LOADING: Final = threading.Lock()


class EmbeddingWorker:
    """Synchronous and serial; arguments, results and errors survive pickle. Call `load` first."""

    def __init__(self, config: ModelConfig) -> None:
        if config.precision not in PRECISIONS:
            raise InvalidArgument("model_precision", config.precision, f"one of {', '.join(PRECISIONS)}")
        if not 1 <= config.threads <= THREADS_MAX:
            raise InvalidArgument("model_threads", config.threads, f"1 to {THREADS_MAX}")
        self._config = config
        self._engine: Engine | None = None
        self._pairs: PairReader | None = None
        self._pair_reader_name = ""
        self._answers: PairReader | None = None
        self._asked: PairReader | None = None
        self._questions: QuestionReader | None = None
        self._info: ModelInfo | None = None

    def load(self) -> ModelInfo:
        """Find the model and load it; a second call changes nothing.

        Raises InvalidArgument when the configured folder is unusable, Unavailable when no model can be had.
        """
        if self._info is None:
            # Imported here: it costs half a second and 40 MB, and the door opens before the model is there.
            from mnemesh_actors.models.embedding_engine import Engine

            precision = self._config.precision
            with _LOADING:
                model = locate(self._config)
                self._engine = shared(Engine, model, self._config.threads)
                # First what may fail: the reader of pairs is held from here on.
                questions = self._question_reader(model, self._engine)
                pairs = self._pair_reader(model, self._engine)
                asked = self._asked_reader(model, self._engine)
                answers = self._answer_reader(model, self._engine)
                give_back()
            width = self._engine.dimensions
            self._info = ModelInfo(
                generation=generation_of(model.name, model.revision, precision, width, model.prefixes),
                name=model.name,
                revision=model.revision,
                precision=precision,
                dimensions=width,
                source=model.source,
                directory=str(model.directory),
                prefixes=model.prefixes,
                pairs=pairs,
                pair_reader=self._pair_reader_name,
                questions=questions,
                answers=answers,
                asked=asked,
            )
        return self._info

    def _pair_reader(self, model: Located, engine: Engine) -> str:
        """Whether pairs can be read, or why not. The graph itself is loaded at the first reading."""
        from mnemesh_actors.models.pair_reader import PairReader

        if not self._config.pairs:
            return PAIRS_OFF
        try:
            directory, tokens_max = pair_judge(model, cache_folder(self._config.cache_dir))
        except Unavailable as error:
            return error.message
        self._pairs = shared(PairReader, directory, engine, tokens_max, self._config.threads, "guard model")
        self._pairs.hold()
        self._pair_reader_name = directory.name
        return PAIRS_READY

    def _answer_reader(self, model: Located, engine: Engine) -> str:
        """Whether a question and a text can be read together, or why not. The graph is loaded at the first reading."""
        self._answers, told = self._reader(answer_reader, model, engine, "answer reader")
        return told

    def _asked_reader(self, model: Located, engine: Engine) -> str:
        """Whether pairs can be read with a question, or why not. The graph is loaded at the first reading."""
        if not self._config.pairs:
            return PAIRS_OFF
        self._asked, told = self._reader(asked_reader, model, engine, "reader of asked pairs")
        return told

    def _reader(
        self, made_by: Callable[[Located, Path], tuple[Path, int] | str], model: Located, engine: Engine, part: str
    ) -> tuple[PairReader | None, str]:
        from mnemesh_actors.models.pair_reader import PairReader

        try:
            made = made_by(model, cache_folder(self._config.cache_dir))
        except Unavailable as error:
            return None, error.message
        if isinstance(made, str):
            return None, made
        reader = shared(PairReader, made[0], engine, made[1], self._config.threads, part)
        reader.hold()
        return reader, PAIRS_READY

    def _question_reader(self, model: Located, engine: Engine) -> str:
        """Load the encoder of questions, or tell why there is none. Raises Unavailable when the one that belongs to the
        model can't be had: workers that embed a question otherwise would find otherwise."""
        from mnemesh_actors.models.question_reader import QuestionReader

        if not self._config.questions:
            return "off"
        made = question_encoder(model, cache_folder(self._config.cache_dir))
        if isinstance(made, str):
            return made
        self._questions = shared(QuestionReader, *made, engine, self._config.threads)
        return OWN_ENCODER

    def info(self) -> ModelInfo:
        """The model in use. Raises Unavailable before `load`."""
        if self._info is None:
            raise Unavailable("the embedding model is not loaded yet")
        return self._info

    def embed(self, texts: list[str]) -> Vectors:
        """Unit vectors of `texts` as they are, in their order: float32 of shape (len(texts), dimensions).

        Any Unicode; a text longer than 256 tokens counts by its beginning. Raises Unavailable before `load`.
        """
        vectors = np.empty((len(texts), self.info().dimensions), np.float32)
        assert self._engine is not None
        for start in range(0, len(texts), BLOCK_TEXTS_MAX):
            block = [_well_formed(text) for text in islice(texts, start, start + BLOCK_TEXTS_MAX)]
            if len(block) == 1:
                vectors[start] = self._engine.run(block)[0]
                continue
            for rows in padded_batches(self._engine.lengths(block), PADDED_TOKENS_MAX):
                vectors[[start + row for row in rows]] = self._engine.run([block[row] for row in rows])
        return vectors

    def embed_questions(self, questions: list[str]) -> Vectors:
        """Unit vectors of questions, to compare with those of `embed`, from which they come where questions have no
        encoder of their own."""
        if self.info().questions != OWN_ENCODER:
            return self.embed(questions)
        assert self._questions is not None
        return self._questions.embed([_well_formed(question) for question in questions])

    def reads(self, text: str) -> bool:
        """Whether the model knows any token of `text`. Raises Unavailable before `load`."""
        self.info()
        assert self._engine is not None
        return self._engine.reads(_well_formed(text))

    def read_pairs(self, pairs: list[tuple[str, str]]) -> Vectors:
        """Of each pair (older, newer) how likely the newer text says the same, gives another value, or neither, and 1
        for two texts that were read whole: float32 of shape (len(pairs), 4). Raises Unavailable before `load`, and
        without a model that reads pairs."""
        why = self.info().pairs
        if self._pairs is None:
            raise Unavailable(f"pairs of texts are not read: {why}", part="guard model")
        return self._pairs.read([(_well_formed(older), _well_formed(newer)) for older, newer in pairs])

    def read_answers(self, question: str, texts: list[str]) -> list[float]:
        """Of each text how likely it answers the question, in [0, 1]. Raises Unavailable before `load`, and without a
        model that reads a question and a text."""
        why = self.info().answers
        if self._answers is None:
            raise Unavailable(f"a question is not read with its results: {why}", part="answer reader")
        asked = _well_formed(question)
        probabilities: list[float] = self._answers.read([(asked, _well_formed(text)) for text in texts])[:, 0].tolist()
        return probabilities

    def read_asked(self, pairs: list[tuple[str, str]]) -> Vectors:
        """Read pairs (question with an older text, newer text): float32 of shape (len(pairs), 2). The first column is
        the probability that the newer text answers in the place of the older one. The second is 1 for texts that were
        read whole. Raises Unavailable before `load`, and without a model that reads them."""
        why = self.info().asked
        if self._asked is None:
            raise Unavailable(f"pairs are not read with a question: {why}", part="reader of asked pairs")
        return self._asked.read([(_well_formed(asked), _well_formed(newer)) for asked, newer in pairs])[:, [0, -1]]

    def close(self) -> None:
        """Let go of the model; `embed` raises Unavailable afterwards."""
        for reader in (self._pairs, self._answers, self._asked):
            if reader is not None:
                reader.close()
        self._engine = self._pairs = self._answers = self._asked = self._questions = None
        self._info = None


def padded_batches(lengths: Sequence[int], tokens_max: int) -> list[list[int]]:
    """Positions of `lengths` in batches of similar length, shortest first, each at most `tokens_max` tokens when padded
    to its longest. A single longer text has a batch of its own."""
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and (len(batches[-1]) + 1) * lengths[row] <= tokens_max:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _well_formed(text: str) -> str:
    """`text` as the tokenizer takes it: surrogate pairs joined, lone surrogates replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
