"""Rules of a node's owner for recall: some kinds, tags and paths count more, some less, some not at all. Pure.

Written as `tag=decision +0.3; path=docs/* -0.2; kind=run hide`. A raise fills a part of the gap between a score and 1,
a lowering takes a share of the score. So no rule lifts a memory without a match. Hiding is a filter of the index's
query; a query for that kind or tag by name sees the memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from mnemesh_memory.validation import field_checks
from mnemesh_memory.validation.filters import matches, passes
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.kinds import KINDS
from mnemesh_memory.values.model import Memory, Query

FIELDS: Final = ("kind", "tag", "path")
HIDE: Final = "hide"
RULES_MAX: Final = 32
ALLOWED: Final = "kind=, tag= or path=VALUE, then +NUMBER, -NUMBER up to 1, or hide for a kind or tag; separated by ;"


class Rule(NamedTuple):
    """Memories whose `field` is `value` (a path may be a glob) get `weight` in [-1, 1]; None hides them."""

    field: str
    value: str
    weight: float | None


def rules_of(text: str) -> tuple[Rule, ...]:
    """The rules that a text states. Raises InvalidArgument for what is none, and for more than RULES_MAX."""
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
    if effect == HIDE and field != "path":
        return Rule(field, value, None)
    try:
        weight = float(effect)
    except ValueError:
        raise refused from None
    if effect[0] not in "+-" or not math.isfinite(weight) or abs(weight) > 1:
        raise refused
    return Rule(field, value, weight)


def narrowed(query: Query, rules: Sequence[Rule]) -> Query:
    """The query without the kinds, tags and paths that the rules hide, except those named by the query itself."""
    hidden = [rule for rule in rules if rule.weight is None]
    if not hidden:
        return query
    named = {*query.tags_any, *query.tags_all}
    tags = [rule.value for rule in hidden if rule.field == "tag" and rule.value not in named]
    kinds = {rule.value for rule in hidden if rule.field == "kind"}
    return replace(
        query,
        tags_none=tuple(sorted({*query.tags_none, *tags})),
        kinds=query.kinds or (tuple(kind for kind in KINDS if kind not in kinds) if kinds else ()),
    )


def hiding(query: Query, memories: Iterable[Memory], rules: Sequence[Rule]) -> tuple[str, ...]:
    """The rules, as the settings write them, that hide some of `memories`. Without rules, all of `memories` pass the
    query."""
    shown = list(memories)
    alone = [(rule, narrowed(query, (rule,))) for rule in rules if rule.weight is None]
    return tuple(
        f"{rule.field}={rule.value} {HIDE}"
        for rule, left in alone
        if any(_holds(rule, memory) and not passes(left, memory) for memory in shown)
    )


def weighed(memory: Memory, rules: Sequence[Rule]) -> tuple[float, float]:
    """Two shares in [0, 1]: of a score's gap to 1, filled by the rules, and of the score, taken off. Of several
    matching rules the strongest of each direction counts."""
    held = [rule.weight for rule in rules if rule.weight and _holds(rule, memory)]
    return max([0.0, *held]), -min([0.0, *held])


def _holds(rule: Rule, memory: Memory) -> bool:
    if rule.field == "kind":
        return memory.kind == rule.value
    if rule.field == "tag":
        return rule.value in memory.tags
    return any(matches(path, rule.value) for path in memory.paths)
