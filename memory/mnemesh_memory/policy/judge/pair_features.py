"""Two statements side by side as numbers: shared and own words, values, names, order, negation and cues of change.

The pair judge reads these numbers. No number depends on a topic, and each is bounded by the tokens of a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from math import log
from typing import Final

from mnemesh_memory.policy.judge.alignment import Gap, Run, gaps_of, runs_of
from mnemesh_memory.policy.judge.grammar import (
    ALLOWS,
    DEMANDS,
    FORBIDS,
    FUNCTIONAL,
    HELD,
    LIGHT,
    OPPOSED,
    OPPOSITES,
    PERSONS,
    ROLES,
    SCOPES,
    SEVERAL,
    SINGLE,
    TRAITS,
    VERBS,
    meaning,
)
from mnemesh_memory.policy.judge.slots import STATEMENTS_KEPT, Statement

# So many letters in common make two words forms of one: "Hesse" and "Hessian".
FORMS_CHARS: Final = 5
ORDERING: Final = frozenset(("over", "to", "than", "before", "after", "from", "above", "below"))


class StatementPair:
    """An older statement and a newer one, with the cosine similarity of their texts."""

    def __init__(self, older: Statement, newer: Statement, cosine: float) -> None:
        self.older, self.newer, self.cosine = older, newer, cosine
        # The meaning of each content word, by place.
        self.before, self.after = older.meanings, newer.meanings
        self.shared = shared = older.meant & newer.meant
        # Places of the older statement whose word the newer one lacks, and the other way round.
        self.lost = [place for place, word in self.before.items() if word not in shared]
        self.gained = [place for place, word in self.after.items() if word not in shared]
        # Shared words that the newer statement calls past.
        self.past = [place for place in newer.old if self.after.get(place) in shared]
        # Whether the newer statement tells of a change, in words that the older one lacks.
        self.stated = newer.strong or (newer.hinted and not older.hinted)
        self.denied = older.denies != newer.denies  # One of the two has a negation and the other none.

    @cached_property
    def replaced_values(self) -> list[tuple[str, str]]:
        """Values of the older statement with the other value of their dimension in the newer one, as written."""
        values = []
        lost = [token for token in self.older.tokens if token.dimension and token.key not in self.newer.token_keys]
        gained = [token for token in self.newer.tokens if token.dimension and token.key not in self.older.token_keys]
        for old in lost:
            new = next((token for token in gained if token.dimension == old.dimension), None)
            if new is not None:
                values.append((old.text, new.text))
        return values

    @cached_property
    def replaced_names(self) -> tuple[list[str], list[str]]:
        """Names of the older statement alone, and names of the newer one alone."""
        before, after = self.older.names, self.newer.names
        return (
            [self.older.tokens[at].text for at in self.lost if at in before],
            [self.newer.tokens[at].text for at in self.gained if at in after],
        )

    @cached_property
    def own_keys(self) -> tuple[set[str], set[str]]:
        """The keys of the words that the older statement has alone, and of those of the newer one."""
        before, after = self.older.tokens, self.newer.tokens
        return {before[at].key for at in self.lost}, {after[at].key for at in self.gained}

    @cached_property
    def opposite(self) -> bool:
        before, after = self.older.token_keys & OPPOSED, self.newer.token_keys & OPPOSED
        return any(frozenset((one, other)) in OPPOSITES for one in before - after for other in after - before)

    @cached_property
    def runs(self) -> list[Run]:
        """The words of both, aligned. The cosine is of whole texts, so a sentence of a long text may be nearer."""
        return runs_of(self.older.spoken, self.newer.spoken)

    @cached_property
    def gaps(self) -> list[Gap]:
        """The words between the aligned ones, of both."""
        return gaps_of(self.older.spoken, self.newer.spoken, self.runs)

    @cached_property
    def parallel(self) -> float:
        """How much of both the aligned words are."""
        words = len(self.older.spoken) + len(self.newer.spoken)
        return 2.0 * sum(size for _, _, size in self.runs) / words if words else 1.0


def features(pair: StatementPair) -> dict[str, float]:
    """The numbers of a pair, by name."""
    numbers: dict[str, float] = {}
    for part in _PARTS:
        numbers |= part(pair)
    return numbers


Part = dict[str, float]


def _words(pair: StatementPair) -> Part:
    """How much of each statement the other one has."""
    begun_before, begun_after = _begun(pair.older.meant), _begun(pair.newer.meant)
    forms_lost = {at for at in pair.lost if pair.before[at][:FORMS_CHARS] not in begun_after}
    forms_gained = {at for at in pair.gained if pair.after[at][:FORMS_CHARS] not in begun_before}
    return {
        "likeness": max(pair.cosine, pair.parallel),
        "words before": len(pair.before),
        "words after": len(pair.after),
        "length": log((len(pair.after) + 1) / (len(pair.before) + 1)),
        "shared": len(pair.shared),
        "shared before": len(pair.shared) / max(1, len(pair.older.meant)),
        "shared after": len(pair.shared) / max(1, len(pair.newer.meant)),
        "lost": len(pair.lost),
        "gained": len(pair.gained),
        "lost forms": len(forms_lost),
        "gained forms": len(forms_gained),
        "forms before": 1 - len(forms_lost) / max(1, len(pair.before)),
        "forms after": 1 - len(forms_gained) / max(1, len(pair.after)),
        "lost plain": len(forms_lost - pair.older.telling),
        "gained plain": len(forms_gained - pair.newer.telling),
    }


def _values(pair: StatementPair) -> Part:
    """Typed values and names: replaced, kept, lost, gained."""
    before, after = _by_dimension(pair.older), _by_dimension(pair.newer)
    both = before.keys() & after.keys()
    names_lost, names_gained = pair.replaced_names
    return {
        "values replaced": sum(bool(before[kind] - after[kind]) and bool(after[kind] - before[kind]) for kind in both),
        "values kept": sum(len(before[kind] & after[kind]) for kind in both),
        "values lost": sum(bool(held - after.get(kind, set())) for kind, held in before.items()),
        "values gained": sum(bool(held - before.get(kind, set())) for kind, held in after.items()),
        "other dimensions": len(after.keys() - before.keys()),
        "names lost": len(names_lost),
        "names gained": len(names_gained),
        "names kept": sum(at in pair.before for at in pair.older.names) - len(names_lost),
        "names replaced": bool(names_lost) and bool(names_gained),
    }


def _roles(pair: StatementPair) -> Part:
    """Parts of one statement in the parts of the other."""
    older, newer = pair.older, pair.newer
    subject, object_ = older.sides
    new_subject, new_object = newer.sides
    before, after = list(pair.before.values()), list(pair.after.values())
    verbs, act = older.verb >= 0 and newer.verb >= 0, _act(older)
    return {
        "subject shared": _share(subject, newer.meant),
        "subject head": _share(subject[-1:], newer.meant),
        "new subject shared": _share(new_subject, older.meant),
        "new subject head": _share(new_subject[-1:], older.meant),
        "object shared": _share(object_, newer.meant),
        "object in subject": _share(object_, new_subject),
        "new object shared": _share(new_object, older.meant),
        "subject in object": _share(subject, new_object),
        "first shared": _share(before[:1], newer.meant),
        "first the same": before[:1] == after[:1],
        "new first shared": _share(after[:1], older.meant),
        "last shared": _share(before[-1:], newer.meant),
        "last the same": before[-1:] == after[-1:],
        "new last shared": _share(after[-1:], older.meant),
        "same verb": verbs and meaning(act) == meaning(_act(newer)),
        "without verb": (older.verb < 0) + (newer.verb < 0),
        "is": older.verb >= 0 and older.key(older.verb) == "be",
        "passive": older.verb >= 0 and act != older.key(older.verb),
        "one object": act in FUNCTIONAL,
        "several objects": act in SEVERAL,
        "lost behind the verb": _average([at > older.verb for at in pair.lost]),
        "gained behind the verb": _average([at > newer.verb for at in pair.gained]),
    }


def _cues(pair: StatementPair) -> Part:
    """Change, addition, negation, permission."""
    newer, older = pair.newer, pair.older
    past = [at for at in newer.old if at in pair.after and newer.key(at) not in LIGHT]
    unknown = [at for at in past if pair.after[at] not in pair.shared]
    allowed, allows = _permission(older), _permission(newer)
    return {
        "tells of a change": newer.strong,
        "hints at a change": newer.hinted,
        "names the new value": newer.towards,
        "ends": newer.ends,
        "adds": newer.adds,
        "older tells of a change": older.strong,
        "older hints": older.hinted,
        "past shared": len(pair.past),
        "past unknown": len(unknown),
        "past value unknown": len(newer.telling.intersection(unknown)),
        "has past": bool(newer.old),
        "denies before": older.denies,
        "denies after": newer.denies,
        "denied": pair.denied,
        "opposite": pair.opposite,
        "allowed otherwise": bool(allowed and allows and allowed != allows),
        "allowed": allowed,
        "allows": allows,
    }


def _order(pair: StatementPair) -> Part:
    """How the words of the two statements are aligned."""
    one, other = pair.older.spoken, pair.newer.spoken
    lost, gained = pair.own_keys
    exchanged = [(before, after) for before, after in pair.gaps if before and after]
    inserted = [len(after) for before, after in pair.gaps if not before]
    deleted = [len(before) for before, after in pair.gaps if not after]
    content = [
        (any(one[at] in lost for at in before), any(other[at] in gained for at in after)) for before, after in exchanged
    ]
    turns = _turns(pair.older)
    start = _in_common(one, other)
    end = min(_in_common(one[::-1], other[::-1]), min(len(one), len(other)) - start)
    return {
        "turned": any((word, right, left) in turns for word, left, right in _turns(pair.newer)) if turns else False,
        "parallel": pair.parallel,
        "exchanges": len(exchanged),
        "exchanges of content": sum(a and b for a, b in content),
        "exchanges with content": sum(a or b for a, b in content),
        "insertions": len(inserted),
        "deletions": len(deleted),
        "inserted": sum(inserted),
        "deleted": sum(deleted),
        "exchanged before": sum(len(before) for before, _ in exchanged),
        "exchanged after": sum(len(after) for _, after in exchanged),
        "start before": start / max(1, len(one)),
        "end before": end / max(1, len(one)),
        "start after": start / max(1, len(other)),
        "end after": end / max(1, len(other)),
    }


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _turns(statement: Statement) -> set[tuple[str, str, str]]:
    """Each word that orders two things, with the content words on its left and on its right."""
    turns = set()
    for at, word in enumerate(statement.words):
        if word not in ORDERING:
            continue
        left = [statement.key(place) for place in statement.content if place < at]
        right = next((statement.key(place) for place in statement.content if place > at), None)
        if right is not None:
            turns |= {(word, key, right) for key in left}
    return turns


def _in_common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two lists begin with in common."""
    unlike = (at for at, (word, twin) in enumerate(zip(one, other, strict=False)) if word != twin)
    return next(unlike, min(len(one), len(other)))


def _kinds(pair: StatementPair) -> Part:
    """Scopes, persons, roles with a single holder, traits and clauses."""
    lost, gained = pair.own_keys
    scoped = not SCOPES.isdisjoint(gained)
    (people, trait, clauses), (others, _, new_clauses) = _kinds_of(pair.older), _kinds_of(pair.newer)
    return {
        "other scope": scoped and not SCOPES.isdisjoint(lost),
        "scope gained": scoped,
        "other person": not people <= others,
        "single role": not SINGLE.isdisjoint(pair.shared),
        "trait": trait,
        "clauses": new_clauses - clauses,
    }


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _kinds_of(statement: Statement) -> tuple[frozenset[str], bool, int]:
    """Its persons, whether it names a trait, and the number of its marks before a clause."""
    clauses = sum(statement.words.count(mark) for mark in (",", ";", ":", "("))
    return PERSONS.intersection(statement.words), not TRAITS.isdisjoint(statement.keys), clauses


def _slot(pair: StatementPair) -> Part:
    """Where the first own word of each statement stands: behind which word, and how far from the verb."""
    lost, gained = pair.lost[:1], pair.gained[:1]
    before, after = _word_before(pair.older, lost), _word_before(pair.newer, gained)
    between = [at for at in pair.older.content if pair.older.verb < at < lost[0]] if lost else []
    runs_lost, runs_gained = _runs(pair.lost), _runs(pair.gained)
    return {
        "one run each": runs_lost == 1 and runs_gained == 1,
        "runs lost": runs_lost,
        "runs gained": runs_gained,
        "role lost": before in ROLES,
        "role gained": after in ROLES,
        "same word before": bool(before) and before == after,
        "words between": len(between),
        "held": _act(pair.older) in HELD,
        "lost at the end": bool(lost) and pair.lost[-1] == pair.older.content[-1],
        "gained at the end": bool(gained) and pair.gained[-1] == pair.newer.content[-1],
    }


_PARTS: Final[tuple[Callable[[StatementPair], Part], ...]] = (_words, _values, _roles, _cues, _order, _kinds, _slot)


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _act(statement: Statement) -> str:
    """The verb that says what happens: the participle behind "is", else the first verb; "" without any."""
    verb = statement.verb
    if verb < 0:
        return ""
    follows = [statement.key(at) for at in statement.content if at > verb][:1]
    return follows[0] if statement.key(verb) == "be" and follows and follows[0] in VERBS else statement.key(verb)


def _word_before(statement: Statement, places: Sequence[int]) -> str:
    return statement.words[places[0] - 1] if places and places[0] else ""


def _runs(places: Sequence[int]) -> int:
    """How many stretches of neighbours the places are, which are in order."""
    return bool(places) + sum(after - at > 1 for at, after in pairwise(places))


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _by_dimension(statement: Statement) -> dict[str, set[str]]:
    keys: dict[str, set[str]] = {}
    for token in statement.tokens:
        if token.dimension:
            dimension = "number" if token.dimension.startswith("count ") else token.dimension
            keys.setdefault(dimension, set()).add(token.key)
    return keys


def _begun(words: Collection[str]) -> set[str]:
    """The beginnings of the longer words."""
    return {word[:FORMS_CHARS] for word in words if len(word) >= FORMS_CHARS}


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _permission(statement: Statement) -> float:
    """1 for a permission, -1 for a prohibition, 2 for a demand, 0 for none."""
    words = frozenset(statement.words)
    sign = -1.0 if statement.denies else 1.0
    if words & FORBIDS:
        return -sign
    if words & DEMANDS:
        return 2.0 if sign > 0 else -1.0
    return sign if words & ALLOWS else 0.0


def _share(words: Sequence[str], known: Collection[str]) -> float:
    """The share of the words that are known; a half when there are none."""
    return sum(map(known.__contains__, words)) / len(words) if words else 0.5


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.5
