"""Two texts in one spelling, before a model's word that they repeat each other is checked. Pure.

Short forms stand in full as words/wordings.txt has them. Signs become words, numbers and units get a blank, accents go,
and a compound has the form of the other text: "back-end", "back end" and "backend" are one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from mnemesh_memory.policy.judge.slots import STATEMENTS_KEPT
from mnemesh_memory.wordlists import table

_FULL: Final = {
    variant: word
    for word, variants in table("words/wordings.txt")
    for variant in variants.split("/")
    if word != "-" and variant.isalnum() and len(variant) < len(word)
}
_WEEKDAYS: Final = {
    day[:3]: day for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
}
_PLACES: Final = {"1st": "first", "2nd": "second", "3rd": "third", "4th": "fourth"}
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_NAMED_MONTH: Final = "|".join((*_MONTHS, "Sept", *(month[:3] for month in _MONTHS)))
_MONTH: Final = f"({'|'.join(month[:3] for month in _MONTHS)})"
_STOP: Final = r"(?:\.(?=\s[a-z\d]))?"  # of a short form
# Behind a number "min" is a unit.
_SHORT: Final = re.compile(
    rf"(?<![\w./-])(?<!\d )(?:{'|'.join(sorted(_FULL, key=len, reverse=True))})(?![\w/-]){_STOP}",
    re.IGNORECASE,
)
_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?"
_SIGNS: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (
            rf"(?:(?<=\d )|(?<=\d\. )|(?<=\bin )|(?<=\bsince )|(?<=\buntil ))({_NAMED_MONTH})\b{_STOP}",
            lambda month: month[1][:3],
        ),
        (rf"\b({_NAMED_MONTH})\b\.?(?=\s\d)", lambda month: month[1][:3]),
        (rf"\b{_MONTH}\s{_DAY}\b,?", r"\2 \1"),
        (rf"\b{_DAY}(?: of)?\s{_MONTH}\b", r"\1 \2"),
        (rf"\b(Mon|Tue|Wed|Thu|Fri)s?\b{_STOP}", lambda day: _WEEKDAYS[day[1]]),
        (r"\b(1st|2nd|3rd|4th)\b", lambda place: _PLACES[place[1]]),
        (r"\bw/o\b", "without"),
        (r"\bw/(?=\s)", "with"),
        (r"(?:>=|\u2265)\s?(?=\d)", "at least "),
        (r"(?:<=|\u2264)\s?(?=\d)", "at most "),
        (r"(?<=\s)>\s?(?=\d)", "over "),
        (r"(?<=\s)<\s?(?=\d)", "under "),
        (r"~\s?(?=\d)", "about "),
        (r"\$\s?(\d[\d.,]*)", r"\1 dollars"),
        (r"\u20ac\s?(\d[\d.,]*)|(?<=\d)\s?(?:\u20ac|euros?\b)", r"\1 EUR"),
        (r"\bEUR\s(\d[\d.,]*)", r"\1 EUR"),
        (r"(?<=[a-z\d])\s?/\s?(?=(?:hour|day|week|month|year|head|person|night)\b)", " per "),
        (r"\b0(?=\d:\d\d\b)", ""),
        (r"(?<![\w.,:-])(\d{1,3})k\b", r"\g<1>000"),
        (r"(?<![\w.,:-])(\d[\d.,]*)(?=[A-Za-z%]{1,3}\b)", r"\1 "),
        (r"\b([A-Z])\.(?=[A-Z]\b)", r"\1"),
        (r"(?<=\d),(?=\d{3}\b)", ""),
        (r"(?<=\d)\s?%", " %"),
    )
)
# No part of an address, an option or a path, and no word that begins with "re-".
_HYPHEN: Final = re.compile(r"(?<![\w./@-])(?!re-)([A-Za-z]+)-(?=[A-Za-z]+(?![\w/@-]|\.\w))")
# "No body" is not "nobody".
_APART: Final = frozenset(("no", "not", "now", "in", "on", "a", "any", "may", "use", "up"))
_WORDS: Final = re.compile(r"[^\W\d_]+")
_PAIR: Final = re.compile(r"(?<![\w./@-])(?!re\b)([^\W\d_]+) (?=([^\W\d_]+)(?![\w/@-]|\.\w))")


def respelled(one: str, other: str) -> tuple[str, str]:
    """Both texts in one spelling."""
    first, second = _plain(one), _plain(other)
    return _joined(first, second), _joined(second, first)


@lru_cache(maxsize=STATEMENTS_KEPT)
def _plain(text: str) -> str:
    for pattern, word in _SIGNS:
        text = pattern.sub(word, text)
    text = _SHORT.sub(_full, text)
    return _HYPHEN.sub(r"\1 ", text)


def _full(short: re.Match[str]) -> str:
    """The short form in full, unless its capital may be that of a name."""
    word = short[0].rstrip(".")
    return _FULL[word.casefold()] if short.start() == 0 or word.islower() or word.isupper() else short[0]


def _joined(text: str, other: str) -> str:
    """The text with two words as one where the other text writes them so."""
    known = {word for word in map(str.casefold, _WORDS.findall(other)) if len(word) > 4}

    def joined(pair: re.Match[str]) -> str:
        first = pair[1].casefold()
        return pair[1] if first not in _APART and first + pair[2].casefold() in known else pair[0]

    return _PAIR.sub(joined, text)
