"""Vectors of texts, kept in a folder, so that a second run of a measurement embeds nothing."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mnemesh_actors.models import EmbeddingWorker, ModelConfig

KEY_BYTES = 16
BATCH_TEXTS = 512


class EmbeddingCache:
    """The packaged model in front of a file of vectors. `save` writes what is new."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._worker = EmbeddingWorker(ModelConfig(download=False, threads=2))
        self._vectors: dict[bytes, NDArray[np.float32]] = {}
        self._new = 0
        if path.exists():
            with np.load(path) as kept:
                keys = (bytes(key) for key in kept["keys"])
                self._vectors = dict(zip(keys, kept["vectors"], strict=True))

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors (n, dimensions)."""
        keys = [blake2b(text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        for start in range(0, len(missing), BATCH_TEXTS):
            part = list(missing.items())[start : start + BATCH_TEXTS]
            self._worker.load()
            self._vectors |= zip([key for key, _ in part], self._worker.embed([text for _, text in part]), strict=True)
            self._new += len(part)
        return np.stack([self._vectors[key] for key in keys])

    def of_questions(self, questions: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of questions. They are not kept: the encoder of questions may change."""
        self._worker.load()
        return self._worker.embed_questions(list(questions))

    def save(self) -> None:
        """Write the file when there is something new."""
        if self._new:
            keys = np.frombuffer(b"".join(self._vectors), np.uint8).reshape(-1, KEY_BYTES)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self._path, keys=keys, vectors=np.stack(list(self._vectors.values())))
            self._new = 0
