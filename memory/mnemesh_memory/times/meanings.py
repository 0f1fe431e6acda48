"""Stretches behind the forms of `grammar`.

Each function gives None when its words only look like a time. Several years or weeks may fit a name; the last that has
begun is meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from mnemesh_memory.times import calendar, time_vocabulary
from mnemesh_memory.times.calendar import DAY, EXACT, SEASONS, WEEK, Span
from mnemesh_memory.times.time_vocabulary import MONTHS, OFFSETS, SHORT_MONTHS, UNITS, pattern

# Behind these words the name of a month may be another word, or somebody's name.
_LOOSE: Final = frozenset(("by", "of", "from", "before", "after", "for", "around", "between", "through", "at", "on"))
_LOOSE_EVEN_FOR_PEOPLE: Final = frozenset(("before", "after", "between"))
_NO_YEAR_LEADS: Final = frozenset(("", "over", "at", "for", "around"))
_SEASON_LEADS: Final = frozenset(("in", "during", "over", "since", "between", "edge", "list"))
# "This winter" is in spring the one that has just ended.
_LATELY: Final = 60 * DAY
_LEAP_YEARS_APART_MAX: Final = 8
_NAME_ENDS: Final = pattern(r" ?(?:$|[.,?!;:]| (?:and|or)\b)")
_WEEKDAY_ENDS: Final = pattern(r" ?(?:$|[.?!;:]|,(?! {names})| (?:at|morning|afternoon|evening|night)\b)")
_SEASON_ENDS: Final = pattern(
    r" ?(?:$|[.,?!;:]| (?:and|or|to|we|i|you|they|he|she|what|who|which|how|why|when|where|did)\b)"
)
_NO_WEEKDAY: Final = pattern(
    r"\b(?:every|each|black|good|cyber|ruby|easter|super|ash|palm|coming|upcoming|following) ?$"
)
# "Each previous week", or a unit told from another time: "not last week but the previous week".
_NOT_PREVIOUS: Final = pattern(
    r"\b(?:a|an|any|each|every|its|no|their) ?$"
    r"|\b(?:{names}|yesterday|today|(?:last|this|next) {a_unit}|{a_year})\b"
)
# A number goes on from these words: "twenty | two weeks", "a year and | two months", "two or | three days".
_CUT_NUMBER: Final = pattern(r"\b(?:half|{a_number}(?: ?(?:,|and|or|to))?|{a_unit}(?: (?:and|or)| ?,)?) ?$")
# "Do backups last 30 days": only here is "last" no verb when it stands without an article.
_LAST_BEGINS: Final = pattern(r"(?:^|[,;:(]) ?$")


class DatedQuestion(NamedTuple):
    """A question, and the moment at which it is asked."""

    # In small letters, with blanks for what is quoted; places are those of `text`.
    lower: str
    text: str
    now_ms: int
    zone: tzinfo
    now: datetime

    def soon(self) -> datetime:
        """The end of the stretches that reach up to now."""
        return self.now + timedelta(milliseconds=1)

    def past(self, length: timedelta) -> datetime:
        """The wall time so long ago, counted in time and not on the clock."""
        return calendar.wall_time(self.now_ms - length // timedelta(milliseconds=1), self.zone)


class Date(NamedTuple):
    """A stretch, the end of its words, and whether it means something only at the moment of asking."""

    span: Span
    end: int
    relative: bool


@dataclass(frozen=True, slots=True)
class FittedWords:
    """Words of a question that fit a form."""

    asked: DatedQuestion
    words: re.Match[str]
    # The word before them that leads to a time, such as "in".
    lead: str
    # The date that follows them; the moment of asking when the form needs none.
    inner: Date

    def __getitem__(self, name: str) -> str:
        return self.words.groupdict().get(name) or ""

    def before(self) -> str:
        """The text before the words."""
        return self.asked.lower[: self.words.start()]

    def ends(self, form: re.Pattern[str]) -> bool:
        """Whether the text goes on as the form says."""
        return form.match(self.asked.lower, self.words.end()) is not None

    def count(self) -> tuple[int, int]:
        """The number, and how far to each side it reaches when it is vague; 0 for a part of a longer number."""
        if _CUT_NUMBER.search(self.before()):
            return 0, 0
        if not self["number"]:
            return 1, 0
        word = [word for word in self["number"].split() if word != "of"][-1]
        return time_vocabulary.VAGUE.get(word) or (time_vocabulary.NUMBERS.get(word) or int(word), 0)

    def year(self) -> int | None:
        """The year that is named."""
        if self["year"]:
            return int(self["year"])
        return self.asked.now.year + OFFSETS[self["year_is"]] if self["year_is"] else None

    def month(self) -> int:
        """The month that is named, from 1 to 12."""
        return MONTHS.get(self["month"]) or SHORT_MONTHS[self["month"]]

    def doubtful(self) -> bool:
        """Whether the name of the month may be another word: "may", "march", "sep" in small letters."""
        sure = self["month"] in MONTHS and self["month"] not in time_vocabulary.VERBS
        return not sure and not self.asked.text[self.words.start("month")].isupper()


def one_day(span: Span) -> bool:
    """Whether it is a whole day."""
    return span.before - span.since == DAY


# ---- days --------------------------------------------------------------------------------------------------------


def near_day(said: FittedWords) -> Span:
    """Yesterday, the day after tomorrow."""
    days = {"yesterday": -1, "today": 0, "tomorrow": 1}[said["near"]]
    return calendar.day_of(said.asked.now + (2 if said["further"] else 1) * days * DAY)


def part_of_now(said: FittedWords) -> Span:
    """Tonight, last night, this morning."""
    day = calendar.day_of(said.asked.now - DAY if said["last_night"] else said.asked.now)
    return calendar.part_of_day(day, said["part"] or "night")


def part_of(said: FittedWords) -> Span | None:
    """The evening of March 3."""
    return calendar.part_of_day(said.inner.span, said["part"]) if one_day(said.inner.span) else None


def in_digits(said: FittedWords) -> Span:
    """2024-03-03, 03.03.2024, 2024-03."""
    year, month = int(said["year"]), int(said["month"])
    return calendar.day_of(datetime(year, month, int(said["day"]))) if said["day"] else calendar.month_span(year, month)


def weekday_of(said: FittedWords) -> Span:
    """Tuesday of last week, last week on Monday."""
    monday = calendar.unit_of(said.asked.now, "week", OFFSETS[said["of_week"]]).since
    return calendar.day_of(monday + time_vocabulary.WEEKDAYS[said["weekday"]] * DAY)


def weekday(said: FittedWords) -> Span | None:
    """Last Monday, on Friday; not "the Monday standup" or "Black Friday"."""
    name, which = said["weekday"], said["which"]
    alone = not (which or said.lead)
    if (alone and (name in time_vocabulary.SHORT_DAYS or not said.ends(_WEEKDAY_ENDS))) or _NO_WEEKDAY.search(
        said.before()
    ):
        return None
    today = calendar.midnight(said.asked.now)
    number = time_vocabulary.WEEKDAYS[name] - today.weekday()
    ahead = number % 7
    days = {"": ahead - 7 if ahead else 0, "next": ahead or 7, "this": number}.get(which, ahead - 7)
    return calendar.day_of(today + days * DAY)._replace(cycle="" if which else "week")


def day_of_month(said: FittedWords) -> Span | None:
    """March 3, the 3rd of March 2024, March 3-5; not "may 5 nodes fail"."""
    first, last, year = int(said["day"]), int(said["last"] or said["day"]), said.year()
    if last < first or (said.doubtful() and not (said.lead or said["th"] or year)):
        return None
    newest = year or said.asked.now.year
    for candidate in range(newest, newest - (0 if year else _LEAP_YEARS_APART_MAX) - 1, -1):
        try:
            since, end = datetime(candidate, said.month(), first), datetime(candidate, said.month(), last)
        except ValueError:
            continue  # there is no such day in that year
        if year or since <= said.asked.now:
            return Span(since, end + DAY, cycle="" if year else "year")
    return None


# ---- names of what is longer than a day --------------------------------------------------------------------------


def unit(said: FittedWords) -> Span | None:
    """Last week, this month, the previous year, the weekend; "the year" only behind "the end of"."""
    name, which, now = said["unit"], said["which"], said.asked.now
    if which:
        clear = which not in ("previous", "prior") or not _NOT_PREVIOUS.search(said.before())
        return calendar.unit_of(now, name, OFFSETS.get(which, -2)) if clear else None
    if name == "weekend":
        return calendar.unit_of(now, name, 0 if now.weekday() >= calendar.SATURDAY else -1)
    return calendar.unit_of(now, name) if said.lead == "edge" else None


def earlier(said: FittedWords) -> Span:
    """Earlier today, earlier this week."""
    return Span(calendar.unit_of(said.asked.now, said["unit"] or "day").since, said.asked.soon())


def month(said: FittedWords) -> Span | None:
    """In March, last May, March 2024; not "from June" or "in April and may we"."""
    if said.year() is None and not said["which"]:
        loose, doubtful = said.lead in _LOOSE, said.doubtful()
        person = said["month"] in time_vocabulary.PEOPLE and said.lead not in _LOOSE_EVEN_FOR_PEOPLE
        verb = said.lead == "list" and doubtful and not said.ends(_NAME_ENDS)
        if not said.lead or verb or (loose and (doubtful or person)):
            return None
    return _months(said, said.month(), 1)


def season(said: FittedWords) -> Span | None:
    """Last summer, in the winter, summer of 2023; not "in summer school" or "in fall"."""
    name = said["season"]
    if said.year() is None and not said["which"]:
        ends = said["the"] or said.ends(_SEASON_ENDS)
        if said.lead not in _SEASON_LEADS or not ends or name in ("fall", "spring"):
            return None
    return _months(said, SEASONS[name], 3)


def quarter(said: FittedWords) -> Span | None:
    """Q2 2024, in Q1."""
    return _months(said, 3 * int(said["quarter"]) - 2, 3) if said.year() or said["which"] or said.lead else None


def year(said: FittedWords) -> Span | None:
    """In 2023, the year 2023."""
    named = said["named"] or said.lead not in _NO_YEAR_LEADS
    return calendar.month_span(int(said["year"]), 1, 12) if named else None


def _months(said: FittedWords, first: int, months: int) -> Span:
    """So many months of the named year, or the last that began. "last" means months that ended, "next" months to
    come."""
    now, which, year = said.asked.now, said["which"], said.year()
    if year is not None:
        return calendar.month_span(year, first, months)
    years = [calendar.month_span(now.year + offset, first, months) for offset in (1, 0, -1, -2)]
    if which == "next":
        return [span for span in years if span.since > now][-1]
    if which == "this":
        return next((span for span in years[1:3] if span.since <= now < span.before + _LATELY), years[1])
    done = [span for span in years if (span.before if which == "last" else span.since) <= now]
    return done[0]._replace(cycle="" if which else "year")


def third(said: FittedWords) -> Span | None:
    """Early March, the end of 2023; as a bound, the very beginning or end."""
    span, noun = said.inner.span, said["third_of"]
    edge = {"beginning": span.since, "start": span.since, "end": span.before}.get(noun)
    if span.before - span.since < WEEK:
        return span._replace(at=edge) if edge else None
    return calendar.third_of(span, time_vocabulary.THIRDS[noun or said["third"]])._replace(at=edge)


def week_of_month(said: FittedWords) -> Span | None:
    """The second week of November, the last week in March."""
    span, number = said.inner.span, time_vocabulary.ORDINALS[said["ordinal"]]
    if not 4 * WEEK <= span.before - span.since < 5 * WEEK:
        return None
    since = span.since + (number - 1) * WEEK if number else span.before - WEEK
    return Span(since, since + WEEK, cycle=span.cycle)


# ---- so many units ago, up to now, before a date -----------------------------------------------------------------


def ago(said: FittedWords) -> Span | None:
    """3 days ago, a few weeks ago, 2 hours ago."""
    (number, slack), unit, asked = said.count(), UNITS[said["unit"]], said.asked
    if not number or unit not in EXACT:
        return calendar.distant(asked.now, number, unit, slack) if number else None
    length, reach = number * EXACT[unit], (slack or max(0.5, number / 4)) * EXACT[unit]
    return Span(asked.past(length + reach), asked.past(length - reach), asked.past(length))


def ago_from(said: FittedWords) -> Span | None:
    """A year ago today, a week ago last Monday."""
    (number, slack), unit, day = said.count(), UNITS[said["unit"]], said.inner.span
    anchored = said.inner.relative or (day.cycle == "year" and unit == "year")
    if not number or slack or unit in EXACT or not anchored or not one_day(day):
        return None
    return calendar.day_of(calendar.less(day.since, number, unit))


def rolling(said: FittedWords) -> Span | None:
    """In the last 3 days, over the past month; not "last week", which is a week of the calendar."""
    (number, slack), unit, which, asked = said.count(), UNITS[said["unit"]], said["rolls"], said.asked
    rolls = said["number"] or which == "past" or unit in EXACT or (which == "last" and said["the"])
    leads = said["the"] or said.lead or which != "last" or _LAST_BEGINS.search(said.before())
    if not (number and rolls and leads):
        return None
    if unit in EXACT:
        return Span(asked.past((number + slack) * EXACT[unit]), asked.soon())
    return Span(calendar.midnight(calendar.less(asked.now, number + slack, unit)), asked.soon())


def beside(said: FittedWords) -> Span | None:
    """The week before March 3, two days after March 3, the weekend before March 3, the week of March 3."""
    (number, slack), date = said.count(), said.inner.span.since
    unit = UNITS.get(said["unit"], said["unit"])
    if not number or not one_day(said.inner.span) or unit in EXACT:
        return None
    if said["side"] == "of":
        return calendar.unit_of(date, unit) if unit in ("week", "weekend") and said["one"] else None
    sign = 1 if said["side"] == "before" else -1
    if unit == "weekend":
        span = calendar.unit_of(date, unit)
        return calendar.unit_of(date, unit, -sign) if sign * (span.since - date) >= timedelta(0) else span
    if said["one"] and unit != "day":
        edge = calendar.less(date, sign, unit)
        return Span(edge, date) if sign > 0 else Span(date + DAY, edge + DAY)
    return calendar.distant(date, sign * number, unit, slack)
