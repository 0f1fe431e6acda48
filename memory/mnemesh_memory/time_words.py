"""What time the words of a question mean: "last week", "in March", "between Monday and Friday", "before the release".

Pure: the text, the moment of asking and the zone give a stretch of time, the words that say it, and the text without
them. The words are English. What is quoted, part of a name or path,
or in a text so long that it was pasted, is not read; of two readings the past one counts: memories lie there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Final, NamedTuple, TypeAlias

from mnemesh_memory.calendar_spans import instant, unit_of
from mnemesh_memory.fusion import terms
from mnemesh_memory.time_dates import DATE_WORDS
from mnemesh_memory.time_days import PREVIOUS
from mnemesh_memory.time_phrases import BEING, EVENT_BEGINS, OPENS, Phrase, denied_until, in_distance, phrase
from mnemesh_memory.time_rows import Rows
from mnemesh_memory.time_tokens import BREAK, Token, tokens_of

# A longer text was pasted, and the dates in it are its own.
READ_CHARS_MAX: Final = 500
EVENT_WORDS_MAX: Final = 12
# What one may mean that comes before or after a stretch.
_BESIDE: Final = frozenset(("day", "week", "weekend", "month", "quarter", "year"))
_MOMENT: Final = timedelta(milliseconds=1)
# The cheapest look at a question in lower case: without any of these nothing is read.
_HINT: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(DATE_WORDS))}|since|after|before|until|till|following|ahead of|fortnight|[12]\d{{3}}"
    r"|q[1-4]|the \d\d?(?:st|nd|rd|th))\b|\d[-/.]\d"
)
# An event is a thing that is named ("the release"), that somebody did ("we moved"), or a doing ("moving to Postgres").
_NO_DOING: Final = frozenset(
    ("morning", "evening", "nothing", "something", "anything", "everything", "during", "spring", "string", "meeting")
)
# "Who was following the incident", "steps for following the runbook".
_DOING: Final = BEING | {"for", "by", "of", "about", "not", "when", "while", "to"}
_SIDES: Final = {tuple(said.split()): side for side, several in {
    "after": ("since", "after", "following"), "before": ("before", "until", "till", "prior to", "ahead of"),
}.items() for said in several}  # fmt: skip
# With a number or a version behind them they name one event without an article: "after release 2.3.0".
_NUMBERED: Final = frozenset(
    ("release", "version", "deploy", "deployment", "rollout", "migration", "incident", "outage", "sprint", "milestone",
     "upgrade", "build", "commit", "pr", "issue", "ticket")
)  # fmt: skip
_VERSION: Final = re.compile(r"v\d+(?:\.\d+)*|\d+(?:\.\d+){2,}\S*", re.IGNORECASE)
_EVENT_ENDS: Final = frozenset(
    ("what", "who", "which", "how", "why", "when", "where", "did", "do", "does", *OPENS, "-", "\u2013", "between")
) - {"by", "through"}


# Beginning and end of a part of the text, in characters.
Place: TypeAlias = tuple[int, int]


class Event(NamedTuple):
    """An event whose time is a boundary: `side` says whether what is meant came "after" or "before" it."""

    side: str
    text: str


class TimeWords(NamedTuple):
    """What was read. `words` are those of the text, in its order. The stretch is from `since` (ms) up to `before`, None
    where it is open; both are None when all that is named is an event. `relative` and `dates` are the places in the
    text of what means something only at the moment of asking, and of all other words of time."""

    words: tuple[str, ...]
    since: int | None
    before: int | None
    event: Event | None
    event_words: str
    text: str
    relative: tuple[Place, ...]
    dates: tuple[Place, ...]
    event_at: Place | None

    def searched(self) -> str:
        """The text without words that mean something only at the moment of asking: no memory of that time has them."""
        return _without(self.text, self.relative)

    def about(self, *, event: bool) -> str:
        """What is asked about beside the time: the text without any word of time; without the `event`, when that has a
        time."""
        known = (self.event_at,) if event and self.event_at is not None else ()
        return _without(self.text, (*self.relative, *self.dates, *known))


def read(text: str, now: int, zone: tzinfo) -> TimeWords | None:
    """What time `text` names when it is said at `now` (ms) in `zone`; None when it names none."""
    if len(text) > READ_CHARS_MAX or not _HINT.search(text.lower()):
        return None
    try:
        return _read(text, now, zone)
    except (ValueError, OverflowError):
        return None  # beyond what a calendar holds


def _read(text: str, now: int, zone: tzinfo) -> TimeWords | None:
    tokens = tokens_of(text)
    dates = Rows(tokens, now, zone)
    phrases: list[Phrase] = []
    event: Event | None = None
    event_at: Place | None = None
    at = 0
    while at < len(tokens):
        if (denied := denied_until(dates, at)) is not None:
            instead = _instead(text, dates, tokens, denied)
            phrases += [] if instead is None else [instead._replace(first=at)]
            at = denied.end if instead is None else instead.end
        elif (read := phrase(dates, at)) is not None:
            phrases += [read] if read.since or read.before else []
            at = read.end
        elif event is None and (named := _event(text, tokens, at)) is not None:
            if in_distance(dates, at):
                at = named.end  # how far "three days after the release" reaches is not known here
                continue
            last = tokens[named.end - 1].end
            event, event_at = Event(named.side, text[tokens[named.first].start : last]), (tokens[at].start, last)
            at = named.first  # a time may be named inside: "the release of last week"
        else:
            at += 1
    if not phrases and event is None:
        return None
    spans = [(tokens[one.first].start, tokens[one.end - 1].end) for one in phrases]
    since, before = _together([(_ms(one.since, zone), _ms(one.before, zone)) for one in phrases])
    if since is not None and before is not None and since >= before:
        return None  # a day that the zone has left out
    said = tuple(text[start:end] for start, end in spans)
    relative = tuple(span for span, one in zip(spans, phrases, strict=True) if one.relative)
    others = tuple(span for span in spans if span not in relative)
    event_words = text[slice(*event_at)] if event_at else ""
    return TimeWords(said, since, before, event, event_words, text, relative, others, event_at)


def _instead(text: str, dates: Rows, tokens: Sequence[Token], denied: Phrase) -> Phrase | None:
    """What "but" puts in its place, which may be counted from it: "not last week but the week before"."""
    at = denied.end + (dates.word(denied.end) == ",")
    if dates.word(at) != "but":
        return None
    at += 1
    if (other := phrase(dates, at)) is not None:
        return other if other.since or other.before else None
    unit, side = dates.word(at + 1), dates.word(at + 2)
    if unit in PREVIOUS:
        unit, side = dates.word(denied.end - 1) if side == "one" else side, "before"
    if dates.word(at) != "the" or unit not in _BESIDE or side not in ("before", "after"):
        return None
    edge = denied.since if side == "before" else denied.before
    if edge is None or _event(text, tokens, at + 2) is not None:
        return None
    span = unit_of(edge, unit, -1) if side == "before" else unit_of(edge - _MOMENT, unit, 1)
    return Phrase(at, at + 3, span.since, span.before, denied.relative)


class _Named(NamedTuple):
    """An event whose words are the tokens from `first` up to `end`, and the side of it that is meant."""

    side: str
    first: int
    end: int


def _event(text: str, tokens: Sequence[Token], at: int) -> _Named | None:
    """The event that is named behind "after", "prior to" and the like, which stand at the token `at`."""
    said = next((one for one in _SIDES if tuple(token.word for token in tokens[at : at + len(one)]) == one), ())
    first = at + len(said)
    if not said or first == len(tokens) or (said == ("following",) and at and tokens[at - 1].word in _DOING):
        return None
    word = tokens[first].word
    doing = len(word) > 5 and word.endswith("ing") and word not in _NO_DOING
    if word not in EVENT_BEGINS and not doing and not _numbered(text, tokens, first):
        return None
    end = first
    while end < len(tokens) and end - first < EVENT_WORDS_MAX and tokens[end].word not in (BREAK, ","):
        if end > first and tokens[end].word in _EVENT_ENDS:
            break
        end += 1
    named = text[tokens[first].start : tokens[end - 1].end]
    return _Named(_SIDES[said], first, end) if terms(named) else None


def _numbered(text: str, tokens: Sequence[Token], at: int) -> bool:
    """Whether one thing is named there by its number: "release 2.3.0", "migration 0042", "v2.3"."""
    first, *more = (text[token.start : token.end] for token in tokens[at : at + 2])
    if _VERSION.fullmatch(first):
        return True
    return tokens[at].word in _NUMBERED and bool(more) and any(sign.isdigit() for sign in more[0])


def _together(ends: Sequence[tuple[int | None, int | None]]) -> tuple[int | None, int | None]:
    """The stretch that is in all of them; when there is none, one that holds them all."""
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
