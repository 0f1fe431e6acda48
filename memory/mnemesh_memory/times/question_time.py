"""Time that a question names: "last week", "in March", "between Monday and Friday", "before the release".

Pure: the text, the moment of asking and the zone give a stretch of time, its words, and the text without its words. The
words are English. Quotes, names, paths and long pasted texts are not read. Of two readings the past one counts, because
memories lie in the past.

Events that bound a time: "before the release", "since we moved to Postgres", "after release 2.3.0". An event is a
thing that is named, that somebody did, or a doing. When it was is not known here.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Final, NamedTuple, TypeAlias

from mnemesh_memory.times.calendar import instant, wall_time
from mnemesh_memory.times.meanings import DatedQuestion
from mnemesh_memory.times.phrases import DISTANCE, TimePhrase, phrase_at
from mnemesh_memory.times.time_vocabulary import DATE_WORDS, pattern
from mnemesh_memory.wordlists import COMMON_WORDS

# A longer text was pasted: its dates are not the question's.
READ_CHARS_MAX: Final = 500
# The cheapest look at a question in small letters: without any of these words nothing is read.
_HINT: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(DATE_WORDS))}|since|after|before|until|till|following|ahead of|[12]\d{{3}}|q[1-4])\b"
    r"|\d[-.]\d|\d[hdwy] ago"
)
_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|`[^`\n]*`|\u201c[^\u201d\n]*\u201d|\xab[^\xbb\n]*\xbb")
# The beginning of a word outside of names, paths and numbers.
_WORD: Final = re.compile(r"(?<![\w.\-/'\u2019\u2013@#:&])(?=\w)")
_SMALL: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# "Not in March | or in April".
_OR: Final = re.compile(r"\s+(?:or|nor|and)\s+")

# Beginning and end of a part of the text, in characters.
Place: TypeAlias = tuple[int, int]


class TimeWords(NamedTuple):
    """Time of a question."""

    # Words of the text, in its order.
    words: tuple[str, ...]
    # In ms; None where the stretch is open. Both are None when the text names only an event.
    since: int | None
    before: int | None
    event: BoundaryEvent | None
    event_words: str
    text: str
    # Places in the text of words that mean something only at the moment of asking, and of all other words of time.
    relative: tuple[Place, ...]
    dates: tuple[Place, ...]
    event_at: Place | None

    def searched(self) -> str:
        """The text without words that mean something only at the moment of asking: no memory of the time has them."""
        return _without(self.text, self.relative)

    def about(self, *, event: bool) -> str:
        """The subject: the text without any word of time, and without the `event` when the event has a time."""
        known = (self.event_at,) if event and self.event_at is not None else ()
        return _without(self.text, (*self.relative, *self.dates, *known))


def read(text: str, now: int, zone: tzinfo) -> TimeWords | None:
    """The time that `text` names, said at `now` (ms) in `zone`; None when there is none."""
    lower = text.translate(_SMALL)
    if len(text) > READ_CHARS_MAX or not _HINT.search(lower):
        return None
    try:
        # A quote is not said. Its blanks have the same length, so that places stay.
        said = _QUOTED.sub(lambda quoted: "\x00" * len(quoted[0]), lower)
        return _read(DatedQuestion(said, text, now, zone, wall_time(now, zone)))
    except (ValueError, OverflowError):
        return None  # beyond what a calendar holds


def _read(asked: DatedQuestion) -> TimeWords | None:
    text, zone = asked.text, asked.zone
    phrases, event = _phrases(asked)
    spans = [(phrase.start, phrase.end) for phrase in phrases]
    since, before = _together([(_ms(phrase.since, zone), _ms(phrase.before, zone)) for phrase in phrases])
    if (not phrases and event is None) or (since is not None and before is not None and since >= before):
        return None  # no time, or a day that the zone has left out
    relative = tuple((phrase.start, phrase.end) for phrase in phrases if phrase.relative)
    return TimeWords(
        words=tuple(text[start:end] for start, end in spans),
        since=since,
        before=before,
        event=event.event if event else None,
        event_words=text[event.start : event.end] if event else "",
        text=text,
        relative=relative,
        dates=tuple(span for span in spans if span not in relative),
        event_at=(event.start, event.end) if event else None,
    )


def _phrases(asked: DatedQuestion) -> tuple[list[TimePhrase], NamedEvent | None]:
    """The phrases of time with a stretch, and the first event of the text."""
    phrases: list[TimePhrase] = []
    event: NamedEvent | None = None
    end = denied = 0
    for word in _WORD.finditer(asked.lower):
        if (at := word.start()) < end:
            continue
        if (phrase := phrase_at(asked, at)) is not None:
            end = phrase.end
            if phrase.since is phrase.before or (denied and _OR.fullmatch(asked.lower, denied, at)):
                denied = end
            else:
                phrases.append(phrase)
        elif event is None and (named := event_at(asked.lower, asked.text, at)) is not None:
            if DISTANCE.search(asked.lower[:at]):
                end = named.end  # the reach of "three days after the release" is not known here
            else:
                event, end = named, named.named  # a time may be named inside: "the release of last week"
    return phrases, event


def _together(ends: Sequence[tuple[int | None, int | None]]) -> tuple[int | None, int | None]:
    """The stretch that all share; without such a stretch, the shortest that holds all."""
    if not ends:
        return None, None
    since = max((low for low, _ in ends if low is not None), default=None)
    before = min((high for _, high in ends if high is not None), default=None)
    if since is None or before is None or since < before:
        return since, before
    lows, highs = [low for low, _ in ends], [high for _, high in ends]
    return (
        None if None in lows else min(low for low in lows if low is not None),
        None if None in highs else max(high for high in highs if high is not None),
    )


def _ms(wall: datetime | None, zone: tzinfo) -> int | None:
    return None if wall is None else instant(wall, zone)


def _without(text: str, places: Iterable[Place]) -> str:
    kept, at = [], 0
    for start, end in sorted(places):
        kept.append(text[at : max(at, start)])
        at = max(at, end)
    return " ".join(" ".join((*kept, text[at:])).split())


_WORDS_MAX: Final = 12
_SIDES: Final = {"since": "after", "after": "after", "following": "after", "before": "before", "until": "before",
                 "till": "before", "prior to": "before", "ahead of": "before"}  # fmt: skip
# "Who was following the incident", "steps for following the runbook".
_FOLLOWS: Final = re.compile(r"\b(?:is|are|was|were|be|been|am|for|by|of|about|not|when|while|to)\s+$")
# "Who looks after the build machines", "the person it is named after".
_AFTER_OF_A_VERB: Final = re.compile(r"\b(?:look(?:s|ed|ing)?|named)\s+$")
_BEGINS: Final = pattern(
    rf"(?P<side>{'|'.join(_SIDES)}) (?=(?P<first>(?:the(?! \d)|our|my|his|her|their|its|your|we|i|you|they|he|she)\b"
    r"|(?!(?:morning|evening|nothing|something|anything|everything|during|spring|string|meeting)\b)[^\W_]{3,}ing\b"
    # A number or a version behind the word makes an event of it without an article.
    r"|(?:release|version|deploy|deployment|rollout|migration|incident|outage|sprint|milestone|upgrade|build|commit|pr"
    r"|issue|ticket) \S*\d|v\d+(?:\.\d+)*\b|\d+(?:\.\d+)+[.-]\w))"
)
# "Should I run the linter before committing" asks for a habit, "what did we use before moving" for a time.
_HABIT: Final = re.compile(r"\b(?:should|must|may|can|shall|do|does|needs?|how to)\b")
_PAST: Final = re.compile(r"\b(?:did|was|were|had|has|have|\w+ed)\b")
_ENDS: Final = frozenset(
    ("what", "who", "which", "how", "why", "when", "where", "did", "do", "does", "since", "after", "before", "until",
     "till", "-", "\u2013", "between")
)  # fmt: skip
_MARKS: Final = ".,?!;:)]}\u2026"


class BoundaryEvent(NamedTuple):
    """An event whose time is a boundary: `side` says whether what is meant came "after" or "before" it."""

    side: str
    text: str


class NamedEvent(NamedTuple):
    """An event with its place in the text."""

    event: BoundaryEvent
    # The places of the words that lead to the event, and of the event itself up to its end.
    start: int
    named: int
    end: int


def event_at(lower: str, text: str, at: int) -> NamedEvent | None:
    """The event that is named behind "after", "prior to" and the like, which begin there. `lower` is the text in small
    letters."""
    begins = _BEGINS.match(lower, at)
    if begins is None or (begins["side"] == "following" and _FOLLOWS.search(lower, 0, at)):
        return None
    if begins["side"] == "after" and _AFTER_OF_A_VERB.search(lower, 0, at):
        return None
    if begins["first"].endswith("ing") and _HABIT.search(lower, 0, at) and not _PAST.search(lower, 0, at):
        return None
    start = end = begins.end()
    for number, chunk in enumerate(re.finditer(r"\S+", lower[start:])):
        word = chunk[0].rstrip(_MARKS)
        if number == _WORDS_MAX or (number and word in _ENDS) or not word:
            break
        end = start + chunk.start() + len(word)
        if word != chunk[0]:
            break
    named = text[start:end]
    side = _SIDES[" ".join(begins["side"].split())]
    # "Before that", "after the" name nothing.
    names = any(word not in COMMON_WORDS for word in re.findall(r"[^\W_]+", named.casefold()))
    return NamedEvent(BoundaryEvent(side, named), at, start, end) if names else None
