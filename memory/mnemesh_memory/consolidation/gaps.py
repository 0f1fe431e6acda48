"""Gaps: names that the memories use and none explains. Reported with ids, never written.

A name counts when at least USES_MIN memories use it. A memory with the name as title explains the name. So does a
memory with a sentence about the name's meaning.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from mnemesh_memory.consolidation.domains import Domain
from mnemesh_memory.consolidation.steps import UNEXPLAINED, Gap
from mnemesh_memory.policy.judge.guard import RECORDS
from mnemesh_memory.values.model import Memory

USES_MIN: Final = 3
GAPS_MAX: Final = 100
LOOKED_AT_CHARS: Final = 2000
_PROPER: Final = re.compile(r"(?<=[a-z,;:)/] )(?<![.!?] )([A-Z][a-z]{2,}[A-Za-z0-9]*(?:[ -][A-Z][A-Za-z0-9]+){0,2})\b")
_CODE: Final = re.compile(r"`([^`\s]{2,60})`")
_IDENTIFIER: Final = re.compile(
    r"(?<![\w./-])([a-z]+[A-Z]\w+|[A-Z][a-z0-9]+[A-Z]\w*|[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|"
    r"[A-Z]{2,}[0-9]*)(?![\w/-])"
)
_DAYS: Final = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|"
    r"november|december",
    re.IGNORECASE,
)
# Behind a name that begins a sentence, one of these explains the name.
_SAYS: Final = re.compile(
    r"[`\"']?(?:\s(?:service|tool|library|project|team|system|job|module|flag|table))?(?:\s*\([^)]{1,80}\))?"
    r"(?:,[^,]{1,80},)?\s*(?::|\u2014|-- |- |=|\b(?:is|are|was|means|stands for|refers to|describes|denotes|serves as|"
    r"acts as|is called|handles|provides|stores)\b)"
    # These tell how the subject fares, and not its meaning.
    r"(?!\s*(?:down|up|slow|broken|not\b|late|failing|out|in\b|on\b|at\b|back|still|used|being|again|too|full|stuck|"
    r"missing|green|red))",
    re.IGNORECASE,
)
_IN_BRACKETS: Final = re.compile(r"[`\"']?\s*\((?=[^)]*\s)[^)]{8,}\)")
_BEGINS: Final = re.compile(r"(?:^|[.!?\n])\s*(?:the |our |a |an )?[`\"']?$", re.IGNORECASE)
_CALLED: Final = re.compile(
    r"\b(?:called|named|known as|nicknamed|short for|code ?named?|i\.e\.|aka)\s+[`\"']?$", re.IGNORECASE
)
# Before a name so much is looked at.
_BEFORE_CHARS: Final = 40


def names_in(memory: Memory, domain: Domain) -> set[str]:
    """The names that a memory uses."""
    text = memory.content[:LOOKED_AT_CHARS]
    names = {*_PROPER.findall(text), *_CODE.findall(text), *_IDENTIFIER.findall(text), *domain.terms(text)}
    return {name for name in names if len(name) > 1 and not _DAYS.fullmatch(name)}


def explains(memory: Memory, name: str) -> bool:
    """Whether a memory says what the name stands for."""
    if memory.title.casefold() == name.casefold():
        return True
    text, wanted = memory.content[:LOOKED_AT_CHARS], name.casefold()
    folded = text.casefold()
    at = folded.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (folded[at - 1 : at].isalnum() or folded[end : end + 1].isalnum()):
            before, behind = text[max(0, at - _BEFORE_CHARS) : at], text[end:]
            if _CALLED.search(before) or _IN_BRACKETS.match(behind):
                return True
            if _BEGINS.search(before) and _SAYS.match(behind):
                return True
        at = folded.find(wanted, end)
    return False


def uses(memories: Iterable[Memory], domain: Domain) -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """By name its memories, and the names with an explanation in one of these memories. Records of events repeat each
    other, so only one record of a name counts."""
    by_name: dict[str, list[str]] = {}
    explained: set[str] = set()
    recorded: set[str] = set()
    for memory in memories:
        if memory.state != "active":
            continue
        for name in sorted(names_in(memory, domain)):
            if memory.kind not in RECORDS or name not in recorded:
                by_name.setdefault(name, []).append(memory.id)
            if memory.kind in RECORDS:
                recorded.add(name)
            if explains(memory, name):
                explained.add(name.casefold())
    return {name: tuple(ids) for name, ids in by_name.items()}, frozenset(explained)


def unexplained(used: Mapping[str, Sequence[str]], explained: Container[str]) -> list[Gap]:
    """The names that enough memories use and none explains, the most used first."""
    open_names = [
        Gap(type=UNEXPLAINED, text=name, ids=tuple(ids), count=len(ids))
        for name, ids in used.items()
        if len(ids) >= USES_MIN and name.casefold() not in explained
    ]
    return sorted(open_names, key=lambda gap: (-gap.count, gap.text))[:GAPS_MAX]
