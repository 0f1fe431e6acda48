"""Whether two texts say the same in other order or spelling. Values and words are equal one by one.

Two sentences are compared in one wording (`wording`). Then a clause or phrase may stand at the other end of its
sentence, and the items of a list may have another order. A text that says the same is in no recall, so in doubt two
texts differ: words of place, time, cause and direction keep their sides.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Final

from mnemesh_memory.policy.judge.grammar import LEADS, PREPOSITIONS, PRONOUNS, VERB_BASES, VERB_FORMS
from mnemesh_memory.policy.judge.slots import STATEMENTS_KEPT, Statement, all_statements
from mnemesh_memory.policy.judge.tokens import is_past
from mnemesh_memory.policy.judge.wording import EXCHANGED, UNSPOKEN, spoken, worded

Words = tuple[str, ...]

_LAST: Final = frozenset(("and", "or"))  # before the last item of a list
_SEPARATORS: Final = _LAST | {","}
# A phrase that begins with these may stand elsewhere in its sentence.
_MOVED: Final = (LEADS | PREPOSITIONS | {"every"}) - {"of"}
# Words by which a sentence leads on from the one before it.
_LEADING_ON: Final = PRONOUNS | VERB_BASES
# Words that one of two texts may have more: they change no value, name, negation, demand, degree or direction.
_LEAN: Final = frozenset(("that", "also", "really", "simply"))
# Words by which the order of a list may be the statement.
_ORDERED: Final = frozenset(
    ("then", "than", "prefer", "prefers", "preferred", "first", "second", "last", "next", "order", "steps", "followed")
)

_NO_NOUNS: Final = PREPOSITIONS | PRONOUNS | VERB_FORMS | VERB_BASES | LEADS | _SEPARATORS
# Between two clauses, and what keeps them in their order.
_PARTED: Final = frozenset((",", "and"))
_KEPT_IN_PLACE: Final = _ORDERED | {"so", "hence", "thus", "therefore", "more", "less", "fewer", "or", "but"}
_CLAUSE_MIN: Final = 2

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
    r"[<>=!]=|[<>=](?!\w*>)|&&|\|\||!(?=\w)|(?<=\s)[*^+](?=\s)|(?<=\w\s)\+(?=\s\w)|(?<!\w)\+[a-z]\b|(?<![\w-])-{1,2}[A-Za-z][\w-]*|\b(?:IT|US)\b|\b_\w+|\b[a-z]+[A-Z]\w*|\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])\w{3,}\b"
)
_LONG_WORD: Final = re.compile(r"[a-z]{8,}")
_WORD: Final = re.compile(r"[a-z]{5,}")
# So many letters stay when a verb changes its form.
_BEGINNING: Final = 5
_ORDER: Final = re.compile(
    r"\b(?:order|sequence|priority|priorities|followed|respectively|ranking|ranked|winners?|left|right|login|host|source)\b",
    re.IGNORECASE,
)
_EACH: Final = re.compile(r"\beach\b(?! other)", re.IGNORECASE)
_CURRENCIES: Final = {
    name: names.split()[0]
    for names in (
        *("eur euro euros \u20ac", "usd dollar dollars $ us$", "gbp pound pounds \u00a3", "chf franc francs"),
        *("jpy yen \u00a5", "sek", "nok", "dkk", "pln", "czk"),
    )
    for name in names.split()
}
_CURRENCY: Final = re.compile(
    r"[$\u20ac\u00a3\u00a5]|\b(?:" + "|".join(filter(str.isalpha, _CURRENCIES)) + r")\b", re.IGNORECASE
)
_MEASURED: Final = re.compile(r"\d+[A-Za-z]{1,5}")
# A unit of which both spellings have a capital, or a single letter, is another unit: MW and mW, Mb and MB, m and M.
_UNIT: Final = re.compile(r"(?<=\d)\s?([A-Za-z]{1,5})\b")


def says_the_same(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but case, spacing, punctuation, articles, short forms, spelled numbers, and
    the order of phrases, list items, or sentences that do not lead on. Code and literals must be equal by letter."""
    if one.isascii() and other.isascii() and not (_long(one) <= _begun(other) and _long(other) <= _begun(one)):
        return False  # most pairs, at a glance
    if _CODE.search(one) or _CODE.search(other):
        return False
    if not (_quotes(one, other) and _quotes(other, one)) or other_units(one, other) or exact(one) != exact(other):
        return False
    if almost_identical(one, other):
        return True
    first, second = (list(all_statements(_EACH.sub("every", text))) for text in (one, other))
    if not first or not second:
        return False
    if any(part.asks for part in first) != any(part.asks for part in second):
        return False
    if any(_is_done_to(*pair) or _is_done_to(*reversed(pair)) for pair in product(first, second)):
        return False
    if _joined(first) == _joined(second):
        return True  # a stop, a semicolon or a comma between two clauses
    if _ORDER.search(one) or len(first) != len(second) or (len(first) > 1 and any(map(_follows, first))):
        return False  # the order of steps may be the statement
    for sentence in first:
        twin = next((part for part in second if part.asks == sentence.asks and same(sentence, part)), None)
        if twin is None:
            return False
        second.remove(twin)
    return True


def _follows(sentence: Statement) -> bool:
    """Whether the sentence says something of the one before, or may be a step after it."""
    return not _LEADING_ON.isdisjoint(sentence.words[:1])


@lru_cache(maxsize=STATEMENTS_KEPT)
def _long(text: str) -> frozenset[str]:
    """The beginnings of the longer words of a text in ASCII. Two texts that say the same have words with equal
    beginnings: whatever a short form leaves out or puts is shorter, or in the table of wordings."""
    return frozenset(word[:_BEGINNING] for word in _LONG_WORD.findall(text.casefold()) if word not in EXCHANGED)


@lru_cache(maxsize=STATEMENTS_KEPT)
def _begun(text: str) -> frozenset[str]:
    return frozenset(word[:_BEGINNING] for word in _WORD.findall(text.casefold()))


def _quotes(one: str, other: str) -> bool:
    """Whether the other text has all literals of the one, to the letter."""
    return all(literal.strip("`") in other for literal in _LITERAL.findall(one))


def exact(text: str) -> list[str]:
    """The signs and words of a text that are compared letter by letter. A number with its unit is a value."""
    return sorted(word for word in _EXACT.findall(text) if not _MEASURED.fullmatch(word))


def _joined(parts: Sequence[Statement]) -> list[str]:
    return [word for part in parts for word in spoken(worded(part))]


def is_ordered(text: str) -> bool:
    """Whether the order of a list may be the statement."""
    return bool(_ORDER.search(text)) or not _ORDERED.isdisjoint(text.casefold().split())


def other_units(one: str, other: str) -> bool:
    """Whether two texts have units that only capitals tell apart, or other currencies."""
    if _currencies(one) != _currencies(other):
        return True
    units = zip(
        sorted(_UNIT.findall(one), key=str.casefold), sorted(_UNIT.findall(other), key=str.casefold), strict=False
    )
    return any(
        a != b and a.casefold() == b.casefold() and (len(a) == 1 or (a != a.casefold() and b != b.casefold()))
        for a, b in units
    )


def _currencies(text: str) -> set[str]:
    return {_CURRENCIES[name.casefold()] for name in _CURRENCY.findall(text)}


def almost_identical(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but case, white space, the spacing of punctuation and a final stop."""
    return _loosened(one) == _loosened(other) and not other_units(one, other)


def _loosened(content: str) -> str:
    words = " ".join(unicodedata.normalize("NFC", content).casefold().split())
    return _SPACED_PUNCTUATION.sub(r"\1", words).rstrip(_FINAL_STOPS)


def same(one: Statement, other: Statement) -> bool:
    """Whether two sentences say the same but for wording and the place of a clause, a phrase or list items."""
    if _telling(one) != _telling(other):
        return False  # most pairs, at a glance
    before, after = worded(one), worded(other)
    if spoken(before) == spoken(after):
        return True
    more = (Counter(spoken(before)) - Counter(spoken(after)), Counter(spoken(after)) - Counter(spoken(before)))
    if all(more) or not _LEAN.issuperset((*more[0], *more[1])):
        return False
    before, after = _without(_paused(before), more[0]), _without(_paused(after), more[1])
    turns = (before, *_turns(before))
    if any(spoken(turn) == spoken(after) for turn in turns) or _reordered(before, after):
        return True
    return _have_changed_places(before, after)


def _is_done_to(one: Statement, other: Statement) -> bool:
    """Whether the first word of one sentence acts in the other: "Ada is asked", "Ada asked"."""
    return one.words[1:2] == ("is",) and other.words[1:2] == one.words[2:3] and is_past("".join(one.words[2:3]))


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _telling(statement: Statement) -> tuple[str, ...]:
    """The words of a sentence, sorted, but for those that one of two texts may have more."""
    return tuple(sorted(word for word in spoken(worded(statement)) if word not in _LEAN))


def _paused(words: Words) -> Words:
    return tuple(word for word in words if word == "," or word not in UNSPOKEN)


def _without(words: Words, more: Counter[str]) -> Words:
    """The words without the surplus ones, the last of each first."""
    left, kept = Counter(more), list[str]()
    for word in reversed(words):
        if left[word]:
            left[word] -= 1
        else:
            kept.append(word)
    return tuple(reversed(kept))


def _turns(words: Words) -> Iterator[Words]:
    """The sentence with a clause from its beginning at its end, and the other way round."""
    for at in range(1, len(words)):
        if words[0] in _MOVED:
            yield words[at:] + words[: at - (words[at - 1] == ",")]
        if words[at] in _MOVED:
            yield words[at:] + words[:at]
            yield (*words[at:], ",", *words[:at])


def _trimmed(one: Sequence[str], other: Sequence[str]) -> tuple[list[str], list[str]]:
    """Two lists without the words that both begin and end with."""
    begin, end, least = 0, 0, min(len(one), len(other))
    while begin < least and one[begin] == other[begin]:
        begin += 1
    while end < least - begin and one[-1 - end] == other[-1 - end]:
        end += 1
    return list(one[begin : len(one) - end]), list(other[begin : len(other) - end])


def _reordered(one: Words, other: Words) -> bool:
    """Whether two sentences differ in nothing but the order of the items of their one list, which "and" or "or" ends.
    Items are no phrases, and nothing says that their order counts. Values that change places beside other values may
    belong to those, one by one."""
    first, second = _trimmed(one, other)
    if sorted(_items(first)) != sorted(_items(second)) or _LAST.isdisjoint(first) or not _ORDERED.isdisjoint(one):
        return False
    if not _MOVED.isdisjoint(first) or _LAST.issubset(first):
        return False  # phrases, or two lists
    begin = next((at for at, (word, twin) in enumerate(zip(one, other, strict=False)) if word != twin), 0)
    in_turn = not VERB_BASES.isdisjoint((one[0], other[0])) if not begin else one[begin - 1] in PRONOUNS
    if in_turn or all(not VERB_FORMS.isdisjoint(item) for item in _items(first)):
        return False  # deeds or events one after the other
    end = begin + len(first)
    if begin > 0 and end < len(one) and _NO_NOUNS.isdisjoint((one[begin - 1], one[end])):
        return False  # its words may belong to their neighbours: "API gateway and billing service"
    values = sum(map(_is_value, first))
    is_one_list = sum(word in _SEPARATORS for word in first) == sum(word in _SEPARATORS for word in one)
    return is_one_list and values in (0, sum(map(_is_value, one)))


def _have_changed_places(one: Words, other: Words) -> bool:
    """Whether the two clauses of a sentence have changed places: "Ana has red, Bo blue" and "Bo has blue, Ana red". The
    second clause leaves out what both share (gapping), or repeats the verb. Deeds, events, reasons, and clauses with a
    pronoun keep their places."""
    if not _KEPT_IN_PLACE.isdisjoint(one) or not PRONOUNS.isdisjoint(one):
        return False
    for (early, late), (first, second) in product(_clauses(one), _clauses(other)):
        shared = _left_out(early, second) & _left_out(first, late)
        in_one_verb = not VERB_FORMS.isdisjoint(set(early) & set(late))
        if shared and (in_one_verb or shared != {()}):
            return True
    return False


def _clauses(words: Words) -> Iterator[tuple[Words, Words]]:
    """The two clauses of a sentence, at each place where there may be two. Neither tells somebody to do something, the
    second has a subject or a value, and both or neither begin with a place, time or condition."""
    for at, word in enumerate(words):
        if word not in _PARTED or at + 1 == len(words):
            continue
        one, other = words[:at], words[at + 1 + (words[at + 1] == "and") :]
        if min(len(one), len(other)) < _CLAUSE_MIN or not VERB_BASES.isdisjoint((one[0], other[0])):
            continue
        if other[0] in VERB_FORMS:
            continue
        if (one[0] in _MOVED) == (other[0] in _MOVED):
            yield one, other


def _left_out(longer: Words, shorter: Words) -> set[Words]:
    """The runs of words that one clause has more than the other, () among them for equal clauses."""
    more = len(longer) - len(shorter)
    return {
        longer[at : at + more]
        for at in range(len(shorter) + 1)
        if more >= 0 and longer[:at] + longer[at + more :] == shorter
    }


def _is_value(word: str) -> bool:
    return any(map(str.isdigit, word))


def _items(words: list[str]) -> list[Words]:
    items: list[list[str]] = [[]]
    for word in words:
        if word in _SEPARATORS:
            items.append([])
        else:
            items[-1].append(word)
    return [tuple(item) for item in items if item]
