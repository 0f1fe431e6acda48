"""Dates of which one end or one part is named elsewhere: "March 3 to 7", "2pm to 4pm yesterday", "the last Friday of
March", "the end of last year"."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from mnemesh_memory import calendar_spans as spans
from mnemesh_memory.calendar_spans import DAY, MONTHS_OF, WEEK, Span
from mnemesh_memory.time_dates import Dates
from mnemesh_memory.time_days import DAY_NUMBER, DAY_RANGE, WEEKDAYS, YEAR, Read, one_day
from mnemesh_memory.time_stretches import AFTER_DATE, ORDINALS

_EDGES: Final = {"beginning": "since", "start": "since", "end": "before"}
_OR: Final = ("and", "or", ",")


class Ranges(Dates):
    """Reads any stretch from the tokens of one text, and the parts of ranges."""

    def read(self, at: int, after: str) -> Read | None:
        """As Dates reads it."""
        return self._weekday_of(at) or super().read(at, after)

    def words(self, first: int, end: int) -> list[str]:
        return self._words[first:end]

    def days(self, at: int, joins: frozenset[str]) -> Read | None:
        """Days of a month that one end alone names: "March 3 to 7", "the 3rd to the 7th of March", "3-7 March"."""
        named = self.month_number(at) is not None
        first_at = at + named
        first_at += self.word(first_at) == "the"
        last_at = first_at + 2 + (self.word(first_at + 2) == "the")
        if both := DAY_RANGE.fullmatch(self.word(first_at)):
            first, last, sure, end = int(both[1]), int(both[2]), False, first_at + 1
        else:
            one, other = DAY_NUMBER.fullmatch(self.word(first_at)), DAY_NUMBER.fullmatch(self.word(last_at))
            if not one or not other or self.word(first_at + 1) not in joins:
                return None
            first, last, sure, end = int(one[1]), int(other[1]), bool(one[2] or other[2]), last_at + 1
        month_at = at if named else end + (self.word(end) == "of")
        month = self.month_number(month_at)
        if month is None or first >= last or (self.doubtful(month_at) and not sure):
            return None
        if named and not self.is_day(end):
            return None
        return self._dated(first, last, month, end if named else month_at + 1)

    def hours(self, at: int, joins: frozenset[str]) -> tuple[timedelta, timedelta, int] | None:
        """Two times of one day and the token after them."""
        first, end = self._clock(at)
        if first is None or self.word(end) not in joins:
            return None
        last, end = self._clock(end + 1)
        return None if last is None or last <= first else (first, last, end)

    def hours_of_day(self, at: int, joins: frozenset[str]) -> Read | None:
        """From 2pm to 4pm yesterday."""
        if (hours := self.hours(at, joins)) is None:
            return None
        day = self.day(hours[2] + (self.word(hours[2]) in ("on", "of")), "on")
        if day is None or not one_day(day.span):
            return None
        return day._replace(span=Span(day.span.since + hours[0], day.span.since + hours[1], cycle=day.span.cycle))

    def numeric(self, at: int) -> bool:
        """Whether a bare number or a time of a day stands there, with or without its article."""
        lead = at + (self.word(at) == "the")
        return bool(DAY_NUMBER.fullmatch(self.word(lead)) or YEAR.fullmatch(self.word(lead)) or self._clock(lead)[0])

    def edge(self, at: int) -> Read | None:
        """The beginning or end of a stretch, as the boundary that it is: "the end of last year"."""
        lead = at + (self.word(at) == "the")
        side = _EDGES.get(self.word(lead))
        if side is None or self.word(lead + 1) != "of":
            return None
        inner = lead + 2 + (self.word(lead + 2) == "the")
        day = self.day(inner, "on")
        whole = day if day is not None and one_day(day.span) else self.stretch(inner, "in")
        if whole is None and inner > lead + 2:
            unit = self.word(inner)
            if unit not in (*MONTHS_OF, "week", "day") or self.word(inner + 1) == "of":
                return None
            whole = Read(spans.unit_of(self._now, unit), inner + 1, True)
        if whole is None:
            return None
        moment: datetime = whole.span.since if side == "since" else whole.span.before
        return whole._replace(span=Span(moment, moment, moment))

    def listed(self, first: int, read: Read) -> int:
        """Where a list of days ends of which that is but one, 0 when there is none: "March 3, 5 and 7", "3 and 5
        March"."""
        end = read.end
        while DAY_NUMBER.fullmatch(self.word(read.end - 1)) and self.word(end) in _OR:
            number = end + 1 + (self.word(end) == "," and self.word(end + 1) in _OR)
            number += self.word(number) == "the"
            if not DAY_NUMBER.fullmatch(self.word(number)) or not self.is_day(number + 1):
                break
            end = number + 1
        if end > read.end:
            return end
        bare = DAY_NUMBER.fullmatch(self.word(first + (self.word(first) == "the")))
        before = first > 1 and self.word(first - 1) in _OR and DAY_NUMBER.fullmatch(self.word(first - 2))
        named = first > 2 and (self.month_number(first - 3) is not None)
        return read.end if bare and before and not named else 0

    def is_day(self, end: int) -> bool:
        """Whether a number that ends there is not one of something that follows."""
        month_at = end + (self.word(end) == "of")
        following = self.word(end)
        return self.month_number(month_at) is None and (following in AFTER_DATE or bool(YEAR.fullmatch(following)))

    def _weekday_of(self, at: int) -> Read | None:
        """The last Friday of March, the first Monday in 2024."""
        lead = at + (self.word(at) == "the")
        which, number = self.word(lead), ORDINALS.get(self.word(lead), 0)
        weekday = WEEKDAYS.get(self.word(lead + 1))
        if weekday is None or not (number or which == "last") or self.word(lead + 2) not in ("of", "in"):
            return None
        whole = self.stretch(lead + 3 + (self.word(lead + 3) == "the"), "in")
        if whole is None or whole.span.before - whole.span.since < 4 * WEEK:
            return None
        since, before = whole.span.since, whole.span.before
        if number:
            day = since + (weekday - since.weekday()) % 7 * DAY + (number - 1) * WEEK
        else:
            day = before - DAY - (before.weekday() - 1 - weekday) % 7 * DAY
        return whole._replace(span=spans.day_of(day)._replace(cycle=whole.span.cycle)) if day < before else None
