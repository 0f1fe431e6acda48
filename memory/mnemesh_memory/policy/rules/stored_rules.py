"""Rules of recall that are memories of a space: written by whoever may write there, read by every node. Pure.

Such a memory has the tag `rule` and attributes that state the rule. It is about the memories of its own space. Rules
in a private space are about all that its owner recalls. A rule never shows anything: it hides or weighs what a reader
may read. The table holds the rules of a node.
"""

from __future__ import annotations

import unicodedata
from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeVar

from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.policy.rules import rule_grammar
from mnemesh_memory.policy.rules.recall_rules import HIDE, RULES_MAX, weight_of
from mnemesh_memory.validation import field_checks
from mnemesh_memory.validation.filters import states_rule
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument
from mnemesh_memory.values.model import Memory, MemoryFilter
from mnemesh_memory.values.rules import RULE_CONDITION, RULE_TAG, TEXTS, Rule

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
    for one in compared:
        if weight is None and one.field in TEXTS:
            hard = f"a field other than {one.field} with {effect}: texts are in no index, so give a number"
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
    told = {CONDITION: condition, EFFECT: effect, DIRECTORY: rule.directory, FILE: rule.file}
    return {name: value for name, value in told.items() if value}


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
        found = [self._of(space) for space in dict.fromkeys(spaces) if space != private]
        own = tuple(replace(rule, space="") for rule in self._of(private))
        return (*own, *(rule for rules in found for rule in rules))

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
