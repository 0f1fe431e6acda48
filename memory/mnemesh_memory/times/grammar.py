"""Dates as people name them in English: "yesterday", "last Monday", "March 3", "Q2 2024", "two weeks ago".

ROWS is the whole grammar of a date: a form, and the function that gives its stretch. Of all rows that fit, the longest
counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from mnemesh_memory.times import calendar, meanings
from mnemesh_memory.times.calendar import Span
from mnemesh_memory.times.meanings import Date, DatedQuestion, FittedWords, one_day
from mnemesh_memory.times.vocabulary import pattern


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
