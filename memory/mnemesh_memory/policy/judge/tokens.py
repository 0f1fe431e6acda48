"""Words, values and marks of a sentence, in order. A value has a dimension and a key, equal for equal values."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from mnemesh_memory.policy.judge.grammar import (
    AUXILIARIES,
    CHANGE,
    FUNCTION_WORDS,
    IRREGULAR,
    LIGHT,
    NUMBERS,
    RHYTHMS,
    STRETCHES,
    WORDS_KEPT,
    stem,
)
from mnemesh_memory.times.time_vocabulary import MONTHS
from mnemesh_memory.wordlists import table

TOKENS_MAX: Final = 80

_UNITS: Final = {
    name: (dimension, float(size)) for dimension, size, names in table("words/units.txt") for name in names.split()
}
_TENS: Final = frozenset(range(20, 100, 10))
_ONES: Final = frozenset(range(1, 10))
UNIT_NAMES: Final = frozenset(_UNITS)
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# Units that may follow a number without a space.
_GLUED: Final = "|".join(
    sorted((re.escape(name) for name in _UNITS if name not in ("b", "m", "d")), key=len, reverse=True)
)
# Repetitions are bounded, so no text makes a match begin again and again.
_TOKEN: Final = re.compile(
    r"(?P<url>[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s<>\"')]{1,500})"
    r"|(?P<mail>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})"
    r"|(?P<path>(?<![\w)])(?:~|\.{1,2})?/[\w.@+-]{1,255}(?:/[\w.@+-]{0,255}){0,60}/?)"
    r"|(?P<channel>(?<!\w)[#@][\w-]{1,80})"
    r"|(?P<date>\d{4}-\d{2}-\d{2}(?!\d))"
    r"|(?P<time>(?<![\w:])\d{1,2}:\d{2}(?::\d{2})?(?!\w)(?:\s?[ap]m\b)?|(?<![\w.:])\d{1,2}\s?[ap]m\b)"
    r"|(?P<address>(?<!\w)\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?!\w))"
    r"|(?P<phone>\+\d[\d ()-]{5,20}\d)"
    r"|(?P<version>(?<!\w)[vV]\d{1,9}(?:\.\d{1,9}){0,4}(?!\w)|(?<!\w)\d{1,9}(?:\.\d{1,9}){2,4}(?:[-+][\w.]{1,40})?(?!\w))"
    r"|(?P<number>(?<![\w.])[-+]?\d{1,30}(?:[.,]\d{1,30}){0,9}(?![\w-])"
    rf"|(?<![\w.])\d{{1,30}}(?:[.,]\d{{1,30}}){{0,9}}(?=(?i:{_GLUED})(?!\w)))"
    r"|(?P<word>[^\W_]+(?:[-_.'\u2019/+][^\W_]+)*[+#]{0,2})"
    r"|(?P<mark>[^\w\s])"
)
# A short word with the marks around it. Without digits its tokens are the same in each sentence.
_CHUNK: Final = re.compile(rf"(?P<chunk>(?<!\S)[^\s\d]{{1,40}}+(?!\S))|{_TOKEN.pattern}")
_WHOLE_CONTRACTIONS: Final = {"can't": "can not", "won't": "will not", "shan't": "shall not", "cannot": "can not"}
_CLITIC: Final = re.compile(r"['\u2019](?:s|re|ve|ll|d|m)?(?!\w)", re.IGNORECASE)
_CHARACTER: Final = {"\u2192": "->", "\u2019": "'", "\u2018": "'", "\u00a0": " "}
_FOLD: Final = str.maketrans(_CHARACTER)
_CLITICS: Final = {"d": "would", "re": "are", "ll": "will", "ve": "have", "m": "am"}
_VERB_CLITIC: Final = re.compile(r"(?<=\w)'(d|re|ll|ve|m)\b", re.IGNORECASE)
_IS: Final = re.compile(
    r"(?:(?<=\bit)|(?<=\bhe)|(?<=\bshe)|(?<=\bthat)|(?<=\bthere)|(?<=\bwho)|(?<=\bhere)|(?<=\bwhat))'s\b"
    r"|(?<=\w)'s\b(?=\s+(?:a|an|the|not)\s)",
    re.IGNORECASE,
)
# The only words without a value of their own that may be joined with the following ones.
_BEFORE_UNITS: Final = frozenset(("a", "an", "every"))
# Words that multiply the number before, as far as it is below this bound: "two thousand three hundred".
_FACTORS: Final = {"dozen": float("inf"), "hundred": 1e3, "thousand": 1e6, "million": 1e9, "billion": 1e12}
# Numbers that are never added to the number before.
_NO_ADDENDS: Final = frozenset(("half", "once", "twice", *_FACTORS))
_PARTS_OF_DAY: Final = frozenset(("morning", "evening", "night"))
UNIT_ADJECTIVES: Final = frozenset(["working", "business", "calendar", "full", "whole", "consecutive"])
_YEAR: Final = re.compile(r"(?:19|20)\d\d")


class Token(NamedTuple):
    """A word, value or mark of a sentence. `key` is equal for forms of one word and for equal values."""

    text: str
    key: str
    dimension: str = ""  # Of a value: duration, size, time, url, name, count and so on. "" for a word.
    mark: bool = False


def tokens_of(sentence: str) -> tuple[Token, ...]:
    """The first TOKENS_MAX tokens of a sentence."""
    tokens = islice(_joined(_spelled(list(islice(_read(expanded(sentence)), TOKENS_MAX * 2)))), TOKENS_MAX)
    return tuple(
        token._replace(key=f"{token.key}'") if token.key in LIGHT and at and _is_proper(token.text) else token
        for at, token in enumerate(tokens)
    )


def is_cut(sentence: str) -> bool:
    """Whether a sentence may have more tokens than `tokens_of` reads."""
    return sum(1 for _ in islice(_TOKEN.finditer(expanded(sentence)), TOKENS_MAX)) == TOKENS_MAX


def expanded(text: str) -> str:
    """A text with whole words for contractions, in NFC."""
    plain = text if text.isascii() else unicodedata.normalize("NFC", text).translate(_FOLD)
    if "'" not in plain and "cannot" not in plain.casefold():
        return plain
    plain = re.sub(r"\b(can't|won't|shan't|cannot)\b", lambda match: _WHOLE_CONTRACTIONS[match.group().lower()], plain,
                   flags=re.IGNORECASE)  # fmt: skip
    plain = re.sub(r"(\w)n't\b", r"\1 not", plain, flags=re.IGNORECASE)
    return _IS.sub(" is", _VERB_CLITIC.sub(lambda match: f" {_CLITICS[match.group(1).lower()]}", plain))


def _read(text: str) -> Iterator[Token]:
    for match in _CHUNK.finditer(text.replace("->", "\u2192")):
        yield from _chunk(match[0]) if match.lastgroup == "chunk" else _tokens(match)


@lru_cache(maxsize=WORDS_KEPT)
def _chunk(chunk: str) -> tuple[Token, ...]:
    return tuple(token for match in _TOKEN.finditer(chunk) for token in _tokens(match))


def _tokens(match: re.Match[str]) -> Iterator[Token]:
    """The token of a match; none of a mere "'s"."""
    kind, word = match.lastgroup or "mark", match[0]
    if kind == "mark":
        yield Token("->" if word == "\u2192" else word, word, mark=True)
    elif kind == "word":
        bare = _CLITIC.sub("", word) if "'" in word or "\u2019" in word else word
        if bare:
            yield _word(bare)
    elif kind in ("number", "version"):
        yield Token(word, word.casefold().lstrip("+"), kind)
    else:
        yield Token(word.rstrip(".,;:!?"), word.rstrip(".,;:!?/"), kind)


@lru_cache(maxsize=WORDS_KEPT)
def _word(word: str) -> Token:
    folded = word.casefold()
    if folded in NUMBERS:
        return Token(word, f"{NUMBERS[folded]:.12g}", "number")
    if folded in ("noon", "midnight"):
        return Token(word, "12:00" if folded == "noon" else "00:00", "time")
    if folded in RHYTHMS:
        return Token(word, _rhythm(RHYTHMS[folded], folded), "rhythm")
    count, _, unit = folded.partition("-")
    if NUMBERS.get(count, 0) in _TENS and NUMBERS.get(unit, 0) in _ONES:
        return Token(word, f"{NUMBERS[count] + NUMBERS[unit]:g}", "number")  # "twenty-five"
    if unit and (count in NUMBERS or count.isdecimal()):
        joined = _measure(Token(count, f"{NUMBERS.get(count, count)}", "number"), Token(unit, unit))
        if joined is not None:
            return joined
    day = folded.removesuffix("s")
    if day in WEEKDAYS:
        return Token(word, day, "weekday")
    if folded in MONTHS and word[0].isupper():
        return Token(word, folded, "month")
    if len(word) > 2 and word.endswith("s") and word[:-1].isupper():
        return Token(word, stem(folded[:-1]))
    return Token(word, stem(folded))


def _spelled(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with a single number for "two hundred and fifty", and with "percent" for "per cent"."""
    spelled: list[Token] = []
    words, at = _folded(tokens), 0
    if "per" not in words and all(token.dimension != "number" for token in tokens):
        return list(tokens)
    while at < len(tokens):
        is_number = tokens[at].dimension == "number"
        amount, width = _sum(tokens, words, at) if is_number else (0.0, 1)
        if width > 1 or (is_number and "-" in words[at][1:]):
            digits = f"{amount:.12g}"
            spelled.append(Token(digits, digits, "number"))
        elif words[at] == "per" and words[at + 1 : at + 2] == ["cent"]:
            spelled.append(Token("percent", "percent"))
            width = 2
        else:
            spelled.append(tokens[at])
        at += width
    return spelled


def _sum(tokens: Sequence[Token], words: Sequence[str], at: int) -> tuple[float, int]:
    """The value of the number that begins here, and of how many tokens it is: "one and a half thousand"."""
    amount, end = _amount(tokens[at].key), at + 1
    if amount is None:
        return 0.0, 1
    while end < len(tokens):
        group = amount % _FACTORS.get(words[end], 1.0)
        joined = words[end] == "and" and words[at - 1 : at] != ["between"]
        if words[end] in _FACTORS and group:
            amount, end = amount + group * (NUMBERS[words[end]] - 1), end + 1
        elif end == at + 1 and words[end : end + 3] == ["and", "a", "half"]:
            amount, end = amount + 0.5, end + 3
        elif (end > at + 1 or words[at][0].isalpha()) and (added := _addend(tokens, words, end + joined, amount)):
            amount, end = amount + added, end + joined + 1
        else:
            break
    return amount, end - at


def _addend(tokens: Sequence[Token], words: Sequence[str], at: int, amount: float) -> float:
    """The value of a number word that is a part of the number before: "five" behind "twenty", and behind "hundred and"
    unless another hundred follows. 0 for any other token."""
    if at == len(tokens) or tokens[at].dimension != "number" or words[at] in _NO_ADDENDS or not words[at][0].isalpha():
        return 0.0
    joined, factor = words[at - 1] == "and", words[at + 1] if at + 1 < len(tokens) else ""
    is_other = joined and factor in _FACTORS and amount % _FACTORS[factor] >= NUMBERS[factor]
    tens = amount % 100 in _TENS and not joined
    room = 10 if tens else next((step for step in (1000, 100) if amount and not amount % step), 0)
    value = float(tokens[at].key)
    return value if value < room and not is_other else 0.0


def _joined(tokens: Sequence[Token]) -> Iterator[Token]:
    """Numbers with their units, days with their months, "every" with its stretch of time."""
    at, all_words = 0, _folded(tokens)
    while at < len(tokens):
        if not tokens[at].dimension and all_words[at] not in _BEFORE_UNITS:
            yield tokens[at]
            at += 1
            continue
        part, words = tokens[at : at + 4], all_words[at : at + 4]
        before = all_words[at - 1] if at else ""
        value, width = (
            _times_per(part, words)
            or _every(part, words)
            or (None if before == "from" and _tell_of_change(tokens) else _range(part, before))
            or _day(part)
            or _measured(part, words)
            or (_counted(part), 1)
        )
        yield value
        at += width


def _tell_of_change(tokens: Sequence[Token]) -> bool:
    """Whether "from" leads to an old value: "raised from 3 to 5" has two values, "open from 3 to 5" one."""
    return any(token.key in CHANGE for token in tokens) or any(
        token.text == "from" and any(is_past(part.text) for part in tokens[max(0, at - 4) : at])
        for at, token in enumerate(tokens)
    )


Joined = tuple[Token, int] | None  # A value and the number of tokens that it is made of.


def _folded(tokens: Sequence[Token]) -> list[str]:
    return [token.text.casefold() for token in tokens]


def _times_per(part: Sequence[Token], words: Sequence[str]) -> Joined:
    """ "Twice a week", "3 times per day"."""
    width = 4 if words[1:2] == ["times"] else 3
    if len(part) < width or part[0].dimension != "number" or words[width - 2] not in ("a", "an", "per", "every"):
        return None
    size = _stretch(words[width - 1])
    if size is None or (width == 3 and words[0] not in ("once", "twice")):
        return None
    return Token(" ".join(words[:width]), f"{part[0].key} in {size:.12g}", "rhythm"), width


def _every(part: Sequence[Token], words: Sequence[str]) -> Joined:
    """ "Every night", "every two weeks"."""
    if words[0] != "every" or len(part) < 2:
        return None
    size = _stretch(words[1])
    if size is not None:
        return Token(" ".join(words[:2]), _rhythm(size, words[1]), "rhythm"), 2
    size = _stretch(words[2]) if len(part) > 2 and part[1].dimension == "number" else None
    if size is None:
        return None
    return Token(" ".join(words[:3]), f"every {(_amount(part[1].key) or 1.0) * size:.12g}", "rhythm"), 3


def _rhythm(size: float, word: str) -> str:
    """A key for "every night", "nightly" or "daily": a part of the day is no other part, and no whole day."""
    part = word.removesuffix("ly")
    return f"every {part}" if part in _PARTS_OF_DAY else f"every {size:.12g}"


def _range(part: Sequence[Token], before: str) -> Joined:
    """ "9 to 17", "between 2 and 10"."""
    if len(part) < 3 or part[0].dimension not in ("number", "time") or part[2].dimension != part[0].dimension:
        return None
    through = part[1].text.casefold()
    if through in ("to", "-", "\u2013") or (through == "and" and before == "between"):
        return Token(f"{part[0].text} to {part[2].text}", f"{part[0].key}-{part[2].key}", "range"), 3
    return None


def _day(part: Sequence[Token]) -> Joined:
    """ "12 April", "April 12", "June 2026"."""
    dimensions = [token.dimension for token in part[:2]]
    if dimensions == ["number", "month"]:
        return Token(f"{part[0].text} {part[1].text}", f"{part[0].key} {part[1].key}", "day"), 2
    if dimensions == ["month", "number"]:
        return Token(f"{part[0].text} {part[1].text}", f"{part[1].key} {part[0].key}", "day"), 2
    return None


def _measured(part: Sequence[Token], words: Sequence[str]) -> Joined:
    """ "60 minutes", "3 working days", "a week", "4 days a week"."""
    if words[0] in ("a", "an") and len(part) > 1:
        alone = _measure(Token("1", "1", "number"), part[1])
        return (alone, 2) if alone is not None and alone.dimension == "duration" else None
    if part[0].dimension != "number" or len(part) < 2:
        return None
    joined = _measure(part[0], part[1])
    if joined is None:
        spaced = _measure(part[0], part[2]) if len(part) > 2 and words[1] in UNIT_ADJECTIVES else None
        return None if spaced is None else (spaced._replace(text=" ".join(words[:3])), 3)
    size = _stretch(words[3]) if len(part) > 3 and words[2] in ("a", "an", "per", "every") else None
    if size is None:
        return joined, 2
    return Token(" ".join(words[:4]), f"{joined.key} in {size}", "share of time"), 4


def _counted(part: Sequence[Token]) -> Token:
    """A number with the noun that it counts as its dimension. Any other token stays as it is."""
    token = part[0]
    if token.dimension != "number":
        return token
    if _YEAR.fullmatch(token.text):
        return token._replace(dimension="year")
    amount = _amount(token.key)
    nouns = (
        later.key
        for later in part[1:3]
        if not later.mark and not later.dimension and later.text.casefold() not in FUNCTION_WORDS
    )
    noun = next(nouns, "")
    return token._replace(
        key=token.key if amount is None else f"{amount:.12g}", dimension=f"count {noun}" if noun else "number"
    )


def _stretch(word: str) -> float | None:
    dimension, size = _UNITS.get(word, ("", 0.0))
    return size if dimension == "duration" else STRETCHES.get(word)


def _amount(number: str) -> float | None:
    """The value of digits; None for a number that is too strange, such as 1.2.3 or 1,2,3."""
    plain = number.replace(",", "") if re.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", number) else number
    try:
        return float(plain.replace(",", "."))
    except ValueError:
        return None


def _measure(number: Token, unit: Token) -> Token | None:
    """`number` with its unit as one value in the base unit, so that 60 minutes are 1 hour."""
    name = unit.text if unit.text in _UNITS else unit.text.casefold()
    amount = _amount(number.key)
    if name not in _UNITS or amount is None:
        return None
    dimension, size = _UNITS[name]
    return Token(f"{number.text} {unit.text}", f"{amount * size:.12g} {dimension}", dimension)


def _is_proper(word: str) -> bool:
    """Whether a word that says little otherwise is a name here, such as the language Go."""
    return word[0].isupper() and not word.isupper()


def is_past(word: str) -> bool:
    return word.endswith("ed") or (word in IRREGULAR and word not in AUXILIARIES) or word in ("quit", "cut", "left")
