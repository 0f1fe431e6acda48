"""English words of time, and the patterns in which a question says them. Knows no calendar and no moment.

A pattern is a regular expression in which `{month}` stands for any name of a month, and a blank for any blanks.
"""

from __future__ import annotations

import re
from typing import Final

from mnemesh_memory.times.calendar import PARTS, SEASONS

_MONTHS: Final = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
                  "november", "december")  # fmt: skip
MONTHS: Final = {name: number for number, name in enumerate(_MONTHS, 1)}
SHORT_MONTHS: Final = {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SHORT_DAYS: Final = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4}
WEEKDAYS: Final = {name: number for number, name in enumerate(_DAYS)} | SHORT_DAYS
# Months that are also verbs or names of people. Without a capital, or after "by", such a word is no month.
VERBS: Final = frozenset(("may", "march"))
PEOPLE: Final = frozenset(("april", "may", "june", "august", "jan"))
OFFSETS: Final = {"last": -1, "past": -1, "previous": -1, "prior": -1, "this": 0, "next": 1}
UNITS: Final = {
    form: unit for unit in ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
    for form in (unit, unit + "s")
} | {"min": "minute", "mins": "minute", "hr": "hour", "hrs": "hour", "h": "hour", "d": "day", "w": "week",
     "y": "year"}  # fmt: skip
_NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
                   "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
                   "twenty")  # fmt: skip
_TENS: Final = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBERS: Final = (
    {name: number for number, name in enumerate(_NUMBERS, 1)}
    | {name: number for number, name in zip(range(30, 100, 10), _TENS, strict=True)}
    | {"a": 1, "an": 1}
)
# Vague numbers, and how far to each side they reach.
VAGUE: Final = {"couple": (2, 1), "few": (3, 2), "several": (5, 3)}
ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 0}
THIRDS: Final = {"early": 0, "mid": 1, "late": 2, "beginning": 0, "start": 0, "middle": 1, "end": 2}

DATE_WORDS: Final = frozenset(
    ("today", "yesterday", "tomorrow", "tonight", "ago", "earlier", "week", "weekend", "quarter",
     *OFFSETS, *MONTHS, *SHORT_MONTHS, *WEEKDAYS, *SEASONS)
)  # fmt: skip


def either(*words: str) -> str:
    """A pattern for any of the words; the longest that fits counts."""
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


_WHICH: Final = either(*OFFSETS)
_YEAR: Final = r"(?:19|20)\d\d"
# "In 2024 tokens", "in 2048 bit keys": a number of things.
_COUNTED: Final = r"(?: (?!does\b|this\b)[a-z]{3,}s\b| (?:ms|[kmgt]b|bits?|px|km|kg|people|percent|usd|eur)\b)"
_NAMES: Final = either(*MONTHS, *SHORT_MONTHS, *WEEKDAYS, *SEASONS, "q[1-4]")
_PARTS: Final = {
    "month": f"(?P<month>{either(*MONTHS, *SHORT_MONTHS)})",
    "weekday": f"(?P<weekday>{either(*WEEKDAYS)})",
    "season": f"(?P<season>{either(*SEASONS)})",
    "part": f"(?P<part>{either(*PARTS)})",
    "names": _NAMES,
    "which": "(?P<which>last|this|next)",
    "which_one": f"(?P<which>{_WHICH})",
    "of_week": "(?P<of_week>last|this|next) week",
    "calendar_unit": "(?P<unit>week|weekend|month|quarter|year)",
    "unit": f"(?P<unit>{either(*UNITS)})",
    "a_unit": either(*UNITS, "weekend"),
    "number": rf"(?P<number>\d{{1,4}}|{either(*NUMBERS)}|(?:a )?{either(*VAGUE)}(?: of)?)",
    "a_number": rf"(?:\d+|{either(*NUMBERS, *VAGUE, 'hundred', 'thousand', 'million', 'dozen')})",
    "ordinal": f"(?P<ordinal>{either(*ORDINALS)})",
    "day": r"(?P<day>0?[1-9]|[12]\d|3[01])(?P<th>st|nd|rd|th)?",
    "day_to": r"(?: ?(?:-|\u2013|to|through|until) ?(?:the )?(?P<last>[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?)?",
    # A list of days with one month is not read in part: "March 3, 5 and 7".
    "unlisted": r"(?!,? (?:(?:and|or) )?(?:the )?\d\d?(?:st|nd|rd|th)?(?: ?[,.?!]| and\b| or\b| ?$))",
    "a_year": _YEAR,
    "year": rf"(?:(?:,\s*| )(?:of |in )?{{sure_year}}|(?: of)? (?:the )?(?P<year_is>{_WHICH}) year)?",
    "sure_year": rf"(?P<year>{_YEAR})(?!{_COUNTED})",
    # The phrase does not go on with a half, another number or an owner: "the last week of the sprint".
    "whole": rf"(?! (?:of|before)\b| (?:and|or) (?:\d|half\b|an?\b|{either(*NUMBERS, *VAGUE)}\b)|,? \d)",
    # The end of a word, with its genitive; "March '25" and "two weeks 'til" go on.
    "end": r"(?:['\u2019]s)?(?!['\u2019]?\w)(?!(?: of)? ['\u2018\u2019]\d)(?![-/:.,\u2013]\w)",
}


def pattern(text: str) -> re.Pattern[str]:
    """The regular expression that a pattern stands for."""
    while (filled := re.sub(r"\{([a-z_]+)\}", lambda name: _PARTS[name[1]], text)) != text:
        text = filled
    return re.compile(text.replace(" ?", r"\s*").replace(" ", r"\s+"))
