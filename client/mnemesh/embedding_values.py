"""What the node says of its embedding model, and of one that takes over."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """An embedding model; `generation` is the fingerprint of its vectors, `source` says where it was found,
    `precision` is fp32 or int8. The prefixes stand before each question and each text that is embedded."""

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
    loading, embedding or stalled, then `fault` says why; `model` is None when idle."""

    state: str
    model: ModelStatus | None
    done: int
    total: int
    fault: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reembedding:
    """The model in use, and how far another one is."""

    model: ModelStatus | None
    reembed: ReembedStatus
