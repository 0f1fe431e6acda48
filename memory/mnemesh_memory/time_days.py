"""Single days as people name them in English, and times of a day: "March 3", "last Monday", "03:00 yesterday".

A name that fits several years or weeks means the last one that has begun. Some are only read after a word that leads to
a time, or with a capital: "may", "march" and "sat" mean other things as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from mnemesh_memory import calendar_spans as spans
from mnemesh_memory.calendar_spans import DAY, PARTS, Span
from mnemesh_memory.time_tokens import Token

_MONTHS: Final = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
                  "november", "december")  # fmt: skip
MONTHS: Final = {name: number for number, name in enumerate(_MONTHS, 1)}
SHORT_MONTHS: Final = {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS: Final = {name: number for number, name in enumerate(_DAYS)}
SHORT_DAYS: Final = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4}
_NOT_A_DAY: Final = frozenset(
    ("every", "each", "black", "good", "cyber", "ruby", "easter", "super", "ash", "palm", "coming", "upcoming")
)
VERBS: Final = frozenset(("may", "march"))
HALF_HOUR_MS: Final = 1_800_000
PREVIOUS: Final = frozenset(("previous", "prior"))
NAMED_UNITS: Final = frozenset(("week", "weekend", "month", "quarter", "year"))
# Names of people, too, so that "from June" and "by April" alone are not read.
PEOPLE: Final = frozenset(("april", "may", "june", "august", "jan"))
_ANY: Final = frozenset(("a", "an", "any", "each", "every", "its", "no", "their"))
_DAYS_NAMED: Final = frozenset(("today", "yesterday", "tomorrow", "tonight", "ago", *WEEKDAYS))
_LEAD_TO_MONTHS: Final = frozenset(("in", "during", "since", "until", "last", "this", "next", "early", "mid", "late"))
# After these a time of a day alone is one of today, or of the day before if that has not come.
_BOUND: Final = frozenset(("since", "after", "before", "until", "till"))
# Before a day of a month that is not named: "on the 15th", "since the 15th".
_LEAD_TO_DAYS: Final = _BOUND | {"on", "between", "from", "by"}
# After it, and not after "on the 15th attempt".
_CLOSED: Final = frozenset(
    ("", ".", ",", "and", "or", "to", "until", "till", "through", "what", "who", "which", "how", "why", "when", "where",
     "did")
)  # fmt: skip
YEAR: Final = re.compile(r"(?:19|20)\d\d")
QUARTER: Final = re.compile(r"q([1-4])")
DAY_NUMBER: Final = re.compile(r"([1-9]|[12]\d|3[01]|0[1-9])(st|nd|rd|th)?")
DAY_RANGE: Final = re.compile(r"(\d{1,2})[-\u2013](\d{1,2})")
_CLOCK: Final = re.compile(r"(\d{1,2})(?::(\d\d))?(?::\d\d)?([ap]m)?")
_ISO: Final = re.compile(r"(\d{4})[-/](\d\d)(?:[-/](\d\d))?")
_DOTTED: Final = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dt.*")


class Read(NamedTuple):
    """A stretch, the token after it, and whether it means something only at the moment of asking."""

    span: Span
    end: int
    relative: bool = False


class Days:
    """Reads days from the tokens of one text, said at `now` (ms) in `zone`."""

    def __init__(self, tokens: Sequence[Token], now: int, zone: tzinfo) -> None:
        self._tokens = tokens
        self._words = [token.word for token in tokens]
        self._now_ms = now
        self._zone = zone
        self._now = spans.wall_time(now, zone)
        self._today = spans.midnight(self._now)

    def word(self, at: int) -> str:
        """The token there, "" beyond the end."""
        return self._words[at] if at < len(self._words) else ""

    def timed_day(self, at: int, after: str) -> Read | None:
        """A day, with a time or part of it before or after: "03:00 yesterday", "Monday morning", "tonight"."""
        word = self.word(at)
        if word == "tonight":
            return Read(spans.part_of_day(spans.day_of(self._now), "night"), at + 1, True)
        if word == "last" and self.word(at + 1) == "night":
            return Read(spans.part_of_day(spans.day_of(self._now - DAY), "night"), at + 2, True)
        if word == "this" and self.word(at + 1) in PARTS:
            return Read(spans.part_of_day(spans.day_of(self._now), self.word(at + 1)), at + 2, True)
        if word == "earlier" and self.word(at + 1) == "today":
            return Read(Span(self._today, self.soon()), at + 2, True)
        clock, end = self._clock(at)
        if clock is not None:
            end += self.word(end) in ("on", "of")
            if (day := self.day(end, "on")) is not None and one_day(day.span):
                return Read(self._around(day.span.since + clock, day.span.cycle), day.end, day.relative)
            if after in _BOUND and self.word(end) in _CLOSED:
                wall = self._today + clock
                return Read(self._around(wall if wall <= self._now else wall - DAY), end, True)
        lead = at + (word == "the")
        if self.word(lead) in PARTS and self.word(lead + 1) in ("of", "on"):
            day = self.day(lead + 2, "on")
            if day is not None and one_day(day.span):
                return Read(spans.part_of_day(day.span, self.word(lead)), day.end, day.relative)
        day = self.day(at, after)
        if day is None or not one_day(day.span):
            return day
        end = day.end + (self.word(day.end) in ("in", "during") and self.word(day.end + 1) == "the") * 2
        if self.word(end) in PARTS:
            return Read(spans.part_of_day(day.span, self.word(end)), end + 1, day.relative)
        spoken = self.word(day.end) in ("at", "around")
        clock, end = self._clock(day.end + spoken)
        bare = clock is not None and not spoken and self.word(day.end).isdigit()
        return (
            day
            if clock is None or bare
            else Read(self._around(day.span.since + clock, day.span.cycle), end, day.relative)
        )

    def _clock(self, at: int) -> tuple[timedelta | None, int]:
        word = self.word(at)
        if word in ("noon", "midnight"):
            return timedelta(hours=12 if word == "noon" else 0), at + 1
        if not word[:1].isdigit() or not (found := _CLOCK.fullmatch(word)):
            return None, at
        half, end = found[3], at + 1
        if half is None and self.word(end) in ("am", "pm"):
            half, end = self.word(end), end + 1
        hour, minute = int(found[1]), int(found[2] or 0)
        if (found[2] is None and half is None) or hour > (12 if half else 23) or minute > 59 or (half and not hour):
            return None, at
        if half:
            hour = hour % 12 + 12 * (half == "pm")
        return timedelta(hours=hour, minutes=minute), end

    def day(self, at: int, after: str) -> Read | None:
        word, following = self.word(at), self.word(at + 1)
        if word in ("today", "yesterday", "tomorrow"):
            days = {"today": 0, "yesterday": -1, "tomorrow": 1}[word]
            return Read(spans.day_of(self._now + days * DAY), at + 1, True)
        lead = at + (word == "the")
        if self.word(lead) == "day" and self._words[lead + 1 : lead + 3] in (
            ["before", "yesterday"], ["after", "tomorrow"],
        ):  # fmt: skip
            days = -2 if self.word(lead + 1) == "before" else 2
            return Read(spans.day_of(self._now + days * DAY), lead + 3, True)
        if word in ("last", "past", "this", "next") and following in (WEEKDAYS | SHORT_DAYS):
            return self._weekday(at + 1, word)
        if self.word(lead) in PREVIOUS and self.word(lead + 1) in WEEKDAYS and self.is_previous(at):
            return self._weekday(lead + 1, "last")
        if word in WEEKDAYS or (after and word in SHORT_DAYS):
            return self._weekday(at, after)
        return self._iso(at) or self._day_of_month(at, after)

    def _weekday(self, at: int, which: str) -> Read | None:
        number = (WEEKDAYS | SHORT_DAYS)[self.word(at)]
        end = at + 1
        of = end + (self.word(end) == "of")
        offset, week_end = self._this_unit(of, "week", at)
        if offset is not None:
            monday = spans.unit_of(self._now, "week", offset).since
            return Read(spans.day_of(monday + number * DAY), week_end, True)
        if which in ("last", "past") and self.word(end) == "of":
            return None  # "the last Friday of the sprint"
        if not which and not (self.is_day_of_week(at) and self.ends_weekday(end)):
            return None  # "the Monday standup", "Black Friday"
        ahead = (number - self._today.weekday()) % 7
        if which == "next":
            days = ahead or 7
        elif which == "this":
            days = number - self._today.weekday()
        else:
            days = ahead - 7 if ahead or which in ("last", "past") else 0
        cycle = "" if which in ("last", "past", "this", "next") else "week"
        return Read(Span(*spans.day_of(self._today + days * DAY)[:2], cycle=cycle), end, True)

    def is_day_of_week(self, at: int) -> bool:
        """Whether the name of a weekday there is not part of another: "Black Friday", "every Monday"."""
        return self.word(at - 1 if at else len(self._words)) not in _NOT_A_DAY

    def ends_weekday(self, end: int) -> bool:
        """Whether a weekday that ends there says no more of what follows: "the Monday standup"."""
        return self.word(end) in ("", ".", ",", "at") or self.word(end) in PARTS

    def _iso(self, at: int) -> Read | None:
        word = self.word(at)
        if not word[:1].isdigit():
            return None
        if _MOMENT.fullmatch(word):
            moment = datetime.fromisoformat(word.upper())
            if moment.tzinfo is not None:
                moment = moment.astimezone(self._zone).replace(tzinfo=None)
            return Read(self._around(moment), at + 1)
        if found := _ISO.fullmatch(word):
            year, month, day = int(found[1]), int(found[2]), found[3]
            if not 1900 <= year < 2100:
                return None
            span = spans.month_span(year, month) if day is None else spans.day_of(datetime(year, month, int(day)))
            return Read(span, at + 1)
        if found := _DOTTED.fullmatch(word):
            return Read(spans.day_of(datetime(int(found[3]), int(found[2]), int(found[1]))), at + 1)
        return None

    def _day_of_month(self, at: int, after: str) -> Read | None:
        """March 3, March 3-5, 3rd of March 2024, the 3rd of March, 3 March."""
        word = self.word(at)
        lead = at + (word == "the")
        if day := DAY_NUMBER.fullmatch(self.word(lead)):
            month_at = lead + 1 + (self.word(lead + 1) == "of")
            month = self.month_number(month_at)
            if month is None and day[2]:
                return self._day_of_this_month(int(day[1]), lead, after)
            if month is None or (not day[2] and self.doubtful(month_at) and not after):
                return None
            return self._dated(int(day[1]), int(day[1]), month, month_at + 1)
        month = self.month_number(at)
        if month is None:
            return None
        number = at + 1 + (self.word(at + 1) == "the")
        first = last = 0
        if day := DAY_NUMBER.fullmatch(self.word(number)):
            first = last = int(day[1])
        elif days := DAY_RANGE.fullmatch(self.word(number)):
            first, last = int(days[1]), int(days[2])
        else:
            return None
        dated = self._dated(first, last, month, number + 1)
        sure = after or (day and day[2]) or (dated is not None and not dated.span.cycle) or not self.doubtful(at)
        return dated if sure else None

    def _day_of_this_month(self, number: int, at: int, after: str) -> Read | None:
        """The 15th of last month; "on the 15th" and the like, which is the last one that has begun."""
        first = at - (at > 0 and self.word(at - 1) == "the")
        offset, end = self._this_unit(at + 2, "month", first) if self.word(at + 1) == "of" else (None, at)
        if offset is not None:
            month = spans.unit_of(self._now, "month", offset)
            return Read(spans.day_of(month.since.replace(day=number)), end, True)
        if after not in _LEAD_TO_DAYS or first == at or self.word(at + 1) not in _CLOSED:
            return None
        months = [spans.unit_of(self._now, "month", -back) for back in range(3)]  # one of three has a 31st
        days = [(one.since + (number - 1) * DAY, one.before) for one in months]
        day = next(day for day, end in days if day < end and day <= self._now)
        return Read(spans.day_of(day), at + 1, True)

    def _dated(self, first: int, last: int, month: int, end: int) -> Read | None:
        year, relative, after = self.year(end)
        if year is not None:
            span = Span(datetime(year, month, first), datetime(year, month, last) + DAY)
            return Read(span, after, relative)
        for candidate in range(self._now.year, self._now.year - 9, -1):  # a leap day comes once in eight years
            try:
                since, before = datetime(candidate, month, first), datetime(candidate, month, last) + DAY
            except ValueError:
                continue
            if since <= self._now:
                return Read(Span(since, before, cycle="year"), end)
        return None

    def year(self, at: int) -> tuple[int | None, bool, int]:
        """The year that is said after a date: ", 2024", "of 2024", "last year"."""
        lead = at + (self.word(at) in (",", "of", "in"))
        if YEAR.fullmatch(self.word(lead)):
            return int(self.word(lead)), False, lead + 1
        first = at
        while first and (self._names_date(first - 1) or self.word(first - 1) in ("the", "of")):
            first -= 1
        offset, end = self._this_unit(lead, "year", first)
        return (None, False, at) if offset is None else (self._now.year + offset, True, end)

    def _this_unit(self, at: int, unit: str, first: int) -> tuple[int | None, int]:
        """How many units from now "last month", "this week" or "the previous year" is, None for what is said otherwise,
        and the token after it. `first` is where the date begins that it is part of."""
        lead = at + (self.word(at) == "the")
        if self.word(lead + 1) != unit:
            return None, at
        if self.word(lead) in PREVIOUS and not any(self._names_time(one) for one in range(first)):
            return -1, lead + 2
        offset = {"last": -1, "this": 0, "next": 1}.get(self.word(at))
        return offset, at if offset is None else at + 2

    def _names_date(self, at: int) -> bool:
        word = self.word(at)
        return bool(
            self.month_number(at) or DAY_NUMBER.fullmatch(word) or QUARTER.fullmatch(word) or word in spans.SEASONS
        )

    def is_previous(self, at: int) -> bool:
        """Whether "the previous ..." there is told from now, and not from a time that is named before it: "May 2024
        rather than the previous month"."""
        lead = at + (self.word(at) == "the")
        if self.word(lead) not in PREVIOUS or (lead == at and at and self.word(at - 1) in _ANY):
            return False
        return not any(self._names_time(one) for one in range(at))

    def _names_time(self, at: int) -> bool:
        word = self.word(at)
        if word in ("last", "past", "this", "next"):  # "the last week of the previous month" is in it
            return self.word(at + 1) in NAMED_UNITS and self.word(at + 2) != "of"
        if word[:1].isdigit():
            return bool(YEAR.fullmatch(word)) or not word.isalnum()
        if self.month_number(at) is not None:
            told = at > 0 and self.word(at - 1) in _LEAD_TO_MONTHS
            return not self.doubtful(at) and (told or word not in PEOPLE or self.word(at + 1)[:1].isdigit())
        return word in _DAYS_NAMED or bool(QUARTER.fullmatch(word))

    def month_number(self, at: int) -> int | None:
        return MONTHS.get(self.word(at)) or SHORT_MONTHS.get(self.word(at))

    def doubtful(self, at: int) -> bool:
        """Whether the name of a month may be another word: "may", "march", "sep", when it is not written as a name."""
        return (self.word(at) in VERBS or self.word(at) not in MONTHS) and not self._tokens[at].capital

    def _around(self, wall: datetime, cycle: str = "") -> Span:
        """Half an hour before and after; of a time that the clocks leave out, of the one that they then show."""
        ms = spans.instant(wall, self._zone)
        since, at, before = (spans.wall_time(ms + reach, self._zone) for reach in (-HALF_HOUR_MS, 0, HALF_HOUR_MS))
        return Span(since, before, at, cycle)

    def soon(self) -> datetime:
        """The end of the stretches that reach up to now."""
        return self._now + timedelta(milliseconds=1)


def one_day(span: Span) -> bool:
    return span.before - span.since == DAY
