"""The values of embedding: what is asked for, what was found, and the fingerprint of a vector space."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mnemesh_actors.models.prefixes import NO_PREFIXES, Prefixes

PRECISIONS: Final = ("fp32", "int8")
MODEL_NAME: Final = "sentence-transformers/all-MiniLM-L6-v2"
MODEL_FILE: Final = "model.onnx"
# The length that the model was trained on; its position table is longer, its tokenizer file shorter.
TOKENS_MAX: Final = 256
# How far from 1 the length of a vector in float32 may be.
LENGTH_TOLERANCE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model to use: `model_dir`, else the model called `name`, which may be fetched; without either the node
    finds one. `cache_dir` "" means ~/.cache/mnemesh."""

    model_dir: str = ""
    name: str = ""
    precision: str = "fp32"
    threads: int = 1
    cache_dir: str = ""
    download: bool = True


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The model in use. `generation` names its vector space: vectors of two generations must never meet.

    `source` is configured, packaged or downloaded; `directory` is where its files are. `prefixes` are for the caller to
    put before what it wants embedded.
    """

    generation: str
    name: str
    revision: str
    precision: str
    dimensions: int
    source: str
    directory: str
    prefixes: Prefixes = NO_PREFIXES


@dataclass(frozen=True, slots=True)
class Located:
    """A folder that holds `model_file` and tokenizer files. `pooling` is none, mean or cls: how the rows of the
    graph's output become one vector (none: the graph gives unit vectors)."""

    name: str
    revision: str
    source: str
    directory: Path
    pooling: str
    model_file: str = MODEL_FILE
    prefixes: Prefixes = NO_PREFIXES


def generation_of(name: str, revision: str, precision: str, dimensions: int, prefixes: Prefixes = NO_PREFIXES) -> str:
    """The fingerprint of a vector space: 12 hex digits."""
    parts = [name, revision, precision, str(dimensions)]
    parts += [json.dumps([prefixes.query, prefixes.passage])] if prefixes else []
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
