"""Stretches of a calendar, in the wall time of one zone: days, weeks, months, quarters, seasons, parts of a day.

Knows no words and no clock. A stretch is half open. Weeks begin on Monday (ISO 8601), seasons are the meteorological
ones of the northern hemisphere. Every function raises ValueError or OverflowError beyond what a calendar holds.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)
# First and last hour of each; a night ends on the day after.
PARTS: Final = {"morning": (4, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
MONTHS_OF: Final = {"month": 1, "quarter": 3, "year": 12}
EXACT: Final = {"second": timedelta(seconds=1), "minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
SATURDAY: Final = 5


class Span(NamedTuple):
    """A stretch of wall time without a zone."""

    since: datetime
    before: datetime
    # The moment that is meant when the stretch stands for its surroundings.
    at: datetime | None = None
    # "week" or "year" when another week or year may be meant as well.
    cycle: str = ""
    # `at` stands for the whole day that begins there.
    day: bool = False

    @property
    def first(self) -> datetime:
        """The beginning, as the end of a range or a bound means it."""
        return self.at or self.since

    @property
    def last(self) -> datetime:
        """The end, as the end of a range or a bound means it."""
        if self.at is None:
            return self.before
        return self.at + DAY if self.day else self.at

    def back(self, cycles: int) -> Span:
        """The same so many of its cycles earlier."""
        unit = (cycles, "week") if self.cycle == "week" else (12 * cycles, "month")
        at = self.at and less(self.at, *unit)
        return self._replace(since=less(self.since, *unit), before=less(self.before, *unit), at=at)


def wall_time(ms: int, zone: tzinfo) -> datetime:
    """The time that a clock on the wall shows at this moment."""
    return (EPOCH + timedelta(milliseconds=ms)).astimezone(zone).replace(tzinfo=None)


def instant(wall: datetime, zone: tzinfo) -> int:
    """The ms at which a clock on the wall shows this time; of two the first, and in a gap as if there was none."""
    return (wall.replace(tzinfo=zone) - EPOCH) // timedelta(milliseconds=1)


def midnight(wall: datetime) -> datetime:
    """The beginning of its day."""
    return datetime(wall.year, wall.month, wall.day)


def shifted(wall: datetime, months: int) -> datetime:
    """So many months later; the 31st becomes the last day of a shorter month."""
    year, month = divmod(wall.year * 12 + wall.month - 1 + months, 12)
    following = datetime(year + (month + 1) // 12, (month + 1) % 12 + 1, 1)
    return wall.replace(year=year, month=month + 1, day=min(wall.day, (following - DAY).day), fold=0)


def day_of(wall: datetime) -> Span:
    """The day that holds it."""
    return Span(midnight(wall), midnight(wall) + DAY)


def unit_of(wall: datetime, unit: str, offset: int = 0) -> Span:
    """The day, week, weekend, month, quarter or year around a moment, or so many units later."""
    if unit == "day":
        return day_of(wall + offset * DAY)
    if unit in ("week", "weekend"):
        monday = midnight(wall) - wall.weekday() * DAY + offset * WEEK
        return Span(monday + SATURDAY * DAY if unit == "weekend" else monday, monday + WEEK)
    months = MONTHS_OF[unit]
    first = (wall.month - 1) // months * months + 1
    since = shifted(datetime(wall.year, first, 1), offset * months)
    return Span(since, shifted(since, months))


def month_span(year: int, month: int, months: int = 1) -> Span:
    """So many whole months."""
    since = datetime(year, month, 1)
    return Span(since, shifted(since, months))


def third_of(span: Span, third: int) -> Span:
    """Its beginning (0), middle (1) or end (2), in whole days."""
    days = (span.before - span.since) // DAY
    cuts = [span.since + days * part // 3 * DAY for part in range(3)] + [span.before]
    return Span(cuts[third], cuts[third + 1], cycle=span.cycle)


def part_of_day(day: Span, part: str) -> Span:
    """Its morning, afternoon, evening or night."""
    first, last = PARTS[part]
    return Span(day.since + timedelta(hours=first), day.since + timedelta(hours=last), cycle=day.cycle)


def less(wall: datetime, number: int, unit: str) -> datetime:
    """So many units of the calendar earlier (negative: later); EXACT holds hours and shorter ones."""
    if unit in ("day", "week"):
        return wall - number * (DAY if unit == "day" else WEEK)
    return shifted(wall, -number * MONTHS_OF[unit])


def distant(wall: datetime, number: int, unit: str, slack: int = 0) -> Span:
    """Around so many units before: the very day, and of longer units half a unit to each side. With `slack`, so many
    whole units to each side."""
    at = midnight(less(wall, number, unit))
    if slack:
        since, before = midnight(less(at, slack, unit)), midnight(less(at, -slack, unit)) + DAY
    elif unit in ("day", "week", "month"):
        days = {"day": 0, "week": 3, "month": 15}[unit]
        since, before = at - days * DAY, at + (days + 1) * DAY
    else:
        half = MONTHS_OF[unit] // 2
        since, before = shifted(at, -half), shifted(at, half) + DAY
    return Span(since, before, at, day=True)
