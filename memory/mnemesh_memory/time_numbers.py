"""Numbers as people write them in English before a unit of time: "21", "twenty-one", "a hundred and two".

A number is read whole or not at all: what stands before its last word may be a part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

UNITS: Final = {
    form: unit for unit in ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
    for form in (unit, unit + "s")
} | {"min": "minute", "mins": "minute", "hr": "hour", "hrs": "hour"}  # fmt: skip
ONES: Final = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_TEENS: Final = {"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
                 "seventeen": 17, "eighteen": 18, "nineteen": 19}  # fmt: skip
TENS: Final = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
               "ninety": 90}  # fmt: skip
ARTICLES: Final = {"a": 1, "an": 1}
NUMBERS: Final = {**ARTICLES, **ONES, **_TEENS, **TENS}
_LARGE: Final = frozenset(("dozen", "hundred", "thousand", "million"))
_JOINED: Final = ("and", "or", "to", ",")
DIGITS_MAX: Final = 4


def number_at(words: Sequence[str], at: int) -> tuple[int, int]:
    """The number that begins there, 0 for none, and the token after it."""
    word = _word(words, at)
    if word.isascii() and word.isdigit() and len(word) <= DIGITS_MAX:
        return int(word), at + 1
    if word not in ARTICLES or _word(words, at + 1) in _LARGE:
        hundreds = {**ARTICLES, **ONES}.get(word, 0) if _word(words, at + 1) == "hundred" else 0
        if hundreds:
            rest, end = _below_hundred(words, at + 2 + (_word(words, at + 2) == "and"))
            return hundreds * 100 + rest, end if rest else at + 2
        return _below_hundred(words, at)
    return ARTICLES[word], at + 1


def is_number(words: Sequence[str], at: int) -> bool:
    """Whether the token there is a number or the last word of one."""
    word = _word(words, at)
    return word in NUMBERS or word in _LARGE or (word.isascii() and word.isdigit())


def is_distance(words: Sequence[str], end: int) -> bool:
    """Whether a number of units ends before the token `end`: "a week", "3 days"."""
    return _word(words, end - 1) in UNITS and is_number(words, end - 2)


def is_cut(words: Sequence[str], at: int) -> bool:
    """Whether a number or distance that begins there is but the end of a longer one: "thirty | two weeks", "two or |
    three days", "two, | three days", "a year and | two months", "a week or | a month"."""
    before, mark = _word(words, at - 1), _word(words, at)
    if mark in ARTICLES:
        return before in _JOINED and is_distance(words, at - 1)
    same = before.isdigit() == mark.isdigit()
    if before not in ARTICLES and is_number(words, at - 1) and same:
        return True
    if (
        before in ("or", "to", "and", "-", "\u2013")
        and _word(words, at - 2) not in ARTICLES
        and is_number(words, at - 2)
    ):
        return True
    listed = _word(words, at - 2)
    if before == "," and not mark.isdigit() and listed not in ARTICLES and listed in NUMBERS:
        return True
    return is_distance(words, at - (before in _JOINED))


def _below_hundred(words: Sequence[str], at: int) -> tuple[int, int]:
    word, following = _word(words, at), _word(words, at + 1)
    if word in TENS and following in ONES:
        return TENS[word] + ONES[following], at + 2
    number = 0 if word in ARTICLES else NUMBERS.get(word, 0)
    return number, at + 1


def _word(words: Sequence[str], at: int) -> str:
    return words[at] if 0 <= at < len(words) else ""
