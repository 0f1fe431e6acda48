"""Whether two texts say the same in other order or spelling. Values and words are equal one by one."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from mnemesh_memory.policy.grammar import LEADS
from mnemesh_memory.policy.slots import LOOKED_AT_CHARS, STATEMENTS_KEPT, Statement, statements
from mnemesh_memory.policy.tokens import TOKENS_MAX

_SEPARATORS: Final = frozenset((",", "and", "or"))

_SPACED_PUNCTUATION = re.compile(r" ?([,.;:!?()\[\]{}\"'\u2018\u2019\u201c\u201d\u3001\u3002]) ?")
_FINAL_STOPS = ".\u3002\u2026"
# Lines of code, whose spacing says something.
_CODE: Final = re.compile(r"```|~~~|^(?: {2,}|\t)\S", re.MULTILINE)
# Literals whose capitals say something: quoted code, calls, addresses, paths and names of variables.
_LITERAL: Final = re.compile(
    r"`[^`]{1,200}`|\b\w{1,80}\(|[a-zA-Z]{2,15}://[^\s.,;!?]{1,500}(?:[.,;!?][^\s.,;!?]{1,500}){0,50}"
    r"|(?<![\w/])[~.]{0,2}/[\w./-]{0,300}\w|\b\w{1,80}_\w{1,80}\b"
)
# Signs and words that are compared letter by letter and in order: comparisons, options, names with `_` or inner
# capitals, and words that mix letters and digits.
_EXACT: Final = re.compile(
    r"[<>=!]=|[<>=](?!\w*>)|(?<![\w-])-{1,2}[A-Za-z][\w-]*|\b_\w+|\b[a-z]+[A-Z]\w*|\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])\w{3,}\b"
)
_LONG_WORD: Final = re.compile(r"[a-z]{8,}")
_NUMBER: Final = re.compile(r"\d+")
_ORDER: Final = re.compile(r"\b(?:order|sequence|priority|followed)\b", re.IGNORECASE)
# A unit of which both spellings have a capital, or a single letter, is another unit: MW and mW, Mb and MB, m and M.
_UNIT: Final = re.compile(r"(?<=\d)\s?([A-Za-z]{1,3})\b")


def says_the_same(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but case, spacing, a final stop, articles, contractions and the order of
    clauses or list items. Code and literals must be equal to the letter."""
    if one.isascii() and other.isascii() and _long_words(one) != _long_words(other):
        return False  # most pairs, at a glance
    if _CODE.search(one) or _CODE.search(other):
        return False
    if sorted(_LITERAL.findall(one)) != sorted(_LITERAL.findall(other)) or _other_units(one, other):
        return False
    if _EXACT.findall(one) != _EXACT.findall(other):
        return False
    if almost_identical(one, other):
        return True
    if _ORDER.search(one) or _NUMBER.findall(one) != _NUMBER.findall(other):
        return False  # the order of steps or of numbers may be the statement
    if max(len(one), len(other)) > LOOKED_AT_CHARS:
        return False
    first, second = list(statements(one)), list(statements(other))
    if not first or len(first) != len(second) or any(len(part.tokens) >= TOKENS_MAX for part in first + second):
        return False
    for sentence in first:
        twin = next((part for part in second if part.asks == sentence.asks and same(sentence, part)), None)
        if twin is None:
            return False
        second.remove(twin)
    return True


@lru_cache(maxsize=STATEMENTS_KEPT)
def _long_words(text: str) -> tuple[str, ...]:
    """The longer words of a text in ASCII, sorted. Two texts that say the same have the same ones: articles, the verbs
    that a short form leaves out, and the parts of contractions are shorter."""
    return tuple(sorted(_LONG_WORD.findall(text.casefold())))


def _other_units(one: str, other: str) -> bool:
    units = zip(
        sorted(_UNIT.findall(one), key=str.casefold), sorted(_UNIT.findall(other), key=str.casefold), strict=False
    )
    return any(
        a != b and a.casefold() == b.casefold() and (len(a) == 1 or (a != a.casefold() and b != b.casefold()))
        for a, b in units
    )


def almost_identical(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but case, white space, the spacing of punctuation and a final stop."""
    return _loosened(one) == _loosened(other)


def _loosened(content: str) -> str:
    words = " ".join(unicodedata.normalize("NFC", content).casefold().split())
    return _SPACED_PUNCTUATION.sub(r"\1", words).rstrip(_FINAL_STOPS)


def same(one: Statement, other: Statement) -> bool:
    """Whether two sentences say the same but for case, spacing, articles, contractions and the order of clauses or
    list items."""
    before, after = one.plain, other.plain
    if _spoken(before) == _spoken(after):
        return True
    if Counter(_spoken(before)) != Counter(_spoken(after)):
        return False
    return any(
        _spoken(turn) == _spoken(after) or _reordered(list(turn), list(after)) for turn in (before, *_turns(before))
    )


def _spoken(words: Sequence[str]) -> list[str]:
    return [word for word in words if word != ","]


def _turns(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The sentence with a clause from its beginning at its end, and the other way round."""
    for at in range(1, len(words)):
        if words[0] in LEADS:
            yield words[at:] + words[: at - (words[at - 1] == ",")]
        if words[at] in LEADS:
            yield words[at:] + words[:at]
            yield (*words[at:], ",", *words[:at])


def _reordered(one: list[str], other: list[str]) -> bool:
    """Whether two sentences differ in nothing but the order of list items."""
    while one and other and one[0] == other[0]:
        del one[0], other[0]
    while one and other and one[-1] == other[-1]:
        del one[-1], other[-1]
    return sorted(_items(one)) == sorted(_items(other))


def _items(words: list[str]) -> list[tuple[str, ...]]:
    items: list[list[str]] = [[]]
    for word in words:
        if word in _SEPARATORS:
            items.append([])
        else:
            items[-1].append(word)
    return [tuple(item) for item in items if item]
