"""The effect of rules on a recall: some memories count more, some less, some not at all. Pure.

The settings write rules as `tag=decision +0.3; path=docs/* -0.2; kind=run hide`. A raise fills a part of the gap
between a score and 1, and a lowering takes a part of the score. So no rule lifts a memory without a match. Hiding is a
filter of the index's query; a query for that kind or tag by name sees the memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from mnemesh_memory.validation import field_checks
from mnemesh_memory.validation.filters import passes, rule_holds, ruled
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Memory, Query
from mnemesh_memory.values.rules import IS, Comparison, Rule

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
    compared = (Comparison(field, IS, value),)
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
    asked = (named.get(one.field, set()) for one in rule.conditions)
    if rule.only:
        return any(asked)
    return any(one.op == IS and one.value in named.get(one.field, ()) for one in rule.conditions)


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
