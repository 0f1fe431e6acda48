"""Status of a node's embedding model, and of the next model while it takes over."""

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
    pairs: str = ""  # ready, off, or why the write guard judges by rules alone; "" while it is not known.
    questions: str = ""  # "own encoder", or why questions are embedded as texts are; "" while it is not known.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReembedStatus:
    """How far the memories are embedded with another model: `done` of `total` entries of the ledger. `state` is idle,
    loading (the model), embedding, or stalled; `fault` says why, `model` which one (None when idle)."""

    state: str = "idle"
    model: ModelStatus | None = None
    done: int = 0
    total: int = 0
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerStatus:
    """A consumer of the log: `seq` is the last entry that it took in, `lag` counts those that it misses. `state` is ok
    or what is wrong."""

    name: str
    seq: int
    lag: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorStatus:
    """One actor of the mesh."""

    name: str
    type: str
    pid: int
    state: str  # ready, busy (silent for a while) or starting.
    node: str = ""  # The Ray node of the process.
    address: str = ""  # IP address of the Ray node.


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWatchStatus:
    """The watcher of files that memories name: `folders` watched, and `stale` memories that name a changed file.
    `state` is off, nothing to watch, watching, or compared when shown."""

    state: str = "off"
    folders: int = 0
    stale: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AstrocyteStatus:
    """The astrocyte of a domain, with its last work since the node's start: `at` (ms), in `space`."""

    name: str
    at: int | None = None
    space: str = ""
    read: int = 0
    proposed: int = 0
    applied: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReplica:
    """One of the ledgers that hold a node's log on several machines."""

    actor: str  # Name of the process among the actors.
    role: str  # primary or secondary.
    state: str
    node_id: str  # Signs the entries of this ledger.
    machine: str
    place: str  # Directory on `machine`.
    incarnation: str
    seq: int
    lag: int  # Count of the primary's entries still missing.
