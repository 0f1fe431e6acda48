"""Gaps: names that the memories use and none explains. Reported with ids, never written.

A name counts when at least USES_MIN memories use it. A memory explains a name when the name is its title, or the
subject of a sentence that says what it is.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from mnemesh_memory.consolidation.domains.domain import Domain
from mnemesh_memory.consolidation.steps import UNEXPLAINED, Gap
from mnemesh_memory.policy.guard import RECORDS
from mnemesh_memory.values.model import Memory

USES_MIN: Final = 3
GAPS_MAX: Final = 100
LOOKED_AT_CHARS: Final = 2000
_PROPER: Final = re.compile(r"(?<=[a-z,;:)] )(?<![.!?] )([A-Z][a-z]{2,}[A-Za-z0-9]*(?:[ -][A-Z][A-Za-z0-9]+){0,2})\b")
_CODE: Final = re.compile(r"`([^`\s]{2,60})`")
_IDENTIFIER: Final = re.compile(
    r"(?<![\w./-])([a-z]+[A-Z]\w+|[A-Z][a-z0-9]+[A-Z]\w*|[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+|[A-Z]{2,}[0-9]*)(?![\w/-])"
)
_DAYS: Final = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|"
    r"november|december",
    re.IGNORECASE,
)
# After its subject, a sentence with one of these says what the subject is.
_SAYS: Final = (
    r"(?:\s*\([^)]{1,80}\))?(?:,[^,]{1,80},)?\s*(?::|\u2014|-- |- |=|\b(?:is|are|was|means|stands for|refers to|"
    r"describes|denotes|serves as|acts as|is called|handles|provides|stores)\b)"
)
# These say how the subject fares, and not what the subject is.
_FARES: Final = (
    r"(?!\s*(?:down|up|slow|broken|not\b|late|failing|out|in\b|on\b|at\b|back|still|used|being|again|too|full|stuck|"
    r"missing|green|red))"
)
_CALLED: Final = r"\b(?:called|named|known as|nicknamed|short for|code ?name[d]?|i\.e\.|aka)\s+[`\"']?"
_NOUNS: Final = r"(?:\s(?:service|tool|library|project|team|system|job|module|flag|table))?"


def names_in(memory: Memory, domain: Domain) -> set[str]:
    """The names that a memory uses."""
    text = memory.content[:LOOKED_AT_CHARS]
    found = {*_PROPER.findall(text), *_CODE.findall(text), *_IDENTIFIER.findall(text), *domain.terms(text)}
    return {name for name in found if len(name) > 1 and not _DAYS.fullmatch(name)}


def explains(memory: Memory, name: str) -> bool:
    """Whether a memory says what the name stands for."""
    if memory.title.casefold() == name.casefold():
        return True
    text = memory.content[:LOOKED_AT_CHARS]
    named = rf"(?<![\w-])[`\"']?{re.escape(name)}[`\"']?(?![\w-])"
    subject = rf"(?:^|[.!?\n]\s*)(?:the |our |a |an )?{named}{_NOUNS}{_SAYS}{_FARES}"
    return bool(
        re.search(subject, text, re.IGNORECASE)
        or re.search(_CALLED + re.escape(name) + r"(?![\w-])", text, re.IGNORECASE)
        or re.search(rf"{named}\s*\((?=[^)]*\s)[^)]{{8,}}\)", text)
    )


def uses(memories: Iterable[Memory], domain: Domain) -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """By name the memories that use the name, and the names that one of these memories explains. Records of what
    happened repeat each other, so one of them counts."""
    found: dict[str, list[str]] = {}
    explained: set[str] = set()
    recorded: set[str] = set()
    for memory in memories:
        if memory.state != "active":
            continue
        for name in sorted(names_in(memory, domain)):
            if memory.kind not in RECORDS or name not in recorded:
                found.setdefault(name, []).append(memory.id)
            if memory.kind in RECORDS:
                recorded.add(name)
            if explains(memory, name):
                explained.add(name.casefold())
    return {name: tuple(ids) for name, ids in found.items()}, frozenset(explained)


def unexplained(found: Mapping[str, Sequence[str]], explained: Container[str]) -> list[Gap]:
    """The names that enough memories use and none explains, the most used first."""
    open_names = [
        Gap(type=UNEXPLAINED, text=name, ids=tuple(ids), count=len(ids))
        for name, ids in found.items()
        if len(ids) >= USES_MIN and name.casefold() not in explained
    ]
    return sorted(open_names, key=lambda gap: (-gap.count, gap.text))[:GAPS_MAX]
