"""Which memories a query lets through. Knows nothing of relevance, and nothing of where memories are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.values.model import Draft, Memory, Query
from mnemesh_memory.values.rules import CONTAINS, IS, RULE_CONDITION, RULE_TAG, Rule, RuleComparison, Ruled


def passes(query: Query, memory: Memory) -> bool:
    """Whether `memory`, now or at `as_of`, passes every filter of the query but `min_score`, `min_heat` and `valid_at`.
    These three need more than the memory itself."""
    return (
        memory.space in query.spaces
        and not (query.knowledge and states_rule(memory))
        and memory.state != "forgotten"
        and (memory.state != "superseded" or query.include_superseded or _past(query))
        and (memory.tier != "archive" or query.include_archive)
        and _words_match(query, memory)
        and (not query.agent or memory.by == query.agent)
        and (not query.session or memory.source.session == query.session)
        and (query.since is None or memory.created_at >= query.since)
        and (query.before is None or memory.created_at < query.before)
        and (query.window is None or not query.window.only or query.window.holds(happened_at(memory), memory.id))
        and in_place(query, memory.paths, memory.source.dir)
        and not (query.hidden and any_holds(query.hidden, ruled(memory)))
    )


def states_rule(memory: Draft | Memory) -> bool:
    """Whether a memory says a rule, which is no knowledge, be it one that counts or not."""
    return RULE_TAG in memory.tags and RULE_CONDITION in memory.attrs


def _past(query: Query) -> bool:
    """Whether a query asks for what held at a moment, and judges superseded memories by it."""
    return query.valid_at is not None or query.asked_at is not None


def ruled(memory: Memory) -> Ruled:
    """The facts of a memory that rules look at."""
    return Ruled(
        space=memory.space, kind=memory.kind, tags=memory.tags, by=memory.by, tier=memory.tier,
        importance=memory.importance, paths=memory.paths, folder=memory.source.dir, title=memory.title,
        content=memory.content,
    )  # fmt: skip


def any_holds(rules: Iterable[Rule], facts: Ruled) -> bool:
    """Whether a memory is one of those that any of the rules is about."""
    return any(rule_holds(rule, facts) for rule in rules)


def rule_holds(rule: Rule, facts: Ruled) -> bool:
    """Whether a memory is one of those that the rule hides or weighs."""
    if rule.space and facts.space != rule.space:
        return False
    if rule.directory and not any(_below(path, rule.directory) for path in (facts.folder, *facts.paths)):
        return False
    if rule.file and not any(matches(path, rule.file) for path in facts.paths):
        return False
    return all(_compares(clause, facts) for clause in rule.conditions) is not rule.only


def _compares(clause: RuleComparison, facts: Ruled) -> bool:
    match clause.field:
        case "importance":
            return _ordered(clause, 0.5 if facts.importance is None else facts.importance)
        case "title" | "content":
            return (clause.value.casefold() in getattr(facts, clause.field).casefold()) is (clause.op == CONTAINS)
        case "tag":
            met = clause.value in facts.tags
        case "path":
            met = any(matches(path, clause.value) for path in facts.paths)
        case "agent":
            met = facts.by == clause.value
        case _:
            met = getattr(facts, clause.field) == clause.value
    return met is (clause.op == IS)


def _ordered(clause: RuleComparison, value: float) -> bool:
    bound = float(clause.value)
    return {"<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound}[clause.op]


def in_place(query: Query, paths: Iterable[str], folder: str) -> bool:
    """Whether a memory about `paths`, written from `folder`, passes the query's `paths` and `source_dir`."""
    if query.paths and not any(_concern(path, wanted) for path in paths for wanted in query.paths):
        return False
    return not query.source_dir or _below(folder, query.source_dir)


def _words_match(query: Query, memory: Memory) -> bool:
    tags = set(memory.tags)
    return (
        (not query.kinds or memory.kind in query.kinds)
        and (not query.tags_any or bool(tags & set(query.tags_any)))
        and tags >= set(query.tags_all)
        and not tags & set(query.tags_none)
    )


def _concern(path: str, wanted: str) -> bool:
    """A memory's path or glob and an asked path or glob concern each other."""
    return path == wanted or matches(wanted, path) or matches(path, wanted) or _below(path, wanted)


def matches(path: str, glob: str) -> bool:
    """Whether a path fits a glob. `*` stands for any text, also across folders, and `**/` for any number of folders,
    also for none."""
    return fnmatchcase(path, glob) or ("**/" in glob and _fits(path.split("/"), glob.split("/")))


def _fits(names: Sequence[str], globs: Sequence[str]) -> bool:
    ends = {0}  # how many of the names those globs can take in that were looked at
    for glob in globs:
        if glob == "**":
            ends = set(range(min(ends), len(names) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(names) and fnmatchcase(names[end], glob)}
        if not ends:
            return False
    return len(names) in ends


def _below(path: str, folder: str) -> bool:
    stem = folder.rstrip("/")
    return path == stem or path.startswith(stem + "/")
