"""mem0ai (measured with 2.2.1) on the same texts, with the same embedder and without a language model (`infer=False`).
Its store is Qdrant's local mode, as it is by default.

It would fetch a BM25 model and does without where there is none. Its own calls are timed, with the embedding left out
on both sides: texts have vectors already, questions are embedded before.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np
from bench.report import Row, median_row
from numpy.typing import NDArray

from mnemesh_actors.models import EmbeddingWorker

USER: Final = "bench"
LOADED_MAX: Final = 1_000
WARM_UP: Final = 3


class KnownVectors:
    """An embedding model for mem0 that has made every vector before."""

    def __init__(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of a text that is known."""
        return [float(value) for value in self._vectors[text]]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        """As `embed`, for several."""
        return [self.embed(text) for text in texts]


def mem0_rows(
    texts: Sequence[str], vectors: NDArray[np.float32], worker: EmbeddingWorker, asked: Sequence[str]
) -> list[Row]:
    """How long mem0 takes to add (of the first LOADED_MAX) and to search `texts`. Raises
    ImportError where it is not installed."""
    os.environ |= {"MEM0_TELEMETRY": "False", "HF_HUB_OFFLINE": "1"}
    memory_class = import_module("mem0").Memory
    known = dict(zip(texts, vectors, strict=True)) | dict(zip(asked, worker.embed_questions(list(asked)), strict=True))
    with tempfile.TemporaryDirectory(prefix="mnemesh-mem0-") as folder:
        memory = memory_class.from_config(_config(folder, vectors.shape[1]))
        memory.embedding_model = KnownVectors(known)
        began = time.perf_counter()
        for text in texts[:LOADED_MAX]:
            memory.add(text, user_id=USER, infer=False)
        rate = min(len(texts), LOADED_MAX) / (time.perf_counter() - began)
        _load(memory, texts[LOADED_MAX:], vectors[LOADED_MAX:])
        times = []
        for number, text in enumerate(asked):
            began = time.perf_counter()
            memory.search(text, filters={"user_id": USER}, top_k=10)
            if number >= WARM_UP:
                times.append((time.perf_counter() - began) * 1000)
        memory.close()
    return [
        median_row(f"search of {len(texts):,}: mem0ai, its own call without the embedding", times, "ms"),
        median_row(f"adding to mem0ai without the embedding, of {len(texts):,}", [rate], "memories/s"),
    ]


def _config(folder: str, dimensions: int) -> dict[str, Any]:
    """A language model has to be named, though none is asked."""
    unused = {"api_key": "unused"}
    return {
        "vector_store": {
            "provider": "qdrant",
            "config": {"path": f"{folder}/qdrant", "on_disk": True, "embedding_model_dims": dimensions},
        },
        "llm": {"provider": "openai", "config": unused},
        "embedder": {"provider": "openai", "config": {**unused, "embedding_dims": dimensions}},
        "history_db_path": f"{folder}/history.db",
    }


def _load(memory: Any, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """The rest goes straight into the store, in the form of `add`."""
    store = memory.vector_store
    for start in range(0, len(texts), LOADED_MAX):
        part = range(start, min(start + LOADED_MAX, len(texts)))
        store.insert(
            vectors=[vectors[number].tolist() for number in part],
            payloads=[{"data": texts[number], "user_id": USER} for number in part],
            ids=[number + 1 for number in part],
        )
