"""The form that an answer has: "where did Ana buy it?" is answered by what says "bought". Text in, text out.

An auxiliary takes the tense from the verb, and no stemmer leads from an irregular base to its past. So of a question
with "did" the bases, of one with "has" or "have" the participles are given as the past that a memory states. English
alone; other languages and regular verbs lose nothing.
"""

from __future__ import annotations

import re
from typing import Final

from mnemesh_memory.wordlists import rows

_FORMS: Final = [verb.split() for verb in rows("words/irregular_verbs.txt")]
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
# Quoted text, and words that are no part of a path, a flag or an identifier.
_WORD: Final = re.compile(r'"[^"]*"|`[^`]*`|(?<![\w./\\:@#-])[^\W\d_]++(?![\w/\\@#-]|[.:]\w)')


def stated(question: str) -> str:
    """A question with the verbs in the form of a statement about the past; a participle stays beside the past."""
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
