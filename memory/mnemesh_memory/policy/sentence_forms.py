"""Other forms of a sentence that say the same, by grammar alone, on words in one wording.

Active for passive, "Ana's team" for "the team of Ana", "the cluster has" for "there is in the cluster", and the two
sides of "is" in the other order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from mnemesh_memory.policy.grammar import IRREGULAR, NEGATORS, VERB_FORMS, stem
from mnemesh_memory.policy.tokens import is_past

Words = tuple[str, ...]

# So many forms of a sentence are looked at, and so many of its words.
FORMS_MAX: Final = 48
_WORDS_MAX: Final = 24
_AGENT_WORDS_MAX: Final = 6
_OWNED_WORDS_MAX: Final = 3
_OWNER_WORDS_MAX: Final = 5
_PRESENT_BE: Final = frozenset(("is", "are", "am"))
_PAST_BE: Final = frozenset(("was", "were"))
_BE: Final = _PRESENT_BE | _PAST_BE | {"be", "been", "being", "get", "gets"}
_MODALS: Final = frozenset(("must", "should", "can", "may", "will", "could", "would", "shall", "might"))
_HAVE: Final = frozenset(("has", "have", "had"))
_DO: Final = frozenset(("do", "does"))
_BEFORE_VERB: Final = _BE | _MODALS | _HAVE | {"not", "never", "always", "usually", "only"}
_DEFINITE: Final = frozenset(("the", "our", "my", "your", "their", "his", "her", "its"))
_INDEFINITE: Final = frozenset(("a", "an", "any", "every", "each", "no", "some", "it", "this", "that", "there"))
_PLACES: Final = frozenset(("in", "on", "at"))


def forms(words: Words, other: Words) -> list[Words]:
    """The sentence and its other forms. `other` is the sentence that one of the forms may be."""
    found = {words: None}
    for _ in range(2):
        for form in list(found):
            for changed in (*_active(form, other), *_owned(form, other), *_turned(form), *_has(form, other)):
                if len(found) < FORMS_MAX:
                    found.setdefault(changed)
    return list(found)


def _active(words: Words, other: Words) -> Iterator[Words]:
    for at in range(1, min(len(words), _WORDS_MAX)):
        if not _is_participle(words[at]):
            continue
        begin = at
        while begin and words[begin - 1] in _BEFORE_VERB:
            begin -= 1
        before, rest = words[begin:at], words[at + 1 :]
        if begin and ("by" in rest or not _BE.isdisjoint(before)):
            for (agent, left), verbs in product(list(_agents(rest)), list(_finite(before, words[at], other))):
                yield (*agent, *verbs, *words[:begin], *left)


def _agents(rest: Words) -> Iterator[tuple[Words, Words]]:
    """Who may act in a passive sentence, and what is left of the words behind its verb. "We", when nobody is named."""
    if "by" not in rest:
        yield ("we",), rest
        return
    at = rest.index("by")
    for end in range(at + 2, min(len(rest), at + 1 + _AGENT_WORDS_MAX) + 1):
        yield rest[at + 1 : end], (*rest[:at], *rest[end:])


def _finite(before: Words, participle: str, other: Words) -> Iterator[Words]:
    """The verb of the active sentence with the words before it, in the time and with the demand of the passive one."""
    left = tuple(word for word in before if word not in _BE)
    past, denied = not _PAST_BE.isdisjoint(before), "not" in left
    for word in dict.fromkeys(other):
        if stem(word) != stem(participle) or word.endswith("ing"):
            continue
        if not _HAVE.isdisjoint(left):
            if word == participle:
                yield from (
                    (have, *left[1:], word) for have in _HAVE & set(other) if (have == "had") == ("had" in left)
                )
        elif not _MODALS.isdisjoint(left):
            if not is_past(word):
                yield (*left, word)
        elif denied:
            helpers = ("did",) if past else tuple(_DO & set(other))
            if not is_past(word):
                yield from ((helper, *left, word) for helper in helpers)
        elif past == is_past(word):
            yield (*left, word)


def _is_participle(word: str) -> bool:
    return (word.endswith("ed") and len(word) > len("seed")) or (word in IRREGULAR and word in VERB_FORMS)


def _owned(words: Words, other: Words) -> Iterator[Words]:
    """ "Ana team" for "team of Ana", because an apostrophe is no word, where the other sentence has an "of" less."""
    for at in range(1, min(len(words), _WORDS_MAX)):
        if words[at] == "of" and words.count("of") > other.count("of"):
            begins = range(max(0, at - _OWNED_WORDS_MAX), at)
            ends = range(at + 2, min(len(words), at + 1 + _OWNER_WORDS_MAX) + 1)
            for begin, end in product(begins, ends):
                yield (*words[:begin], *words[at + 1 : end], *words[begin:at], *words[end:])


def _turned(words: Words) -> Iterator[Words]:
    places = [at for at, word in enumerate(words) if word in _PRESENT_BE]
    if len(places) != 1 or not 0 < places[0] < len(words) - 1 or not NEGATORS.isdisjoint(words):
        return
    at = places[0]
    begin = {words[0], words[at + 1]}
    # "Admins are owners" says something else than "owners are admins".
    if _DEFINITE & begin or (words[at] == "is" and not begin <= _INDEFINITE):
        yield (*words[at + 1 :], words[at], *words[:at])


def _has(words: Words, other: Words) -> Iterator[Words]:
    if words[:1] != ("there",) or words[1:2] not in (("is",), ("are",)):
        return
    for at in range(3, min(len(words) - 1, _WORDS_MAX)):
        if words[at] in _PLACES:
            yield from ((*words[at + 1 :], have, *words[2:at]) for have in ("has", "have") if have in other)
