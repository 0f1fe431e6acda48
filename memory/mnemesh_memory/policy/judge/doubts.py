"""The limits of a contest, by grammar alone: mere proposals, members of a set, scopes, and changes that are told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Final

from mnemesh_memory.policy.judge.grammar import (
    BE,
    BOUNDARIES,
    CHANGE,
    CLAUSES,
    NEGATORS,
    NO_LABELS,
    PRONOUNS,
    SINGLE,
    TASTES,
    VERB_FORMS,
    meaning,
)
from mnemesh_memory.policy.judge.pair_features import StatementPair
from mnemesh_memory.policy.judge.slots import STATEMENTS_KEPT, Statement, statements
from mnemesh_memory.policy.judge.tokens import is_past

LABELS_KEPT: Final = 64  # of whole texts
_HEDGES: Final = frozenset(
    (
        *("maybe", "perhaps", "might", "could", "wrongly", "suggest", "suggests", "suggested", "suggesting"),
        *("propose", "proposes", "proposed", "proposing", "proposal", "proposals", "consider", "considers"),
        *("considering", "claimed", "claiming", "todo"),
    )
)
# Behind "is" these participles state a fact: "bad tokens are rejected".
_PARTICIPLES: Final = frozenset(("rejected", "evaluated", "considered"))
_MODALS: Final = frozenset(("may", "should"))
_HEDGING_PAIRS: Final = frozenset(
    (
        *(("wants", "to"), ("want", "to"), ("wanted", "to"), ("would", "like"), ("asked", "for"), ("asks", "for")),
        *(("plan", "to"), ("plans", "to"), ("planned", "to"), ("planning", "to"), ("let", "us")),
    )
)
_SCOPING: Final = frozenset(("in", "on", "for"))
_ENDS_PHRASE: Final = frozenset(("in", "on", "for", "over", "to", "from", "at", "with", "by", "and", "or", "but", "of"))
# With these verbs "in" or "on" leads to the value itself: "stores invoices in PostgreSQL".
_PLACING: Final = frozenset(
    map(
        meaning,
        (
            *("be", "store", "stor", "keep", "hold", "put", "run", "host", "deploi", "sav", "writ", "publish", "liv"),
            *(
                "track",
                "document",
                "build",
                "log",
                "listen",
                "rely",
                "bas",
                "depend",
                "meet",
                "work",
                "happen",
                "place",
            ),
        ),
    )
)
# A common noun with a number behind it names one of many: valve 3, runner-7, ticket #12.
_LABEL: Final = re.compile(r"\b([a-z]{3,})[ -]?#?(\d+)\b(?![.:]\d)")
_COUNTED: Final = "-"  # in the place of a value, so that it is no label of the word before it
# Behind "next", as in "from next year".
_PERIODS: Final = frozenset(("week", "month", "quarter", "year", "spring", "summer", "autumn", "winter"))
_DATES: Final = frozenset(("month", "day", "date", "year"))
# When something holds names no other thing.
_MOMENTS: Final = _DATES | {"weekday", "time"}


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def is_hedged(statement: Statement) -> bool:
    """Whether a sentence proposes, wishes, rejects or doubts, and so states no value."""
    words = statement.words
    if not _HEDGES.isdisjoint(words) or not _HEDGING_PAIRS.isdisjoint(pairwise(words)):
        return True
    if words[:1] == ("draft",) and any(token.text == ":" for token in statement.tokens[1:2]):
        return True
    if not _PARTICIPLES.isdisjoint(words) and any(
        word in _PARTICIPLES and BE.isdisjoint(words[max(0, at - 2) : at]) for at, word in enumerate(words)
    ):
        return True
    if "may" in _modals(statement) and (statement.strong or statement.hinted or not _has_value(statement)):
        return True
    advised = [at for at, word in enumerate(words) if word == "should"] if "should" in words else []
    if any(words[at - 1] in PRONOUNS or _changes(statement, at) for at in advised if at):
        return True
    return "if" in words and "will" in words[words.index("if") :]


def is_rule(statement: Statement) -> bool:
    """Whether a sentence says how a thing should or may be, and not how it is."""
    return bool(_modals(statement))


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _modals(statement: Statement) -> frozenset[str]:
    """ "Should", and "may" before a verb: the month is none."""
    modals = _MODALS.intersection(statement.words)
    if "may" not in modals:
        return modals
    words = [word for word in statement.words if word not in NEGATORS]
    may = any(word == "may" and (after in VERB_FORMS or after in BE) for word, after in pairwise(words))
    return modals if may else modals - {"may"}


def _has_value(statement: Statement) -> bool:
    return any(token.dimension for token in statement.tokens if token.dimension != "month")


def _changes(statement: Statement, at: int) -> bool:
    """Whether a verb of change follows: "should be raised"."""
    return any(token.key in CHANGE for token in statement.tokens[at + 1 : at + 3])


def is_other_member(pair: StatementPair) -> bool:
    """Whether the two say the same of different things: "Alice is on the team" and "Bob is on the team". A role with a
    single holder has no members."""
    older, newer = pair.older, pair.newer
    before = bool(pair.lost) and all(at < older.verb for at in pair.lost)
    after = bool(pair.gained) and all(at < newer.verb for at in pair.gained)
    return before and after and not _is_single_role(newer)


def _is_single_role(statement: Statement) -> bool:
    words = statement.words
    return any(
        statement.key(at) in SINGLE and not {"a", "an"} & set(words[statement.verb : at])
        for at in statement.content
        if at > statement.verb
    )


def is_narrowed(pair: StatementPair) -> bool:
    """Whether the newer statement speaks of a narrower subject or of another case than the older one."""
    before, after = _scoped(pair.older), _scoped(pair.newer)
    known = set(pair.older.words)
    lost, gained = pair.replaced_names
    return (
        any(at < pair.newer.verb for at in _modifiers(pair))
        or any(at in after and after[at] not in known for at in pair.gained)
        or (any(at in before for at in pair.lost) and any(at in after for at in pair.gained))
        or (pair.denied and bool(lost) and bool(gained))
        or _is_of_a_part(pair)
        or ("default" not in known and ("by", "default") in pairwise(pair.newer.words))
    )


def _is_of_a_part(pair: StatementPair) -> bool:
    """Whether a phrase names the part that the newer subject alone speaks of: "the timeout of the mobile app"."""
    newer, gained = pair.newer, set(pair.gained)
    for at in range(1, newer.verb):
        if newer.words[at] in (*_SCOPING, "of") and pair.after.get(at - 1) in pair.shared:
            phrase = [place for place in _phrase(newer, newer.words, at + 1) if place < newer.verb]
            if phrase and gained.issuperset(phrase):
                return True
    return False


def is_before(pair: StatementPair) -> bool:
    """Whether the newer statement tells of another value that had ended: "lived in Porto until last spring"."""
    newer, words = pair.newer, pair.newer.words
    ends = next((at for at in range(newer.verb + 1, len(words)) if words[at] in ("until", "till")), 0)
    clause = words[max(0, newer.verb) : ends]
    if not clause or pair.stated or not any(at > pair.older.verb for at in pair.lost):
        return False
    was = clause[0] in ("was", "were", "had") and not any(map(_is_participle, clause[1:2]))
    return (was or is_past(clause[0])) and CLAUSES.isdisjoint(clause) and all(word[0].isalnum() for word in clause)


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def is_ahead(statement: Statement) -> bool:
    """Whether a sentence tells of what holds from a later time on: "will be 9 from next year"."""
    words = statement.words
    dated = "will" in words and any(token.dimension in _DATES for token in statement.tokens)
    ahead = (at for at, pair in enumerate(pairwise(words)) if pair[0] == "next" and pair[1] in _PERIODS)
    return dated or "tomorrow" in words or any(words[at - 1 : at] not in (("until",), ("till",)) for at in ahead)


def is_other_scope(pair: StatementPair) -> bool:
    """Whether nothing but the case differs: "in Go code" and "in Python code"."""
    changed = bool(pair.lost) and bool(pair.gained)
    before, after = _scoped(pair.older), _scoped(pair.newer)
    if not changed or not (before.keys() >= set(pair.lost) and after.keys() >= set(pair.gained)):
        return False
    return bool(_modifiers(pair)) or all(after[at] == "for" for at in pair.gained)


def _modifiers(pair: StatementPair) -> list[int]:
    """Words of the newer statement alone that stand before a shared one: "nightly" in "the nightly CI"."""
    shared = {place for place, word in pair.after.items() if word in pair.shared}
    shared.discard(pair.newer.verb)
    return [at for at in pair.gained if at + 1 in shared and pair.newer.tokens[at].dimension not in _MOMENTS]


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _scoped(statement: Statement) -> dict[int, str]:
    """Words behind "in", "on" or "for" that say in which case a value holds, each with that preposition. Values, and
    the place that a verb asks for, are none."""
    scoped: dict[int, str] = {}
    words = statement.words
    placing = statement.verb < 0 or meaning(statement.key(statement.verb)) in _PLACING
    for at, word in enumerate(words):
        if word in _SCOPING and at > statement.verb and (word == "for" or not (placing or at == statement.verb + 1)):
            scoped |= dict.fromkeys(_phrase(statement, words, at + 1), word)
    return scoped


def _phrase(statement: Statement, words: Sequence[str], start: int) -> Iterator[int]:
    for at in range(start, len(words)):
        if statement.tokens[at].mark or words[at] in _ENDS_PHRASE:
            return
        if at in statement.content and not statement.tokens[at].dimension:
            yield at


def is_named_past(pair: StatementPair) -> bool:
    """Whether the newer statement says all of the older one and calls the older value past, in no narrower case. A verb
    that ends something may stand for a habit: "can be deleted"."""
    if not pair.past:
        return False
    olds = {pair.after[at] for at in pair.past}
    values = {pair.before[at] for at in pair.older.content if at > pair.older.verb >= 0}
    past = {pair.before[at] for at in pair.older.old if at in pair.before}  # The older one called it past already.
    named = not olds.isdisjoint(values) and olds.isdisjoint(past) and not pair.newer.ends
    return named and not pair.lost and not is_past_in_a_case(pair)


def is_past_in_a_case(pair: StatementPair) -> bool:
    """Whether the newer statement, which calls the older value past, speaks of a narrower case."""
    return bool(_modifiers(pair)) or not _scoped(pair.newer).keys().isdisjoint(pair.gained)


def is_changed_value(pair: StatementPair) -> bool:
    """Whether the same subject and verb have another value of the same dimension after a stated change."""
    older, newer = pair.older, pair.newer
    if not pair.stated or not pair.lost or len(pair.lost) != len(pair.gained) or min(older.verb, newer.verb) < 0:
        return False
    if meaning(older.key(older.verb)) != meaning(newer.key(newer.verb)) or pair.denied:
        return False
    return all(
        older.verb < one
        and newer.verb < other
        and older.tokens[one].dimension != ""
        and older.tokens[one].dimension == newer.tokens[other].dimension
        for one, other in zip(pair.lost, pair.gained, strict=True)
    )


def is_other_attribute(pair: StatementPair) -> bool:
    """Whether the two tell different things of one subject: "logs to Loki" and "is written in Go". Both share words of
    the subject alone, have other verbs, and tell of no change."""
    older, newer = pair.older, pair.newer
    if pair.stated or min(older.verb, newer.verb) < 0 or pair.replaced_values or pair.denied or pair.opposite:
        return False
    subjects = [{side.meanings[at] for at in side.content if at < side.verb} for side in (older, newer)]
    behind = [{side.meanings[at] for at in side.content if at > side.verb} for side in (older, newer)]
    of_subject = pair.shared <= subjects[0] & subjects[1] and pair.shared.isdisjoint(behind[0] | behind[1])
    return bool(pair.shared) and of_subject and _predicate(older) != _predicate(newer)


def _predicate(statement: Statement) -> str:
    """The meaning of the verb; behind "is" that of a participle."""
    at = statement.verb
    if statement.words[at] in BE and at + 1 < len(statement.tokens) and _is_participle(statement.words[at + 1]):
        at += 1
    return meaning(statement.key(at))


def _is_participle(word: str) -> bool:
    return word in VERB_FORMS or (len(word) > len("need") and word.endswith("ed"))


def stand_together(older: Statement, newer: Statement) -> bool:
    """Whether two statements that are alike but for their subjects or directions hold at once, and no change is told:
    what two people like, and the values of two ways."""
    return not newer.strong and (_are_tastes(older, newer) or _is_turned(older, newer))


def _are_tastes(older: Statement, newer: Statement) -> bool:
    """Whether two subjects like something, such as "Ana prefers tabs" and "Bob prefers tabs"."""
    verbs = [side.key(side.verb) if side.verb >= 0 else "" for side in (older, newer)]
    subjects = [{side.meanings[at] for at in side.content if at < side.verb} for side in (older, newer)]
    return verbs[0] == verbs[1] and verbs[0] in TASTES and all(subjects) and subjects[0].isdisjoint(subjects[1])


def _is_turned(older: Statement, newer: Statement) -> bool:
    """Whether two things change their places around "to" in the subject, and each way has a value of its own: the train
    from Kiel to Hamburg takes two hours, and from Hamburg to Kiel three."""
    if not all(any(token.dimension for token in side.tokens) for side in (older, newer)):
        return False
    ways = [(near & other, far & one, near & one) for near, far in _ways(newer) for one, other in _ways(older)]
    return any(near and far and not same for near, far, same in ways)


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _ways(statement: Statement) -> list[tuple[Set[str], Set[str]]]:
    """For each "to" of the subject the meanings of the words before it and behind it, without those on both sides."""
    ways: list[tuple[Set[str], Set[str]]] = []
    for at, word in enumerate(statement.words):
        if word == "to" and at < statement.verb:
            near = _beside(statement, range(at - 1, -1, -1))
            far = _beside(statement, range(at + 1, len(statement.words)))
            ways.append((near - far, far - near))
    return ways


def _beside(statement: Statement, way: Iterable[int]) -> set[str]:
    """The meanings up to the next boundary, without values."""
    inside = takewhile(lambda at: statement.words[at] not in BOUNDARIES and at != statement.verb, way)
    return {statement.meanings[at] for at in inside if at in statement.meanings and not statement.tokens[at].dimension}


def is_of_other_things(one: str, other: str, *, stated: bool) -> bool:
    """Whether the texts speak of things with other numbers, such as valve 3 and valve 4. With a stated change one
    label may be the new value, when another is the same in both."""
    before, after = _labels(one), _labels(other)
    shared = before.keys() & after.keys()
    unlike = {noun for noun in shared if before[noun].isdisjoint(after[noun])}
    return bool(unlike) and not (stated and unlike < shared)


def is_asked_by_label(question: str, one: str, other: str) -> bool:
    """Whether a question names the thing of one text by its number, and the other text speaks of another such thing."""
    here, there = _labels(one.casefold()), _labels(other.casefold())
    asked = _LABEL.findall(question.casefold())
    return any(number in here.get(noun, ()) and number not in there.get(noun, (number,)) for noun, number in asked)


@lru_cache(maxsize=LABELS_KEPT)
def _labels(text: str) -> Mapping[str, Set[str]]:
    labels: dict[str, set[str]] = {}
    for statement in statements(text):
        words = (_COUNTED if _is_counted(statement, at) else token.text for at, token in enumerate(statement.tokens))
        for noun, number in _LABEL.findall(" ".join(words)):
            if noun not in NO_LABELS:
                labels.setdefault(noun, set()).add(number)
    return labels


def _is_counted(statement: Statement, at: int) -> bool:
    """Whether a word behind the verb is a value: it follows the verb, counts something, or ends the sentence as a name
    with a number. An instruction names its thing there: "Check valve-3"."""
    if not 0 < statement.verb < at:
        return False
    token = statement.tokens[at]
    last = all(behind.mark for behind in statement.tokens[at + 1 :])
    named = last and token.text[0].isalpha() and token.text[-1].isdigit()
    return named or at == statement.verb + 1 or token.dimension not in ("", "number", "channel")
