"""Reads two texts side by side: is the newer one the same again, another value of the same thing, or neither? Does the
second one answer the first? Does the newer one answer a question in the place of the older one?

The graph of `pair_graph.py`, loaded at the first reading and let go after a while without one. Imported only when a
model is loaded, as the engine is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_actors.models.changed_weights import WordTable
from mnemesh_actors.models.embedding_engine import FETCH_ERRORS, Engine, session_of
from mnemesh_actors.models.free_memory import give_back
from mnemesh_actors.models.pair_graph import GRAPH_FILE
from mnemesh_memory.values.errors import Unavailable

Probabilities = NDArray[np.float32]
Tokens = tuple[list[int], list[int]]
# A loaded graph takes some 20 MB.
KEPT_S: Final = 300.0
# More than the tokens of a reading, in any script.
CHARS_MAX: Final = 2_000
SUM_TOLERANCE: Final = 0.01
SPECIAL: Final = 3  # [CLS] older [SEP] newer [SEP]


class PairReader:
    """One for all workers of a process that have the same graph. Each calls `hold` first and `close` in the end. Any
    number of threads may read."""

    def __init__(self, directory: Path, engine: Engine, tokens_max: int, threads: int, part: str) -> None:
        self._directory = directory
        self._part = part
        self._engine = engine
        self._threads = threads
        self._room = tokens_max - SPECIAL
        self._loading = threading.Lock()
        self._graph: _Graph | None = None
        self._read_at = 0.0
        self._timer: threading.Timer | None = None
        self._users = 0
        self._fault = ""  # Why the graph could not be loaded, for a while.

    def hold(self) -> None:
        with self._loading:
            self._users += 1

    def read(self, pairs: Sequence[tuple[str, str]]) -> Probabilities:
        """Of each pair (older, newer) the probabilities of the classes, and 1 when the graph has read each word of both
        texts: float32 of shape (len(pairs), classes + 1). Raises Unavailable when the graph can't be loaded."""
        texts = self._engine.tokens([text[:CHARS_MAX] for pair in pairs for text in pair])
        graph = self._loaded()
        rows = np.empty((len(pairs), graph.classes + 1), np.float32)
        for row, pair, older, newer in zip(rows, pairs, texts[::2], texts[1::2], strict=True):
            read = fitted(older, newer, self._room)
            row[:-1] = graph.run(*read)
            row[-1] = read == (older, newer) and max(map(len, pair)) <= CHARS_MAX and graph.knows(*read)
        return rows

    def _loaded(self) -> _Graph:
        with self._loading:
            if self._fault and time.monotonic() < self._read_at + KEPT_S:
                raise Unavailable(self._fault, part=self._part)
            self._read_at, self._fault = time.monotonic(), ""
            if self._graph is None:
                try:
                    self._graph = _Graph(self._directory, self._engine, self._threads, self._part)
                except Unavailable as error:
                    self._fault = error.message
                    raise
                give_back()
                self._wait(KEPT_S)
            return self._graph

    def _wait(self, left_s: float) -> None:
        self._timer = threading.Timer(left_s, self._let_go)
        self._timer.daemon = True
        self._timer.start()

    def _let_go(self) -> None:
        """Let go of the graph once nobody has read for a while. A reading under way keeps its own hold on it."""
        with self._loading:
            if self._graph is None:
                return
            left_s = self._read_at + KEPT_S - time.monotonic()
            if left_s > 0:
                self._wait(left_s)
                return
            self._forget()
        give_back()

    def close(self) -> None:
        """Let go of the graph now, unless another worker has the reader too."""
        with self._loading:
            self._users -= 1
            if self._users <= 0:
                self._forget()

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._graph = self._timer = None


def fitted(older: list[int], newer: list[int], room: int) -> Tokens:
    """The two texts within `room` tokens: tokens are taken off the end of the longer one, the newer one when equal."""
    first, second = len(older), len(newer)
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return older[:first], newer[:second]


class _Graph:
    """The loaded graph with its table of words."""

    def __init__(self, directory: Path, engine: Engine, threads: int, part: str) -> None:
        self._part = part
        try:
            self._session = session_of(directory / GRAPH_FILE, threads)
            width = self._session.get_inputs()[0].shape[-1]
            self.classes: int = self._session.get_outputs()[0].shape[-1]
            self._words = WordTable(directory / GRAPH_FILE, width)
        except FETCH_ERRORS as error:
            raise Unavailable(f"the {part} in {directory} can't be loaded: {error}; delete that folder") from error
        self._first, self._between = engine.number_of("[CLS]"), engine.number_of("[SEP]")
        self._unknown = engine.number_of("[UNK]")

    def knows(self, older: list[int], newer: list[int]) -> bool:
        """Whether the tokens stand for words: all unknown words are one token."""
        return self._unknown not in older and self._unknown not in newer

    def run(self, older: list[int], newer: list[int]) -> Probabilities:
        """One pair: shape (classes,). A run of several pairs takes as long, and the memory of all."""
        ids = np.array([[self._first, *older, self._between, *newer, self._between]], np.int64)
        middle, shape = len(older) + 2, ids.shape
        types, of_older, of_newer = np.zeros(shape, np.int64), np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        types[:, middle:] = of_older[:, 1 : middle - 1] = of_newer[:, middle:-1] = 1
        given = {
            "words": self._words.rows(ids),
            "types": types,
            "older": of_older,
            "newer": of_newer,
        }
        try:
            (output,) = self._session.run(None, given)
        except FETCH_ERRORS as error:
            raise Unavailable(f"the {self._part} can't read: {error}", part=self._part) from error
        probabilities: Probabilities = output[0]
        if not abs(float(probabilities.sum()) - 1) <= SUM_TOLERANCE:
            raise Unavailable(f"the {self._part} beside {self._words.path} is damaged; delete that folder")
        return probabilities
