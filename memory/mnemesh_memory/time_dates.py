"""Stretches of time as people name them in English, by how far they lie from now or from a date: "3 days ago", "two
weeks before August 11", "in the last week"; and all others.

Says nothing of what stands before them, such as "since".
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from mnemesh_memory import calendar_spans as spans
from mnemesh_memory.calendar_spans import DAY, EXACT, PARTS, SEASONS, Span
from mnemesh_memory.time_days import DAY_RANGE, MONTHS, PREVIOUS, SHORT_DAYS, SHORT_MONTHS, WEEKDAYS, Read, one_day
from mnemesh_memory.time_numbers import ARTICLES, NUMBERS, UNITS, is_cut, number_at
from mnemesh_memory.time_stretches import ORDINALS, THIRDS, Stretches

# Vague numbers, and how far to each side they reach.
_VAGUE: Final = {"couple": (2, 1), "few": (3, 2), "several": (5, 3)}
_VAGUE_LAST: Final = {"couple": 2, "few": 5, "several": 7}
# Half of a unit in smaller ones: half of a year is six months.
_HALVES: Final = {"year": (6, "month"), "quarter": (6, "week"), "month": (2, "week"), "week": (84, "hour"),
                  "day": (12, "hour"), "hour": (30, "minute"), "minute": (30, "second")}  # fmt: skip
_AND_A_HALF: Final = ["and", "a", "half"]
_HALF_NAMES: Final = {"first": 0, "second": 1, "latter": 1, "last": 1}
_AGO: Final = ("ago", "earlier")
_SHORT_UNITS: Final = {"h": "hour", "d": "day", "w": "week", "y": "year"}
_COMPACT: Final = re.compile(r"(\d{1,4})([hdwy])")
# After these "last" is a verb: "how long will it last three days".
_BEFORE_VERBS: Final = frozenset(("to", "will", "would", "can", "could", "might", "must", "should", "shall", "cannot"))
DATE_WORDS: Final = frozenset(
    ("today", "yesterday", "tomorrow", "tonight", "ago", "last", "past", "this", "next", "earlier", "weekend", "week",
     "quarter", *PREVIOUS, *MONTHS, *SHORT_MONTHS, *WEEKDAYS, *SHORT_DAYS, *SEASONS)
)  # fmt: skip
# What every date begins with, if not with a digit.
_BEGINS: Final = DATE_WORDS | {
    "the", "year", "half", "noon", "midnight", "latter", "q1", "q2", "q3", "q4", "h1", "h2", *NUMBERS, *_VAGUE,
    *ORDINALS, *THIRDS, *PARTS
}  # fmt: skip


class Dates(Stretches):
    """Reads any stretch from the tokens of one text."""

    def read(self, at: int, after: str) -> Read | None:
        """The date that begins with token `at`; `after` is the word before it that leads to a time, such as "in"."""
        word = self.word(at)
        if word not in _BEGINS and not word[:1].isdigit():
            return None
        return (
            self.timed_day(at, after)
            or self._ago(at)
            or self._beside(at)
            or self._last_of(at)
            or self._rolling(at)
            or self.stretch(at, after)
        )

    def stretch(self, at: int, after: str) -> Read | None:
        """As Stretches reads it, or a part of one: "the last week of March", "the first half of 2025"."""
        return self._last_of(at) or self._first_of(at) or self._half_of(at) or super().stretch(at, after)

    def coming(self, span: Span) -> Span:
        """Of what comes again each week the next one: "until Friday"."""
        return span.back(-1) if span.cycle == "week" and span.before <= self._today else span

    # ---- so many units ago, before, in the last ------------------------------------------------------------------

    def _number(self, at: int) -> tuple[int, int, int]:
        """A number, how far to each side it reaches when it is vague, and the token after it; 0 for none."""
        lead = at + (self.word(at) == "a" and self.word(at + 1) in _VAGUE)
        if self.word(lead) in _VAGUE:
            number, slack = _VAGUE[self.word(lead)]
            return number, slack, lead + 1 + (self.word(lead + 1) == "of")
        number, end = number_at(self._words, at)
        return number, 0, end

    def _distance(self, at: int) -> tuple[int, str, int, int]:
        """A number with its unit: both, how far to each side it reaches, and the token after it; 0 for none."""
        article, before = ("a", "an"), self.word(at - 1) if at else ""
        if (compact := _COMPACT.fullmatch(self.word(at))) and self.word(at + 1) in _AGO:
            return int(compact[1]), _SHORT_UNITS[compact[2]], 0, at + 1
        if self.word(at) == "half" and self.word(at + 1) in article and before != "and":
            number, unit = _HALVES.get(self.word(at + 2), (0, ""))
            return number, unit, 0, at + 3
        number, slack, end = self._number(at)
        if (before == "half" and self.word(at) in article) or is_cut(self._words, at):
            number = 0  # "one and half a year", "two or three days"
        return number, UNITS.get(self.word(end), ""), slack, end + 1

    def _halved(self, at: int) -> tuple[int, str, int]:
        """A number and a half with its unit, and the token after them, 0 for none: "a year and a half", "two and a half
        years"."""
        number, end = number_at(self._words, at)
        if self._words[end : end + 3] == _AND_A_HALF and self.word(end + 3) in UNITS:
            unit_at, end = end + 3, end + 4
        elif self.word(end) in UNITS and self._words[end + 1 : end + 4] == _AND_A_HALF:
            unit_at, end = end, end + 4
        else:
            return 0, "", at
        return (0, "", at) if is_cut(self._words, at) else (number, UNITS[self.word(unit_at)], end)

    def _earlier(self, wall: datetime, number: int, unit: str, half: bool) -> datetime:
        """So many units before it, and half of one more."""
        for count, one in ((number, unit), *((_HALVES[unit],) if half and unit in _HALVES else ())):
            wall = wall - count * EXACT[one] if one in EXACT else spans.less(wall, count, one)
        return wall

    def _ago(self, at: int) -> Read | None:
        if (read := self._ago_halved(at)) is not None:
            return read
        number, unit, slack, end = self._distance(at)
        if (read := self._weekdays_ago(at)) is not None:
            return read
        if number and self.word(end - 1) in ("weekend", "weekends") and self.word(end) in _AGO:
            far, near = (spans.unit_of(self._now, "weekend", -number - side) for side in (slack, -slack))
            return Read(Span(far.since, near.before), end + 1, True)
        if number and (read := self._ago_added(at, number, unit, end) or self._ago_either(at)) is not None:
            return read
        if not number or not unit or self.word(end) not in _AGO:
            return None
        if self.word(end) == "ago" and (read := self._before_anchor(number, unit, slack, end + 1)) is not None:
            return read
        if unit in EXACT:
            reach = slack or max(0.5, number / 4)
            return self._around_ago(number * EXACT[unit], reach * EXACT[unit], end + 1)
        return Read(spans.distant(self._now, number, unit, slack), end + 1, True)

    def _weekdays_ago(self, at: int) -> Read | None:
        """Two Fridays ago."""
        number, end = number_at(self._words, at)
        weekday = WEEKDAYS.get(self.word(end).removesuffix("s"))
        if not number or weekday is None or self.word(end + 1) != "ago" or is_cut(self._words, at):
            return None
        back = (self._today.weekday() - weekday - 1) % 7 + 1
        return Read(spans.day_of(self._today - back * DAY - (number - 1) * spans.WEEK), end + 2, True)

    def _ago_halved(self, at: int) -> Read | None:
        """A year and a half ago, two and a half hours ago."""
        number, unit, end = self._halved(at)
        if not number or self.word(end) not in _AGO:
            return None
        if unit in EXACT:
            return self._around_ago((number + 0.5) * EXACT[unit], 0.25 * number * EXACT[unit], end + 1)
        more, small = _HALVES[unit]
        if small in EXACT:
            return Read(spans.distant(self._earlier(self._now, number, unit, half=True), 0, unit), end + 1, True)
        return Read(spans.distant(spans.less(self._now, number, unit), more, small), end + 1, True)

    def _around_ago(self, length: timedelta, reach: timedelta, end: int) -> Read:
        """The moment so long ago, in time and not on the clock, and how far around it one may mean."""
        moments = [spans.wall_time(self._now_ms - round(1000 * one.total_seconds()), self._zone)
                   for one in (length + reach, length, length - reach)]  # fmt: skip
        return Read(Span(moments[0], moments[2], at=moments[1]), end, True)

    def _ago_added(self, at: int, number: int, unit: str, end: int) -> Read | None:
        """A year and two months ago, 1 year 6 months ago."""
        lead = end + (self.word(end) in ("and", ","))
        more, end = number_at(self._words, lead)
        small = UNITS.get(self.word(end), "")
        if not (unit and more and small) or self.word(end + 1) not in _AGO or (unit in EXACT) != (small in EXACT):
            return None
        if unit not in EXACT:
            return Read(spans.distant(spans.less(self._now, number, unit), more, small), end + 2, True)
        reach = max(0.5, more / 4) * EXACT[small]
        return self._around_ago(number * EXACT[unit] + more * EXACT[small], reach, end + 2)

    def _ago_either(self, at: int) -> Read | None:
        """Two or three days ago, a week or two ago: both of them."""
        low, middle = number_at(self._words, at)
        unit_at = middle
        middle += self.word(middle) in UNITS and self.word(middle + 1) == "or"
        high, end = number_at(self._words, middle + 1)
        if middle == unit_at:
            unit_at, end = end, end + 1
        unit = UNITS.get(self.word(unit_at), "")
        if self.word(middle) not in ("or", "to", ",") or not 0 < low < high or self.word(end) not in _AGO:
            return None
        if not unit or unit in EXACT:
            return None
        since, before = spans.distant(self._now, high, unit).since, spans.distant(self._now, low, unit).before
        return Read(Span(since, before), end + 1, True)

    def _before_anchor(self, number: int, unit: str, slack: int, at: int) -> Read | None:
        """What stands after "ago" is what is counted from: "a year ago today", "two weeks ago last Monday". A day of a
        calendar, such as March 3, is only with years: after weeks it says once more which day is meant."""
        if unit in EXACT:
            return None
        if unit == "week" and self.word(at) == "on" and self.word(at + 1) in WEEKDAYS:
            week = spans.distant(self._now, number, unit).since
            days = (WEEKDAYS[self.word(at + 1)] - week.weekday()) % 7
            return Read(spans.day_of(week + days * DAY), at + 2, True)
        anchor = self.timed_day(at, "on") or self.stretch(at, "")
        if anchor is None:
            return None
        since, before, middle, cycle, day = anchor.span
        if not (anchor.relative or cycle == "week" or (cycle and unit == "year")):
            return None
        if before - since > max(DAY, before - spans.less(before, 1, unit)):
            return None  # "3 days ago, this week"
        at_moment = None if middle is None else spans.less(middle, number, unit)
        ends = spans.less(since, number + slack, unit), spans.less(before, number - slack, unit)
        return Read(Span(*ends, at_moment, day=day), anchor.end, True)

    def _beside(self, at: int) -> Read | None:
        """The week before a date, two days after it, the weekend before it, the week of it."""
        lead = at + (self.word(at) in ("the", "last"))
        number, unit, slack, end = (1, UNITS.get(self.word(lead), ""), 0, lead + 1) if lead > at else self._distance(at)
        unit = "weekend" if self.word(end - 1) == "weekend" else unit
        side = self.word(end)
        if not number or not unit or unit in EXACT or side not in ("before", "after", "of"):
            return None
        if side == "before" and self.word(end + 1) == "last" and lead > at and unit != "day":
            return Read(spans.unit_of(self._now, unit, -2), end + 2, True)  # the week before last
        day = self.day(end + 1, side)
        if day is None or not one_day(day.span):
            return None
        date = day.span.since
        if side == "of":
            return Read(spans.unit_of(date, unit), day.end, day.relative) if unit in ("week", "weekend") else None
        sign = 1 if side == "before" else -1
        if unit == "weekend":
            span = spans.unit_of(date, unit)
            if sign * (span.since - date) >= timedelta(0):
                span = spans.unit_of(date, unit, -sign)
        elif lead > at and unit != "day":
            edge = spans.less(date, sign, unit)
            span = Span(edge, date) if sign > 0 else Span(date + DAY, edge + DAY)
        else:
            span = spans.distant(date, sign * number, unit)
            if slack:
                since, before = sorted(
                    (spans.less(date, sign * (number + slack), unit), spans.less(date, sign, unit) + DAY)
                )
                span = Span(since, before)
        return Read(span, day.end, day.relative)

    def _last_of(self, at: int) -> Read | None:
        """The last week of March, the last two months of 2024."""
        number, unit, half, end = self._last_units(at)
        if self.word(end) != "of" and (self.word(end), unit) != ("in", "week"):
            return None
        inner = end + 1 + (self.word(end + 1) == "the")
        whole = self.stretch(inner, "in") if number else None
        if whole is None:
            return None
        since = self._earlier(whole.span.before, number, unit, half)
        return Read(whole.span._replace(since=since), whole.end, whole.relative) if since >= whole.span.since else None

    def _first_of(self, at: int) -> Read | None:
        """The first three months of 2025, the first few days of March."""
        number, unit, half, end = self._last_units(at, ("first",))
        if self.word(end) not in ("of", "in"):
            return None
        whole = self.stretch(end + 1 + (self.word(end + 1) == "the"), "in") if number else None
        if whole is None:
            return None
        span = whole.span._replace(before=self._earlier(whole.span.since, -number, unit, half))
        return Read(span, whole.end, whole.relative) if span.before <= whole.span.before else None

    def _half_of(self, at: int) -> Read | None:
        """The first half of 2025, the latter half of last month."""
        lead = at + (self.word(at) == "the")
        half = _HALF_NAMES.get(self.word(lead))
        if half is None or self.word(lead + 1) != "half" or self.word(lead + 2) != "of":
            return None
        whole = self.stretch(lead + 3 + (self.word(lead + 3) == "the"), "in")
        return None if whole is None else Read(spans.half_of(whole.span, half), whole.end, whole.relative)

    def _last_units(self, at: int, words: tuple[str, ...] = ("last", "past")) -> tuple[int, str, bool, int]:
        """How many units "the last ..." names, 0 for none, whether half of one is added, and the token after it; the
        same of another of these `words` in its place."""
        lead = at + (self.word(at) == "the")
        word, first, nothing = self.word(lead), lead + 1, (0, "", False, at)
        if word not in words or self.word(first) in ARTICLES:
            return nothing  # "did the outage last an hour"
        if word == "last" and lead == at and at and self.word(at - 1) in _BEFORE_VERBS:
            return nothing
        if compact := _COMPACT.fullmatch(self.word(first)):
            return int(compact[1]), _SHORT_UNITS[compact[2]], False, first + 1
        if self.word(first) in UNITS:
            unit = UNITS[self.word(first)]
            if self._words[first + 1 : first + 4] == _AND_A_HALF:
                return 1, unit, True, first + 4
            return self._or_more(1, unit, first + 1)
        number, unit, end = self._halved(first)
        if number:
            return number, unit, True, end
        if self.word(first) in _VAGUE:
            of = first + 1 + (self.word(first + 1) == "of")
            number, unit, end = _VAGUE_LAST[self.word(first)], UNITS.get(self.word(of), ""), of + 1
        else:
            number, unit, end = self._either(first)
        if number_at(self._words, first)[0] and is_cut(self._words, end + (self.word(end) in ("and", ","))):
            more, after = number_at(self._words, end + (self.word(end) in ("and", ",")))
            if more and self.word(after) in UNITS:
                return nothing  # "the last 2 years and 3 months"
        return self._or_more(number, unit, end) if unit else nothing

    def _either(self, at: int) -> tuple[int, str, int]:
        """A number with its unit and the token after them; of two the larger: "2 or 3 weeks", "2-3 weeks"."""
        if (both := DAY_RANGE.fullmatch(self.word(at))) and int(both[1]) < int(both[2]):
            return int(both[2]), UNITS.get(self.word(at + 1), ""), at + 2
        low, middle = number_at(self._words, at)
        high, end = number_at(self._words, middle + 1)
        if self.word(middle) in ("or", "to", "-", "\u2013") and 0 < low < high and self.word(end) in UNITS:
            return high, UNITS[self.word(end)], end + 1
        number, unit, _, end = self._distance(at)
        return number, unit, end

    def _or_more(self, number: int, unit: str, end: int) -> tuple[int, str, bool, int]:
        """With "or two" after the unit the larger number."""
        more, after = number_at(self._words, end + 1)
        bare = self.word(end + 1) not in ARTICLES and self.word(after) not in UNITS
        if self.word(end) == "or" and more > number and bare:
            return more, unit, False, after
        return number, unit, False, end

    def _rolling(self, at: int) -> Read | None:
        """The last 3 days, past few weeks, the past month: up to now."""
        number, unit, half, end = self._last_units(at, ("last", "past", *PREVIOUS))
        if not number:
            return None
        lead = at + (self.word(at) == "the")
        word, counted = self.word(lead), end > lead + 2 or self.word(lead + 1) not in UNITS
        if word in PREVIOUS and not ((counted or unit in EXACT) and self.is_previous(at)):
            return None  # "the previous week" is a week of the calendar
        if not counted and lead == at and word == "last" and self.word(lead + 1) not in ("hour", "minute"):
            return None
        if word != "past" and (self.ends_otherwise(end, counted) or self.word(end) == "before"):
            return None
        if unit in EXACT:
            length = (number + half / 2) * EXACT[unit]
            since = spans.wall_time(self._now_ms - round(1000 * length.total_seconds()), self._zone)
        else:
            since = spans.midnight(self._earlier(self._now, number, unit, half))
        return Read(Span(since, self.soon()), end, True)
