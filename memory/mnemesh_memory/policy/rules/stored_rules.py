"""Rules of recall: of the settings, and memories of a space that state one. Some memories count more, some less, some
not at all. Pure.

The settings write rules as `tag=decision +0.3; path=docs/* -0.2; kind=run hide`. A raise fills a part of the gap
between a score and 1, and a lowering takes a part of the score. So no rule lifts a memory without a match. Hiding is a
filter of the index's query; a query for that kind or tag by name sees the memory.

A memory that states a rule is written by whoever may write in its space, and read by every node. It has the tag `rule`
and attributes, and is about the memories of its own space. Rules in a private space are about all that its owner
recalls. A rule never shows anything: it hides or weighs what a reader may read. The table holds the rules of a node.
"""

from __future__ import annotations

import math
import unicodedata
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeVar

from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.policy.rules import rule_grammar
from mnemesh_memory.validation import field_checks
from mnemesh_memory.validation.filters import passes, rule_holds, ruled, states_rule
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument
from mnemesh_memory.values.model import Memory, MemoryFilter, Query
from mnemesh_memory.values.rules import IS, RULE_CONDITION, RULE_TAG, TEXTS, Rule, RuleComparison

FIELDS: Final = ("kind", "tag", "path")
HIDE: Final = "hide"
RULES_MAX: Final = 32
ALLOWED: Final = "kind=, tag= or path=VALUE, then +NUMBER, -NUMBER up to 1, or hide for a kind or tag; separated by ;"


def rules_of(text: str) -> tuple[Rule, ...]:
    """The rules that the settings state. Raises InvalidArgument for what is none, and for more than RULES_MAX."""
    parts = [part.strip() for part in text.split(";") if part.strip()]
    if len(parts) > RULES_MAX:
        raise InvalidArgument("recall_rules", f"{len(parts)} rules", f"at most {RULES_MAX}")
    return tuple(_rule(part) for part in parts)


def _rule(part: str) -> Rule:
    what, _, effect = part.rpartition(" ")
    field, _, value = (side.strip() for side in what.partition("="))
    refused = InvalidArgument("recall_rules", part, ALLOWED)
    if field not in FIELDS or not value:
        raise refused
    if field == "kind":
        value = field_checks.kind("recall_rules", value)
    elif field == "tag":
        (value,) = field_checks.tags("recall_rules", [value])
    compared = (RuleComparison(field, IS, value),)
    if effect == HIDE and field != "path":
        return Rule(compared, None, text=f"{field}={value} {HIDE}")
    if (weight := weight_of(effect)) is None:
        raise refused
    return Rule(compared, weight, text=f"{field}={value} {effect}")


def weight_of(effect: str) -> float | None:
    """The number of an effect such as +0.3, from -1 to 1; None for what is none."""
    try:
        weight = float(effect)
    except ValueError:
        return None
    return weight if effect[0] in "+-" and math.isfinite(weight) and abs(weight) <= 1 else None


def narrowed(query: Query, rules: Sequence[Rule]) -> Query:
    """The query with the rules: without what they hide, except what the query itself names, and with their weights."""
    hidden = tuple(rule for rule in rules if rule.weight is None and not _named(query, rule))
    weights = tuple(rule for rule in rules if rule.weight)
    return replace(query, hidden=hidden, weighing=weights) if hidden or weights else query


def _named(query: Query, rule: Rule) -> bool:
    """Whether the query asks by name for a kind or tag that the rule hides."""
    tags = {*query.tags_any, *query.tags_all}
    named = {"kind": set(query.kinds), "tag": tags}
    asked = (named.get(clause.field, set()) for clause in rule.conditions)
    if rule.only:
        return any(asked)
    return any(clause.op == IS and clause.value in named.get(clause.field, ()) for clause in rule.conditions)


def hiding(query: Query, memories: Iterable[Memory], rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules that hide some of `memories`. Without rules, all of `memories` pass the query."""
    shown = [memory for memory in memories if passes(query, memory)]
    alone = narrowed(query, rules).hidden
    return tuple(rule for rule in alone if any(rule_holds(rule, ruled(memory)) for memory in shown))


def weighed(memory: Memory, rules: Sequence[Rule]) -> tuple[float, float]:
    """Two shares in [0, 1]: of a score's gap to 1, filled by the rules, and of the score, taken off. Of several
    matching rules the strongest of each direction counts."""
    facts = ruled(memory)
    held = [rule.weight for rule in rules if rule.weight and rule_holds(rule, facts)]
    return max([0.0, *held]), -min([0.0, *held])


TAG: Final = RULE_TAG
ONLY: Final = "only"
EFFECTS: Final = "hide, only, or a number from -1 to 1 with its sign, such as +0.3"
# Attributes of a memory that is a rule.
CONDITION, EFFECT, DIRECTORY, FILE = ATTRS = (RULE_CONDITION, "rule.effect", "rule.directory", "rule.file")
# Kept of one space, the oldest. More arrive from peers only, and the oldest RULES_MAX count.
KEPT_MAX: Final = 4 * RULES_MAX
Asked = TypeVar("Asked", bound=MemoryFilter)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRule:
    """A rule as it is shown. Without an id it stands in the settings of the node."""

    id: str = ""
    condition: str
    effect: str
    hard: bool
    space: str = ""
    directory: str = ""
    file: str = ""
    content: str = ""
    by: str = ""
    created_at: int | None = None
    revoked: bool = False  # Its writer's token is revoked, so it does not count on this node.


def checked(condition: str, effect: str, directory: str = "", file: str = "") -> Rule:
    """The rule that these words state. Raises InvalidArgument, for a condition with the place of the fault."""
    if not condition.strip():
        raise InvalidArgument("condition", "nothing", "a condition, such as kind = run", missing=True)
    compared = rule_grammar.conditions("condition", unicodedata.normalize("NFC", condition))
    weight = None if effect in (HIDE, ONLY) else weight_of(effect) if effect else 0.0
    if not effect or (weight is None and effect not in (HIDE, ONLY)):
        raise InvalidArgument("effect", effect or "nothing", EFFECTS, missing=not effect)
    for clause in compared:
        if weight is None and clause.field in TEXTS:
            hard = f"a field other than {clause.field} with {effect}: texts are in no index, so give a number"
            raise InvalidArgument("condition", condition, hard)
    folder = _path("directory", directory)
    if rule_grammar.GLOB_SIGNS.search(folder):
        raise InvalidArgument("directory", directory, "a folder without *, ? or [, or file for a glob")
    place = rule_grammar.glob("file", _path("file", file))
    return Rule(compared, weight, effect == ONLY, directory=folder, file=place, text=f"{condition.strip()} {effect}")


def _path(field: str, path: str) -> str:
    clean = unicodedata.normalize("NFC", field_checks.line(field, path, limits.PATH_BYTES_MAX)).strip()
    return clean.rstrip("/") or clean[:1]


def attrs_of(rule: Rule) -> dict[str, str]:
    """The attributes that say it of a memory."""
    condition, _, effect = rule.text.rpartition(" ")
    attrs = {CONDITION: condition, EFFECT: effect, DIRECTORY: rule.directory, FILE: rule.file}
    return {name: value for name, value in attrs.items() if value}


def rule_of(memory: Memory) -> Rule | None:
    """The rule that a memory is. None for another memory, and for words that no door would take: another node may have
    sent any."""
    said = memory.attrs
    if not states_rule(memory) or memory.state != "active":
        return None
    try:
        rule = checked(said[CONDITION], said.get(EFFECT, ""), said.get(DIRECTORY, ""), said.get(FILE, ""))
    except InvalidArgument:
        return None
    return replace(rule, space=memory.space, id=memory.id)


def shown(memory: Memory) -> StoredRule | None:
    """A memory as the rule that it is."""
    if (rule := rule_of(memory)) is None:
        return None
    return replace(
        of_settings(rule), id=memory.id, space=memory.space, content=memory.content, by=memory.by,
        created_at=memory.created_at,
    )  # fmt: skip


def of_settings(rule: Rule) -> StoredRule:
    """A rule of the settings as it is shown."""
    condition, _, effect = rule.text.rpartition(" ")
    return StoredRule(
        condition=condition, effect=effect, hard=rule.weight is None, directory=rule.directory, file=rule.file
    )


class RuleTable:
    """The rules of a node's memories."""

    def __init__(self) -> None:
        self.position: tuple[str, int] = ("", 0)  # Incarnation and number up to which the log was read.
        self._spaces: dict[str, list[tuple[int, str]]] = {}  # By space, the age and id of each, in order.
        self._rules: dict[str, tuple[int, Rule]] = {}
        self._by: dict[str, str] = {}  # By id, the principal that wrote it.
        self._stated = False  # Whether any memory ever stated a rule, be it one that counts or not.
        self.revoked: Callable[[str], bool] = _nobody  # Whether the token of a principal is revoked.

    def __len__(self) -> int:
        return len(self._rules)

    def clear(self) -> None:
        """Forget everything."""
        self._spaces.clear()
        self._rules.clear()
        self._by.clear()

    def take(self, memory: Memory) -> None:
        """The memory as it is now. Any earlier rule of its own falls."""
        self.end(memory.id)
        self._stated |= states_rule(memory)
        if (rule := rule_of(memory)) is None:
            return
        there = self._spaces.setdefault(memory.space, [])
        insort(there, (memory.created_at, memory.id))
        self._rules[memory.id] = (memory.created_at, rule)
        self._by[memory.id] = principal_of(memory.by)
        for _, id_ in there[KEPT_MAX:]:
            del self._rules[id_], self._by[id_]
        del there[KEPT_MAX:]

    def end(self, id_: str) -> None:
        """The memory is no rule."""
        created_at, rule = self._rules.pop(id_, (0, None))
        self._by.pop(id_, None)
        if rule is not None:
            self._spaces[rule.space].remove((created_at, id_))
            if not self._spaces[rule.space]:
                del self._spaces[rule.space]

    def check_room(self, space: str) -> None:
        """Raises FailedPrecondition when the space has as many rules as it may."""
        if len(self._of(space)) >= RULES_MAX:
            raise FailedPrecondition(
                f"space: {space} has {RULES_MAX} rules; delete some before you add another",
                field="space",
                value=space,
                limit=f"at most {RULES_MAX} rules a space",
            )

    def of(self, spaces: Iterable[str], private: str) -> tuple[Rule, ...]:
        """The rules for a recall in `spaces` by the owner of the space `private`, the oldest of each space first."""
        if not self._rules:
            return ()
        by_space = [self._of(space) for space in dict.fromkeys(spaces) if space != private]
        own = tuple(replace(rule, space="") for rule in self._of(private))
        return (*own, *(rule for rules in by_space for rule in rules))

    def asked(self, query: Asked) -> Asked:
        """A query that leaves the stored rules out of its answer, unless it asks for them by their tag."""
        if not self._stated or TAG in query.tags_any or TAG in query.tags_all:
            return query
        return replace(query, knowledge=True)

    def counting(self, rule: StoredRule) -> StoredRule:
        """A rule as it is shown, with the word whether its writer's token is revoked."""
        return replace(rule, revoked=bool(rule.by) and self.revoked(principal_of(rule.by)))

    def _of(self, space: str) -> tuple[Rule, ...]:
        counting = (id_ for _, id_ in self._spaces.get(space, ()) if not self.revoked(self._by[id_]))
        return tuple(self._rules[id_][1] for id_ in islice(counting, RULES_MAX))


def _nobody(_: str) -> bool:
    return False
