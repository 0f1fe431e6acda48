"""Two sentences side by side: shared and own words, what each denies, and whether both speak of one thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    meaning,
)
from mnemesh_memory.policy.sentence_parts import (
    LOOSE,
    PASSIVES,
    dimension_of,
    is_light,
    is_name,
    main_verb,
    role,
    runs,
    verb_place,
    verb_places,
)
from mnemesh_memory.policy.slots import Statement
from mnemesh_memory.policy.tokens import TOKENS_MAX

# Below this so few words stand in the same order that no words count as aligned.
ALIGNED_MIN: Final = 0.4
# From here on two sentences with different verbs may still speak of one value, unless the value is a date.
VERBS_DIFFER_MIN: Final = 0.7
# Values that name a thing rather than measure one.
_IDENTITIES: Final = frozenset(("number", "version", "url", "path", "mail", "channel", "address", "phone"))
_MOMENTS: Final = frozenset(("day", "date", "month", "year", "weekday", "time"))


def _counts(dimension: str) -> bool:
    return dimension in LOOSE or dimension.startswith("count ")


def _denied(older: Statement, before: dict[int, str], newer: Statement, after: dict[int, str]) -> frozenset[str]:
    """Words that one sentence states and the other only denies."""
    denied_before = {before[place] for place in older.negated if place in before}
    denied_after = {after[place] for place in newer.negated if place in after}
    stated_before = set(before.values()) - denied_before
    stated_after = set(after.values()) - denied_after
    return frozenset((denied_after & stated_before - stated_after) | (denied_before & stated_after - stated_before))


class SentencePair:
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
        """Whether the newer sentence tells of a change, in words that the older one lacks."""
        return self.newer.strong or (self.newer.hinted and not self.older.hinted)

    def _denies_another_verb(self) -> bool:
        """Whether one sentence denies an act, as "may not approve", that the other does not speak of."""
        for one, other in ((self.older, self.newer), (self.newer, self.older)):
            verb = verb_place(one)
            act = verb in one.negated and not is_light(one, verb) and one.tokens[verb - 1].text in ("not", "never")
            if act and meaning(one.key(verb)) not in {meaning(token.key) for token in other.tokens}:
                return True
        return False

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
        if self._labels(self.older, one) and self._labels(self.newer, other):
            return True
        if self.newer.towards and self.newer.strong:
            return self._substitutions(self.older.verb, self.newer.verb) > 0
        return self.parallel >= ALIGNED_MIN and self._substitutions() > 1

    def _labels(self, statement: Statement, alone: Iterable[int]) -> bool:
        """Whether a number of the subject, or of a text without a verb, is its own: "sprint 14", "note 7"."""
        return any(
            (place < statement.verb or statement.verb < 0 or place == 1) and _counts(statement.tokens[place].dimension)
            for place in alone
        )

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
