"""Whether two texts have the same words, arranged otherwise: clauses, phrases and compounds in other places. Pure.

Each value and word agrees, but for articles, "is" and the spelling of short forms. What may move is bounded, so that
nobody takes another one's place:

- two clauses beside a comma, a semicolon or "and", each with its own words in their order;
- phrases with a preposition, in a text of one clause;
- "rounding in the ledger" for "ledger rounding", "the owner of X" for "X's owner".

Not one of 44,000 labelled pairs that are no repeats is taken for one, all with these rules in view.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import Final

from mnemesh_memory.policy.judge.grammar import (
    ARTICLES,
    FUNCTION_WORDS,
    LEADS,
    NEGATORS,
    PREPOSITIONS,
    VERB_BASES,
    VERB_FORMS,
)
from mnemesh_memory.policy.judge.slots import Statement
from mnemesh_memory.policy.judge.tokens import UNIT_ADJECTIVES, WEEKDAYS
from mnemesh_memory.policy.judge.wording import BITS

Words = tuple[str, ...]

_UNSPOKEN: Final = ARTICLES | {"is", "are", "am", "get", "gets", "that", "which", "our"}
_PAUSES: Final = frozenset(",;")
_JOINING: Final = frozenset(("and", "but", "&"))
# These say nothing between words, but bind what stands around. Any other sign is a word: "a > b" is not "b > a".
_SILENT: Final = frozenset(".!:()[]-\u2013\u2014\u2026'\"`\u2018\u2019\u201c\u201d*")
_MOVABLE: Final = (LEADS | PREPOSITIONS | {"every", "each"}) - {"of"}
# Before the second part of a compound. "For" and "from" are not, behind a verb: "works for Lund".
_OF: Final = frozenset(("of", "in", "on", "at"))
_FOR: Final = frozenset(("for", "from"))
# Of a compound, on each side.
_PART_WORDS_MAX: Final = 3
# A shorter clause is an item of a list, or a step.
_CLAUSE_WORDS_MIN: Final = 3
# Words by which the order of a list may be the statement.
ORDERED: Final = frozenset(
    ("then", "than", "prefer", "prefers", "preferred", "first", "second", "last", "next", "order", "steps", "followed")
)
_ORDER: Final = re.compile(
    r"\b(?:order|sequence|priority|priorities|precedence|followed|respectively|ranking|ranked|winners?|left|right|login|host|source)\b",
    re.IGNORECASE,
)


def is_ordered(text: str) -> bool:
    """Whether the order of a list may be the statement."""
    return says_order(text) or not ORDERED.isdisjoint(text.casefold().split())


def says_order(text: str) -> bool:
    """Whether a word of the text says that an order counts."""
    return bool(_ORDER.search(text))


def rearranged(first: Sequence[Statement], second: Sequence[Statement]) -> bool:
    """Whether the sentences of two texts have the same words in the same clauses and phrases."""
    one, other = (tuple(_clauses(parts)) for parts in (first, second))
    names = {word for part in (*first, *second) for word in _identifiers(part)}
    one, other = _compounded(one, other, names), _compounded(other, one, names)
    if Counter(_words(one)) != Counter(_words(other)):
        return False
    if _words(one) == _words(other) or _same_phrases(one, other):
        return True
    if any(is_ordered(" ".join(_words(clauses))) for clauses in (one, other)):
        return False
    return _same_clauses(one, other) or _gapped(one, other)


def _clauses(parts: Sequence[Statement]) -> Iterator[Words]:
    """The words of each clause."""
    for part in parts:
        clause: list[str] = []
        for at, word in enumerate(part.words):
            after = "".join(part.words[at + 1 : at + 2])
            if word in _PAUSES or (word in _JOINING and not (clause and _is_pair(part, at))):
                if clause:
                    yield tuple(clause)
                clause = []
            elif word in _JOINING:
                clause[-1:] = []  # both words come behind the sign, in the order of the alphabet
            elif word in _UNSPOKEN or word in _SILENT or (word == "on" and after.removesuffix("s") in WEEKDAYS):
                continue
            elif word == "of" and at and part.tokens[at - 1].dimension:
                continue  # "4 GiB of memory"
            elif at >= 2 and part.words[at - 1] in _JOINING and _is_pair(part, at - 1):
                clause += sorted((_bare(part, at - 2), _bare(part, at)))
            else:
                clause.append(_bare(part, at))
        if clause:
            yield tuple(clause)


def _bare(part: Statement, at: int) -> str:
    """The value at that place, with its unit's adjective or a sign of bits, or the word without "'s"."""
    token, word = part.tokens[at], part.words[at]
    if not token.dimension:
        return word.removesuffix("'s").removesuffix("'")
    return " ".join((token.key, *(each for each in word.split() if each in UNIT_ADJECTIVES), *BITS.findall(token.text)))


def _is_pair(part: Statement, at: int) -> bool:
    """Whether one word on each side of "and" is all that it joins, so that both may change their places."""
    if at < 1 or at + 1 >= len(part.words) or sum(word in _JOINING for word in part.words) > 1:
        return False
    beside = (at - 1, at + 1)
    around = ("".join(part.words[at - 2 : at - 1]) if at > 1 else "", "".join(part.words[at + 2 : at + 3]))
    return (
        all(_is_thing(part, place) for place in beside)
        and (not around[0] or around[0] in VERB_FORMS or around[0] in ARTICLES or around[0] in _MOVABLE)
        and (not around[1] or around[1] in _PAUSES or around[1] in _SILENT or around[1] in _MOVABLE)
    )


def _is_thing(part: Statement, at: int) -> bool:
    token, word = part.tokens[at], part.words[at]
    return not (token.mark or token.dimension or word in VERB_FORMS or word in _MOVABLE or word in FUNCTION_WORDS)


def _identifiers(part: Statement) -> Iterator[str]:
    """The words that are literals or identifiers."""
    for at, word in enumerate(part.words):
        token = part.tokens[at]
        if not (token.mark or token.dimension) and (
            not word.isalpha() or part.words[at - 1 : at + 2 : 2] == ("`", "`")
        ):
            yield _bare(part, at)


def _words(clauses: Sequence[Words]) -> Words:
    return tuple(word for clause in clauses for word in clause)


def _same_clauses(one: Sequence[Words], other: Sequence[Words]) -> bool:
    """Whether two clauses have changed places. Few words are an item of a list, whose order may be the statement, as
    that of commands and of negations ("no tests, no merge"). Of three clauses one may belong to another."""
    return (
        len(one) == len(other) == 2
        and one == other[::-1]
        and all(len(clause) >= _CLAUSE_WORDS_MIN and clause[0] not in VERB_BASES | NEGATORS for clause in one)
    )


def _gapped(one: Sequence[Words], other: Sequence[Words]) -> bool:
    """Whether two clauses have changed places, and the verb that both share stands in the first one of each text:
    "Ada deploys on Monday, Ben on Friday"."""
    if not len(one) == len(other) == 2:
        return False
    shared = [list(_left(first, last)) for first, last in ((one[0], other[1]), (other[0], one[1]))]
    return bool(shared[0]) and shared[0] == shared[1] and _MOVABLE.isdisjoint(shared[0])


def _left(clause: Words, taken: Words) -> Iterator[str]:
    """The words of the clause beside those taken, if these are there in order; nothing otherwise."""
    rest = list(taken)
    left = [word for word in clause if not (rest and word == rest[0] and rest.pop(0))]
    if not rest:
        yield from left


def _same_phrases(one: Sequence[Words], other: Sequence[Words]) -> bool:
    """Whether one clause has the same phrases in another order. Two phrases with one preposition keep their order."""
    first, second = (tuple(_phrases(clauses)) for clauses in (one, other))
    cores = [[phrase for phrase in phrases if phrase[0] not in _MOVABLE] for phrases in (first, second)]
    return (
        cores[0] == cores[1]
        and len(cores[0]) == 1
        and sorted(first) == sorted(second)
        and sorted(first, key=_opening) == sorted(second, key=_opening)
    )


def _opening(phrase: Words) -> str:
    return phrase[0]


def _phrases(clauses: Sequence[Words]) -> Iterator[Words]:
    for clause in clauses:
        begins = [at for at, word in enumerate(clause) if at == 0 or word in _MOVABLE]
        yield from (clause[begin:end] for begin, end in pairwise((*begins, len(clause))))


def _compounded(clauses: Sequence[Words], others: Sequence[Words], names: Set[str]) -> tuple[Words, ...]:
    """The clauses with each "X of Y" as "Y X", and each noun behind its identifier, where the other text has it so."""
    known = {run for clause in others for run in _runs(clause)}
    return tuple(_turned(clause, known, names) for clause in clauses)


def _runs(clause: Words) -> Iterator[Words]:
    """The rows of two to six words side by side."""
    for begin in range(len(clause)):
        for end in range(begin + 2, min(len(clause), begin + 2 * _PART_WORDS_MAX) + 1):
            yield clause[begin:end]


def _turned(clause: Words, known: Set[Words], names: Set[str]) -> Words:
    for at, word in enumerate(clause):
        if at and word in names and clause[at - 1] not in VERB_FORMS | _MOVABLE and clause[at - 1] not in names:
            swapped = (word, clause[at - 1])
            if swapped in known and (clause[at - 1], word) not in known:
                return _turned(clause[: at - 1] + swapped + clause[at + 1 :], known, names)
        if 0 < at < len(clause) - 1 and (word in _OF or (word in _FOR and clause[at - 1] not in VERB_FORMS)):
            for head, rest in _parts(clause, at):
                begin, end = at - len(head), at + 1 + len(rest)
                if rest + head in known and clause[begin:end] not in known:
                    return _turned(clause[:begin] + rest + head + clause[end:], known, names)
    return clause


def _parts(clause: Words, at: int) -> Iterator[tuple[Words, Words]]:
    """What may stand on the two sides of a preposition in a compound: words without another preposition."""
    for before in range(1, min(at, _PART_WORDS_MAX) + 1):
        for after in range(min(len(clause) - at - 1, _PART_WORDS_MAX), 0, -1):
            head, rest = clause[at - before : at], clause[at + 1 : at + 1 + after]
            if _MOVABLE.isdisjoint(head + rest) and "of" not in head + rest:
                yield head, rest
