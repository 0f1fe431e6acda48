"""The consumers of the log, one row each. A new consumer is one class and one row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from mnemesh_actors.consumers.contradiction_judge import ContradictionJudge
from mnemesh_actors.consumers.derived_texts import DerivedTexts
from mnemesh_actors.consumers.engram_follower import EngramFollower
from mnemesh_actors.consumers.follower import PAGE_ENTRIES
from mnemesh_actors.consumers.judge_parts import JudgeParts
from mnemesh_actors.consumers.pair_follower import NAME as PAIRS_NAME
from mnemesh_actors.consumers.pair_follower import PairFollower
from mnemesh_actors.consumers.tag_follower import TagFollower
from mnemesh_actors.knowledge.graph_follower import NAME as GRAPH_NAME
from mnemesh_actors.knowledge.graph_follower import GraphFollower
from mnemesh_actors.knowledge.graph_store import GraphStore
from mnemesh_actors.knowledge.pair_store import PairStore
from mnemesh_actors.ports import Consumer, LedgerPort
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.policy.dynamics.engram import EngramTable
from mnemesh_memory.policy.rules import stored_rules
from mnemesh_memory.policy.rules import triggers as trigger_table
from mnemesh_memory.policy.rules.stored_rules import RuleTable
from mnemesh_memory.policy.rules.triggers import TriggerTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerParts:
    """Parts of the node that a consumer may use."""

    ledger: Handle[LedgerPort]
    judge: JudgeParts
    notice: Callable[[str], None]
    clock: Callable[[], int]
    publish: Callable[[int], None]
    triggers: TriggerTable = field(default_factory=TriggerTable)
    rules: RuleTable = field(default_factory=RuleTable)
    temporal: EngramTable = field(default_factory=EngramTable)
    graph: Handle[GraphStore] | None = None
    pairs: Handle[PairStore] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow:
    """A consumer that another part starts."""

    name: str  # A name never changes.
    page_entries: int  # The most entries of a step.


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRow(LogRow):
    """A consumer that `ConsumerSet` starts."""

    share: float = 1.0  # The share of time while somebody waits. Consumers that linger share the time among them.
    linger_s: float = 0.0  # The longest wait for a quiet moment. Entries that come meanwhile are taken together.
    filled: bool = False  # Its table in memory is filled from the ledger before the node answers.
    make: Callable[[ConsumerParts], Consumer | None]  # Makes None when the node has none.


# The cursors of indexes lie beside them, and writers wait for the first.
INDEX: Final = LogRow(name="index", page_entries=PAGE_ENTRIES)
# The next model yields to the present one.
NEXT_INDEX: Final = LogRow(name="next index", page_entries=64)
# The cursors of tables and engrams are in memory. Engrams read the log again after a start.
TRIGGERS: Final = ConsumerRow(
    name="triggers",
    page_entries=256,
    filled=True,
    make=lambda parts: TagFollower(parts.triggers, parts.ledger, trigger_table.TAG, (trigger_table.FIRED_TAG,)),
)
RULES: Final = ConsumerRow(
    name="rules",
    page_entries=256,
    filled=True,
    make=lambda parts: TagFollower(parts.rules, parts.ledger, stored_rules.TAG),
)
ENGRAMS: Final = ConsumerRow(
    name="engrams",
    page_entries=1000,
    share=0.2,
    make=lambda parts: EngramFollower(parts.temporal),
)
LINGER_S: Final = 0.5
# Reading a text takes a millisecond, so it yields to whoever waits for the node. Its cursor is in its file.
GRAPH: Final = ConsumerRow(
    name=GRAPH_NAME,
    page_entries=32,
    share=0.1,
    linger_s=LINGER_S,
    make=lambda parts: None if parts.graph is None else GraphFollower(parts.graph, parts.ledger, parts.notice),
)
# A judgement reads, compares and writes, so somebody who waits for the node goes first. Steps are short, because a
# step that has begun shares the interpreter with whoever comes.
CONTRADICTIONS: Final = ConsumerRow(
    name="contradictions",
    page_entries=8,
    share=0.1,
    linger_s=LINGER_S,
    make=lambda parts: ContradictionJudge(parts.judge),
)
# A reading takes the model as long as a text does. Its cursor is in its file.
PAIRS: Final = ConsumerRow(
    name=PAIRS_NAME,
    page_entries=8,
    share=0.1,
    linger_s=LINGER_S,
    make=lambda parts: None if parts.pairs is None else PairFollower(parts.pairs, parts.judge, parts.notice),
)
DERIVED_TEXTS: Final = ConsumerRow(
    name="derived texts",
    page_entries=256,
    share=0.2,
    linger_s=LINGER_S,
    make=lambda parts: DerivedTexts(parts.ledger, parts.clock, parts.publish),
)
CONSUMERS: Final[tuple[ConsumerRow, ...]] = (TRIGGERS, RULES, ENGRAMS, GRAPH, CONTRADICTIONS, PAIRS, DERIVED_TEXTS)
