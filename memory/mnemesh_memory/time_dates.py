"""Stretches of time as people name them in English: "last week", "3 days ago", "Q2 2024", "early March", "in 2023".

Says nothing of what stands before them, such as "since".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from mnemesh_memory import calendar_spans as spans
from mnemesh_memory.calendar_spans import DAY, EXACT, PARTS, SEASONS, WEEK, Span
from mnemesh_memory.time_days import MONTHS, SHORT_DAYS, SHORT_MONTHS, WEEKDAYS, YEAR, Days, Read, one_day
from mnemesh_memory.time_numbers import NUMBERS, UNITS, is_cut, number_at

# Vague numbers, and how far to each side they reach.
_VAGUE: Final = {"couple": (2, 1), "few": (3, 2), "several": (5, 3)}
_VAGUE_LAST: Final = {"couple": 2, "few": 5, "several": 7}
# Half of a unit in smaller ones: half of a year is six months.
_HALVES: Final = {"year": (6, "month"), "quarter": (6, "week"), "month": (2, "week"), "week": (84, "hour"),
                  "day": (12, "hour"), "hour": (30, "minute"), "minute": (30, "second")}  # fmt: skip
ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_AGO: Final = ("ago", "earlier")
_SHORT_UNITS: Final = {"h": "hour", "d": "day", "w": "week", "y": "year"}
_THIRDS: Final = {"early": 0, "mid": 1, "late": 2, "beginning": 0, "start": 0, "middle": 1, "end": 2}
# Names of people, too, so that "from June" and "by April" alone are not read.
_PEOPLE: Final = frozenset(("april", "may", "june", "august", "jan"))
_NO_PLURAL: Final = frozenset(("was", "is", "has", "does", "this", "vs", "us", "as", "its"))
_QUARTER: Final = re.compile(r"q([1-4])")
_YEAR_QUARTER: Final = re.compile(r"(\d{4})-q([1-4])")
_COMPACT: Final = re.compile(r"(\d{1,4})([hdwy])")
_COUNTED: Final = frozenset(("ms", "kb", "mb", "gb", "tb", "px", "km", "kg", "people", "percent", "usd", "eur"))
# After "of" these name one thing: "the last 3 days of our trip" ended with it, "the last 3 days of logs" ends now.
_DETERMINERS: Final = frozenset(("the", "a", "an", "this", "that", "each", "every", "my", "our", "your", "his", "her",
                                 "its", "their"))  # fmt: skip
# A stretch that ended so lately is still called this one.
_LATELY: Final = 60 * DAY
DATE_WORDS: Final = frozenset(
    ("today", "yesterday", "tomorrow", "tonight", "ago", "last", "past", "this", "next", "earlier", "weekend", "week",
     "quarter", *MONTHS, *SHORT_MONTHS, *WEEKDAYS, *SHORT_DAYS, *SEASONS)
)  # fmt: skip
# What every date begins with, if not with a digit.
_BEGINS: Final = DATE_WORDS | {
    "the", "year", "half", "noon", "midnight", "q1", "q2", "q3", "q4", *NUMBERS, *_VAGUE, *ORDINALS, *_THIRDS, *PARTS
}  # fmt: skip


class Dates(Days):
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
            or self._stretch(at, after)
        )

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
        if self.word(at) == "half" and self.word(at + 1) in article and before != "and":
            number, unit = _HALVES.get(self.word(at + 2), (0, ""))
            return number, unit, 0, at + 3
        number, slack, end = self._number(at)
        if (before == "half" and self.word(at) in article) or is_cut(self._words, at):
            number = 0  # "one and half a year", "two or three days"
        return number, UNITS.get(self.word(end), ""), slack, end + 1

    def _ago(self, at: int) -> Read | None:
        number, unit, slack, end = self._distance(at)
        if number and (read := self._ago_added(at, number, unit, end) or self._ago_either(at)) is not None:
            return read
        if not number or not unit or self.word(end) not in _AGO:
            return None
        if self.word(end) == "ago" and (read := self._before_anchor(number, unit, slack, end + 1)) is not None:
            return read
        if unit in EXACT:
            reach = slack or max(0.5, number / 4)
            moments = [spans.wall_time(self._now_ms - round(1000 * count * EXACT[unit].total_seconds()), self._zone)
                       for count in (number + reach, number, number - reach)]  # fmt: skip
            return Read(Span(moments[0], moments[2], at=moments[1]), end + 1, True)
        return Read(spans.distant(self._now, number, unit, slack), end + 1, True)

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
        length = number * EXACT[unit] + more * EXACT[small]
        moments = [spans.wall_time(self._now_ms - round(1000 * one.total_seconds()), self._zone)
                   for one in (length + reach, length, length - reach)]  # fmt: skip
        return Read(Span(moments[0], moments[2], at=moments[1]), end + 2, True)

    def _ago_either(self, at: int) -> Read | None:
        """Two or three days ago: both of them."""
        low, middle = number_at(self._words, at)
        high, end = number_at(self._words, middle + 1)
        unit = UNITS.get(self.word(end), "")
        if self.word(middle) not in ("or", "to") or not 0 < low < high or self.word(end + 1) not in _AGO:
            return None
        if not unit or unit in EXACT:
            return None
        since, before = spans.distant(self._now, high, unit).since, spans.distant(self._now, low, unit).before
        return Read(Span(since, before), end + 2, True)

    def _before_anchor(self, number: int, unit: str, slack: int, at: int) -> Read | None:
        """What stands after "ago" is what is counted from: "a year ago today", "two weeks ago last Monday". A day of a
        calendar, such as March 3, is only with years: after weeks it says once more which day is meant."""
        if unit in EXACT:
            return None
        if unit == "week" and self.word(at) == "on" and self.word(at + 1) in WEEKDAYS:
            week = spans.distant(self._now, number, unit).since
            days = (WEEKDAYS[self.word(at + 1)] - week.weekday()) % 7
            return Read(spans.day_of(week + days * DAY), at + 2, True)
        anchor = self.timed_day(at, "on") or self._stretch(at, "")
        if anchor is None:
            return None
        since, before, middle, cycle = anchor.span
        if not (anchor.relative or cycle == "week" or (cycle and unit == "year")):
            return None
        if before - since > max(DAY, before - spans.less(before, 1, unit)):
            return None  # "3 days ago, this week"
        at_moment = None if middle is None else spans.less(middle, number, unit)
        span = Span(spans.less(since, number + slack, unit), spans.less(before, number - slack, unit), at_moment)
        return Read(span, anchor.end, True)

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
        number, unit, end = self._last_units(at)
        if self.word(end) != "of" and (self.word(end), unit) != ("in", "week"):
            return None
        inner = end + 1 + (self.word(end + 1) == "the")
        whole = self._stretch(inner, "in") if number else None
        if whole is None:
            return None
        edge = whole.span.before
        since = edge - number * EXACT[unit] if unit in EXACT else spans.less(edge, number, unit)
        return Read(whole.span._replace(since=since), whole.end, whole.relative) if since >= whole.span.since else None

    def _last_units(self, at: int) -> tuple[int, str, int]:
        """How many units "the last ..." names, 0 for none, and the token after it."""
        lead = at + (self.word(at) == "the")
        word, following = self.word(lead), self.word(lead + 1)
        if word not in ("last", "past"):
            return 0, "", at
        if compact := _COMPACT.fullmatch(following):
            return int(compact[1]), _SHORT_UNITS[compact[2]], lead + 2
        if following in _VAGUE:
            of = lead + 2 + (self.word(lead + 2) == "of")
            number, unit, end = _VAGUE_LAST[following], UNITS.get(self.word(of), ""), of + 1
        elif following in UNITS:
            number, unit, end = 1, UNITS[following], lead + 2
        else:
            number, unit, _, end = self._distance(lead + 1)
        if number_at(self._words, lead + 1)[0] and is_cut(self._words, end + (self.word(end) in ("and", ","))):
            more, after = number_at(self._words, end + (self.word(end) in ("and", ",")))
            if more and self.word(after) in UNITS:
                return 0, "", at  # "the last 2 years and 3 months"
        return (number, unit, end) if unit else (0, "", at)

    def _ends_otherwise(self, end: int, counted: bool) -> bool:
        """Whether "the last week", which ends there, is that of something whose time is not known: of the sprint."""
        return self.word(end) == "of" and (not counted or self.word(end + 1) in _DETERMINERS)

    def _rolling(self, at: int) -> Read | None:
        """The last 3 days, past few weeks, the past month: up to now."""
        number, unit, end = self._last_units(at)
        if not number:
            return None
        lead = at + (self.word(at) == "the")
        word, counted = self.word(lead), end > lead + 2 or self.word(lead + 1) not in UNITS
        if not counted and lead == at and word == "last" and self.word(lead + 1) not in ("hour", "minute"):
            return None
        if word == "last" and (self._ends_otherwise(end, counted) or self.word(end) == "before"):
            return None
        if unit in EXACT:
            since = spans.wall_time(self._now_ms - round(1000 * number * EXACT[unit].total_seconds()), self._zone)
        else:
            since = spans.midnight(spans.less(self._now, number, unit))
        return Read(Span(since, self.soon()), end, True)

    # ---- longer stretches ----------------------------------------------------------------------------------------

    def _stretch(self, at: int, after: str) -> Read | None:
        """A week, month, quarter, season or year, or a third of it: "early March", "the end of 2023"."""
        lead = at + (self.word(at) == "the")
        if self.word(lead) in _THIRDS:
            noun = self.word(lead) in ("beginning", "start", "middle", "end")
            if not noun or self.word(lead + 1) == "of":
                inner = lead + 1 + noun
                whole = self._stretch(inner + (self.word(inner) == "the"), "in")
                if whole is not None:
                    return Read(spans.third_of(whole.span, _THIRDS[self.word(lead)]), whole.end, whole.relative)
        return (
            self._last_of(lead) or self._week_of_month(lead) or self._named_unit(at) or self._season(at, after)
            or self._quarter(at, after) or self._month(at, after) or self._bare_year(at, after)
        )  # fmt: skip

    def _named_unit(self, at: int) -> Read | None:
        """Last week, this month, next year, earlier this week, the weekend."""
        earlier = self.word(at) == "earlier"
        word, unit = self.word(at + earlier), self.word(at + earlier + 1)
        if unit not in ("week", "weekend", "month", "quarter", "year"):
            return None
        if word == "the" and unit == "weekend" and not earlier:
            return Read(spans.unit_of(self._now, unit, 0 if self._today.weekday() >= 5 else -1), at + 2, True)
        if word not in ("last", "this", "next"):
            return None
        offset = {"last": -1, "this": 0, "next": 1}[word]
        end = at + earlier + 2
        if word == "last" and self._ends_otherwise(end, counted=False):
            return None
        span = spans.unit_of(self._now, unit, offset)
        if earlier:
            return Read(Span(span.since, self.soon()), end, True) if word == "this" else None
        if unit == "year" and self.word(end) in ("in", "during"):
            inner = self._stretch(end + 1 + (self.word(end + 1) == "the"), "in")
            if inner is not None and inner.span.cycle == "year":  # "last year in March"
                return Read(inner.span.back(inner.span.since.year - span.since.year), inner.end, True)
        if unit == "week" and self.word(end) == "on" and self.word(end + 1) in WEEKDAYS:
            return Read(spans.day_of(span.since + WEEKDAYS[self.word(end + 1)] * DAY), end + 2, True)
        return Read(span, end, True)

    def _month(self, at: int, after: str) -> Read | None:
        which = self.word(at) if self.word(at) in ("last", "this", "next") else ""
        month_at = at + bool(which)
        month = self.month_number(month_at)
        if month is None:
            return None
        year, relative, end = self.year(month_at + 1)
        if year is not None:
            return Read(spans.month_span(year, month), end, relative)
        loose = after in ("by", "of", "from", "before", "after", "for", "around", "between", "through", "at", "on")
        if not (which or after) or (loose and self.doubtful(month_at)):
            return None
        if loose and after not in ("before", "after", "between") and self.word(month_at) in _PEOPLE:
            return None
        return Read(self._yearly(lambda year: spans.month_span(year, month), which), month_at + 1, bool(which))

    def _season(self, at: int, after: str) -> Read | None:
        which = self.word(at) if self.word(at) in ("last", "this", "next") else ""
        lead = at + bool(which)
        name_at = lead + (self.word(lead) == "the" and not which)
        name = self.word(name_at)
        if name not in SEASONS:
            return None

        def season(year: int) -> Span:
            return spans.month_span(year, SEASONS[name], 3)

        year, relative, end = self.year(name_at + 1)
        if year is not None:
            return Read(season(year), end, relative)
        spoken = after in ("in", "during", "over", "since") and name_at > lead
        if not which and (not spoken or name in ("fall", "spring")):
            return None
        return Read(self._yearly(season, which), name_at + 1, True)

    def _quarter(self, at: int, after: str) -> Read | None:
        word = self.word(at)
        if found := _YEAR_QUARTER.fullmatch(word):
            return Read(spans.month_span(int(found[1]), 3 * int(found[2]) - 2, 3), at + 1)
        if YEAR.fullmatch(word) and (found := _QUARTER.fullmatch(self.word(at + 1))):
            return Read(spans.month_span(int(word), 3 * int(found[1]) - 2, 3), at + 2)
        which = word if word in ("last", "this", "next") else ""
        lead = at + (bool(which) or word == "the")
        if found := _QUARTER.fullmatch(self.word(lead)):
            number, end = int(found[1]), lead + 1
        elif self.word(lead) in ORDINALS and self.word(lead + 1) == "quarter":
            number, end = ORDINALS[self.word(lead)], lead + 2
        else:
            return None

        def quarter(year: int) -> Span:
            return spans.month_span(year, 3 * number - 2, 3)

        year, relative, after_year = self.year(end)
        if year is not None:
            return Read(quarter(year), after_year, relative)
        return Read(self._yearly(quarter, which), end, bool(which)) if which or after else None

    def _week_of_month(self, at: int) -> Read | None:
        """The second week of November."""
        number, month_at = ORDINALS.get(self.word(at), 0), at + 3
        if not number or self._words[at + 1 : at + 3] not in (["week", "of"], ["week", "in"]):
            return None
        whole = self._month(month_at, "in")
        if whole is None:
            return None
        since = whole.span.since + (number - 1) * WEEK
        return Read(Span(since, since + WEEK, cycle=whole.span.cycle), whole.end, whole.relative)

    def _bare_year(self, at: int, after: str) -> Read | None:
        lead = at + (self.word(at) == "year")
        if not YEAR.fullmatch(self.word(lead)) or (after in ("", "over", "at", "for", "around") and lead == at):
            return None
        following = self.word(lead + 1)
        counted = len(following) > 3 and following.endswith("s") and following not in _NO_PLURAL
        if (counted or following in _COUNTED) and not self._tokens[lead + 1].capital:
            return None  # "in 2024 tokens"
        return Read(spans.month_span(int(self.word(lead)), 1, 12), lead + 1)

    def _yearly(self, make: Callable[[int], Span], which: str) -> Span:
        """Of what comes once a year the last that began; "last": that ended, "this": of this year, "next": to come."""
        years = [make(self._now.year + offset) for offset in (1, 0, -1, -2)]
        if which == "next":
            return [span for span in years if span.since > self._now][-1]
        if which == "this":
            # "this winter" is in spring the one that has just ended.
            near = [span for span in years[1:3] if span.since <= self._now < span.before + _LATELY]
            return near[0] if near else years[1]
        done = [span for span in years if (span.before if which == "last" else span.since) <= self._now]
        return done[0]._replace(cycle="" if which else "year")
