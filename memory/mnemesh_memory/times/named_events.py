"""Events that bound a time: "before the release", "since we moved to Postgres", "after release 2.3.0".

An event is a thing that is named, that somebody did, or a doing. When it was is not known here.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mnemesh_memory.times.vocabulary import pattern
from mnemesh_memory.wordlists import COMMON_WORDS

_WORDS_MAX: Final = 12
_SIDES: Final = {"since": "after", "after": "after", "following": "after", "before": "before", "until": "before",
                 "till": "before", "prior to": "before", "ahead of": "before"}  # fmt: skip
# "Who was following the incident", "steps for following the runbook".
_FOLLOWS: Final = re.compile(r"\b(?:is|are|was|were|be|been|am|for|by|of|about|not|when|while|to)\s+$")
_BEGINS: Final = pattern(
    rf"(?P<side>{'|'.join(_SIDES)}) (?=(?P<first>(?:the(?! \d)|our|my|his|her|their|its|your|we|i|you|they|he|she)\b"
    r"|(?!(?:morning|evening|nothing|something|anything|everything|during|spring|string|meeting)\b)[^\W_]{3,}ing\b"
    # A number or a version behind the word makes an event of it without an article.
    r"|(?:release|version|deploy|deployment|rollout|migration|incident|outage|sprint|milestone|upgrade|build|commit|pr"
    r"|issue|ticket) \S*\d|v\d+(?:\.\d+)*\b|\d+(?:\.\d+)+[.-]\w))"
)
_ENDS: Final = frozenset(
    ("what", "who", "which", "how", "why", "when", "where", "did", "do", "does", "since", "after", "before", "until",
     "till", "-", "\u2013", "between")
)  # fmt: skip
_MARKS: Final = ".,?!;:)]}\u2026"


class Event(NamedTuple):
    """An event whose time is a boundary: `side` says whether what is meant came "after" or "before" it."""

    side: str
    text: str


class NamedEvent(NamedTuple):
    """An event with its place in the text."""

    event: Event
    # The places of the words that lead to the event, and of the event itself up to its end.
    start: int
    named: int
    end: int


def event_at(lower: str, text: str, at: int) -> NamedEvent | None:
    """The event that is named behind "after", "prior to" and the like, which begin there. `lower` is the text in small
    letters."""
    begins = _BEGINS.match(lower, at)
    if begins is None or (begins["side"] == "following" and _FOLLOWS.search(lower, 0, at)):
        return None
    start = end = begins.end()
    for number, chunk in enumerate(re.finditer(r"\S+", lower[start:])):
        word = chunk[0].rstrip(_MARKS)
        if number == _WORDS_MAX or (number and word in _ENDS) or not word:
            break
        end = start + chunk.start() + len(word)
        if word != chunk[0]:
            break
    named = text[start:end]
    side = _SIDES[" ".join(begins["side"].split())]
    # "Before that", "after the" name nothing.
    names = any(word not in COMMON_WORDS for word in re.findall(r"[^\W_]+", named.casefold()))
    return NamedEvent(Event(side, named), at, start, end) if names else None
