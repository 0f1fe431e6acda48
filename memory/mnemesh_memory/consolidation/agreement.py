"""Whether two memories say the same, agree, or contradict each other. Values, names and negation decide.

The write guard judges contradictions and word-for-word equality. Here are the looser readings for texts that are not
new: a restatement in other function words, and two reports of one kind of event.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mnemesh_memory.policy.grammar import LEADS, LIGHT, NEGATORS, OPPOSITES
from mnemesh_memory.policy.guard import Candidate, judge, says_the_same
from mnemesh_memory.policy.slots import LOOKED_AT_CHARS, statements

# Dimensions of the moment of an event, which say nothing about the event.
MOMENTS: Final = frozenset(("day", "date", "month", "year", "weekday"))
# Nouns whose number names one occasion: build 4312 and build 4410 are two occasions of one thing.
OCCASIONS: Final = (
    "build|run|job|ticket|issue|pr|pull|request|commit|incident|attempt|deploy|deployment|session|sprint|week|case|"
    "pipeline|review|round|shift"
)
_OCCASION: Final = re.compile(rf"\b(?:{OCCASIONS})s?\s?#?\d+\b|(?<!\w)#\d+\b", re.IGNORECASE)
_CODE: Final = re.compile(r"`([^`\n]{1,120})`")
_IDENTIFIER: Final = re.compile(
    r"(?<![\w.])(?:[A-Za-z_]\w*(?:\.\w+)+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+_\w+|[A-Z][A-Z0-9_]{2,})\b"
)
# Words of a report that tell nothing of the event.
_FILLERS: Final = frozenset(
    ("today", "again", "also", "just", "once", "morning", "evening", "night", "yesterday", "note")
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it is compared."""

    text: str
    order: tuple[str, ...]  # Keys of the words and values that say something, in order.
    values: frozenset[tuple[str, str]]  # (dimension, key), without moments.
    names: frozenset[str]
    negations: int

    @property
    def keys(self) -> frozenset[str]:
        """The words and values that say something."""
        return frozenset(self.order)


@lru_cache(maxsize=2048)
def read(text: str) -> Reading:
    """The reading of the beginning of a text."""
    plain = _OCCASION.sub(" ", text[:LOOKED_AT_CHARS])
    order: list[str] = []
    values: set[tuple[str, str]] = set()
    names = {found.casefold() for found in (*_CODE.findall(plain), *_IDENTIFIER.findall(plain))}
    negations = 0
    for sentence in statements(plain):
        negations += sum(token.text.casefold() in NEGATORS for token in sentence.tokens)
        for place in sentence.content:
            token = sentence.tokens[place]
            if token.dimension in MOMENTS or token.text.casefold() in _FILLERS:
                continue
            if token.dimension:
                values.add((token.dimension, token.key))
            elif token.key.endswith("'") and place > 0:
                names.add(token.key.rstrip("'"))
            if token.dimension or token.key not in LIGHT:
                order.append(token.key.rstrip("'"))
    return Reading(text, tuple(order), frozenset(values), frozenset(names), negations)


def overlap(one: Reading, other: Reading) -> float:
    """The share of the shorter text's words that the longer one has, in [0, 1]."""
    least = min(len(one.keys), len(other.keys))
    return len(one.keys & other.keys) / least if least else 0.0


def contested(one: str, other: str, cosine: float) -> bool:
    """Whether one of two texts gives another value of what the other says, by the write guard."""
    return _contests(one, other, cosine) or _contests(other, one, cosine)


def _contests(older: str, newer: str, cosine: float) -> bool:
    found = judge(newer, "fact", [Candidate(id="", text=older, kind="fact", cosine=cosine, replaceable=True)])
    return bool(found.supersedes or found.contradicts)


def same_figures(one: Reading, other: Reading) -> bool:
    """Whether numbers, names and negation agree."""
    same_values = {key for _, key in one.values} == {key for _, key in other.values}
    return same_values and one.names == other.names and one.negations == other.negations


def restates(one: str, other: str) -> bool:
    """Whether two texts are one statement: word for word, or in other function words, forms and order of clauses."""
    if says_the_same(one, other):
        return True
    first, second = read(one), read(other)
    if not first.order or not same_figures(first, second) or "?" in one + other:
        return False
    if Counter(first.order) != Counter(second.order):
        return False
    return first.order == second.order or ((_fronted(one) or _fronted(other)) and _turned(first.order, second.order))


def _fronted(text: str) -> bool:
    """Whether a text begins with a clause that may stand at its end, too."""
    return text.lstrip().partition(" ")[0].casefold() in LEADS


def _turned(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether a clause moved from one end to the other."""
    return any(one[at:] + one[:at] == other for at in range(max(1, len(one))))


def consistent(one: Reading, other: Reading, cosine: float) -> bool:
    """Whether two reports of one kind of event agree: no value, name or negation of one is against the other."""
    if one.negations != other.negations or _unlike(one.values, other.values):
        return False
    if one.names and other.names and not (one.names <= other.names or other.names <= one.names):
        return False
    if any(_opposed(one.keys - other.keys, other.keys - one.keys)):
        return False
    return not contested(one.text, other.text, cosine)


def _unlike(one: Iterable[tuple[str, str]], other: Iterable[tuple[str, str]]) -> bool:
    """Whether the texts have other values of a dimension."""
    first: dict[str, set[str]] = {}
    second: dict[str, set[str]] = {}
    for found, values in ((first, one), (second, other)):
        for dimension, key in values:
            found.setdefault(dimension, set()).add(key)
    return any(first[dimension] != second[dimension] for dimension in first.keys() & second.keys())


def _opposed(one: frozenset[str], other: frozenset[str]) -> Iterable[bool]:
    return (frozenset((left, right)) in OPPOSITES for left in one for right in other)
