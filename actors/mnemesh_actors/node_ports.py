"""The shared parts of a node for its operations: handles to actors, limits, clock and chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Final, TypedDict

from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.embedding.answer_reading import PackagedReranker
from mnemesh_actors.embedding.embedder import Embedder
from mnemesh_actors.files.project_files import ProjectFiles
from mnemesh_actors.generations.active_index import Serving
from mnemesh_actors.knowledge.graph_store import GraphStore
from mnemesh_actors.knowledge.pair_store import PairStore
from mnemesh_actors.ledger.commands import Command, Committed
from mnemesh_actors.ports import LedgerPort, Rerank
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.batch import Batcher
from mnemesh_actors.runtime.bell import LogHead
from mnemesh_actors.runtime.budget import Foreground
from mnemesh_actors.runtime.zones import machine_zone
from mnemesh_memory.policy.dynamics.engram import EngramTable
from mnemesh_memory.policy.dynamics.heat import HALF_LIFE_DAYS, HalfLives
from mnemesh_memory.policy.dynamics.reconsolidation import LabileWindow
from mnemesh_memory.policy.dynamics.surprisal import NoveltySamples
from mnemesh_memory.policy.rules.stored_rules import RuleTable
from mnemesh_memory.policy.rules.triggers import TriggerTable
from mnemesh_memory.values import limits
from mnemesh_memory.values.model import Caller
from mnemesh_memory.values.rules import Rule

OPERATION_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshConfig:
    """The settings of a node that its operations read."""

    recall_timeout_s: float = limits.RECALL_TIMEOUT_S
    write_timeout_s: float = limits.WRITE_TIMEOUT_S
    weights: Mapping[str, float] = field(default_factory=dict)
    abstain_below: float = 0.0
    rules: tuple[Rule, ...] = ()
    shows_gists: bool = True
    labile_minutes: float = limits.LABILE_MINUTES
    temporal_neighbours: bool = True
    watches_files: bool = True
    half_lives: HalfLives = field(default_factory=lambda: HALF_LIFE_DAYS)
    zone: tzinfo = field(default_factory=machine_zone)


class Stamp(TypedDict):
    """Writer, time and chance of a command to the ledger."""

    agent: str
    at: int
    actor: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePorts:
    """`clock` gives milliseconds since the epoch; `entropy(n)` gives n random bytes; `reranker` reads a
    question and its results, if there is one."""

    ledger: Handle[LedgerPort]
    serving: Serving
    commits: Batcher[Command, Committed]
    clock: Callable[[], int]
    entropy: Callable[[int], bytes]
    config: MeshConfig
    news: LogHead = field(default_factory=LogHead)
    reranker: Handle[Rerank] | PackagedReranker | None = None
    foreground: Foreground = field(default_factory=Foreground)
    triggers: TriggerTable = field(default_factory=TriggerTable)
    graph: Handle[GraphStore] | None = None
    pairs: Handle[PairStore] | None = None
    temporal: EngramTable = field(default_factory=EngramTable)
    novelties: NoveltySamples = field(default_factory=NoveltySamples)
    labile: LabileWindow = field(default_factory=LabileWindow)
    rules: RuleTable = field(default_factory=RuleTable)
    files: ProjectFiles = field(default_factory=ProjectFiles)
    node_id: str = ""

    def stamp(self, caller: Caller) -> Stamp:
        """The common fields of a new command of `caller`."""
        return Stamp(agent=caller.agent, at=self.clock(), actor=self.entropy(OPERATION_BYTES))

    @property
    def embedder(self) -> Embedder:
        """Of the generation that answers now. A caller that takes its vectors to the index holds on to it."""
        return self.serving.current.embedder

    @property
    def follower(self) -> IndexFollower:
        """Of the generation that answers now."""
        return self.serving.current.follower
