"""A question cut into the words that time words are read from.

What is not plainly a word, a number or a date is opaque: a phrase of time never reaches across it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mnemesh_memory.time_numbers import ONES, TENS

BREAK: Final = "."
OPAQUE: Final = ""
_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|`[^`\n]*`|\u201c[^\u201d\n]*\u201d|\xab[^\xbb\n]*\xbb")
_CHUNK: Final = re.compile(r"\S+")
_OPENING: Final = "([{'\u2018\u00bf"
_CLOSING: Final = ".,?!;:)]}'\u2019\u2026"
_PLAIN: Final = re.compile(
    r"[^\W_]+|\d{1,2}:\d\d(?::\d\d)?(?:[ap]m)?|\d{1,2}[-\u2013]\d{1,2}|\d{4}[-/]\d\d(?:[-/]\d\d)?|\d{4}-q[1-4]"
    r"|\d{1,2}\.\d{1,2}\.\d{4}|\d{4}-\d\d-\d\dt\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:z|[+-]\d\d:?\d\d)?|[-\u2013]"
)
# "mid-August", "twenty-one", "1,2023": two words without a blank between them.
_GLUED: Final = re.compile(
    rf"((?:early|mid|late)(?=[-\u2013][^\W_]+$)|(?:{'|'.join(TENS)})(?=[-\u2013](?:{'|'.join(ONES)})$))"
    r"[-\u2013]([^\W_]+)|(\d{1,2}),(\d{4})"
)
_POSSESSIVE: Final = re.compile(r"['\u2019]s$")
# "March '25": a year of which the century is left out.
_SHORT_YEAR: Final = re.compile(r"['\u2018\u2019](\d\d)(?:['\u2019]s)?")
_CENTURY_FROM: Final = 70
# What joins as "and" does.
_AND: Final = frozenset(("&", "vs", "versus", "plus"))
_AND_SAID: Final = (("as", "well", "as"), ("compared", "to"), ("compared", "with"))


class Token(NamedTuple):
    """A word in lower case with its place in the text; `capital`: it was written with one. A comma is a token, BREAK
    stands for the other marks after which something new begins, OPAQUE for what is no word."""

    word: str
    start: int
    end: int
    capital: bool = False


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, in its order."""
    # Of the same length, so that places stay: what is quoted is not said.
    blanked = _QUOTED.sub(lambda found: "\x00" * len(found[0]), text)
    tokens: list[Token] = []
    for found in _CHUNK.finditer(blanked):
        chunk, start = found[0], found.start()
        core = chunk.lstrip(_OPENING)
        start += len(chunk) - len(core)
        if start > found.start():
            tokens.append(Token(BREAK, found.start(), start))
        bare = core.rstrip(_CLOSING)
        marks = core[len(bare) :]
        if (year := _SHORT_YEAR.fullmatch(chunk[: len(chunk) - len(marks)])) is not None:
            del tokens[-1]
            century = "19" if int(year[1]) >= _CENTURY_FROM else "20"
            tokens.append(Token(century + year[1], found.start(), start + len(bare)))
        else:
            _add(tokens, bare, start)
            marks = "" if bare.lower() == "vs" and marks == "." else marks
        if marks:
            mark = "," if marks == "," else OPAQUE if marks in ("'", "\u2019") else BREAK
            if mark:
                tokens.append(Token(mark, start + len(bare), start + len(core)))
    return _joined(tokens)


def _joined(tokens: list[Token]) -> list[Token]:
    """The same, with one "and" where several words say so, as in "March as well as April", and "two weeks" for a
    fortnight."""
    joined: list[Token] = []
    at = 0
    while at < len(tokens):
        said = next((one for one in _AND_SAID if tuple(t.word for t in tokens[at : at + len(one)]) == one), ())
        end = at + len(said)
        joined += [Token("and", tokens[at].start, tokens[end - 1].end)] if said else tokens[at : at + 1]
        at = max(end, at + 1)
        if joined[-1].word == "fortnight":
            fortnight = joined.pop()
            article = joined.pop() if joined and joined[-1].word in ("a", "one") else fortnight
            joined += [fortnight._replace(word="two", start=article.start), fortnight._replace(word="weeks")]
    return joined


def _add(tokens: list[Token], bare: str, start: int) -> None:
    word = _POSSESSIVE.sub("", bare)
    lower, end = word.lower(), start + len(word)
    if glued := _GLUED.fullmatch(lower):
        left, right = (1, 2) if glued[1] else (3, 4)
        middle = start + len(glued[left])
        tokens.append(Token(glued[left], start, middle))
        if not glued[1]:
            tokens.append(Token(",", middle, middle + 1))
        tokens.append(Token(glued[right], middle + 1, end, word[len(glued[left]) + 1].isupper()))
    elif lower in _AND:
        tokens.append(Token("and", start, start + len(bare)))
    elif _PLAIN.fullmatch(lower) and len(lower) == len(word):
        tokens.append(Token(lower, start, start + len(bare), word[0].isupper()))
    elif bare:
        tokens.append(Token(OPAQUE, start, start + len(bare)))
