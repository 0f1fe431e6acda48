"""Weeks, months, quarters, seasons and years as people name them in English: "last week", "Q2 2024", "early March", "in
2023".

A name that fits several years means the last one that has begun.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from mnemesh_memory import calendar_spans as spans
from mnemesh_memory.calendar_spans import DAY, PARTS, SEASONS, WEEK, Span
from mnemesh_memory.time_days import NAMED_UNITS, PEOPLE, QUARTER, WEEKDAYS, YEAR, Days, Read
from mnemesh_memory.time_tokens import BREAK

ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
THIRDS: Final = {"early": 0, "mid": 1, "late": 2, "beginning": 0, "start": 0, "middle": 1, "end": 2}
# Words that lead to other things as well.
LOOSE: Final = frozenset(("by", "of", "from", "before", "after", "for", "around", "between", "through", "at", "on"))
_NO_PLURAL: Final = frozenset(("was", "is", "has", "does", "this", "vs", "us", "as", "its"))
_HALF_YEAR: Final = re.compile(r"h([12])")
_YEAR_QUARTER: Final = re.compile(r"(\d{4})-q([1-4])")
_COUNTED: Final = frozenset(("ms", "kb", "mb", "gb", "tb", "px", "km", "kg", "people", "percent", "usd", "eur"))
# After "of" these name one thing: "the last 3 days of our trip" ended with it, "the last 3 days of logs" ends now.
_DETERMINERS: Final = frozenset(("the", "a", "an", "this", "that", "each", "every", "my", "our", "your", "his", "her",
                                 "its", "their"))  # fmt: skip
# What may follow a date that could also be part of something longer: "in summer we", not "in summer school"; "between
# March 3 and 7 we", not "7 people".
AFTER_DATE: Final = frozenset(
    ("", BREAK, "and", "or", ",", "what", "who", "which", "how", "why", "when", "where", "did", "do", "does", "was",
     "were", "is", "are", "had", "has", "have", "we", "i", "you", "they", "he", "she", "in", "on", "of", "at", "for",
     "about", "with", "by", "the", "our", "my")
)  # fmt: skip
# A stretch that ended so lately is still called this one.
_LATELY: Final = 60 * DAY


class Stretches(Days):
    """Reads what is longer than a day from the tokens of one text."""

    def stretch(self, at: int, after: str) -> Read | None:
        """A week, month, quarter, half, season or year, or a third of it: "early March", "the end of 2023"."""
        lead = at + (self.word(at) == "the")
        if self.word(lead) in THIRDS:
            noun = self.word(lead) in ("beginning", "start", "middle", "end")
            if not noun or self.word(lead + 1) == "of":
                inner = lead + 1 + noun
                whole = self.stretch(inner + (self.word(inner) == "the"), "in")
                if whole is not None:
                    return Read(spans.third_of(whole.span, THIRDS[self.word(lead)]), whole.end, whole.relative)
        return (
            self._week_of_month(lead) or self._named_unit(at) or self._previous_unit(at) or self._season(at, after)
            or self._quarter(at, after) or self._month(at, after) or self._bare_year(at, after)
        )  # fmt: skip

    def _named_unit(self, at: int) -> Read | None:
        """Last week, this month, next year, earlier this week, the weekend."""
        earlier = self.word(at) == "earlier"
        word, unit = self.word(at + earlier), self.word(at + earlier + 1)
        if unit not in NAMED_UNITS:
            return None
        if word == "the" and unit == "weekend" and not earlier:
            return Read(spans.unit_of(self._now, unit, 0 if self._today.weekday() >= 5 else -1), at + 2, True)
        if word not in ("last", "this", "next"):
            return None
        offset = {"last": -1, "this": 0, "next": 1}[word]
        end = at + earlier + 2
        if word == "last" and self.ends_otherwise(end, counted=False):
            return None
        span = spans.unit_of(self._now, unit, offset)
        if earlier:
            return Read(Span(span.since, self.soon()), end, True) if word == "this" else None
        if unit == "year" and self.word(end) in ("in", "during"):
            inner = self.stretch(end + 1 + (self.word(end + 1) == "the"), "in")
            if inner is not None and inner.span.cycle == "year":  # "last year in March"
                return Read(inner.span.back(inner.span.since.year - span.since.year), inner.end, True)
        weekday = end + (self.word(end) == "on")
        if unit == "week" and self.word(weekday) in WEEKDAYS and self.ends_weekday(weekday + 1):
            day, end = spans.day_of(span.since + WEEKDAYS[self.word(weekday)] * DAY), weekday + 1
            part = self.word(end)
            return Read(spans.part_of_day(day, part), end + 1, True) if part in PARTS else Read(day, end, True)
        return Read(span, end, True)

    def _previous_unit(self, at: int) -> Read | None:
        """The previous month, prior year."""
        lead = at + (self.word(at) == "the")
        unit, end = self.word(lead + 1), lead + 2
        if unit not in (*NAMED_UNITS, "day") or not self.is_previous(at) or self.ends_otherwise(end, counted=False):
            return None
        return Read(spans.unit_of(self._now, unit, -1), end, True)

    def _month(self, at: int, after: str) -> Read | None:
        which = self.word(at) if self.word(at) in ("last", "this", "next") else ""
        month_at = at + bool(which)
        month = self.month_number(month_at)
        if month is None:
            return None
        year, relative, end = self.year(month_at + 1)
        if year is not None:
            return Read(spans.month_span(year, month), end, relative)
        loose = after in LOOSE
        if not (which or after) or (loose and self.doubtful(month_at)):
            return None
        if loose and after not in ("before", "after", "between") and self.word(month_at) in PEOPLE:
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
        following = self.word(name_at + 1)
        whole = following != "of" and (name_at > lead or following in AFTER_DATE)  # not "in summer of code"
        spoken = after in ("in", "during", "over", "since") and whole
        if not which and (not spoken or name in ("fall", "spring")):
            return None
        return Read(self._yearly(season, which), name_at + 1, True)

    def _quarter(self, at: int, after: str) -> Read | None:
        word = self.word(at)
        if half := _HALF_YEAR.fullmatch(word):
            year, relative, end = self.year(at + 1)
            return None if year is None else Read(spans.month_span(year, 6 * int(half[1]) - 5, 6), end, relative)
        if YEAR.fullmatch(word) and (half := _HALF_YEAR.fullmatch(self.word(at + 1))):
            return Read(spans.month_span(int(word), 6 * int(half[1]) - 5, 6), at + 2)
        if found := _YEAR_QUARTER.fullmatch(word):
            return Read(spans.month_span(int(found[1]), 3 * int(found[2]) - 2, 3), at + 1)
        if YEAR.fullmatch(word) and (found := QUARTER.fullmatch(self.word(at + 1))):
            return Read(spans.month_span(int(word), 3 * int(found[1]) - 2, 3), at + 2)
        which = word if word in ("last", "this", "next") else ""
        lead = at + (bool(which) or word == "the")
        if found := QUARTER.fullmatch(self.word(lead)):
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

    def ends_otherwise(self, end: int, counted: bool) -> bool:
        """Whether "the last week", which ends there, is that of something whose time is not known: of the sprint."""
        return self.word(end) == "of" and (not counted or self.word(end + 1) in _DETERMINERS)
