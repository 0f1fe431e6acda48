"""The filters of listings and recalls as conditions of SQL on the table of memories, with their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mnemesh_actors.ledger.store.rows import marks
from mnemesh_memory.access.grants import BELOW, EVERY_SHARED, EVERY_SPACE
from mnemesh_memory.policy.validity import SUPERSEDES
from mnemesh_memory.times.window import Window
from mnemesh_memory.values.marks import TRUST_CLASSES
from mnemesh_memory.values.model import ListQuery
from mnemesh_memory.values.rules import IS, RULE_CONDITION, RULE_TAG, Rule

# As holding.held, and held with nobody in holding.stood_instead. Each ? is the moment. A CROSS JOIN keeps the order:
# the first successor that held ends the question, where SQLite would gather the whole chain first.
HELD = (
    "coalesce(coalesce(json_extract({0}.detail, '$.valid_from'), (SELECT max(json_extract(old.detail, '$.valid_to')) "
    f"FROM link JOIN memory AS old ON old.id = link.target WHERE link.source = {{0}}.id AND link.type = '{SUPERSEDES}' "
    "AND old.space = {0}.space AND json_extract(old.detail, '$.superseded_by') IS NOT NULL)) <= ?, 1) "
    "AND coalesce(json_extract({0}.detail, '$.valid_to') > ?, 1)"
)
STOOD = (
    f"{HELD.format('memory')} AND (memory.state <> 'superseded' OR NOT EXISTS (WITH RECURSIVE chain(id) AS ("
    "SELECT json_extract(memory.detail, '$.superseded_by') UNION SELECT json_extract(one.detail, '$.superseded_by') "
    "FROM chain JOIN memory AS one ON one.id = chain.id WHERE one.space = memory.space AND one.id <> memory.id) "
    "SELECT 1 FROM chain CROSS JOIN memory AS later ON later.id = chain.id WHERE later.id <> memory.id "
    f"AND later.space = memory.space AND later.state <> 'forgotten' AND {HELD.format('later')}))"
)
# As traits.happened_at.
HAPPENED = "coalesce(json_extract(detail, '$.valid_from'), created_at)"
# No memory that states a rule, as filters.states_rule.
KNOWLEDGE = (
    f"NOT (instr(memory.tags, '\"{RULE_TAG}\"') AND json_extract(memory.detail, '$.attrs.{RULE_CONDITION}') IS NOT NULL"
    f" AND EXISTS (SELECT 1 FROM json_each(memory.tags) WHERE value = '{RULE_TAG}'))"
)
# As trust.class_of, as a place in TRUST_CLASSES.
TRUSTED = (
    "max(CASE WHEN (SELECT node FROM entry WHERE doc = memory.id ORDER BY seq LIMIT 1) <> ? THEN 2 "
    "WHEN by = ? OR instr(by, ?) = 1 THEN 0 ELSE 1 END, CASE json_extract(detail, '$.attrs.trust') "
    "WHEN 'granted' THEN 1 WHEN 'peer' THEN 2 WHEN 'imported' THEN 3 ELSE 0 END) IN ({})"
)


def time_of(window: Window | None) -> str:
    """By what a listing is ordered: in a stretch of time by when something happened."""
    return HAPPENED if window is not None and window.only else "created_at"


def conditions(query: ListQuery) -> tuple[str, list[Any]]:
    parts = [f"space IN ({marks(query.spaces)})"]
    values: list[Any] = [*query.spaces]
    if query.within is not None:
        where, patterns = covered(query.within)
        parts, values = [where], [*patterns]
    if query.state == "active" and query.valid_at is not None and not query.active_now:
        parts.append("state <> 'forgotten'")  # what was superseded since was active then
    elif query.state != "all":
        parts.append("state = ?")
        values.append(query.state)
    has = "EXISTS (SELECT 1 FROM json_each(memory.tags) WHERE value IN ({}))"
    lists = [("kind IN ({})", query.kinds), (has, query.tags_any), (f"NOT {has}", query.tags_none)]
    for condition, among in [*lists, *((has, (tag,)) for tag in query.tags_all)]:
        if among:
            parts.append(condition.format(marks(among)))
            values += among
    if query.trusted is not None:
        parts.append(TRUSTED.format(marks(query.trusted.classes)))
        values += [query.trusted.node, query.trusted.principal, query.trusted.principal + "/"]
        values += [TRUST_CLASSES.index(word) for word in query.trusted.classes]
    if query.knowledge:
        parts.append(KNOWLEDGE)
    for rule in query.hidden:
        if rule.indexed:
            condition, given = _ruled(rule, has)
            parts.append(f"NOT ({condition})")
            values += given
    window = query.window if query.window is not None and query.window.only else Window(None, None)
    for condition, value in (
        ("created_at >= ?", query.since),
        ("created_at < ?", query.before),
        ("by = ?", query.agent or None),
        ("session = ?", query.session or None),
        (f"{HAPPENED} >= ?", window.since),
        (f"{HAPPENED} < ?", window.before),
    ):
        if value is not None:
            parts.append(condition)
            values.append(value)
    if query.valid_at is not None:
        condition = STOOD if query.state == "active" else HELD.format("memory")
        parts.append(condition)
        values += [query.valid_at] * condition.count("?")
    return " AND ".join(parts), values


def _ruled(rule: Rule, has_tag: str) -> tuple[str, list[str]]:
    """The memories that a rule is about, as filters.rule_holds says, and the values of the condition."""
    columns = {"kind": "kind = ?", "agent": "by = ?", "tag": has_tag.format("?")}
    compared = [columns[item.field] if item.op == IS else f"NOT {columns[item.field]}" for item in rule.conditions]
    whole = f"{'NOT ' if rule.only else ''}({' AND '.join(compared)})"
    values = [item.value for item in rule.conditions]
    return (f"space = ? AND {whole}", [rule.space, *values]) if rule.space else (whole, values)


def covered(patterns: Sequence[str] | None) -> tuple[str, tuple[str, ...]]:
    """`grants.any_matches` as an SQL condition on the column `space`, and its values. None lets everything through."""
    if patterns is None or EVERY_SPACE in patterns:
        return "1", ()
    parts, values = ["0"], []
    for pattern in patterns:
        if pattern == EVERY_SHARED:
            parts.append("substr(space, 1, 1) <> '@'")
            continue
        stem = pattern.removesuffix(BELOW)
        if stem == pattern:
            parts.append("space = ?")
            values.append(pattern)
        if stem != pattern or pattern.startswith("@"):
            # Everything that begins with `stem/`: `0` follows `/` in every encoding of ours.
            parts.append("(space >= ? AND space < ?)")
            values += [stem + "/", stem + "0"]
    return f"({' OR '.join(parts)})", tuple(values)
