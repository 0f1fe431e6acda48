"""Phrases that several rules of mining look for: guesses, conditions, other people's words, plans and trouble."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"[a-z]+")


def any_of(*patterns: str) -> re.Pattern[str]:
    """A pattern for any of `patterns`."""
    # Matched against a sentence in lower case, which is faster than a pattern that ignores case.
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


class Phrases:
    """Patterns, some of which stand at the beginning of a text. These are tried there alone, which takes a third less
    time than one pattern for all."""

    def __init__(self, *patterns: str) -> None:
        self._first = any_of(*(pattern for pattern in patterns if pattern.startswith("^")))
        self._rest = any_of(*(pattern for pattern in patterns if not pattern.startswith("^")))

    def search(self, text: str) -> re.Match[str] | None:
        """A match of any of them."""
        return self._first.match(text) or self._rest.search(text)


@lru_cache(maxsize=64)
def words_of(lowered: str) -> frozenset[str]:
    """The words of a sentence in lower case. Several rules ask for those of the same sentence."""
    return frozenset(_WORD.findall(lowered))


class WordedPhrases:
    """Patterns, each with words of which one stands in every match, or with letters that begin with a sign or a blank.
    Most sentences have none of all the words, which is told in a tenth of the time."""

    def __init__(self, *rows: tuple[str, str]) -> None:
        self._signs = [(sign, re.compile(form)) for sign, form in rows if not sign[0].isalpha()]
        self._by_word: dict[str, list[re.Pattern[str]]] = {}
        for words, pattern in ((cues.split(), re.compile(form)) for cues, form in rows if cues[0].isalpha()):
            for word in words:
                self._by_word.setdefault(word, []).append(pattern)
        self._words = frozenset(self._by_word)

    @property
    def patterns(self) -> set[re.Pattern[str]]:
        """All patterns, for who does without the look at the words."""
        return {pattern for row in self._by_word.values() for pattern in row} | {form for _, form in self._signs}

    def search(self, text: str) -> re.Match[str] | None:
        """A match of any of them in a sentence in lower case."""
        for sign, pattern in self._signs:
            if sign in text and (match := pattern.search(text)):
                return match
        for word in words_of(text) & self._words:
            for pattern in self._by_word[word]:
                if match := pattern.search(text):
                    return match
        return None


class CuedPhrases:
    """Patterns, each with letters of which some stand in every match. Looking for letters first takes a tenth of the
    time."""

    def __init__(self, *rows: tuple[str | tuple[str, ...], str]) -> None:
        self._rows = [((cues,) if isinstance(cues, str) else cues, re.compile(pattern)) for cues, pattern in rows]

    def search(self, text: str) -> re.Match[str] | None:
        """A match of any of them."""
        for cues, pattern in self._rows:
            for cue in cues:
                if cue in text:
                    if match := pattern.search(text):
                        return match
                    break
        return None


HEDGE: Final = WordedPhrases(
    ("?", r"\?[\"')]*$"),
    (
        "maybe perhaps might may could probably possibly apparently what not wondering",
        r"\b(?:maybe|perhaps|might|may be|(?:we|you|i|this|that|it|one) could|probably|possibly|apparently"
        r"|what if|not sure|wondering)\b",
    ),
    (
        "think guess suspect believe assume let should shall would option",
        r"\b(?:i (?:think|guess|suspect|believe|assume)|let me (?:think|know|see)|should we|shall we|would be"
        r"|one option)\b",
    ),
    ("option options alternative alternatives alternatively possible", r"^(?:option|alternative|possible)"),
    ("haven not undecided", r"\b(?:haven't|not yet|have not|undecided)\b"),
    ("propose suggest lean leaning", r"\b(?:propose|suggest|lean(?:ing)? towards)\b"),
)
# A condition or a thought, not what holds.
SUPPOSED: Final = Phrases(
    r"^had (?:we|i)\b|\bi wish\b",
    r"^(?:[\w']+,? ){0,2}(?:if|in case|unless|suppose|supposing|imagine|assuming|once|as soon as|until|whether)\b",
    r"\b(?:would|were (?:to|going to))\b",
)
# Other people, other projects and other times.
ELSEWHERE: Final = WordedPhrases(
    (
        "old last previous former then time originally",
        r"\b(?:at|in) (?:my|our|their|the) (?:old|last|previous|former) \w+|\bback then\b|\bat the time\b"
        r"|\boriginally\b",
    ),
    ("last years used", r"\blast (?:year|time)\b|\byears ago\b|\bused to\b"),
    (
        "team teams project projects companies people code",
        r"\b(?:other|most|many|some) (?:teams?|projects?|companies|people)\b|\bthe old (?:team|code|project)\b",
    ),
    (
        "rails django java go rust python react spring laravel",
        r"\bin (?:rails|django|java|go|rust|python|react|spring|laravel),? (?:every|each|all|you|we|one)\b",
    ),
    (
        "someone somebody people they he she everyone vendor vendors customer customers client clients author authors"
        " article articles post posts book books paper papers marketing sales legal users manager managers boss",
        r"\b(?:someone|somebody|people|they|he|she|everyone else|the (?:vendor|customer|client|author"
        r"|article|post|book|paper)s?|marketing|sales|legal|(?:our |the )?(?:users|customers|clients|managers?|boss))\b"
        r"(?: \w+){0,3} (?:says?|said|claims?|thinks?|always|never|must|wants?|decided|agreed|went|chose|picked)\b",
    ),
)
PLAN: Final = any_of(
    r"^(?:ok(?:ay)?[,.] |now |next,? |then |first,? |good[,.] |great[,.] |sure[,.] )*(?:i'll|i will"
    r"|i'm going to|i am going to|let me|let's|i'd)\b",
    r"^\w+ing \b.*\.\.\.$",
)
TROUBLE: Final = any_of(
    r"\b(?:fail(?:s|ed|ing|ure)?|crash\w*|hangs?|hung|broken?|breaks|time[sd]? ?out|timeouts?|flak[ey]\w*"
    r"|bug(?:gy)?|wrong|stuck|leak\w*"
    r"|error(?:ed)?|missing|exception|deadlock\w*|race|oom|out of memory|refused|denied|expired|slow"
    r"|stutter\w*|500|null|none|corrupt\w*"
    r"|duplicat\w*|stale|lost|empty|invalid|rejected|died|killed|panic\w*|segfault\w*|red|regression)\b"
)
REPORTED: Final = WordedPhrases(
    (
        "say says ask asks state states claim claims forbid forbids reads",
        r"\b(?:readme|contributing|agents\.md|claude\.md|the docs?|the file|the guide|the comment|it|output"
        r"|log) (?:also )?(?:says?|asks?|states?|claims?|forbids?|reads)\b",
    ),
    ("according said wrote", r"\baccording to\b|\byou (?:said|wrote)\b"),
    (
        "say says said goes reads claim claims",
        r"\b(?:comment|doc\w*|readme\S*|ticket|issue|commit|message|wiki)\b[^,]{0,30}"
        r" (?:says?|said|goes|reads|claims?)\b",
    ),
    (
        "say says want wants complain complains require requires insist insists demand demands expect expects",
        r"\b(?:linter|compiler|spec|api|library|framework|checker)s? (?:says?|wants?|complains?|requires?|insists?"
        r"|demands?|expects?)\b",
    ),
)
_HERE: Final = (
    r"(?:here|in (?:this|the|our) (?:repo\w*|project|code ?base|package|module|team|monorepo|app)|we|our"
    r"|us|house (?:style|rule)|convention)"
)
OF_HERE: Final = WordedPhrases(("here in we our us house convention", rf"\b{_HERE}\b"))
BROKEN: Final = any_of(
    r"\b(?:fail(?:s|ed|ing)?|crash\w*|hangs|broken|breaks|times? out|flaky|wrong|stuck|pass(?:es|ed|ing)?"
    r"|green|done|null|none|undefined|empty|missing|slow|500|stale|lost)\b"
)
ERRAND: Final = re.compile(
    r"^(?:(?:ok(?:ay)?|now|please|then|and|also|so|can you|could you)[,]? )*(?:update|rename|fix|run|add"
    r"|remove|change|move"
    r"|check|make|delete|convert|look|find|refactor|write|create|replace|list|show|rerun|try|do|go|read"
    r"|open|search|clean)\b",
)
FIRST_PERSON: Final = any_of(r"\b(?:i|i'm|i'll|i've|me|my)\b")
LASTING: Final = any_of(r"\b(?:always|never|must|from now on|going forward|how (?:we|all)|everywhere|convention)\b")
