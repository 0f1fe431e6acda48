"""The form that an answer has: "where did Ana buy it?" is answered by what says "bought". Text in, text out.

An auxiliary takes the tense from the verb, and no stemmer leads from an irregular base to its past. So of a question
with "did" the bases, of one with "has" or "have" the participles are given as the past that a memory states. English
alone; other languages and regular verbs lose nothing.
"""

from __future__ import annotations

import re
from typing import Final

# Base, past and, where it is another word, participle.
_VERBS: Final = (
    "become became become, begin began begun, bite bit bitten, blow blew blown, break broke broken, bring brought, "
    "build built, buy bought, catch caught, choose chose chosen, come came come, deal dealt, do did done, "
    "draw drew drawn, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt, "
    "fight fought, find found, fly flew flown, forget forgot forgotten, freeze froze frozen, get got gotten, "
    "give gave given, go went gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, "
    "know knew known, lay laid, lead led, leave left, lend lent, lie lay lain, light lit, lose lost, make made, "
    "mean meant, meet met, pay paid, ride rode ridden, ring rang rung, rise rose risen, run ran run, say said, "
    "see saw seen, seek sought, sell sold, send sent, shake shook shaken, shine shone, shoot shot, show showed shown, "
    "sing sang sung, sink sank sunk, sit sat, sleep slept, speak spoke spoken, spend spent, stand stood, "
    "steal stole stolen, stick stuck, strike struck, swear swore sworn, swim swam swum, take took taken, teach taught, "
    "tear tore torn, tell told, think thought, throw threw thrown, understand understood, wake woke woken, "
    "wear wore worn, win won, write wrote written"
)
_FORMS: Final = [verb.split() for verb in _VERBS.split(", ")]
_PAST: Final = {base: past for base, past, *_ in _FORMS}
_PAST_OF_PARTICIPLE: Final = {forms[2]: forms[1] for forms in _FORMS if len(forms) > 2}
_DID: Final = re.compile(r"\bdid(?:n['\u2019]?t)?\b", re.IGNORECASE)
_HAS: Final = re.compile(r"\b(?:has|have|had)(?:n['\u2019]?t)?\b", re.IGNORECASE)
# After these a word is a noun ("the build") or an infinitive ("to go").
_NO_VERB_AFTER: Final = frozenset(
    (
        "a", "about", "an", "and", "any", "at", "by", "each", "every", "for", "from", "her", "his", "in", "into", "its",
        "my", "no", "of", "on", "or", "our", "some", "that", "the", "their", "these", "this", "those", "to", "with",
        "your",
    )
)  # fmt: skip
# What is quoted, and words that are no part of a path, a flag or an identifier.
_WORD: Final = re.compile(r'"[^"]*"|`[^`]*`|(?<![\w./\\:@#-])[^\W\d_]++(?![\w/\\@#-]|[.:]\w)')


def stated(question: str) -> str:
    """A question with its verbs as a statement about the past has them; a participle stays beside its past."""
    did, has = _DID.search(question), _HAS.search(question)
    if not (did or has):
        return question

    before = ""

    def form(found: re.Match[str]) -> str:
        nonlocal before
        word, previous = found.group(), before
        before = folded = word.lower()
        if did and folded in _PAST and previous not in _NO_VERB_AFTER:
            return _PAST[folded]
        return f"{word} {_PAST_OF_PARTICIPLE[folded]}" if has and folded in _PAST_OF_PARTICIPLE else word

    return _WORD.sub(form, question)
