"""Parts of a sentence: its main verb, the role of a run of words, the dimensions of its values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mnemesh_memory.policy.grammar import (
    ARTICLES,
    CHANGES,
    DETERMINERS,
    LIGHT,
    OPPOSITES,
    ROLES,
    SCOPES,
    VERBS,
    meaning,
)
from mnemesh_memory.policy.slots import Statement
from mnemesh_memory.policy.tokens import is_past

# Numbers that belong to a name, such as "Postgres 15".
LOOSE: Final = frozenset(("number", "version"))
_REVERSALS: Final = ("un", "in", "im", "dis", "non", "non-", "ir")
_ROLE_GROUPS: Final = {
    "in": "in", "on": "in", "at": "in", "with": "with", "via": "with", "through": "with", "using": "with", "to": "to",
    "into": "to", "for": "for", "from": "from", "near": "near",
}  # fmt: skip
# The rest of a passive with an unknown participle, and verbs as empty.
PASSIVES: Final = frozenset(("be", "do", "go", "com"))
_HELPING: Final = frozenset(["be", "hav", "do", "must", "should", "may", "can", "will", "would"])


def is_light(statement: Statement, place: int) -> bool:
    token = statement.tokens[place]
    return token.key in LIGHT and not token.dimension and (place == 0 or token.text == token.text.casefold())


def runs(statement: Statement, places: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Neighbours among the places, without light verbs."""
    run: list[int] = []
    for place in places:
        if is_light(statement, place):
            continue
        if run and place != run[-1] + 1:
            yield tuple(run)
            run = []
        run.append(place)
    if run:
        yield tuple(run)


def role(statement: Statement, run: Sequence[int]) -> str:
    """The group of the preposition before a run; "" without any. The agent of a passive has none."""
    for place in (run[0] - 1, run[0] - 2):
        if place > statement.verb:
            word = statement.tokens[place].text.casefold()
            if word == "by":
                return "" if statement.tokens[statement.verb].key == "be" else "by"
            if word in _ROLE_GROUPS:
                return _ROLE_GROUPS[word]
            if word not in DETERMINERS:
                break
    return ""


def has_complement(statement: Statement, run: Sequence[int]) -> bool:
    """Whether "of ..." or "for ..." follows a run of the predicate, so that the run names a relation: "a friend of"."""
    after = run[-1] + 1
    return run[0] > statement.verb and after < len(statement.tokens) and statement.tokens[after].text in ("of", "for")


def is_scoped(statement: Statement, run: Sequence[int]) -> bool:
    return any(statement.key(place) in SCOPES for place in run)


def verb_place(statement: Statement) -> int:
    """The place of the main verb: the first that is no auxiliary, if it follows at once."""
    passive, auxiliary = False, statement.verb
    if statement.verb < 0:
        return -1
    for place in range(statement.verb, min(statement.verb + 4, len(statement.tokens))):
        token = statement.tokens[place]
        if token.mark or token.dimension or token.text.casefold() in ROLES:
            break
        if place == statement.verb and token.key not in _HELPING:
            return place
        if token.key == "do" and "not" not in [part.text for part in statement.tokens[place : place + 2]]:
            return place
        if token.key in _HELPING:
            auxiliary = place
            passive = passive or token.key == "be"
        elif (token.key in VERBS and (place == statement.verb or _verbal(token.text))) or (
            passive and token.text.endswith("ed") and "-" not in token.text
        ):
            return place
        elif token.text.casefold() in ARTICLES:
            break
    return auxiliary


def verb_places(statement: Statement) -> set[int]:
    """Places of words that are verbs of the sentence, verbs of change among them."""
    change = {
        place
        for place, token in enumerate(statement.tokens)
        if statement.strong and token.key in CHANGES and token.text.endswith("ed")
    }
    return {statement.verb, verb_place(statement)} | change


def _verbal(word: str) -> bool:
    return word == word.casefold()


# "We decided to use gRPC" tells of a state from then on.
_WILLS: Final = frozenset(("decid", "agre", "choos", "opt", "plan", "resolv", "settl", "vot"))


def is_event(statement: Statement) -> bool:
    """Whether a sentence tells what happened: its main verb is a past, with "was" or alone."""
    place = verb_place(statement)
    if place < 0 or statement.key(place) in _WILLS:
        return False
    words = [token.text.casefold() for token in statement.tokens[statement.verb : place + 1]]
    acted = is_past(words[-1])
    return acted and (len(words) == 1 or words[0] in ("was", "were"))


def main_verb(statement: Statement) -> str:
    place = verb_place(statement)
    return "" if place < 0 else statement.key(place)


def is_name(statement: Statement, place: int) -> bool:
    token = statement.tokens[place]
    proper = token.text != token.text.casefold() and (place > 0 or statement.verb == 1)
    return bool(token.dimension) or proper


def dimension_of(dimension: str) -> str:
    noun = dimension.removeprefix("count ")
    return f"count {meaning(noun)}" if noun != dimension else dimension


def values_of(statement: Statement, *, standing: bool = False) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for place in statement.content:
        token = statement.tokens[place]
        if token.dimension and not (standing and place in statement.old):
            found.setdefault(dimension_of(token.dimension), set()).add(token.key)
    return found


def comparable(one: str, other: str) -> bool:
    if one == other:
        return True
    counted = one.startswith("count ") or other.startswith("count ")
    if {one, other} == {"duration", "share of time"}:
        return True
    return (one in LOOSE and other in LOOSE) or (counted and (one == "number" or other == "number"))


def opposite(one: str, other: str) -> bool:
    if frozenset((one, other)) in OPPOSITES:
        return True
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 3 and any(longer == reversal + shorter for reversal in _REVERSALS)


def around(statement: Statement, at: int) -> tuple[list[str], list[str]]:
    """The content words on the left and right of a place."""
    before = [statement.key(place) for place in statement.content if place < at]
    return before, [statement.key(place) for place in statement.content if place > at]


def has_other(runs: Sequence[Sequence[int]], place: int) -> bool:
    return any(other != place for run in runs for other in run)
