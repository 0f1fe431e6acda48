"""The words of a sentence in one wording: short forms, spellings and equal demands as words/wordings.txt has them.

Values stand for their amount, so "five minutes" and "300 s" are one. A unit of which the spelling matters, money, names
and versions stay as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from mnemesh_memory.policy.judge.grammar import (
    ARTICLES,
    AUXILIARIES,
    BE,
    NEGATORS,
    NUMBERS,
    RHYTHMS,
    VERB_FORMS,
    WORDS_KEPT,
)
from mnemesh_memory.policy.judge.slots import STATEMENTS_KEPT, Statement
from mnemesh_memory.policy.judge.tokens import UNIT_ADJECTIVES, UNIT_NAMES, WEEKDAYS, Token
from mnemesh_memory.wordlists import table

# Words that a short form leaves out.
UNSPOKEN: Final = ARTICLES | {"is", "are", "am"}
_NOTHING: Final = "-"
_ROWS: Final = {
    tuple(variant.split()): () if word == _NOTHING else tuple(word.split())
    for word, variants in table("words/wordings.txt")
    for variant in variants.split("/")
}
_WORDINGS: Final = {  # by the first word, the longest first
    first: sorted((variant for variant in _ROWS if variant[0] == first), key=len, reverse=True)
    for first in {variant[0] for variant in _ROWS}
}
# Words of a table that may take the place of others, so a text may lack these and say the same.
EXCHANGED: Final = (
    frozenset(word for pair in _ROWS.items() for words in pair for word in words)
    | frozenset(NUMBERS)
    | frozenset(RHYTHMS)
    | UNIT_NAMES
)
_AMOUNTS: Final = frozenset(("duration", "size", "share", "length", "rhythm", "range", "day", "share of time"))
# A prefix in capitals before a small b counts bits: 5 Mb are not 5 MB.
_BITS: Final = re.compile(r"[KMGT]i?b\b")
_DIGITS: Final = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_CLOCK: Final = re.compile(r"(\d{1,2})(?::(\d{2}))?\s?([ap])m")
_IGNORED: Final = frozenset(".:!\u2026\u3002'\"`*")
_CONDITIONS: Final = frozenset(("if", "when", "once"))
_PAUSES: Final = frozenset(";,()\u2013\u2014-")
# Words for "approximately" that mean something else unless a value follows.
_BEFORE_VALUES: Final = frozenset(("about", "around"))


# In a sentence that names something, a word may be the name, to the letter.
_NAMING: Final = frozenset(
    re.findall(
        r"\w+",
        "alias branch call called calls column command endpoint enum field file flag folder key label "
        "labelled labels login name named names option prefix rename renamed renames role schema spelled "
        "suffix table tag tagged tags user username value word ",
    )
)


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def worded(statement: Statement) -> tuple[str, ...]:
    """The words and values of a sentence in one wording, its articles, and its pauses as commas."""
    words = list(_written(statement.tokens, statement.words))
    if "," not in statement.words and {"both", "and"} <= set(words):
        words.remove("both")
    if "then" in words and not _CONDITIONS.isdisjoint(words):
        words.remove("then")
    return tuple(words)


def spoken(words: Sequence[str]) -> list[str]:
    """The words without pauses and without what a short form leaves out."""
    return [word for word in words if word != "," and word not in UNSPOKEN] or [word for word in words if word != ","]


def _written(tokens: Sequence[Token], texts: tuple[str, ...]) -> Iterator[str]:
    at, before = 0, ""
    names = not _NAMING.isdisjoint(texts)
    while at < len(tokens):
        text, token = texts[at], tokens[at]
        is_fixed = names or before in NEGATORS or _is_itself(tokens, at)
        variant = () if text not in _WORDINGS or is_fixed else _variant(texts, at)
        if variant:
            yield from _ROWS[variant]
            at += len(variant)
        elif text == "on" and texts[at + 1 : at + 2] and texts[at + 1].removesuffix("s") in WEEKDAYS:
            day = texts[at + 1]
            yield from ("every", day[:-1]) if day.endswith("s") else ("on", day)
            at += 2
        elif not at and text in ("no", "yes") and texts[1:2] == (",",):
            yield f"{text},"  # an answer, where "no deploys" is none
            at += 2
        else:
            if token.mark or token.dimension or text == "a" or "-" in text:
                yield from _words(token, text, before)
            else:
                yield _spelling(text)
            at += 1
        if texts[at - 1] not in BE:
            before = texts[at - 1]


def _is_itself(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word that may stand for another one stands for itself here. "Max" may be a person."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if tokens[at].text == "Max":
        return at > 0 or after is None or after.text in VERB_FORMS or after.text in AUXILIARIES
    return tokens[at].text in _BEFORE_VALUES and not (after and after.dimension)


def _variant(texts: Sequence[str], at: int) -> tuple[str, ...]:
    """The wording of the table that begins here, () for none."""
    wordings = (wording for wording in _WORDINGS[texts[at]] if tuple(texts[at : at + len(wording)]) == wording)
    return next(wordings, ())


def _words(token: Token, text: str, before: str) -> Iterator[str]:
    if token.text == "A" and before:
        yield token.text  # a label, as in "from A to B"
    elif token.dimension:
        yield _value(token)
    elif token.mark:
        if text in _PAUSES:
            yield ","
        elif text not in _IGNORED:
            yield text
    elif "-" in text and not any(map(str.isdigit, text)):
        yield from text.split("-")
    else:
        yield _spelling(text)


def _value(token: Token) -> str:
    if token.dimension in _AMOUNTS and not _BITS.search(token.text):
        spoken = [word for word in token.text.casefold().split() if word in UNIT_ADJECTIVES]
        return " ".join((f"#{token.key}", *spoken))  # three working days are no three days
    if token.dimension == "time" and (clock := _CLOCK.fullmatch(token.text.casefold())):
        hour = int(clock[1]) % 12 + (12 if clock[3] == "p" else 0)
        return f"{hour:02}:{clock[2] or '00'}"
    text = token.text.casefold()
    if text in NUMBERS:
        return f"{NUMBERS[text]:.12g}"
    return text.replace(",", "") if _DIGITS.fullmatch(text) else text


@lru_cache(maxsize=WORDS_KEPT)
def _spelling(word: str) -> str:
    """A word with z where both spellings are in use: "organise" and "organize"."""
    return re.sub(r"(?<=\w{4})is(e|ed|es|er|ers|ing|ation|ations)$", r"iz\1", word)
