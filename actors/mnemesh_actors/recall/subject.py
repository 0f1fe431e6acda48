"""The subject of a question beside its words of time: everything, all of one kind, or something to match. Pure.

A question for everything lists its stretch of time. A question for a kind has the memories of that kind first.
"""

from __future__ import annotations

import re
from typing import Final

from mnemesh_memory.ranking.coverage import terms
from mnemesh_memory.values.model import Query

# A question of these words alone asks for everything of a time: "give me a summary of yesterday".
ANYTHING: Final = terms(
    "activity all any anything changed discuss doing done event every everything get give going got happened latest"
    " list memories memory new news now occurred overview recall recap recent recorded remember said say show something"
    " stuff summarize summary talk tell thing told update work worked working write written wrote"
)
# A question about things to do asks for no list of the past: "what to do before the release".
_TO_BE_DONE: Final = re.compile(
    r"\b(?:to (?:do|get|give|happen|say|show|tell|update|work|write)|should|must|needs?|ought|has to|have to|having to"
    r"|(?:do|does|can|could|shall|will|would) (?:i|we|you|one|they))\b",
    re.IGNORECASE,
)
# A kind that is asked for by such words, as most people use it: "what did we decide last week", "what broke in March".
# Narrower words ("outage", "incident") find their memories better than a list of all errors, where these may stand
# last.
KIND_WORDS: Final = {
    kind: terms(words)
    for kind, words in {
        "decision": "agree agreed agreement agreements decide decided deciding decision decisions",
        "error": "break breaks broke broken bug bugs error errors fail failed failing fails failure failures"
        " problem problems wrong",
        "requirement": "requirement requirements",
    }.items()
}
_BESIDE_KIND: Final = terms(
    "come came fix fixed fixes fixing go goes going gone have made make making saw see seen take taken took up went"
)
_WORD: Final = re.compile(r"[^\W\d_]+")


def asks_for_everything(about: str, text: str, *, of_event: bool) -> bool:
    """Whether a question asks for whatever lies in its stretch of time. `about` is its `text` without the words of
    time, and `of_event` says that an event bounds the stretch."""
    if terms(about) - ANYTHING or _holds_name(about, text):
        return False
    return not (of_event and _TO_BE_DONE.search(about))


def asked_kind(query: Query, about: str) -> str:
    """The kind that is asked for beside a time, and nothing else, "" for none: "what did we decide last week"."""
    if query.sort != "relevance" or _holds_name(about, query.text):
        return ""
    words = terms(about) - ANYTHING - _BESIDE_KIND
    kinds = [kind for kind, known in KIND_WORDS.items() if words and words <= known]
    return next((kind for kind in kinds if not query.kinds or kind in query.kinds), "")


def _holds_name(about: str, text: str) -> bool:
    """Whether a common word is written as a name, as in "what did Will do last week". Such a word stands in the middle
    of a sentence, with a capital, beside words without."""
    words, first = _WORD.findall(about), _WORD.search(text)
    if first is not None and words[:1] == [first[0]]:
        words = words[1:]
    small = any(word[0].islower() for word in words)
    return small and any(len(word) > 1 and word[0].isupper() and not terms(word) for word in words)
