"""Whether two texts that are read as repeats may be taken for one: a text that says the same is in no recall.

The reading of a model is never enough. Values in their order, names, negations, and words of order, degree and time
must agree one by one. Shared words that change their places change their roles, unless one of the texts is passive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final, NamedTuple

from mnemesh_memory.policy.judge.alignment import gaps_of, runs_of
from mnemesh_memory.policy.judge.grammar import (
    IRREGULAR,
    OPPOSED,
    OPPOSITES,
    PREPOSITIONS,
    SCOPES,
    VERB_BASES,
    VERB_FORMS,
)
from mnemesh_memory.policy.judge.respelling import respelled
from mnemesh_memory.policy.judge.sameness import exact, is_ordered, other_units
from mnemesh_memory.policy.judge.slots import STATEMENTS_KEPT, Statement, all_statements, statements

# Words of order, degree, number, time and condition: one more or one less, and the truth is another.
_TELLING: Final = frozenset(
    re.findall(
        r"\w+",
        "before after until till since during than over under above below from via through against between least most "
        "more less fewer first last only all both each every any some none most always never sometimes often usually "
        "except unless without if when while first second third last next previous either neither nor or must may can "
        "should might could will would now still also too again already yet instead no not nobody nothing none cannot "
        "never without maybe perhaps probably almost about nearly mostly partly rarely seldom hardly "
        "roughly up down off out back away",
    )
)
# One of these may stand for another and say the same.
_ALIKE: Final = {
    **dict.fromkeys(("every", "each", "all", "any", "always"), "all"),
    **dict.fromkeys(("not", "no", "never", "none", "nobody", "nothing", "without", "cannot", "neither", "nor"), "not"),
    **dict.fromkeys(("when", "if", "once"), "when"),
    **dict.fromkeys(("until", "till"), "until"),
}
# Words of which one of the texts may have more.
_LIGHT: Final = frozenset(("now", "all", "through", "via"))
# "Not every" and "not always" deny less than "no" and "never".
_WHOLES: Final = frozenset(("all", "each", "every", "always", "everyone", "everybody", "everything", "everywhere"))
_NOTS: Final = frozenset(("not", "never"))
_NOT_ALL: Final = "not all"
# A negation reaches so many words further: "are not usually always checked".
_NOT_REACH: Final = 2
# One of a group in one text alone narrows that text, in whatever words the other says the rest.
_NARROWING: Final = (
    frozenset(("that", "which", "who", "whom", "whose")),
    frozenset(("if", "when", "whenever", "soon")),
    frozenset(("only", "just", "except", "unless")),
    frozenset((_NOT_ALL,)),
)
_MARKERS: Final = PREPOSITIONS | {"within"}
_EXCHANGEABLE: Final = (frozenset(("by", "with")), frozenset(("to", "into")), frozenset(("through", "via")))
# Between the items of a list.
_LISTING: Final = (("and",), ("or",), (",", "and"), (",", "or"))
_PRONOUNS: Final = frozenset(("one", "once", "1"))
_IDENTIFYING: Final = frozenset("/_")
_BELONGS: Final = frozenset(("belongs", "belong", "belonging"))
_PERSONS: Final = frozenset(
    re.findall(
        r"\w+",
        "i me my mine you your yours he him his she her hers we us our ours they them their",
    )
)
_PAST: Final = frozenset(("was", "were", "had"))


# From this share of common content words on, two texts are so near that each small word counts.
NEAR_MIN: Final = 0.5
# So few words exchanged between two texts are another value rather than a synonym, also in a text of three words.
EXCHANGED_MAX: Final = 2
# A text of fewer words is no sentence.
SPOKEN_MIN: Final = 3
# Of the letters of a text that a model of English reads.
LATIN_MIN: Final = 0.9
_SPOKEN: Final = re.compile(r"[^\W\d_]{2,}")


Items = tuple[str, frozenset[str]]


class Marked(NamedTuple):
    """A content word, the preposition before its phrase, whether it follows the last content word directly, and whether
    it is a further item of a list."""

    meaning: str
    marker: str
    joined: bool = False
    listed: bool = False


@lru_cache(maxsize=STATEMENTS_KEPT)
def speaks(text: str) -> bool:
    """Whether there are words of Latin letters to read. A row of numbers, a single name or another script mean to a
    model of English what is not there."""
    letters = "" if text.isascii() else [letter for letter in text if letter.isalpha()]
    latin = sum(map(str.isascii, letters)) >= LATIN_MIN * len(letters)
    return latin and sum(1 for _ in islice(_SPOKEN.finditer(text), SPOKEN_MIN)) == SPOKEN_MIN


def may_be_one(one: str, other: str, *, surely: bool = False) -> bool:
    """Whether nothing that a model reads over differs between two texts. Texts in far words are one only for a model
    that is as sure as it ever is (`surely`)."""
    one, other = respelled(one, other)
    first, second = (all_statements(text) for text in (one, other))
    if (
        not (speaks(one) and speaks(other) and first and second)
        or exact(one) != exact(other)
        or other_units(one, other)
    ):
        return False
    if any(part.asks for part in first) != any(part.asks for part in second):
        return False
    if _values(first) != _values(second) or not (_named(first, second) and _named(second, first)):
        return False
    before, after = _content(one), _content(other)
    lost, gained, all_words = set(before) - set(after), set(after) - set(before), set(before) | set(after)
    if lost and gained and max(len(lost), len(gained)) <= EXCHANGED_MAX and _is_one_form(first, second, lost, gained):
        return False
    if bool(lost) != bool(gained):
        return False  # one tells more
    if len(all_words) - len(lost) - len(gained) < NEAR_MIN * len(all_words):
        in_order = _names_in_order(first, second) == _names_in_order(second, first)
        return surely and in_order and not (_narrows(first, second) or _opposed(first, second))
    turned = _passives(first) != _passives(second)
    return (
        _telling_words(first) == _telling_words(second)
        and _keeps_persons(first, second)
        and not _opposed(first, second)
        and not (turned and max(_agents(first), _agents(second)) > 1)  # nobody knows which is whose
        and _keeps_places(
            *(before, after, _marked(one), _marked(other)),
            turned=turned,
            ordered=is_ordered(one) or is_ordered(other),
        )
    )


def _is_one_form(first: Sequence[Statement], second: Sequence[Statement], lost: set[str], gained: set[str]) -> bool:
    """Whether the exchanged words may be another value. Two words on each side are synonyms in texts that differ in
    more places than two: no other of some 10,000 pairs by other hands was taken for a repeat there."""
    if max(len(lost), len(gained)) < EXCHANGED_MAX:
        return True
    one, other = ([word for part in parts for word in part.words] for parts in (first, second))
    return len(gaps_of(one, other, runs_of(one, other))) <= EXCHANGED_MAX


def _values(parts: Sequence[Statement]) -> list[str]:
    """The values of each dimension in their order, because "from 5 to 9" is not "from 9 to 5". "One" and "once" are
    mostly no numbers, and a pair of other numbers differs without them too."""
    values = sorted((token for part in parts for token in part.tokens if token.dimension), key=lambda of: of.dimension)
    return [token.key for token in values if token.text.casefold() not in _PRONOUNS]


def _named(parts: Sequence[Statement], others: Sequence[Statement]) -> bool:
    """Whether the others have each name and identifier of the parts."""
    known = {word for part in others for word in part.words}
    joined = " ".join(word for part in others for word in part.words)
    names = (token.text.casefold() for part in parts for at, token in enumerate(part.tokens) if _is_name(part, at))
    return all(name in known or name in joined for name in names)


def _names_in_order(parts: Sequence[Statement], others: Sequence[Statement]) -> list[str]:
    """The words of the parts that are names in either text, in order."""
    names = {part.words[at] for part in (*parts, *others) for at in range(len(part.words)) if _is_name(part, at)}
    bare = {name.removesuffix("'s") for name in names}
    words = (word.removesuffix("'s") for part in parts for word in part.words)
    return list(dict.fromkeys(word for word in words if word in bare))


def _is_name(part: Statement, at: int) -> bool:
    """Whether a word is a name or identifier, also as the first word: a path or a name with `_`."""
    return at in part.names or (at == 0 and not _IDENTIFYING.isdisjoint(part.tokens[0].text))


def _telling_words(parts: Sequence[Statement]) -> Counter[str]:
    """The telling words, but for those that may be said or left out."""
    words = (word for part in parts for word in _with_not_all(part.words) if word in _TELLING or word == _NOT_ALL)
    return Counter(word for word in (_ALIKE.get(word, word) for word in words) if word not in _LIGHT)


def _keeps_persons(first: Sequence[Statement], second: Sequence[Statement]) -> bool:
    """Whether no person stands for another one, and nothing that is has been."""
    one, other = (Counter(word for part in parts for word in part.words) for parts in (first, second))
    exchanged = (one - other).keys() & _PERSONS and (other - one).keys() & _PERSONS
    return not exchanged and _has_been(first) == _has_been(second)


def _has_been(parts: Sequence[Statement]) -> set[str]:
    """The forms of "be" and "have" that tell of the past, but for those of a passive."""
    pairs = (pair for part in parts for pair in pairwise((*part.words, "")))
    return {word for word, after in pairs if word in _PAST and not _is_participle(after)}


def _with_not_all(words: Sequence[str]) -> Iterator[str]:
    """The words, with one for a negation of a whole in the place of that whole."""
    for at, word in enumerate(words):
        denied = word in _WHOLES and not _NOTS.isdisjoint(words[max(0, at - _NOT_REACH) : at])
        yield _NOT_ALL if denied else word


def _narrows(first: Sequence[Statement], second: Sequence[Statement]) -> bool:
    """Whether one text alone has a narrowing clause or word, or demands where the other advises."""
    one, other = ({word for part in parts for word in _with_not_all(part.words)} for parts in (first, second))
    if (one ^ other) >= {"must", "should"}:
        return True
    return any(group.isdisjoint(one) != group.isdisjoint(other) for group in _NARROWING)


def _opposed(first: Sequence[Statement], second: Sequence[Statement]) -> bool:
    """Whether the texts have opposite words, or words that narrow in one of both alone."""
    keys = [{token.key for part in parts for token in part.tokens} for parts in (first, second)]
    lost, gained = keys[0] - keys[1], keys[1] - keys[0]
    if any(frozenset((one, two)) in OPPOSITES for one in lost & OPPOSED for two in gained & OPPOSED):
        return True
    return bool((lost | gained) & SCOPES)


def _passives(parts: Sequence[Statement]) -> bool:
    """Whether a participle stands before "by", or something belongs to somebody."""
    return any(
        not _BELONGS.isdisjoint(part.words)
        or any(word == "by" and _is_participle(before) for before, word in pairwise(part.words))
        for part in parts
    )


def _agents(parts: Sequence[Statement]) -> int:
    return sum(part.words.count("by") for part in parts)


def _is_participle(word: str) -> bool:
    return word.endswith("ed") or (word in IRREGULAR and word not in VERB_BASES)


@lru_cache(maxsize=STATEMENTS_KEPT)
def _content(text: str) -> tuple[str, ...]:
    """The meanings of the content words of a text, in order."""
    return tuple(part.meanings[at] for part in statements(text) for at in part.content)


def _keeps_roles(before: Sequence[str], after: Sequence[str], *, turned: bool) -> bool:
    """Whether the shared words have the same order, or the opposite order when one text is passive."""
    shared = set(before) & set(after)
    order = [list(_once(words, shared)) for words in (before, after)]
    if len(shared) < 2:
        return True
    return (order[0] == order[1]) != turned


@lru_cache(maxsize=STATEMENTS_KEPT)
def _marked(text: str) -> tuple[Marked, ...]:
    """The content words of a text with their prepositions. "The owner of X" is "X owner"."""
    phrases: list[list[Marked]] = []
    head: list[Marked] = []  # Comes behind the phrase with "of".
    for part in statements(text):
        place = -1
        for at, meaning in part.meanings.items():
            between = part.words[place + 1 : at]
            marker = next((word for word in reversed(between) if word in _MARKERS), "")
            begins = place < 0 or bool(between)
            if begins and head:
                phrases[-1] += [word._replace(joined=True) for word in head]
                head = []
            if not begins:
                phrases[-1].append(Marked(meaning, "", joined=True))
            elif place >= 0 and marker == "of":
                head = phrases.pop()
                phrases.append([Marked(meaning, head[0].marker)])
            else:
                listed = place >= 0 and tuple(between) in _LISTING and part.words[at] not in VERB_FORMS
                phrases.append([Marked(meaning, phrases[-1][0].marker if listed else marker, listed=listed)])
            place = at
    if head:
        phrases[-1] += [word._replace(joined=True) for word in head]
    return tuple(word for phrase in phrases for word in phrase)


def _keeps_places(
    before: Sequence[str],
    after: Sequence[str],
    one: Sequence[Marked],
    other: Sequence[Marked],
    *,
    turned: bool,
    ordered: bool,
) -> bool:
    """Whether the shared words have the same order (the opposite one when one text is passive), or differ in nothing
    but the places of whole phrases and of the items of a list. No two of them have exchanged their prepositions."""
    first, second = _in_phrases(one, _pairs(other)), _in_phrases(other, _pairs(one))
    shared = first.keys() & second.keys()
    if any(first[word] and second[word] and not _alike(first[word], second[word]) for word in shared):
        return False
    if _keeps_roles(before, after, turned=turned):
        return True
    return (
        not ordered
        and all(_alike(first[word], second[word]) for word in shared)
        and _order(one, shared, first) == _order(other, shared, second)
    )


def _alike(one: str, other: str) -> bool:
    """Whether two prepositions may stand for each other."""
    return one == other or {one, other} in _EXCHANGEABLE


def _order(words: Sequence[Marked], shared: Set[str], markers: Mapping[str, str]) -> list[Items]:
    """By preposition the shared words in their order, the items of an only list as one."""
    lists = sum(1 for word, after in pairwise((*words, Marked("", ""))) if word.listed and not after.listed)
    words = words if lists == 1 else [word._replace(listed=False) for word in words]
    return sorted(_items(words, shared, markers), key=lambda items: items[0])


def _items(words: Sequence[Marked], shared: Set[str], markers: Mapping[str, str]) -> Iterator[Items]:
    items: list[str] = []
    for word in dict.fromkeys(words):
        if word.meaning not in shared:
            continue
        if items and not word.listed:
            yield markers[items[0]], frozenset(items)
            items = []
        items.append(word.meaning)
    if items:
        yield markers[items[0]], frozenset(items)


def _in_phrases(words: Sequence[Marked], pairs: set[tuple[str, str]]) -> dict[str, str]:
    """The preposition of each word, in order. A word stands in the phrase of the one before it if it does in the other
    text too, which has these `pairs`."""
    phrases: dict[str, str] = {}
    before, marker = "", ""
    for word in words:
        marker = marker if word.joined and (before, word.meaning) in pairs else word.marker
        before = word.meaning
        phrases[before] = f"{phrases[before]} {marker}" if before in phrases else marker
    return phrases


def _pairs(words: Sequence[Marked]) -> set[tuple[str, str]]:
    return {(one.meaning, other.meaning) for one, other in pairwise(words) if other.joined}


def _once(words: Sequence[str], shared: set[str]) -> Iterator[str]:
    seen = set[str]()
    for word in words:
        if word in shared and word not in seen:
            seen.add(word)
            yield word
