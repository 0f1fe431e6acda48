"""Files of changes to the packaged weights, by chance, in the form of those that the package has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.models.minilm_graph import read_safetensors
from mnemesh_actors.models.model_directory import packaged_weights

Load = Callable[..., EmbeddingWorker]
WEIGHTS: Final = packaged_weights()
BASE: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def write_changes(path: Path, told: Mapping[str, Any], size: float, **head: NDArray[Any]) -> Path:
    """Write a file that says `told` of itself, with changes of this size."""
    assert WEIGHTS is not None
    chance = np.random.default_rng(7)
    changes = dict(head)
    for name, value in read_safetensors(WEIGHTS / "model.safetensors").items():
        if name.startswith("encoder") and value.ndim == 2:
            out, width = value.shape
            changes[f"{name}.a"] = chance.normal(0, width**-0.5, (4, width)).astype(np.float16)
            changes[f"{name}.b"] = chance.normal(0, size, (out, 4)).astype(np.float16)
        elif head and name.startswith("embeddings.token_type"):
            changes[f"{name}.plus"] = chance.normal(0, size, value.shape).astype(np.float16)
    meta = np.frombuffer(json.dumps({"base": BASE, **told}).encode(), np.uint8)
    np.savez(path, allow_pickle=False, meta=meta, **changes)
    return path


@pytest.fixture
def loaded(cache: str) -> Iterator[Load]:
    """Loads workers, each with its files in `cache` or in another folder. They are closed after the test."""
    with ExitStack() as stack:

        def load(folder: str = cache, **given: bool) -> EmbeddingWorker:
            worker = EmbeddingWorker(ModelConfig(cache_dir=folder, download=False, **given))
            stack.callback(worker.close)
            worker.load()
            return worker

        yield load
