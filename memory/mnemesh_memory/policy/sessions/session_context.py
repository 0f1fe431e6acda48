"""The context of an agent when work begins: few groups of memories within a budget of tokens. Pure.

The budget is dealt out twice. First each group gets up to its share, so no group crowds out the others. The rest goes
to the groups in the order in which they matter. A memory stands in its first group only, and a session gets it once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from mnemesh_memory.policy.rules.stored_rules import rule_of
from mnemesh_memory.text.text import estimate_tokens, snippet
from mnemesh_memory.validation.filters import rule_holds, ruled
from mnemesh_memory.values import injection, limits
from mnemesh_memory.values.model import Memory, Replaced
from mnemesh_memory.values.rules import Rule

BUDGET: Final = 1_500
(
    TRIGGERED, PINNED, ANSWERS, PREFERENCES, RULES, REQUIREMENTS, QUESTIONS, DECISIONS, PREDICTED, RECENT, RUNS, HOT,
) = GROUPS = (
    "triggered", "pinned", "answers", "preferences", "rules", "requirements", "questions", "decisions", "predicted",
    "recent", "runs", "hot",
)  # fmt: skip
# The part of the budget that each group may take before the others had theirs. They sum to 1.
SHARES: Final[Mapping[str, float]] = MappingProxyType(
    dict(zip(GROUPS, (0.10, 0.20, 0.18, 0.10, 0.08, 0.06, 0.05, 0.06, 0.04, 0.06, 0.04, 0.03), strict=True))
)
# What is only likely to be needed: so many memories, and no more than this part of the budget.
PREDICTED_MAX: Final = 5
PREDICTED_SHARE_MAX: Final = 0.1
# A memory tagged so, without a link of type resolved-by, is an open question.
QUESTION_TAGS: Final = ("question", "open-question")
TEXT_CHARS_MAX: Final = 600
# Of a memory or group beside its text: id, kind, times and the signs around them.
MEMORY_TOKENS: Final = 34
GROUP_TOKENS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextQuery:
    """A request of context."""

    query: str = ""
    task: str = ""
    session: str = ""
    spaces: tuple[str, ...] = ()
    dir: str = ""
    paths: tuple[str, ...] = ()
    budget: int = BUDGET
    anew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMemory:
    """A memory as a context shows it."""

    id: str
    kind: str
    title: str
    content: str
    shortened: bool
    space: str
    updated_at: int
    replaces: tuple[Replaced, ...] = ()
    older_than: tuple[str, ...] = ()
    may_be_replaced_by: tuple[str, ...] = ()
    suspicious: bool = False


@dataclass(frozen=True, slots=True)
class ContextGroup:
    """Memories that belong together, the most important first."""

    name: str
    memories: tuple[ContextMemory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """The groups, without empty ones."""

    groups: tuple[ContextGroup, ...]
    tokens_used: int
    left_out: int  # Memories that did not fit.
    continued: bool = False
    degraded: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The memories in it."""
        return tuple(memory.id for group in self.groups for memory in group.memories)


def chosen(
    offered: Mapping[str, Sequence[Memory]], given: Collection[str], budget: int, now: int, query: str = ""
) -> SessionContext:
    """As much of `offered`, by group, as fits into `budget` tokens, without memories that are in `given` or do not hold
    at `now` (ms). A trigger that fired just now is told again."""
    chars = min(TEXT_CHARS_MAX, 2 * budget)
    waiting = _waiting(offered, given, now)
    shown = {name: [_shown(memory, query, chars) for memory in memories] for name, memories in waiting.items()}
    taken: dict[str, list[ContextMemory]] = {name: [] for name in shown}
    left = budget
    spent = dict.fromkeys(GROUPS, 0)
    for share in (SHARES, {**dict.fromkeys(GROUPS, 1.0), PREDICTED: PREDICTED_SHARE_MAX}):
        for name, memories in shown.items():
            room = min(left, int(share[name] * budget) - spent[name])
            kept, room_left = _fitting(memories, room, GROUP_TOKENS if not taken[name] else 0)
            taken[name] += kept
            left -= room - room_left
            spent[name] += room - room_left
            memories[:] = [memory for memory in memories if memory not in kept]
    order = {memory.id: place for memories in waiting.values() for place, memory in enumerate(memories)}
    groups = (
        ContextGroup(name, tuple(sorted(memories, key=lambda memory: order[memory.id])))
        for name, memories in taken.items()
        if memories
    )
    return SessionContext(
        groups=tuple(groups), tokens_used=budget - left, left_out=sum(len(memories) for memories in shown.values())
    )


def allowed(memories: Iterable[Memory], rules: Iterable[Rule]) -> list[Memory]:
    """Those of `memories` that no rule hides and that are no rule themselves."""
    hiding = [rule for rule in rules if rule.weight is None]
    return [
        memory for memory in memories
        if rule_of(memory) is None and not any(rule_holds(rule, ruled(memory)) for rule in hiding)
    ]  # fmt: skip


def holds(memory: Memory, now: int) -> bool:
    """Whether a memory holds in the world at `now` (ms)."""
    return (memory.valid_from is None or memory.valid_from <= now) and (
        memory.valid_to is None or memory.valid_to > now
    )


def _waiting(offered: Mapping[str, Sequence[Memory]], given: Collection[str], now: int) -> dict[str, list[Memory]]:
    """Each memory in the first of its groups."""
    seen: set[str] = set()
    waiting: dict[str, list[Memory]] = {}
    for name in GROUPS:
        waiting[name] = []
        for memory in offered.get(name, ()):
            known = memory.id in given and name != TRIGGERED
            if memory.id not in seen and not known and memory.state == "active" and holds(memory, now):
                waiting[name].append(memory)
            seen.add(memory.id)
    return waiting


def _shown(memory: Memory, query: str, chars: int) -> ContextMemory:
    long = len(memory.content) > chars
    return ContextMemory(
        id=memory.id,
        kind=memory.kind,
        title="" if memory.content.startswith(memory.title.rstrip("\u2026")) else memory.title,
        content=snippet(memory.content, query, chars) if long else memory.content,
        shortened=long,
        space=memory.space,
        updated_at=memory.updated_at,
        replaces=memory.replaces,
        older_than=memory.older_than,
        may_be_replaced_by=memory.may_be_replaced_by,
        suspicious=injection.is_marked(memory),
    )


def _fitting(memories: Iterable[ContextMemory], room: int, heading: int) -> tuple[list[ContextMemory], int]:
    """The memories that fit one after the other, and the room that is left. The first of all costs `heading` more."""
    kept: list[ContextMemory] = []
    for memory in memories:
        cost = MEMORY_TOKENS + estimate_tokens(memory.title) + estimate_tokens(memory.content) + heading
        if cost <= room:
            room -= cost
            heading = 0
            kept.append(memory)
    return kept, room


# Its id or "", its agent, and the spaces that it asks.
SessionKey = tuple[str, str, tuple[str, ...]]


class GivenMemories:
    """The memories that sessions were given, the latest sessions and memories only. Lives as long as the node."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[SessionKey, dict[str, None]] = OrderedDict()

    def of(self, key: SessionKey) -> Collection[str]:
        """Those of a session. Without an id, a session was given none."""
        return self._sessions.get(key, {}) if key[0] else ()

    def add(self, key: SessionKey, ids: Iterable[str]) -> None:
        """Note more."""
        if not key[0]:
            return
        known = self._sessions.setdefault(key, {})
        self._sessions.move_to_end(key)
        for id_ in ids:
            known[id_] = None
        while len(known) > limits.CONTEXT_GIVEN_MAX:
            del known[next(iter(known))]
        while len(self._sessions) > limits.CONTEXT_SESSIONS_MAX:
            self._sessions.popitem(last=False)

    def forget(self, key: SessionKey) -> None:
        """The session begins anew."""
        self._sessions.pop(key, None)
