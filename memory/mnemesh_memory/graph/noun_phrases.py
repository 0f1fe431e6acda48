"""Names beside a verb: the noun phrase before a place of a sentence, and the list of noun phrases behind it.

No parser: a phrase ends at a word of a closed class. Everything unknown counts as part of a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from mnemesh_memory.graph.relations import CLAUSE_CHARS_MAX, NAME_CHARS_MAX, entity_key
from mnemesh_memory.graph.verb_rules import begins_verb
from mnemesh_memory.graph.words import (
    ADVERBS,
    AUXILIARIES,
    CALENDAR,
    CONJUNCTIONS,
    DETERMINERS,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
)

WORDS_MAX: Final = 7
ENDS: Final = PREPOSITIONS | CONJUNCTIONS | AUXILIARIES | ADVERBS
VERSION: Final = re.compile(r"v?\d+(?:\.\d+)*(?:[-+.]?(?:alpha|beta|rc|lts|post|dev)\.?\d*)?|v\d+", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\s,;:()\[\]{}\"\u201c\u201d]+|[,;:()\[\]{}\"\u201c\u201d]")
_TRAIL: Final = ".!?`'*"
_CHOSEN: Final = frozenset(("won", "beat", "chose", "picked", "took", "went", "choosing", "picking"))
_COMPARED: Final = frozenset(("newer", "later", "higher", "older", "lower", "above", "greater", "better"))
KINDS: Final = frozenset(
    [
        "class",
        "function",
        "method",
        "module",
        "file",
        "package",
        "library",
        "constant",
        "helper",
        "struct",
        "enum",
        "trait",
        "interface",
        "variable",
        "script",
        "crate",
        "type",
        "macro",
        "command",
        "setting",
    ]
)
# A word that only code has: in backticks, a path, a file, or with capitals or underscores inside.
_CODE: Final = re.compile(r"^`|/|_|[a-z][A-Z]|\.[a-z]{1,4}$|^[A-Z][a-z]+$")
# A name of its own. Capitals alone (API) are a kind of thing.
_PROPER: Final = re.compile(r"`|[A-Z]\w*[a-z]|[a-z]+\w*[A-Z_]")
_LEADING: Final = re.compile(
    r"^(?:in|under|behind|inside|within|across|throughout|since|after|before|on|at|during|for|from|by|with|until|as of|"
    r"every|last|next|this|because|when|while|now|today|yesterday|currently|recently|finally|also|so|then|and|but)\b",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(
    r"[;.!?](?=\s|$)|,\s+(?=(?:and|but|so|which|who|while|although)\b)|\s+(?=(?:but|although|whereas)\b)|\s[-\u2013\u2014]\s"
)


class NounPhrase(NamedTuple):
    """A name, the version behind it, and the place behind both."""

    name: str
    version: str
    end: int


def clean(words: list[str]) -> str:
    """The name that these words make, "" for none."""
    while words and words[0].casefold().strip(_TRAIL) in DETERMINERS | {"and", "or", "both", "either", "all", "of"}:
        words = words[1:]
    words = _without_owner(words)
    if not words or len(words) > WORDS_MAX:
        return ""
    first = words[0].casefold().strip(_TRAIL)
    if first in QUANTIFIERS or first in PRONOUNS or first.isdecimal() or (len(words) == 1 and first in _COMPARED):
        return ""
    name = " ".join(_without_kind(words)).strip().strip(_TRAIL).replace("`", "")
    if len(name) > NAME_CHARS_MAX or name.casefold() in CALENDAR or not entity_key(name):
        return ""
    return name


def _without_owner(words: list[str]) -> list[str]:
    """ "Ana's secret AardvarkPlan" is AardvarkPlan. "Ana's laptop" stays, because many people have one."""
    if len(words) > 1 and words[0].endswith(("'s", "\u2019s")):
        names = [place for place, word in enumerate(words) if place and _PROPER.match(word)]
        return words[names[0] :] if names else words
    return words


def _without_kind(words: list[str]) -> list[str]:
    """ "the function `parse`" and "the `parse` function" are `parse`."""
    if len(words) == 2 and words[0].casefold() in KINDS and _CODE.search(words[1]):
        return words[1:]
    return words[:1] if len(words) == 2 and words[1].casefold() in KINDS and words[0].startswith("`") else words


def after(text: str, at: int, stops: frozenset[str] = frozenset()) -> list[NounPhrase]:
    """The names behind a place: "A, B and C" are three. A version behind a name is apart."""
    phrases: list[NounPhrase] = []
    for words, version, end in _items(text, at, stops):
        name = clean(words)
        if not name:
            break
        phrases.append(NounPhrase(name, version, end))
    return phrases


def _items(text: str, at: int, stops: frozenset[str]) -> Iterator[tuple[list[str], str, int]]:
    """The words of each item of a list."""
    words: list[str] = []
    version, end, listed = "", at, False
    tokens = list(_WORD.finditer(text, at))
    for number, token in enumerate(tokens):
        word = token.group()
        bare = word.casefold().strip(_TRAIL)
        following = tokens[number + 1].group().casefold() if number + 1 < len(tokens) else ""
        if (word == "," and _goes_on(tokens, number + 1)) or (bare in ("and", "or") and words):
            if words:
                yield words, version, end
            words, version, listed = [], "", True
            if begins_verb(text, token.end() + 1):
                return
            continue
        if word == "," and following in ("and", "or") and listed and words:
            continue
        stop = bare in ENDS or bare in stops or word in ',;:()[]{}"\u201c\u201d'
        if stop and not (words and bare == "of"):
            break
        if words and (bare == "version" or VERSION.fullmatch(bare)):
            if bare != "version":
                version, end = bare, token.end()
            continue
        if version or (words and bare in QUANTIFIERS | {"a", "an"} and following.strip(_TRAIL) in CALENDAR):
            break
        words.append(word)
        end = token.end()
        if word[-1] in ".!?" and not following:
            break
        if word[-1] in "!?" or (word[-1] == "." and len(word) > 1):
            break
    if words:
        yield words, version, end


def _goes_on(tokens: list[re.Match[str]], at: int) -> bool:
    """Whether a list goes on behind a comma: short items up to an "and" or "or"."""
    if at < len(tokens) and tokens[at].group().casefold() in ("and", "or"):
        return False
    for token in tokens[at : at + 5]:
        word = token.group().casefold()
        if word in ("and", "or"):
            return True
        if word.strip(_TRAIL) in ENDS - {"of"} or word in ";:()":
            return False
        if word == ",":
            return True
    return False


def before(text: str, start: int, at: int) -> list[str]:
    """The names between the beginning of a clause and a place: "Ana and Ben" are two."""
    words = [word.group() for word in _WORD.finditer(text, start, at)]
    while words and words[-1].casefold() in AUXILIARIES | ADVERBS | {"both", "all"}:
        words = words[:-1]
    if words and _LEADING.match(words[0]):
        words = _behind_leading(words)
    if not words or any(mark in words for mark in ",;:()"):
        return []
    parts = " ".join(words)
    if re.search(r"\b(?:and|or)\b", parts):
        names = [clean(part.split()) for part in re.split(r"\s+(?:and|or)\s+", parts)]
        return names if all(names) else []
    if any(word.casefold() in AUXILIARIES | CONJUNCTIONS | _CHOSEN for word in words):
        return []
    name = clean(words)
    return [name] if name else []


def _behind_leading(words: list[str]) -> list[str]:
    """Words behind an adverbial that no comma ends: "Since Monday the thumbnailer"."""
    for place in range(len(words) - 1, 0, -1):
        if words[place].casefold() in DETERMINERS:
            return words[place:]
    dated = [place for place, word in enumerate(words) if word.casefold().strip(_TRAIL) in CALENDAR | ADVERBS]
    if dated and dated[-1] + 1 < len(words):
        return words[dated[-1] + 1 :]
    return []


def clause(text: str, at: int) -> str:
    """The words from a place to the end of the clause, "" for too many or none."""
    end = _CLAUSE_END.search(text, at)
    words = text[at : end.start() if end else len(text)].strip().strip(",")
    words = words.strip().rstrip(_TRAIL)
    while words.split(" ", 1)[0].casefold() in DETERMINERS and " " in words:
        words = words.split(" ", 1)[1]
    if (
        not words
        or len(words) > CLAUSE_CHARS_MAX
        or (words.split(" ", 1)[0].casefold() in ("it", "them", "this", "that") and " " not in words)
    ):
        return ""
    return words
