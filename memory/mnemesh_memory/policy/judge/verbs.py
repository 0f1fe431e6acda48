"""The verb of a sentence and what its form tells, as far as the neighbours of a word say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mnemesh_memory.policy.judge.grammar import (
    AUXILIARIES,
    BE,
    CHANGE_BASES,
    CLAUSES,
    DETERMINERS,
    GONE,
    OPPOSED,
    PREPOSITIONS,
    PRONOUNS,
    THIRD_PERSONS,
    VERB_BASES,
    VERB_FORMS,
)
from mnemesh_memory.policy.judge.tokens import Token, is_past

# Stems of "this", "does", "is", "has" and "was", which end in s and are no plurals.
_NO_PLURALS: Final = frozenset(("thi", "doe", "i", "ha", "wa"))

HAVE: Final = frozenset(("has", "have"))
_POSSIBLE: Final = frozenset(("can", "may", "could"))
_BEFORE_NOUN: Final = DETERMINERS | PREPOSITIONS
_AFTER_VERB: Final = _BEFORE_NOUN | BE | AUXILIARIES
_LIKE_VERBS: Final = VERB_FORMS | AUXILIARIES


def first_verb(tokens: Sequence[Token], words: Sequence[str]) -> int:
    """The place of the first verb; -1 without any. `words` are the tokens without capitals."""
    likely = (at for at, word in enumerate(words) if word in _LIKE_VERBS and _is_verb(tokens, words, at))
    place = next(likely, -1)
    return place if place >= 0 else _likely_verb(tokens, words)


def _is_verb(tokens: Sequence[Token], words: Sequence[str], at: int) -> bool:
    """Whether a word in the form of a verb is the first verb of its sentence, as far as its neighbours tell."""
    token, word = tokens[at], words[at]
    if token.mark or token.dimension:
        return False
    if word in AUXILIARIES:
        return True
    before = words[at - 1] if at else ""
    if before in DETERMINERS or before in PREPOSITIONS:
        return False
    if at == 0:
        return (
            word in VERB_BASES
            and token.key not in OPPOSED
            and not any(_is_later_verb(tokens, words, later) for later in range(1, _clause_end(tokens, words, 0)))
        )
    if word.endswith("ed") and not AUXILIARIES.isdisjoint(words[at + 1 : _clause_end(tokens, words, at + 1)]):
        return False  # an adjective, as in "the preferred language is"
    if before in PRONOUNS or before in ("not", "never", "always", "usually"):
        return True
    if at + 1 < len(tokens) and word.endswith("s") and _is_later_verb(tokens, words, at + 1):
        after = tokens[at + 2 : at + 3]
        if tokens[at + 1].text in AUXILIARIES or not after or after[0].mark or after[0].dimension in ("path", "url"):
            return False
        if words[at + 2] in _AFTER_VERB:
            return False
    return word.endswith("s") or _is_later_verb(tokens, words, at)


def _likely_verb(tokens: Sequence[Token], words: Sequence[str]) -> int:
    """The place of an unknown word in the form of a verb: "the proxy strips cookies". -1 without any."""
    for at in range(1, len(tokens)):
        word, before = tokens[at].text, tokens[at - 1]
        after = words[at + 1] if at + 1 < len(tokens) else ""
        bare = word in VERB_BASES and not before.mark and words[at - 1] not in _BEFORE_NOUN
        if at > 1 and bare and (after in _BEFORE_NOUN or (after and tokens[at + 1].dimension)):
            return at
        if (
            ((word.endswith("s") and not word.endswith("ss")) or word.endswith("ed"))
            and word.islower()
            and len(word) > 3
            and not (before.mark or before.dimension or before.text.endswith("s"))
            and words[at - 1] not in _BEFORE_NOUN
            and not (at + 1 < len(tokens) and tokens[at + 1].mark and tokens[at + 1].text != ".")
        ):
            return at
    return -1


def _is_later_verb(tokens: Sequence[Token], words: Sequence[str], at: int) -> bool:
    """Whether a token behind the first is a verb beyond doubt: an auxiliary, a past, or a base after a plural."""
    word, before = words[at], words[at - 1]
    if word in AUXILIARIES:
        return True
    if word in VERB_FORMS and word.endswith("s") and at + 1 < len(tokens) and not before.endswith("s"):
        after = tokens[at + 1]
        if after.dimension or words[at + 1] in DETERMINERS or word in THIRD_PERSONS:
            return True
    if (
        word not in VERB_FORMS
        or word != tokens[at].text
        or word.endswith("ing")
        or before in DETERMINERS
        or before in PREPOSITIONS
    ):
        return False
    return is_past(word) or (before.endswith("s") and word in VERB_BASES and tokens[at - 1].key not in _NO_PLURALS)


def is_perfect(words: Sequence[str], at: int) -> bool:
    """Whether a participle tells of what has been done: "has been redirected"."""
    return (
        words[at + 1 : at + 2] in (["to"], ["onto"], ["into"], ["from"])
        and is_past(words[at])
        and words[at] not in ("been", "had")
        and not HAVE.isdisjoint(words[max(0, at - 3) : at])
    )


def is_possible(words: Sequence[str], at: int) -> bool:
    """Whether a participle tells what may be done: "can't be removed"."""
    return words[at - 1 : at] == ["be"] and not _POSSIBLE.isdisjoint(words[max(0, at - 3) : at])


def happened(words: Sequence[str], at: int) -> bool:
    """Whether a verb of change tells what happened. A habit ("removes"), a noun ("the change"), an infinitive ("to
    move") and what is possible ("can be removed") tell of none."""
    before, word = words[at - 1] if at else "", words[at]
    if before in DETERMINERS or before in PREPOSITIONS or before == "being" or is_possible(words, at):
        return False
    if word.endswith("ing"):
        return before in BE
    past = is_past(word)
    if before in ("is", "are"):
        return word in GONE
    return past or (at == 0 and not word.endswith("s")) or (before in ("we", "i", "please") and word in CHANGE_BASES)


def _clause_end(tokens: Sequence[Token], words: Sequence[str], start: int) -> int:
    return next((at for at in range(start, len(tokens)) if tokens[at].mark or words[at] in CLAUSES), len(tokens))
