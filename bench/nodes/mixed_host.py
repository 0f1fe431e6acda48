"""As bench.host, with made-up vectors in the place of a model, to measure all the work of a node beside the model.

A vector is a mixture of two of BASES random directions, chosen by the text: as far apart as texts of many subjects.
"""

from __future__ import annotations

import asyncio
import sys
from functools import cache
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np
from bench.host import MeteredRuntime, MeteredWorker, serve
from numpy.typing import NDArray

from mnemesh_actors.models.embedding_model import ModelInfo

DIMENSIONS: Final = 384
BASES: Final = 800
SECOND_SHARE: Final = 0.6
NOISE: Final = 0.02


@cache
def _bases() -> NDArray[np.float64]:
    base: NDArray[np.float64] = np.random.default_rng(0).normal(size=(BASES, DIMENSIONS))
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    return base


def mixed(texts: list[str]) -> NDArray[np.float32]:
    """Unit vectors (len(texts), DIMENSIONS), the same for the same text."""
    base = _bases()
    vectors = np.empty((len(texts), DIMENSIONS), np.float32)
    for row, text in enumerate(texts):
        chance = np.random.default_rng(crc32(text.encode()))
        one, other = chance.integers(0, BASES, 2)
        vector = base[one] + SECOND_SHARE * base[other] + chance.normal(0, NOISE, DIMENSIONS)
        vectors[row] = vector / np.linalg.norm(vector)
    return vectors


class MixedWorker(MeteredWorker):
    """An embedder without a model."""

    def load(self) -> ModelInfo:
        """Ready at once."""
        self._info = ModelInfo("mixed0000000", "mixed", "1", "fp32", DIMENSIONS, "configured", "none")
        return self._info

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """As `mixed`."""
        return mixed(texts)

    def reads(self, text: str) -> bool:
        """Every text."""
        return bool(text)


class MixedRuntime(MeteredRuntime):
    """The local runtime with that embedder."""

    worker = MixedWorker


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), MixedRuntime()))
