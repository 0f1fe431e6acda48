"""Phrases of time around a date: "since March", "between Monday and Friday", "in March or April", "as of May 3".

A phrase that is of time and can't be read whole, or is not the time that is meant, is a phrase without a stretch.

ROWS is the whole grammar of a date: a form ("yesterday", "last Monday", "Q2 2024") and the function that gives its
stretch. Of all rows that fit, the longest counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from mnemesh_memory.times import calendar, meanings
from mnemesh_memory.times.calendar import Span
from mnemesh_memory.times.meanings import Date, DatedQuestion, FittedWords, one_day
from mnemesh_memory.times.time_vocabulary import either, pattern


class DayForm(NamedTuple):
    """A form of dates."""

    form: re.Pattern[str]
    meaning: Callable[[FittedWords], Span | None]
    # It means something only at the moment of asking, unless it names a year.
    relative: bool = False
    # The word that leads to the date that has to follow, "" when none has to.
    inner: str = ""


ROWS: Final = (
    DayForm(pattern(r"(?P<near>today|yesterday|tomorrow){end}"), meanings.near_day, relative=True),
    DayForm(pattern(r"(?:the )?(?P<further>day before) (?P<near>yesterday){end}"), meanings.near_day, relative=True),
    DayForm(pattern(r"(?:the )?(?P<further>day after) (?P<near>tomorrow){end}"), meanings.near_day, relative=True),
    DayForm(pattern(r"(?:tonight|(?P<last_night>last night)|this {part}){end}"), meanings.part_of_now, relative=True),
    DayForm(pattern(r"(?:the )?{part} (?:of|on) "), meanings.part_of, inner="on"),
    DayForm(pattern(r"(?P<year>{a_year})-(?P<month>\d\d)(?:-(?P<day>\d\d))?{end}"), meanings.in_digits),
    DayForm(pattern(r"(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>{a_year}){end}"), meanings.in_digits),
    DayForm(pattern(r"(?:(?:the )?{which_one} )?{weekday}{end}(?! of\b)"), meanings.weekday, relative=True),
    DayForm(pattern(r"{weekday} (?:of )?{of_week}{end}"), meanings.weekday_of, relative=True),
    DayForm(pattern(r"{of_week} (?:on )?{weekday}{end}"), meanings.weekday_of, relative=True),
    DayForm(pattern(r"{month} (?:the )?{day}{day_to}(?! (?:of )?{names}){year}{end}{unlisted}"), meanings.day_of_month),
    DayForm(pattern(r"(?:the )?{day}{day_to} (?:of )?{month}{year}{end}"), meanings.day_of_month),
    DayForm(pattern(r"(?:{which} )?{month}{year}{end}"), meanings.month),
    DayForm(pattern(r"(?P<year_is>last|this|next) year in {month}{end}"), meanings.month),
    DayForm(pattern(r"(?:{which} |(?P<the>the ))?{season}{year}{end}"), meanings.season, relative=True),
    DayForm(pattern(r"(?:{which} )?q(?P<quarter>[1-4]){year}{end}"), meanings.quarter),
    DayForm(pattern(r"{sure_year}(?:-| )q(?P<quarter>[1-4]){end}"), meanings.quarter),
    DayForm(pattern(r"(?P<named>(?:the )?year )?{sure_year}{end}"), meanings.year),
    DayForm(pattern(r"{which} {calendar_unit}{whole}{end}"), meanings.unit, relative=True),
    DayForm(pattern(r"(?:the )?(?P<which>previous|prior) (?P<unit>day|week|weekend|month|quarter|year){whole}{end}"),
        meanings.unit, relative=True),
    DayForm(pattern(r"the {calendar_unit}(?P<which> before last)?{whole}{end}"), meanings.unit, relative=True),
    DayForm(pattern(r"earlier (?:today|this {calendar_unit}){end}"), meanings.earlier, relative=True),
    DayForm(pattern(r"(?:(?P<third>early|mid|late)(?: |-)|(?:the )?(?P<third_of>beginning|start|middle|end) of )"),
        meanings.third, inner="edge"),
    DayForm(pattern(r"(?:the )?{ordinal} week (?:of|in) "), meanings.week_of_month, inner="in"),
    DayForm(pattern(r"{number} ?{unit} ago{end}"), meanings.ago, relative=True),
    DayForm(pattern(r"{number} ?{unit} ago "), meanings.ago_from, relative=True, inner="on"),
    DayForm(pattern(r"(?P<the>the )?(?P<rolls>last|past|previous|prior) (?:{number} ?)?{unit}{whole}{end}"),
        meanings.rolling, relative=True),
    DayForm(pattern(r"(?:(?P<one>the |last )|{number} )(?P<unit>{a_unit}) (?P<side>before|after|of) "), meanings.beside,
        inner="on"),
)  # fmt: skip
_PART_BEHIND: Final = pattern(r" (?:(?:in|during) the )?{part}{end}")


def date_at(asked: DatedQuestion, at: int, lead: str) -> Date | None:
    """The longest date that begins there; `lead` is the word before it, such as "in"."""
    longest: Date | None = None
    for row in ROWS:
        if (words := row.form.match(asked.lower, at)) is None:
            continue
        end, nothing = words.end(), Date(Span(asked.now, asked.now), words.end(), relative=False)
        inner = date_at(asked, end, row.inner) if row.inner else nothing
        if inner is None or (longest is not None and inner.end <= longest.end):
            continue
        said = FittedWords(asked, words, lead, inner)
        if (span := row.meaning(said)) is not None:
            told_from_now = (row.relative and not said["year"]) or said["which"] or said["year_is"]
            longest = Date(span, inner.end, bool(told_from_now) or inner.relative)
    if longest is None or not one_day(longest.span) or not (part := _PART_BEHIND.match(asked.lower, longest.end)):
        return longest
    # "Monday morning"
    return longest._replace(span=calendar.part_of_day(longest.span, part["part"]), end=part.end())


# Words before a date, and the side that they leave open: "since" begins with it, "after" ends with it.
_BOUNDS: Final = {
    said: side for side, several in {
        "since": ("since", "on or after", "no earlier than", "not earlier than"),
        "after": ("after", "later than", "newer than"),
        "before": ("before", "prior to", "earlier than", "older than"),
        "until": ("until", "till", "through", "by", "on or before", "no later than", "not later than", "up to",
                  "up to and including", "as of"),
    }.items() for said in several
}  # fmt: skip
_AT: Final = ("in", "on", "at", "during", "over", "within", "throughout", "from", "of", "for", "around")
_LEAD: Final = pattern(f"(?P<lead>{either(*_BOUNDS, *_AT, 'between')}) ")
# Before a time that stands alone these belong to the verb: "what is going on this week", "who logged in 3 days ago".
_PARTICLES: Final = frozenset(("in", "on", "at", "over", "around"))
_ALONE: Final = pattern(r"(?:today|yesterday|tomorrow|tonight|this|last|next|earlier)\b|.*\bago$")
_TO: Final = pattern(r"(?: ?(?:-|\u2013) ?| (?:to|until|till|through|thru|up to)(?: and including)? )")
_AND: Final = pattern(r"(?: ?,)? (?:and|or|&|vs\.?|versus) ")
_COMMA: Final = pattern(r" ?, ")
_NOW: Final = pattern(r"(?:right )?now\b|(?:(?:the )?present(?: day)?|date)(?= ?$| ?[.,?!])")
_OPEN: Final = pattern(r" (?:(?:or|and) (?:later|newer|beyond)|onwards?|or (?P<until>earlier|older)(?! \w))\b")
# The time behind these words is not meant, or is half of a range with another half that is no date.
_DENIED: Final = pattern(
    r"(?:(?<!or\s)\bnot|\bexcept(?: for)?|\bexcluding|\bwithout|\b(?:all|everything|anything) but|\bneither|\bnor"
    r"|\b(?:other|rather|more|less|longer) than|\bat (?:least|most)|\b(?:apart|aside)(?: from)?"
    r"|\bbetween\b[^.,?!;]* and|\bfrom\b[^.,?!;]* (?:to|until|till)) ?$"
)
# A name that goes on from another name is half of a phrase: "every Monday and | Friday", "Monday | through Friday".
_CUT: Final = pattern(r"\b(?:{names}|\d\d?(?:st|nd|rd|th)?),? (?:and|or|&|vs\.?|versus|to|thru)(?: the)? ?$")
_NAME: Final = pattern(r"\b{names} ?$")
_NAMED: Final = pattern(r"(?:the )?(?:{names}|\d)")
# How far it is to the time or event behind "before" is not known: "three days | before the release".
DISTANCE: Final = pattern(
    r"\b(?:(?:{a_number}|half an?)(?: of)? {a_unit}(?: or {a_number})?|and a half(?: {a_unit})?"
    r"|the (?:hour|day|night|morning|evening|week|weekend|month|quarter|year)) ?$"
)
_FROM_DISTANCE: Final = frozenset(("before", "after", "prior to", "from"))


class TimePhrase(NamedTuple):
    """A part of the text from `start` up to `end`, with its stretch; both ends are None when it has none."""

    start: int
    end: int
    since: datetime | None
    before: datetime | None
    relative: bool


def phrase_at(asked: DatedQuestion, at: int) -> TimePhrase | None:
    """The phrase of time that begins there."""
    words = _LEAD.match(asked.lower, at)
    lead, start = (" ".join(words["lead"].split()), words.end()) if words else ("", at)
    phrase = _range(asked, at, start, lead) or _listed(asked, at, start, lead)
    if phrase is None:
        return None
    text = asked.lower[:at]
    goes_on = _NAME if lead in ("until", "till", "through") else _CUT
    cut = (not lead or goes_on is _NAME) and _NAMED.match(asked.lower, start) and goes_on.search(text)
    if cut or _DENIED.search(text) or (lead in _FROM_DISTANCE and DISTANCE.search(text)):
        return phrase._replace(since=None, before=None)
    return phrase


def _range(asked: DatedQuestion, at: int, start: int, lead: str) -> TimePhrase | None:
    """From one date to another: "between A and B", "from A to B", "since A until B", "March to May 2023"."""
    inner_lead = "between" if lead in ("between", "from") else lead or "in"
    first = date_at(asked, start, inner_lead)
    if first is None or _BOUNDS.get(lead) in ("until", "before"):
        return None
    joint = (_AND if lead == "between" else _TO).match(asked.lower, first.end)
    last: Date | None = None
    if joint and (now := _NOW.match(asked.lower, joint.end())):
        last = Date(Span(asked.now, asked.soon()), now.end(), relative=True)
    elif joint:
        last = date_at(asked, joint.end(), inner_lead)
    if last is None:
        # Half of a range is not read alone: "from 1990 to 2010 items".
        half = lead == "between" or (lead == "from" and joint and asked.lower[joint.end() :][:1].isdigit())
        return TimePhrase(at, first.end, None, None, relative=False) if half else None
    named = first.span.cycle == "year" and not last.span.cycle
    if not (lead or named or date_at(asked, start, "")):
        return None  # "introduce June to August"
    span = _ranged(first.span, last.span)
    since = first.span.last if lead == "after" else span.since
    return TimePhrase(at, last.end, since, span.before, first.relative and last.relative)


def _listed(asked: DatedQuestion, at: int, start: int, lead: str) -> TimePhrase | None:
    """A date, or several as the stretch that holds them all: "since March", "in March or April", "March 3 or later"."""
    date = date_at(asked, start, lead)
    while date is not None:
        joint, comma = _AND.match(asked.lower, date.end), _COMMA.match(asked.lower, date.end)
        other = date_at(asked, joint.end(), lead and "list") if (joint := joint or comma) else None
        if other is None:
            break
        alike = other.span.cycle == date.span.cycle or (joint is not comma and date.span.cycle == "year")
        goes_on = _AND.match(asked.lower, other.end) or _COMMA.match(asked.lower, other.end)
        if not alike or (joint is comma and not goes_on):
            break  # "in October, November was warm"
        date = Date(_held(date.span, other.span), other.end, date.relative and other.relative)
    if date is None:
        return None
    side, end = _BOUNDS.get(lead, ""), date.end
    if not side and (beyond := _OPEN.match(asked.lower, end)):
        side, end = "until" if beyond["until"] else "since", beyond.end()
    alone = lead in _PARTICLES and _ALONE.match(asked.lower[start:end])
    return TimePhrase(start if alone else at, end, *_bounded(asked, side, date.span), date.relative)


def _bounded(asked: DatedQuestion, side: str, span: Span) -> tuple[datetime | None, datetime | None]:
    if side == "until" and span.cycle == "week" and span.before <= asked.now:
        span = span.back(-1)  # a weekday behind "until" is the coming one
    return {"since": (span.first, None), "after": (span.last, None), "before": (None, span.first),
            "until": (None, span.last)}.get(side, (span.since, span.before))  # fmt: skip


def _ranged(first: Span, last: Span) -> Span:
    """From the first up to the end of the last. The year or week of one may tell that of the other."""
    if last.cycle and not first.cycle:
        while last.first < first.first:
            last = last.back(-1)
        while last.back(1).first >= first.first:
            last = last.back(1)
    while first.cycle and first.since > last.since:
        first = first.back(1)
    if first.since > last.since:
        first, last = last, first
    return Span(first.first, last.last, cycle=last.cycle and first.cycle)


def _held(first: Span, last: Span) -> Span:
    """The shortest stretch that holds both, of the years or weeks that may be meant."""
    cycles = 1 if last.cycle else max(0, first.since.year - last.since.year) + 1
    firsts = [first.back(number) for number in range(cycles + 1)] if first.cycle else [first]
    held = [
        Span(min(one.since, last.since), max(one.before, last.before), cycle=one.cycle and last.cycle) for one in firsts
    ]
    return min(held, key=lambda span: span.before - span.since)
