"""What a node says of its embedding model, and of the one that takes over."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """The model: `generation` is the fingerprint of its vectors; `source` is configured, packaged or downloaded;
    `precision` fp32 or int8. The prefixes stand before each question and each text."""

    generation: str
    name: str
    dimensions: int
    source: str
    query_prefix: str = ""
    passage_prefix: str = ""
    precision: str = "fp32"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReembedStatus:
    """How far the memories are embedded with another model: `done` of `total` entries of the ledger. `state` is idle,
    loading (the model), embedding, or stalled; `fault` says why, `model` which one (None when idle)."""

    state: str = "idle"
    model: ModelStatus | None = None
    done: int = 0
    total: int = 0
    fault: str = ""
