"""Embeds questions, with the graph of `question_graph.py`. Imported only when a model is loaded, as the engine is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from mnemesh_actors.models.changed_weights import WordTable
from mnemesh_actors.models.embedding_engine import FETCH_ERRORS, Engine, Vectors, session_of
from mnemesh_actors.models.embedding_model import LENGTH_TOLERANCE
from mnemesh_actors.models.question_graph import GRAPH_FILE
from mnemesh_memory.values.errors import Unavailable

SPECIAL: Final = 2  # [CLS] question [SEP]


class QuestionReader:
    """One for all workers of a process that have the same graph. Any number of threads may read."""

    def __init__(self, directory: Path, tokens_max: int, engine: Engine, threads: int) -> None:
        self._engine = engine
        self._room = tokens_max - SPECIAL
        try:
            self._session = session_of(directory / GRAPH_FILE, threads)
            self._width: int = self._session.get_inputs()[0].shape[-1]
            self._words = WordTable(directory / GRAPH_FILE, self._width)
        except FETCH_ERRORS as error:
            raise Unavailable(f"the encoder in {directory} can't be loaded: {error}; delete that folder") from error
        self._first, self._last = engine.number_of("[CLS]"), engine.number_of("[SEP]")

    def embed(self, questions: Sequence[str]) -> Vectors:
        """Unit vectors of shape (len(questions), dimensions). Each has a run of its own: a run of several takes as long
        as all. Raises Unavailable when the graph is damaged."""
        rows = np.empty((len(questions), self._width), np.float32)
        for row, tokens in zip(rows, self._engine.tokens(questions), strict=True):
            ids = np.array([[self._first, *tokens[: self._room], self._last]], np.int64)
            given = {"words": self._words.rows(ids)}
            try:
                (row[:],) = self._session.run(None, given)[0]
            except FETCH_ERRORS as error:
                raise Unavailable(f"the encoder of questions can't read: {error}") from error
        if not (np.abs(np.linalg.norm(rows, axis=1) - 1) <= LENGTH_TOLERANCE).all():
            raise Unavailable(f"the encoder of questions beside {self._words.path} is damaged; delete that folder")
        return rows
