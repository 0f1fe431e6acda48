"""Traits of a memory without a question, and of a question without a memory, to say how well the two fit.

A short remark carries less than a statement, and a question seldom answers another: words of statements count. The
asker of "when" looks for words of time. The name of a month in a question means the time of the event. No trait makes a
memory relevant: fusion weighs traits by the other evidence. `python -m bench.carry` measures each on several corpora.
The words are English; other languages lose nothing but the gain.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import lru_cache
from typing import Final, NamedTuple
from zlib import crc32

from mnemesh_memory.times.calendar import EPOCH
from mnemesh_memory.times.time_vocabulary import MONTHS, SHORT_MONTHS
from mnemesh_memory.times.window import Window
from mnemesh_memory.values.model import Memory
from mnemesh_memory.wordlists import COMMON_WORDS, UNSPACED

# Words with meaning that make a whole statement; more say nothing.
SUBSTANCE_WORDS: Final = 25
TIME_WORDS_MAX: Final = 3
SPEAKERS_MAX: Final = 8
# Read of a text; what follows changes none of it much.
LOOKED_AT_CHARS: Final = 4000
# Traits of questions kept, because the same question is read several times while it is answered.
QUESTIONS_KEPT: Final = 64
# A question of so many words is as much a message as a question, and of twice as many wholly.
MESSAGE_WORDS: Final = 15
_WORD: Final = re.compile(r"[^\W_]+")
_SENTENCE: Final = re.compile(r"[^.!?\n\u3002\uff1f]*(?:[.!?\n\u3002\uff1f]+|$)")
_TIME_WORD: Final = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|week|weekend|month|year|days?|weeks|months|years|monday|tuesday"
    r"|wednesday|thursday|friday|saturday|sunday|morning|evening|night|summer|winter|spring|fall|autumn|recently|soon"
    rf"|since|{'|'.join(MONTHS)}|\d{{4}}|\d+(?:st|nd|rd|th))\b",
    re.IGNORECASE,
)
# "[Ana] ..." or "Ana: ..." at the beginning of a line: whose words these are.
_LABEL: Final = re.compile(r"^[^\S\n]{0,9}(?:\[([^\W\d_][^\]\n]{0,39})\]|([^\W\d_][\w'.-]{0,39}):)\s", re.MULTILINE)
_ASKS_WHEN: Final = re.compile(
    r"^\W*(?:(?:and|but|so|in|on|at)\W+)?(?:when|(?:what|which) (?:date|day|month|year))\b"
    r"|\b(?:know|knew|remember|recall|tell me|told me|say|said|sure|idea)\W+when\b",
    re.IGNORECASE,
)
# Many a month is a name or a verb as well ("may", "april", "jan"). So a month needs a word before it, a day or a year.
_MONTH_NAMES: Final = rf"({'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_MONTH: Final = re.compile(
    rf"\b(?:in|last|next|this|since|during|of|early|late|mid|until|till|by|before|after|from)\s+{_MONTH_NAMES}\b"
    rf"|\b{_MONTH_NAMES}\s+(?:the\s+)?\d"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH_NAMES}\b",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(
    r"\b(?:(?:in|since|of|during|by|until|till|before|after|from|year)\s+|"
    rf"(?:{'|'.join(MONTHS)})\s+(?:\d{{1,2}}(?:st|nd|rd|th)?,?\s+)?)((?:19|20)\d\d)\b",
    re.IGNORECASE,
)


def _speaker(label: str) -> int:
    """The checksum of a name's first word, which is how people are asked about."""
    words = _WORD.findall(label.casefold())
    return crc32(words[0].encode("utf-8", "replace")) if words else 0


# The speakers of a line of the person that an assistant works for, as chats are exported.
PERSONS: Final = frozenset((_speaker(label),) for label in ("User", "Human"))


class Traits(NamedTuple):
    """Traits of a memory. `at` (ms): when it happened or was said. `words`: words with meaning outside of questions, up
    to SUBSTANCE_WORDS. `times`: words of time, up to TIME_WORDS_MAX. `speakers`: checksums of the names that label its
    lines. `asks`: whether a sentence of it is a question."""

    at: int
    words: int
    times: int
    speakers: tuple[int, ...]
    asks: bool = False


class Question(NamedTuple):
    """Traits of a question: whether it asks for a time, its months (1 to 12) and years, a checksum of each word. The
    `window` is the stretch of time of its words. `message`, from 0 to 1: how far it is a message of several
    sentences."""

    when: bool = False
    months: frozenset[int] = frozenset()
    years: frozenset[int] = frozenset()
    words: frozenset[int] = frozenset()
    window: Window | None = None
    message: float = 0.0

    @property
    def dated(self) -> bool:
        """Whether it names a month or a year."""
        return bool(self.months or self.years)

    def means(self, at: int, id_: str) -> float:
        """How surely the question means the memory of that id and moment (ms), from 0 to 1. The month of the moment, in
        UTC, may be among its months, or the moment lies in its stretch."""
        if self.dated:
            year, month = month_of(at)
            if (not self.months or month in self.months) and (not self.years or year in self.years):
                return 1.0
        return self.window.surety if self.window is not None and self.window.holds(at, id_) else 0.0


def traits_of(memory: Memory) -> Traits:
    """The traits of a memory as it is shown."""
    text = memory.content[:LOOKED_AT_CHARS]
    statements = " ".join(filter(_states, _SENTENCE.findall(_LABEL.sub("", text.casefold()))))
    # Scripts written without spaces say a word with some two characters.
    words = (word for word in _WORD.findall(statements) if word not in COMMON_WORDS)
    meaning = sum(len(word) // 2 + 1 if UNSPACED.search(word) else 1 for word in words)
    return Traits(
        at=happened_at(memory),
        words=min(meaning, SUBSTANCE_WORDS),
        times=min(len(_TIME_WORD.findall(text)), TIME_WORDS_MAX),
        speakers=tuple(dict.fromkeys(_speaker(one or other) for one, other in _LABEL.findall(text)))[:SPEAKERS_MAX],
        asks=not _states(text),
    )


def month_of(at: int) -> tuple[int, int]:
    """Year and month (1 to 12) of a moment (ms), in UTC."""
    moment = EPOCH + timedelta(milliseconds=at)
    return moment.year, moment.month


def happened_at(memory: Memory) -> int:
    """When it happened (ms), or was said if that is not known."""
    return memory.created_at if memory.valid_from is None else memory.valid_from


@lru_cache(maxsize=QUESTIONS_KEPT)
def question_of(text: str, window: Window | None = None) -> Question:
    """The traits of a question; `window` is the stretch of time of its words."""
    words = _WORD.findall(text.casefold())
    months = {SHORT_MONTHS[next(filter(None, names)).casefold()[:3]] for names in _MONTH.findall(text)}
    return Question(
        when=_ASKS_WHEN.search(text) is not None,
        months=frozenset(months),
        years=frozenset(map(int, _YEAR.findall(text))),
        words=frozenset(crc32(word.encode()) for word in words),
        window=window,
        message=min(1.0, max(0.0, len(words) / MESSAGE_WORDS - 1.0)),
    )


def _states(sentence: str) -> bool:
    """Whether a sentence, with its closing signs, is no question."""
    return "?" not in sentence and "\uff1f" not in sentence
