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

from dataclasses import dataclass
from typing import Final

from mnemesh_memory.policy.grammar import LIGHT, SINGLE, TRAITS, meaning
from mnemesh_memory.policy.sentence_pair import _MOMENTS, SentencePair
from mnemesh_memory.policy.sentence_parts import (
    around,
    comparable,
    has_complement,
    has_other,
    is_event,
    is_scoped,
    opposite,
    values_of,
)
from mnemesh_memory.policy.slots import Statement

# Below this cosine similarity nothing but a stated change makes two sentences speak of one slot.
COSINE_MIN: Final = 0.45
# From here on the words of two sentences stand in the same order for the most part.
PARALLEL_MIN: Final = 0.6
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
    pair = _Evidence(older, newer, cosine)
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


class _Evidence(SentencePair):
    """The kinds of evidence that two sentences can't both hold."""

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
            and (self.cued or one in _MOMENTS or not is_event(self.older))
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
        if not self.cued and is_event(self.older):
            return None  # what happened once may happen again
        verbs = (self.older.verb, self.newer.verb)
        if max(verbs) < 0 or (self.parallel < PARALLEL_MIN and min(verbs) < 0):
            return None  # a label states nothing
        if verbs.count(0) == 1 and not (self._shares_head(self.older) and self._shares_head(self.newer)):
            return None  # a command and a statement about another thing
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
