"""A rule of recall: the memories that it is about, and its effect on them.

A rule comes from the settings of a node or from a memory of a space. It only hides or weighs what a reader may read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

IS, IS_NOT, CONTAINS, LACKS = "=", "!=", "contains", "lacks"
# By field, the operators of a comparison.
OPERATORS: Final = {
    **dict.fromkeys(("kind", "tag", "agent", "tier", "path"), (IS, IS_NOT)),
    "importance": ("<", "<=", ">", ">="),
    **dict.fromkeys(("title", "content"), (CONTAINS, LACKS)),
}
# The tag and the attribute of a memory that states a rule.
RULE_TAG: Final = "rule"
RULE_CONDITION: Final = "rule"
# Fields that the index can filter by.
INDEXED: Final = ("kind", "tag", "agent")
# Fields that are read for the memories of an answer alone.
TEXTS: Final = ("title", "content")


@dataclass(frozen=True, slots=True)
class RuleComparison:
    """`field op value`; the value of a path may be a glob."""

    field: str
    op: str
    value: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Memories of the scope for which all `conditions` hold get `weight` in [-1, 1]. None hides them, or with `only`
    the others of the scope."""

    conditions: tuple[RuleComparison, ...]
    weight: float | None
    only: bool = False
    space: str = ""  # The memories of this space, "" for any.
    directory: str = ""  # Memories written from there or below, or about a file there.
    file: str = ""  # Memories about a file that fits this glob.
    id: str = ""  # The memory that says it, "" for a rule of the settings.
    text: str = ""  # As its writer put it.

    @property
    def indexed(self) -> bool:
        """Whether the index can filter by it."""
        return not (self.directory or self.file) and all(clause.field in INDEXED for clause in self.conditions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """The facts of a memory that rules look at."""

    space: str
    kind: str
    tags: tuple[str, ...]
    by: str
    tier: str
    importance: float | None
    paths: tuple[str, ...]
    folder: str
    title: str = ""
    content: str = ""
