"""Whether two sentences are the same statement in other order or spelling. Values and words are equal one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from mnemesh_memory.policy.grammar import LEADS
from mnemesh_memory.policy.slots import Statement

_SEPARATORS: Final = frozenset((",", "and", "or"))


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
