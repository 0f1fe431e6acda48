"""Phrases of time around a date: "since March", "between 2pm and 4pm yesterday", "no later than Friday", "except last
week".

A phrase that can't be read whole is a phrase without a stretch: no part of it is read instead.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from mnemesh_memory.calendar_spans import DAY, PARTS
from mnemesh_memory.time_days import Read
from mnemesh_memory.time_numbers import UNITS, is_distance, is_number
from mnemesh_memory.time_rows import AND, ENDS, LISTED, TO, Rows
from mnemesh_memory.time_tokens import BREAK

_AT: Final = frozenset(("in", "on", "at", "during", "over", "within", "throughout", "from", "of", "for", "around"))
# Before a time that stands alone these belong to the verb: "what is going on this week", "who logged in yesterday".
_PARTICLES: Final = frozenset(("in", "on", "at", "over", "around"))
_ALONE: Final = frozenset(("today", "yesterday", "tomorrow", "tonight", "this", "last", "next", "earlier"))
_AGO: Final = frozenset(("ago", "earlier"))
OPENS: Final = {"since": "since", "after": "after", "before": "before", "until": "until", "till": "until",
                "through": "until", "by": "until"}  # fmt: skip
_BOUNDS: Final = {tuple(said.split()): side for said, side in {
    **OPENS, "on or before": "until", "before or on": "until", "no later than": "until", "not later than": "until",
    "up to": "until", "up to and including": "until", "until and including": "until",
    "through and including": "until", "as of": "until", "on or after": "since", "after or on": "since",
    "no earlier than": "since", "not earlier than": "since", "starting": "since", "starting in": "since",
    "starting on": "since", "starting from": "since", "starting with": "since", "following": "after",
    "later than": "after", "newer than": "after", "prior to": "before", "earlier than": "before",
    "older than": "before",
}.items()}  # fmt: skip
# What lies before or after a distance from now: "more than two weeks ago". "until": that distance itself too.
_MEASURES: Final = {tuple(said.split()): side for said, side in {
    "more than": "before", "over": "before", "longer than": "before", "at least": "until", "no less than": "until",
    "not less than": "until", "less than": "since", "under": "since", "at most": "since", "within": "since",
    "no more than": "since", "not more than": "since", "no longer than": "since",
}.items()}  # fmt: skip
_SAID_WORDS_MAX: Final = 4
EVENT_BEGINS: Final = frozenset(
    ("the", "our", "my", "his", "her", "their", "its", "your", "we", "i", "you", "they", "he", "she")
)
_DENIALS: Final = {("not",), ("except",), ("excluding",), ("without",), ("but",), ("neither",), ("nor",),
                   ("except", "for"), ("other", "than"), ("apart", "from"), ("aside", "from")}  # fmt: skip
BEING: Final = frozenset(("is", "are", "was", "were", "be", "been", "am"))
_ASIDE: Final = frozenset(("before", "after", "following", "prior", "ahead", "from"))
_VAGUE: Final = frozenset(("few", "couple", "several", "of"))
_RANGE_WORDS_MAX: Final = 8


class Phrase(NamedTuple):
    """A part of the text from token `first` up to `end`, with the stretch that it means; both ends None: it is of time,
    and what it means is not known."""

    first: int
    end: int
    since: datetime | None
    before: datetime | None
    relative: bool


def phrase(dates: Rows, at: int) -> Phrase | None:
    """The longest phrase of time that begins there; one without a stretch when it goes on with what can't be read."""
    read = _phrase(dates, at)
    if read is None or read.since is read.before is None:
        return read
    if dates.continues(at):
        return _nothing(at, read.end)
    end = dates.continued(at, read.end, read.relative)
    return _nothing(at, end) if end else read


def _phrase(dates: Rows, at: int) -> Phrase | None:
    word = dates.word(at)
    if word in ("between", "from"):
        joins = AND if word == "between" else TO
        if (ranged := _range(dates, at, at + 1, word, joins)) is not None:
            return ranged
        if end := _unread(dates, at, joins):
            return _nothing(at, end)
    if (bound := _bound(dates, at)) is not None:
        return bound
    lead = at + (word in _AT)
    if (read := dates.row(lead, word if lead > at else "", TO | LISTED)) is None:
        read = dates.days(lead, TO) or dates.hours_of_day(lead, TO)
        return None if read is None else _plain(at, read)
    if in_distance(dates, at):
        return _nothing(at, read.end)  # "a week from yesterday"
    if (ranged := _range(dates, at, lead, "from", TO)) is not None and ranged.end > read.end:
        return ranged
    if dates.word(read.end) in TO and not read.relative and dates.numeric(read.end + 1):
        return _nothing(at, read.end + 2)
    if end := dates.listed(lead, read):
        return _nothing(at, end)
    if (suffixed := _suffixed(dates, at, read)) is not None:
        return suffixed
    if dates.word(read.end) in ("between", "from") and read.span.before - read.span.since == DAY:
        hours = dates.hours(read.end + 1, AND if dates.word(read.end) == "between" else TO)
        if hours is not None:
            day = read.span.since
            return Phrase(at, hours[2], day + hours[0], day + hours[1], read.relative)
    alone = word in _PARTICLES and lead > at and (dates.word(lead) in _ALONE or dates.word(read.end - 1) in _AGO)
    return _plain(at + alone, read)


def denied_until(dates: Rows, at: int) -> Phrase | None:
    """The time that follows and is not the one that is meant: "not last week", "except in March or April"."""
    said = max((one for one in _DENIALS if _says(dates, at, one)), key=len, default=())
    if not said or (at and dates.word(at - 1) == "or"):
        return None  # "whether or not last week's ..." denies nothing
    if said == ("but",) and ("not" in dates.words(0, at) or dates.word(at + 1) in OPENS):
        return None  # what is meant instead, or as well: "before May but after March"
    if said == ("not",) and _longest(dates, at, _BOUNDS | _MEASURES):
        return None
    denied = phrase(dates, at + len(said))
    while denied is not None and dates.word(denied.end) in (("or",) if said == ("not",) else ("or", "and")):
        more = phrase(dates, denied.end + 1)
        if more is None:
            break
        denied = denied._replace(end=more.end)
    return denied


def in_distance(dates: Rows, at: int) -> bool:
    """Whether what begins there is what a distance is counted from: "three days | after the release"."""
    if dates.word(at) not in _ASIDE or at < 2:
        return False
    unit, count = dates.word(at - 1), dates.word(at - 2)
    if is_distance(dates.words(0, at), at) or (unit in UNITS and (count in _VAGUE or count == "half")):
        return True
    if unit == "half" and dates.words(max(0, at - 3), at - 1) == ["and", "a"]:
        return True
    if at > 2 and count == "or" and dates.word(at - 3) in UNITS and is_number(dates.words(0, at), at - 1):
        return True  # "a week or two | before the release"
    one = unit in PARTS or unit == "weekend" or UNITS.get(unit) == unit  # "in the days before the release" is open
    return one and count in ("the", "next") and dates.word(at) != "from"


def _plain(first: int, read: Read) -> Phrase:
    return Phrase(first, read.end, read.span.since, read.span.before, read.relative)


def _nothing(first: int, end: int) -> Phrase:
    return Phrase(first, end, None, None, relative=False)


def _says(dates: Rows, at: int, said: tuple[str, ...]) -> bool:
    return tuple(dates.words(at, at + len(said))) == said


def _longest(dates: Rows, at: int, table: dict[tuple[str, ...], str]) -> tuple[str, ...]:
    """The longest of its keys that is said there, () for none."""
    for length in range(_SAID_WORDS_MAX, 0, -1):
        if (said := tuple(dates.words(at, at + length))) in table:
            return said
    return ()


def _bound(dates: Rows, at: int) -> Phrase | None:
    """A phrase of which one side is open, by the words before it."""
    if said := _longest(dates, at, _MEASURES):
        inner = at + len(said)
        read = dates.read(inner, "")
        if read is not None and _AGO & set(dates.words(inner, read.end)):
            return _measured(at, _MEASURES[said], read)
    said = _longest(dates, at, _BOUNDS)
    if not said or (said[0] in ("starting", "following") and at and dates.word(at - 1) in BEING):
        return None
    if said == ("following",) and at and dates.word(at - 1) == "the":
        read = dates.read(at + 1, "on")  # "the following Monday" is told from something else
        return None if read is None else _nothing(at, read.end)
    inner, side = at + len(said), _BOUNDS[said]
    if side in ("since", "after") and (pair := dates.pair(inner, side, TO)) is not None:
        return _plain(at, pair)
    read = dates.edge(inner) or dates.row(inner, said[0] if len(said) == 1 else side, LISTED)
    if read is None:
        return None
    return _nothing(at, read.end) if in_distance(dates, at) else _opened(dates, at, side, read)


def _measured(first: int, side: str, read: Read) -> Phrase:
    span = read.span
    at = span.at or span.since
    if side == "since":
        return Phrase(first, read.end, at, None, read.relative)
    return Phrase(first, read.end, None, (span.at_end or span.before) if side == "until" else at, read.relative)


def _suffixed(dates: Rows, first: int, read: Read) -> Phrase | None:
    """A phrase of which one side is open, by the words after it: "March 3 or later", "from March on"."""
    word, following = dates.word(read.end), dates.word(read.end + 1)
    if word in ("onward", "onwards") or (word == "on" and dates.word(first) == "from" and following in ENDS):
        side, more = "since", 1
    elif word in ("or", "and") and following in ("later", "newer", "onwards", "onward", "beyond"):
        side, more = "since", 2
    elif word in ("or", "and") and following in ("earlier", "older") and dates.word(read.end + 2) in ENDS:
        side, more = "until", 2
    else:
        return None
    return _opened(dates, first, side, read)._replace(end=read.end + more)


def _range(dates: Rows, first: int, at: int, word: str, joins: frozenset[str]) -> Phrase | None:
    """`between A and B`, `from A to B`, where one end may name the day or month of both."""
    read = dates.days(at, joins) or dates.hours_of_day(at, joins)
    read = dates.pair(at, word, joins) if read is None else read
    return None if read is None else _plain(first, read)


def _unread(dates: Rows, at: int, joins: frozenset[str]) -> int:
    """Where a range ends that has a date at one end and can't be read, 0 for none: "between the release and last
    week"."""
    word, start = dates.word(at), at + 1
    for to in range(start + 1, start + _RANGE_WORDS_MAX):
        if dates.word(to) == BREAK:
            return 0
        if dates.word(to) in joins:
            break
    else:
        return 0
    first, last = dates.read(start, word), dates.read(to + 1, word)
    numeric, named = dates.numeric(to + 1), dates.word(to + 1) in EVENT_BEGINS
    if word == "between":
        unread = first is not None or last is not None
    elif (first is not None and first.end == to) or dates.numeric(start):
        unread = last is not None or numeric or named
    else:
        unread = dates.word(start) in EVENT_BEGINS and dates.word(to) in ("to", "-", "\u2013") and last is not None
    if not unread:
        return 0
    if last is not None:
        return last.end
    return to + 2 + (dates.word(to + 1) == "the") if numeric else max(to, first.end if first is not None else 0)


def _opened(dates: Rows, first: int, side: str, read: Read) -> Phrase:
    """A stretch of which one side is open."""
    span = read.span
    if side == "since":
        ends: tuple[datetime | None, datetime | None] = (span.at or span.since, None)
    elif side == "after":
        ends = (span.at or span.before, None)
    elif side == "before":
        ends = (None, span.at or span.since)
    else:
        ends = (None, span.at_end or dates.coming(span).before)
    return Phrase(first, read.end, *ends, read.relative)
