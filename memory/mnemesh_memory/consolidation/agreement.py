"""Whether two memories say the same, or whether two reports agree. Values, names and negation decide.

The write guard judges a new text beside old ones. Here are the looser readings for texts that are not new: a
restatement in words of form, and two reports of one kind of event.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from mnemesh_memory.policy.judge.contest import contest
from mnemesh_memory.policy.judge.grammar import (
    ARTICLES,
    BE,
    DETERMINERS,
    LIGHT,
    NEGATORS,
    OPPOSITES,
    PREPOSITIONS,
    PRONOUNS,
    VERB_FORMS,
    VERBS,
)
from mnemesh_memory.policy.judge.sameness import says_the_same
from mnemesh_memory.policy.judge.slots import LOOKED_AT_CHARS, Statement, all_statements, statements

# Dimensions of the moment of an event, which say nothing about the event.
MOMENTS: Final = frozenset(("day", "date", "month", "weekday"))
# Dimensions of values that may stand anywhere in a sentence.
_WHENEVER: Final = MOMENTS | {"rhythm", "time"}
# Nouns whose number names one occasion: build 4312 and build 4410 are two occasions of one thing.
_OCCASIONS: Final = (
    "build|run|job|ticket|issue|pr|pull|request|commit|incident|attempt|deploy|deployment|session|sprint|week|case|"
    "pipeline|review|round|shift"
)
_OCCASION: Final = re.compile(rf"\b(?:{_OCCASIONS})s?\s?#?\d+\b|(?<!\w)#\d+\b", re.IGNORECASE)
_CODE: Final = re.compile(r"`([^`\n]{1,120})`")
_IDENTIFIER: Final = re.compile(
    r"(?<![\w.])(?:[A-Za-z_]\w*(?:\.\w+)+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+_\w+|[A-Z][A-Z0-9_]{2,})\b"
)
# Words of a report that tell nothing of the event.
_FILLERS: Final = frozenset(
    (
        *("today", "again", "also", "just", "once", "morning", "evening", "night", "yesterday", "note", "because"),
        *("due", "after", "before", "bc", "still", "then", "need", "standup", "retro", "ugh", "fyi", "vs", "q"),
    )
)
# Words that say, as a negation does, that something did not come about.
_LACKS: Final = frozenset(
    (
        *("fail", "fails", "failed", "failing", "failure", "missing", "lacks", "lacked", "unable", "nothing"),
        *("blocked", "blocks"),
    )
)
_SHORT_NEGATIONS: Final = re.compile(
    r"\b(do|does|did|is|was|are|were|ca|wo|has|have|had|should|could|would)nt\b", re.IGNORECASE
)
# Behind a phrase, one of these begins something else.
_BEGINS_ANEW: Final = ARTICLES | DETERMINERS | PRONOUNS
# Signs that say something, other than the punctuation of a sentence: `<`, `+`, `$`, and a minus before a word.
_SIGN: Final = re.compile(r"(?<!\w)-(?=\w)|[^\w\s.,;:!?'\"()\[\]\-/`\u2010-\u201f\u2026]")
_BULLET: Final = re.compile(r"^\s*[-*\u2022]\s", re.MULTILINE)
_HYPHEN: Final = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_DIGITS: Final = re.compile(r"\d+")
# So much of the beginning of two words makes them forms of one word.
_ROOT_CHARS: Final = 4
# So many words in the place of as many others make two things of two reports.
SWAPPED_MAX: Final = 2
COSINE_MIN: Final = 0.55


# The words outside of phrases in order, and the phrases, each a preposition with its words.
Form: TypeAlias = tuple[tuple[str, ...], frozenset[tuple[str, tuple[str, ...]]]]


@dataclass(frozen=True, slots=True)
class ComparedText:
    """A text as it is compared."""

    text: str
    order: tuple[str, ...]  # Keys of the words and values that say something, in order, without light verbs.
    forms: tuple[Form, ...]  # Of its sentences.
    values: frozenset[tuple[str, str]]  # (dimension, key), without moments.
    names: frozenset[str]
    verbs: frozenset[str]
    negations: int
    lacks: bool  # Something is negated, missing or failed.
    whole: bool  # Nothing of the text is beyond what is looked at.

    @property
    def keys(self) -> frozenset[str]:
        """The words and values that say something."""
        return frozenset(self.order)


@lru_cache(maxsize=2048)
def read(text: str) -> ComparedText:
    """The reading of the beginning of a text."""
    plain = _SHORT_NEGATIONS.sub(r"\1 not", _OCCASION.sub(" ", text[:LOOKED_AT_CHARS]))
    order: list[str] = []
    values: set[tuple[str, str]] = set()
    names = {name.casefold() for name in (*_CODE.findall(plain), *_IDENTIFIER.findall(plain))}
    verbs: set[str] = set()
    words: list[str] = []
    parts = statements(plain)
    for sentence in parts:
        words += [token.text.casefold() for token in sentence.tokens]
        for place in sentence.content:
            token = sentence.tokens[place]
            if token.dimension in MOMENTS or token.text.casefold() in _FILLERS:
                continue
            key = token.key.rstrip("'")
            if key in _FILLERS:
                continue
            if token.dimension:
                values.add((token.dimension, key))
            elif token.key.endswith("'") and place > 0:
                names.add(key)
            elif place == sentence.verb or key in VERBS or token.text.casefold() in VERB_FORMS:
                verbs.add(key)
            if token.dimension or key not in LIGHT or token.key.endswith("'"):
                order.append(key)
    negations = sum(word in NEGATORS for word in words)
    return ComparedText(
        text=text,
        order=tuple(order),
        forms=tuple(_form(sentence) for sentence in parts),
        values=frozenset(values),
        names=frozenset(names),
        verbs=frozenset(verbs),
        negations=negations,
        lacks=bool(negations) or any(word in _LACKS for word in words),
        whole=len(text) <= LOOKED_AT_CHARS and bool(all_statements(plain)),
    )


def _form(sentence: Statement) -> Form:
    """The words of a sentence in order, and its phrases by their prepositions, which may stand anywhere. A passive has
    the form of its active."""
    plain: list[str] = []
    phrases: list[tuple[str, list[str]]] = []
    inside = False
    done = 0
    content = set(sentence.content)
    for place, token in enumerate(sentence.tokens):
        word = token.text.casefold()
        if token.mark or place == sentence.verb or (inside and phrases[-1][1] and word in _BEGINS_ANEW):
            inside = False
        key = token.key.rstrip("'")
        if word in PREPOSITIONS:
            phrases.append((word, []))
            inside = True
            done = len(plain) if word == "by" else done
        elif place in content and token.dimension in _WHENEVER:
            phrases.insert(0, ("", [key]))
        elif place in content and word not in _FILLERS and key not in _FILLERS:
            (phrases[-1][1] if inside else plain).append(key)
    agent = next((keys for preposition, keys in phrases if preposition == "by" and keys), None)
    if agent and done and _is_passive(sentence):  # the word before "by" is what the agent does
        plain = [*agent, plain[done - 1], *plain[: done - 1], *plain[done:]]
        phrases = [phrase for phrase in phrases if phrase[1] is not agent]
    return tuple(plain), frozenset((preposition, tuple(keys)) for preposition, keys in phrases if keys)


def _is_passive(sentence: Statement) -> bool:
    return any(token.text.casefold() in BE for token in sentence.tokens)


def overlap(one: ComparedText, other: ComparedText) -> float:
    """The share of the shorter text's words that the longer one has, in [0, 1]."""
    least = min(len(one.keys), len(other.keys))
    return len(one.keys & other.keys) / least if least else 0.0


# ---- the same statement ---------------------------------------------------------------------------------------------


def restates(one: str, other: str) -> bool:
    """Whether two texts are one statement: word for word, or in other function words, forms and order of phrases."""
    if says_the_same(one, other):
        return True
    if _occasions(one) != _occasions(other):
        return False  # a reading leaves occasions out, so only this comparison tells two of them apart
    if _signs(one) != _signs(other):
        return False
    if one.count("?") != other.count("?") or not same_digits(one, other):
        return _numbers_in_words(one, other)
    if _run_together(one) == _run_together(other):
        return True
    return _same_words(one, other)


def _occasions(text: str) -> list[str]:
    """The occasions that a text names, in its order. Who blocks whom may be the statement."""
    return ["".join(occasion.casefold().split()) for occasion in _OCCASION.findall(text)]


def _signs(text: str) -> list[str]:
    return _SIGN.findall(_BULLET.sub("", text))


def same_digits(one: str, other: str) -> bool:
    """Whether two texts have the same numbers in digits."""
    return Counter(_DIGITS.findall(one)) == Counter(_DIGITS.findall(other))


def _numbers_in_words(one: str, other: str) -> bool:
    """Whether the texts differ in how they write a number alone."""
    return bool(_DIGITS.search(one + other)) and one.count("?") == other.count("?") and _same_words(one, other)


def _same_words(one: str, other: str) -> bool:
    first, second = _folded(one), _folded(other)
    if not (first.whole and second.whole) or first.negations != second.negations or not _share_names(one, other):
        return False
    if first.forms == second.forms:
        return True
    turned = ((turn, goal) for text, goal in ((one, second), (other, first)) for turn in _turned(text))
    return any(_folded(turn).forms == goal.forms for turn, goal in turned)


def _folded(text: str) -> ComparedText:
    return read(_HYPHEN.sub(" ", text.casefold()))


def _share_names(one: str, other: str) -> bool:
    """Whether each name of one text stands in the other one, in whatever case."""
    folded = one.casefold(), other.casefold()
    return all(name in folded[1] for name in read(one).names) and all(name in folded[0] for name in read(other).names)


def _turned(text: str) -> list[str]:
    """The text with its first clause behind the rest."""
    first, comma, rest = text.rstrip(" .!").partition(", ")
    return [f"{rest} {first}"] if comma else []


def _run_together(text: str) -> str:
    return "".join(re.findall(r"[^\W_]+", text.casefold()))


# ---- two reports of one kind of event -------------------------------------------------------------------------------


def consistent(one: ComparedText, other: ComparedText, cosine: float) -> bool:
    """Whether two reports of one kind of event agree: no value, name or negation of one is against the other."""
    if one.lacks != other.lacks or _unlike(one.values, other.values):
        return False
    if one.names and other.names and not (one.names <= other.names or other.names <= one.names):
        return False
    left, right = _swapped(one, other)
    if any(
        frozenset((before, after)) in OPPOSITES for before in one.keys - other.keys for after in other.keys - one.keys
    ):
        return False
    if not (left and right):
        return True  # one of them only tells more
    swapped = len(left) == len(right) <= SWAPPED_MAX
    return not swapped and not contested(one.text, other.text, cosine)


def _swapped(one: ComparedText, other: ComparedText) -> tuple[set[str], set[str]]:
    """The words of each report alone, without verbs and without other forms of common words."""

    def lacking(here: ComparedText, there: ComparedText) -> set[str]:
        known = {key[:_ROOT_CHARS] for key in there.keys if len(key) >= _ROOT_CHARS}
        return {key for key in here.keys - there.keys - here.verbs if key[:_ROOT_CHARS] not in known}

    return lacking(one, other), lacking(other, one)


def contested(one: str, other: str, cosine: float) -> bool:
    """Whether two texts have two values of one slot, by the write guard. A change that a text tells of is none."""
    if cosine < COSINE_MIN:
        return False
    pairs = ((older, newer) for older in statements(one)[:4] for newer in statements(other)[:4])
    for older, newer in pairs:
        for evidence in (contest(older, newer, cosine), contest(newer, older, cosine)):
            if evidence is not None and not evidence.stated:
                return True
    return False


def _unlike(one: Iterable[tuple[str, str]], other: Iterable[tuple[str, str]]) -> bool:
    """Whether the texts have other values of a dimension."""
    first: dict[str, set[str]] = {}
    second: dict[str, set[str]] = {}
    for keys, values in ((first, one), (second, other)):
        for dimension, key in values:
            keys.setdefault(dimension, set()).add(key)
    return any(first[dimension] != second[dimension] for dimension in first.keys() & second.keys())
