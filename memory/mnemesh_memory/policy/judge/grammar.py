"""Words of English grammar from words/slots.txt, by name and by stem."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from mnemesh_memory.wordlists import COMMON_WORDS, rows, sections

WORDS_KEPT: Final = 4096  # The words of a batch: some 200 bytes each.
_LISTS: Final = sections("words/slots.txt")
IRREGULAR: Final = {
    form: base for base, *forms in map(str.split, rows("words/irregular_verbs.txt")) for form in forms if form != base
} | {"is": "be", "are": "be", "was": "be", "were": "be", "been": "be", "has": "have", "had": "have", "does": "do"}


@lru_cache(maxsize=WORDS_KEPT)
def stem(word: str) -> str:
    """A word without its endings: "manager", "managed" and "manages" are one. Rough, and the same for all texts."""
    word = IRREGULAR.get(word, word)
    if len(word) > 3 and word.endswith("s") and word[-2] not in "su" and not word.endswith("ias"):
        word = word[:-1]
        if word.endswith("ie"):
            word = word[:-2] + "y"
    for ending, least in (("ing", 6), ("ed", 5)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("eed"):
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    if word.endswith("ll"):
        word = word[:-1]
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word.endswith("y"):
        word = word[:-1] + "i"
    return word


def _words(*names: str) -> frozenset[str]:
    return frozenset(word for name in names for word in _LISTS[name])


def _stems(*names: str) -> frozenset[str]:
    return frozenset(map(stem, _words(*names)))


def _figures(name: str) -> dict[str, float]:
    return {word: float(figure) for word, _, figure in (pair.partition("=") for pair in _LISTS[name])}


def _forms(base: str) -> Iterator[str]:
    """The regular forms of a verb."""
    stem = base.removesuffix("e")
    yield from (base, f"{base}s", f"{stem}ed", f"{stem}ing")
    if base[-1] in "sxzh":
        yield f"{base}es"
    if base[-1] == "y":
        yield from (f"{base[:-1]}ies", f"{base[:-1]}ied")
    yield from (f"{base}{base[-1]}ed", f"{base}{base[-1]}ing")


NUMBERS: Final = _figures("numbers")
RHYTHMS: Final = _figures("rhythms")
STRETCHES: Final = _figures("stretches")

# Words as they are written.
FUNCTION_WORDS: Final = (_words("function") | COMMON_WORDS) - {"not", "no"}
NEGATORS: Final = _words("negators")
BOUNDARIES: Final = _words("boundaries")
CLAUSES: Final = _words("clauses")
SUBORDINATORS: Final = _words("subordinators")
LEADS: Final = _words("leads")
HINTS: Final = _words("change_hints")
ADDITIVE: Final = _words("additive")
ARTICLES: Final = _words("articles")
AUXILIARIES: Final = _words("auxiliaries")
BE: Final = _words("be")
PRONOUNS: Final = _words("pronouns")
PERSONS: Final = _words("persons")
DETERMINERS: Final = _words("determiners")
PREPOSITIONS: Final = _words("prepositions")
ROLES: Final = _words("roles")
GONE: Final = _words("gone")
IN_USE: Final = _words("in_use")
NO_LABELS: Final = _words("no_labels")  # Before a number they name no thing: the number is a value.
THIRD_PERSONS: Final = _words("third_persons")
PHRASES: Final = tuple(tuple(phrase.split("_")) for phrase in _LISTS["change_phrases"])
CHANGE_BASES: Final = _words("change_verbs", "ending_verbs")
VERB_BASES: Final = _words("verbs", "light", "functional", "held") | CHANGE_BASES | frozenset(IRREGULAR.values())
VERB_FORMS: Final = frozenset(form for base in VERB_BASES for form in _forms(base)) | frozenset(IRREGULAR)

ALLOWS: Final = _words("allows")
FORBIDS: Final = _words("forbids")
DEMANDS: Final = _words("demands")

# Stems.
CHANGE: Final = _stems("change_verbs")
ENDING: Final = _stems("ending_verbs")
CHANGES: Final = CHANGE | ENDING
LIGHT: Final = _stems("light")
VERBS: Final = _stems("verbs") | CHANGES | LIGHT | frozenset(IRREGULAR.values())
MEASURES: Final = _stems("measures")
TRAITS: Final = _stems("traits")
SCOPES: Final = _stems("scopes")
FUNCTIONAL: Final = _stems("functional")
SEVERAL: Final = _stems("several")
HELD: Final = _stems("held")
SINGLE: Final = _stems("single")
TASTES: Final = _stems("tastes")
OPPOSITES: Final = frozenset(frozenset(map(stem, pair.split("/"))) for pair in _LISTS["opposites"])
OPPOSED: Final = frozenset(word for pair in OPPOSITES for word in pair)
_NO_AGENTS: Final = _words("no_agents")
_GROUPS: Final = {
    stem(word): f"={number}"
    for number, group in enumerate(" ".join(_LISTS["synonyms"]).split("/"))
    for word in group.split()
}


@lru_cache(maxsize=WORDS_KEPT)
def meaning(key: str) -> str:
    """The key of the group of words that mean the same as `key`, or `key`."""
    if key not in _GROUPS and key.endswith("er") and key not in _NO_AGENTS and stem(f"{key[:-2]}ed") in VERBS:
        key = stem(f"{key[:-2]}ed")
    if key.startswith("re") and key[2:] in VERBS and key not in _GROUPS:
        key = key[2:]
    return _GROUPS.get(key, key)
