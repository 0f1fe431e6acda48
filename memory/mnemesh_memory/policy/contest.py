"""Two sentences side by side: the same statement, two values of one slot, or two facts that both hold.

Four things contest a slot:

- the newer sentence calls the older value past,
- a negation turns,
- a value of the same dimension differs in the same frame,
- a single part of the frame differs, in a relation with one value.

A difference in whom
or where a sentence speaks of, beside the value, makes two facts. So does a sentence that keeps the older value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from mnemesh_memory.policy.grammar import (
    FUNCTIONAL,
    HELD,
    LIGHT,
    MEASURES,
    OBJECT_ROLES,
    PERSONS,
    ROLES,
    SCOPES,
    SINGLE,
    TRAITS,
    meaning,
)
from mnemesh_memory.policy.sentence_parts import (
    LOOSE,
    PASSIVES,
    around,
    comparable,
    dimension_of,
    has_complement,
    has_other,
    is_light,
    is_name,
    is_scoped,
    main_verb,
    opposite,
    role,
    runs,
    values_of,
    verb_place,
    verb_places,
)
from mnemesh_memory.policy.slots import Statement
from mnemesh_memory.policy.tokens import TOKENS_MAX

# Below this cosine similarity nothing but a stated change makes two sentences speak of one slot.
COSINE_MIN: Final = 0.45
# From here on the words of two sentences stand in the same order for the most part.
PARALLEL_MIN: Final = 0.6
# Below this so few words stand in the same order that no words count as aligned.
ALIGNED_MIN: Final = 0.4
# From here on two sentences with different verbs may still speak of one value, unless the value is a date.
VERBS_DIFFER_MIN: Final = 0.7
# Values that name a thing rather than measure one.
_IDENTITIES: Final = frozenset(("number", "version", "url", "path", "mail", "channel", "address", "phone"))
_MOMENTS: Final = frozenset(("day", "date", "month", "year", "weekday", "time"))
_RHYTHMS: Final = {"rhythm", "duration"}
_RHYTHM_NOUNS: Final = frozenset(("interval", "period", "frequenci", "cadenc", "cycl"))


@dataclass(frozen=True, slots=True)
class Contest:
    """Why two sentences can't both hold now. `strong`: the evidence replaces the older one by itself."""

    strong: bool
    stated: bool  # The newer sentence tells of the change.
    reason: str


def contest(older: Statement, newer: Statement, cosine: float) -> Contest | None:
    """Whether the newer sentence takes the place of the older one, and on what evidence."""
    if older.asks or newer.asks:
        return None
    pair = _Pair(older, newer, cosine)
    if not pair.shared:
        return None
    return (
        pair.past_value() or pair.reversed() or pair.turned() or pair.other_value() or pair.told() or pair.other_part()
    )


def restates(newer: Statement, older: Statement) -> bool:
    """Whether a sentence says all of an older one again, none of it denied or called past."""
    standing = {
        meaning(newer.key(place)) for place in newer.content if place not in newer.old and place not in newer.negated
    }
    said = [meaning(older.key(place)) for place in older.content]
    again = [meaning(newer.key(place)) for place in newer.content]
    grown = len(again) > len(said)
    return bool(said) and grown and not older.negated and standing.issuperset(said) and not newer.strong


class _Pair:
    """Two sentences with their shared and their own words, by the meaning of their content words."""

    def __init__(self, older: Statement, newer: Statement, cosine: float) -> None:
        self.older, self.newer, self.cosine = older, newer, cosine
        self.before = {place: meaning(older.key(place)) for place in older.content}
        self.after = {place: meaning(newer.key(place)) for place in newer.content}
        self.shared = frozenset(self.before.values()) & frozenset(self.after.values())
        matcher = SequenceMatcher(
            None, [token.key for token in older.tokens], [token.key for token in newer.tokens], autojunk=False
        )
        self.parallel = matcher.ratio()
        self.steps = matcher.get_opcodes()
        self.lost = self._alone(older)
        self.gained = self._alone(newer)
        self.denied = _denied(older, self.before, newer, self.after)
        self.siblings = self._siblings()

    def _alone(self, statement: Statement) -> tuple[tuple[int, ...], ...]:
        """Runs of places that the other sentence lacks, beside the verb."""
        verbs = verb_places(statement)
        alone = (place for place in statement.content if meaning(statement.key(place)) not in self.shared)
        return tuple(runs(statement, (place for place in alone if place not in verbs)))

    @property
    def cued(self) -> bool:
        return self.newer.strong or self.newer.hinted

    def past_value(self) -> Contest | None:
        """The newer sentence calls a value of the older one past."""
        past = {self.after[place] for place in self.newer.old if place in self.after}
        standing = {key for place, key in self.after.items() if place not in self.newer.old}
        lost = (past & set(self.before.values())) - standing - LIGHT
        rest = set(self.before.values()) - past - LIGHT
        if not lost or self.siblings or (len(rest) > max(1, len(lost)) and not rest & standing):
            return None
        words = " ".join(self.newer.tokens[place].text for place, key in self.after.items() if key in lost)
        return Contest(True, True, f"it calls \u201c{words}\u201d past")

    def reversed(self) -> Contest | None:
        """The same words with two of them exchanged about a word such as "over", "to" or "before"."""
        if self.lost or self.gained or self.denied:
            return None
        for at, token in enumerate(self.older.tokens):
            if token.text.casefold() in ("over", "to", "than", "before", "after", "from", "above", "below"):
                left, right = around(self.older, at)
                for place, twin in enumerate(self.newer.tokens):
                    if twin.key != token.key:
                        continue
                    turned_left, turned_right = around(self.newer, place)
                    if (
                        left
                        and right
                        and left[-1] in turned_right
                        and right[0] in turned_left
                        and left[-1] not in right
                    ):
                        return Contest(True, self.cued, "it turns the order round")
        return None

    def turned(self) -> Contest | None:
        """A negation, or a word and its opposite, with nothing else that differs."""
        opposed = [
            (one, other)
            for one in self.older.content
            for other in self.newer.content
            if opposite(self.older.key(one), self.newer.key(other))
            and self.older.key(one) not in self.newer.keys
            and self.newer.key(other) not in self.older.keys
        ]
        if len(opposed) == 1 and not self.denied:
            one, other = opposed[0]
            if self.newer.strong or not (has_other(self.lost, one) and has_other(self.gained, other)):
                return Contest(self.parallel >= PARALLEL_MIN or self.newer.strong, self.cued, "it says the opposite")
            return None
        if not self.denied or opposed or self.siblings or self._denies_another_verb():
            return None
        if self.lost and self.gained and not self.newer.strong:
            return None
        kept = len(self.shared) / max(1, len(set(self.before.values()) - LIGHT))
        if kept < 0.5:
            return None
        return Contest(kept >= 0.75, self.newer.strong, "one of the two denies what the other states")

    def _denies_another_verb(self) -> bool:
        """Whether one sentence denies an act, as "may not approve", that the other does not speak of."""
        for one, other in ((self.older, self.newer), (self.newer, self.older)):
            verb = verb_place(one)
            act = verb in one.negated and not is_light(one, verb) and one.tokens[verb - 1].text in ("not", "never")
            if act and meaning(one.key(verb)) not in {meaning(token.key) for token in other.tokens}:
                return True
        return False

    def other_value(self) -> Contest | None:
        """A value of the same dimension differs in the same frame."""
        if self.siblings or self.newer.adds or (self.denied and not self.cued):
            return None
        before, after = values_of(self.older), values_of(self.newer, standing=True)
        kept = {key for values in after.values() for key in values}
        known = {key for values in before.values() for key in values}
        interval = bool((self.older.keys | self.newer.keys) & _RHYTHM_NOUNS)
        differing = any(
            held - kept
            and holds - known
            and self._one_value(one)
            and (comparable(one, other) or (interval and {one, other} == _RHYTHMS))
            for one, held in before.items()
            for other, holds in after.items()
        )
        if not differing or not self._same_head() or not self._same_verb(typed=True):
            return None
        parallel = self.parallel >= PARALLEL_MIN
        if not parallel and not self.newer.strong and self.cosine < COSINE_MIN:
            return None
        return Contest(parallel or self.newer.strong, self.cued, "another value of the same kind")

    def _one_value(self, dimension: str) -> bool:
        """Whether a verb of the two takes one value of a dimension: a wall has several ports, and one height."""
        return (
            dimension not in _IDENTITIES
            or self.cued
            or any(
                self._one_object(one, [place])
                for one in (self.older, self.newer)
                for place in one.content
                if dimension_of(one.tokens[place].dimension) == dimension
            )
        )

    def told(self) -> Contest | None:
        """The newer sentence tells of a change of what the older one speaks of, and names another value."""
        if not self.cued or self.newer.adds or not self.lost or not self.gained or self.siblings or self.denied:
            return None
        defined = self._defines()
        lost = [place for run in self.lost for place in run if place > self.older.verb or defined]
        if not lost or self._stands(lost) or not self._alike(lost, [place for run in self.gained for place in run]):
            return None
        subject = {key for place, key in self.before.items() if place < self.older.verb} - LIGHT
        if subject and not defined:
            if len(subject & self.shared) / len(subject) < 0.5 or not self._old_head():
                return None
        elif not self._same_head(strict=True):
            return None
        if not self.newer.strong and not self._same_verb() and not self.older.keys & self.newer.keys & SINGLE:
            return None
        return Contest(self.newer.strong and self.cosine >= COSINE_MIN, True, "it tells of a change of the same thing")

    def other_part(self) -> Contest | None:
        """One part of the frame differs, in a relation that has one value."""
        if self.newer.adds or self.cosine < COSINE_MIN or self.siblings or self.denied:
            return None
        if not self.lost or not self.gained or min(len(self.lost), len(self.gained)) > 1:
            return None
        if max(len(self.lost), len(self.gained)) > 2 or not self._same_verb():
            return None
        one, other = self.lost[-1], self.gained[-1]
        if any(
            self.older.tokens[place].dimension and place > self.older.verb
            for place, key in self.before.items()
            if key in self.shared
        ) and not any(self.older.tokens[place].dimension for place in one):
            return None
        if (is_scoped(self.older, one) and is_scoped(self.newer, other)) or not self._alike(one, other):
            return None
        if self._modifies(self.older, one) and self._modifies(self.newer, other):
            return None
        relation = {self.older.key(place) for place in self.older.content} & {
            self.newer.key(place) for place in self.newer.content
        }
        single = bool(relation & SINGLE)
        if relation & TRAITS:
            return None
        if has_complement(self.older, one) and has_complement(self.newer, other):
            return None
        in_subject = one[-1] < self.older.verb and other[-1] < self.newer.verb
        if in_subject and not (single or self._held() or self._defines()):
            return None
        if not in_subject and not (self._one_object(self.older, one) and self._one_object(self.newer, other)):
            return None
        if not self.cued and not self._same_role(one, other):
            return None
        if set(one) & self.older.negated and set(other) & self.newer.negated:
            return None  # two things that are not
        moved = (one[-1] < self.older.verb) != (other[-1] < self.newer.verb)
        if self.parallel < PARALLEL_MIN and (moved or one[-1] > self.older.verb) and self._stands(one):
            return None
        return Contest(self.parallel >= PARALLEL_MIN, self.cued, "another value of the same slot")

    def _defines(self) -> bool:
        """Whether the older sentence says who or what "the ..." is."""
        verb = self.older.verb
        words = [token.text.casefold() for token in self.older.tokens[verb : verb + 2]]
        return len(words) == 2 and words[0] in ("is", "are", "was", "were") and words[1] in ("the", "our", "my", "its")

    def _one_object(self, statement: Statement, run: Sequence[int]) -> bool:
        """Whether what the run says of the verb has one value: no second object can stand beside."""
        verb = verb_place(statement)
        if verb < 0 or run[-1] < verb or statement.key(verb) in FUNCTIONAL | PASSIVES:
            return True
        if statement.key(verb) == "hav" and not {main_verb(self.older), main_verb(self.newer)} <= {"hav"}:
            return True
        between = [
            place for place in statement.content if verb < place < run[0] and statement.key(place) not in MEASURES
        ]
        words = {token.text.casefold() for token in statement.tokens[verb + 1 : run[0]]}
        return bool(between) or bool(words & ROLES - OBJECT_ROLES)

    def _held(self) -> bool:
        return {main_verb(self.older), main_verb(self.newer)} <= HELD | LIGHT and bool({main_verb(self.older)} & HELD)

    def _same_role(self, one: Sequence[int], other: Sequence[int]) -> bool:
        """Whether the prepositions before two parts agree, where both have some."""
        before, after = role(self.older, one), role(self.newer, other)
        return not before or not after or before == after

    def _same_head(self, *, strict: bool = False) -> bool:
        """Whether the newer sentence speaks of a thing that the older one names, or of nobody in particular."""
        if strict:
            return self._shares_head(self.newer)
        return self.newer.strong or (
            (self._names_measure(self.older) or self._shares_head(self.older))
            and (self._names_measure(self.newer) or self._shares_head(self.newer))
        )

    def _shares_head(self, statement: Statement) -> bool:
        subject = [place for place in statement.content if place < statement.verb]
        head = subject[-1] if subject else -1
        return head < 0 or bool(statement.tokens[head].dimension) or meaning(statement.key(head)) in self.shared

    def _names_measure(self, statement: Statement) -> bool:
        """Whether its subject ends with a noun such as "limit" or "port", and the rest of it is shared in part."""
        subject = [place for place in statement.content if place < statement.verb]
        return (
            len(subject) > 1
            and statement.key(subject[-1]) in MEASURES
            and any(meaning(statement.key(place)) in self.shared for place in subject)
        )

    def _old_head(self) -> bool:
        """Whether the newer sentence names the attribute of the older one, the last noun of the older subject."""
        subject = [place for place in self.older.content if place < self.older.verb]
        return not subject or any(self.before[place] in self.shared for place in subject[-1:])

    def _same_verb(self, *, typed: bool = False) -> bool:
        """Whether the main verbs agree as far as they say something."""
        verbs = [main_verb(self.older), main_verb(self.newer)]
        one, other = (meaning(verb) for verb in verbs)
        if not one or not other or one == other:
            return True
        if typed:
            if self.newer.towards or set(verbs) & LIGHT:
                return True
            moments = any(token.dimension in _MOMENTS for token in self.older.tokens)
            return self.cosine >= VERBS_DIFFER_MIN and not moments
        if self.newer.strong:
            return True
        if set(verbs) == {"be", "hav"} or ("hav" in verbs and len(self.lost) != len(self.gained)):
            return False
        return bool(set(verbs) & LIGHT) or self._same_place()

    def _same_place(self) -> bool:
        """Whether one name differs behind the same preposition and all else is shared."""
        if len(self.lost) != 1 or len(self.gained) != 1 or len(self.shared) < 2:
            return False
        (one,), (other,) = self.lost, self.gained
        before, after = self.older.tokens[one[0] - 1].text, self.newer.tokens[other[0] - 1].text
        return before == after and before in ROLES and is_name(self.older, one[0]) and is_name(self.newer, other[0])

    def _alike(self, one: Sequence[int], other: Sequence[int]) -> bool:
        """Whether two parts hold values of the same dimension, or none."""
        before = {dimension_of(self.older.tokens[place].dimension) for place in one} - {""} - LOOSE
        after = {dimension_of(self.newer.tokens[place].dimension) for place in other} - {""} - LOOSE
        if self.cued:
            return not before or bool(before & after)
        return bool(before & after) if before or after else True

    def _stands(self, lost: Iterable[int]) -> bool:
        """Whether the older sentence names a value that the newer one keeps, and nothing lost is a value."""
        kept = (place for place, key in self.before.items() if place > self.older.verb and key in self.shared)
        return any(is_name(self.older, place) for place in kept) and not any(
            is_name(self.older, place) for place in lost
        )

    def _modifies(self, statement: Statement, run: Sequence[int]) -> bool:
        """Whether the run stands before a shared noun of the subject, as "orders" does in "the orders service"."""
        after = run[-1] + 1
        return after < statement.verb and after in statement.content and meaning(statement.key(after)) in self.shared

    def _siblings(self) -> bool:
        """Whether the two speak of different things, beside their values: aligned words that differ, or scopes."""
        one = {place for run in self.lost for place in run if place not in self.older.old}
        other = {place for run in self.gained for place in run if place not in self.newer.old}
        scoped_before = [place for place in one if self.older.key(place) in SCOPES]
        scoped_after = [place for place in other if self.newer.key(place) in SCOPES]
        if (scoped_before and scoped_after) and not self.cued:
            return True
        if any(place < self.newer.verb for place in scoped_after):
            return not self.newer.strong
        if set(self._modified(self.older)) & set(self._modified(self.newer)):
            return True
        if self.newer.towards and self.newer.strong:
            return self._substitutions(self.older.verb, self.newer.verb) > 0
        return self.parallel >= ALIGNED_MIN and self._substitutions() > 1

    def _substitutions(self, before: int = TOKENS_MAX, after: int = TOKENS_MAX) -> int:
        """How many aligned stretches before two places name something else. A word and a measure beside it are two."""
        found = 0
        for name, i1, i2, j1, j2 in self.steps:
            if name == "replace" and i1 < before:
                one, other = (
                    list(self._own(self.older, i1, min(i2, before))),
                    list(self._own(self.newer, j1, min(j2, after))),
                )
                words = any(not measured for measured in one) and any(not measured for measured in other)
                found += max(words + (any(one) and any(other)), bool(one and other))
        return found

    def _own(self, statement: Statement, first: int, last: int) -> Iterator[bool]:
        """For each thing that a stretch names and the other sentence doesn't: whether it is a measure."""
        for place in range(first, last):
            token = statement.tokens[place]
            if token.text.casefold() in PERSONS:
                yield False
            elif (
                place in statement.content
                and not is_light(statement, place)
                and meaning(token.key) not in self.shared
                and place not in verb_places(statement)
            ):
                yield bool(token.dimension) and token.dimension not in LOOSE

    def _modified(self, statement: Statement) -> Iterator[str]:
        """Shared nouns of the subject that a word of the sentence alone stands before."""
        for place, after in pairwise(statement.content):
            if (
                after == place + 1 < statement.verb
                and meaning(statement.key(place)) not in self.shared
                and statement.tokens[place].dimension in ("", "rhythm")
                and meaning(statement.key(after)) in self.shared
            ):
                yield meaning(statement.key(after))


def _denied(older: Statement, before: dict[int, str], newer: Statement, after: dict[int, str]) -> frozenset[str]:
    """Words that one sentence states and the other only denies."""
    denied_before = {before[place] for place in older.negated if place in before}
    denied_after = {after[place] for place in newer.negated if place in after}
    stated_before = set(before.values()) - denied_before
    stated_after = set(after.values()) - denied_after
    return frozenset((denied_after & stated_before - stated_after) | (denied_before & stated_after - stated_before))
