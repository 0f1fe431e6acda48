"""Dates in a row, which are one stretch from the first to the last: "March to May", "in Q1 and Q2", "Monday through
Friday", "since 2022 or 2023", "from March 3 to now".

What a date goes on with and what can't be read with it is found here too, so that the date is not read alone.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, NamedTuple

from mnemesh_memory.calendar_spans import PARTS, SEASONS, WEEK, Span, day_of, part_of_day, unit_of
from mnemesh_memory.time_days import NAMED_UNITS, PEOPLE, PREVIOUS, QUARTER, SHORT_DAYS, VERBS, WEEKDAYS, YEAR, Read
from mnemesh_memory.time_numbers import ARTICLES, UNITS, is_number, number_at
from mnemesh_memory.time_ranges import Ranges
from mnemesh_memory.time_stretches import LOOSE, ORDINALS
from mnemesh_memory.time_tokens import BREAK

TO: Final = frozenset(("to", "until", "till", "through", "thru", "-", "\u2013"))
AND: Final = frozenset(("and",))
LISTED: Final = frozenset(("and", "or", ","))
# Before these a phrase is at its end, and a question may go on.
ENDS: Final = frozenset(("", BREAK, ",", "what", "who", "which", "how", "why", "when", "where", "did"))
# Marks stand between other things, too: "in March - June says that it was April".
_MARKS: Final = frozenset((",", "-", "\u2013"))
_CLOSED: Final = ENDS | TO | LISTED
_AUXILIARY: Final = frozenset(("do", "does", "has", "have", "had", "is", "are", "was", "were"))
_LAST: Final = ("last", "past")
_LEADS: Final = {"weekday": "on", "month": "in", "quarter": "in", "year": "in"}
_UNITS: Final = frozenset(("day", "week", "weekend", "month", "quarter", "year"))
# "Last week and second" may be that of an attempt.
_NO_UNITS: Final = frozenset(("second", "min"))
_WHICH: Final = {"last": -1, "this": 0, "next": 1}
_MOMENT: Final = timedelta(milliseconds=1)
_HALF_DAY: Final = timedelta(hours=12)


class _Joint(NamedTuple):
    """The word that joins what ends there with the next, "" for none, and the token after it."""

    word: str
    end: int


class Rows(Ranges):
    """Reads any stretch from the tokens of one text, and several of them that are joined."""

    def read(self, at: int, after: str) -> Read | None:
        """As Ranges reads it, or two of one unit that is named once: "this and last week"."""
        return self._both(at) or super().read(at, after)

    def row(self, at: int, after: str, joins: frozenset[str]) -> Read | None:
        """One date, or as many as are joined by one of `joins`, as one stretch."""
        name, joint = self._name(at), self._joint(at + 1, joins)
        lead, named = after, bool(name and joint.word)
        if named and name == self._name(joint.end):
            lead = self._lead(after, at, joint.end)
        elif named and not after and name != "year" and (name == "weekday" or joint.word in TO):
            lead = _LEADS.get(name, "")  # "Monday to yesterday"
        one = last = self.read(at, lead)
        last_at, ranged = at, True
        while one is not None and last is not None and (joint := self._joint(one.end, joins)).word:
            other = self._member(at, one, joint, after)
            if other is None:
                break
            ranged, last, last_at = ranged and joint.word in TO, other, joint.end
            one = self._spanned(at, one, other, joint, after)
        if after or lead == after or one is None or last is None:
            return one
        if one is last:
            return self.read(at, after)
        same = self._kind(last_at, last.end) == name
        return one if self._stands_alone(at, name, last, same=same, ranged=ranged) else None

    def pair(self, at: int, word: str, joins: frozenset[str]) -> Read | None:
        """`between A and B`, `from A to B`: from the first up to the end of the last; `after A until B` without the
        first."""
        name, joint = self._name(at), self._joint(at + 1, joins)
        lead = self._lead(word, at, joint.end) if name and name == self._name(joint.end) else word
        one = self._now_at(at) or self.read(at, lead) or self.edge(at)
        if one is None and name == "month" and word == "from" and joint.word in TO:
            one = self.read(at, "in")  # "from May to yesterday": no name of somebody
        if one is None or not (joint := self._joint(one.end, joins)).word:
            return None
        other = self._member(at, one, joint, word) or self.edge(joint.end)
        return None if other is None else self._spanned(at, one, other, joint, word)

    def continued(self, first: int, end: int, relative: bool) -> int:
        """Where that ends which a phrase goes on with and which could not be read with it, 0 when it goes on with
        nothing: "in 2023 and | 2024 tokens", "the week and | a half"."""
        lead = end + 1 + (self.word(end + 1) == "the")
        if self.word(end) in ("of", "in") and self.word(lead) in PREVIOUS and self.word(lead + 1) in NAMED_UNITS:
            return lead + 2  # from which time that is told is not known here
        word, to = self._joint(end, TO | LISTED)
        if not word or word in _MARKS:
            return 0
        if self._words[to : to + 2] == ["a", "half"] or (self.word(to) == "half" and self.word(to + 1) in ENDS):
            return to + 1 + (self.word(to) == "a")
        after_number = to + 1 + (self.word(to) == "the")
        number_end = number_at(self._words, to)[1] if is_number(self._words, to) else to + (self.word(to) == "the")
        if self.word(end - 1) in UNITS and self.word(number_end) in UNITS and self.word(number_end) not in _NO_UNITS:
            return number_end + 1  # "the last week or month"
        counted = self.word(end - 1) in UNITS or self.word(end - 1) == "ago" or self.word(end - 1)[:1].isdigit()
        number = self.word(to)[:1].isdigit() or (is_number(self._words, to) and self.word(to) not in ARTICLES)
        if word == "or" and counted and number:
            return to + 1  # "two weeks ago or three"
        if not relative and self.numeric(to) and (word in TO or self.is_day(after_number)):
            return after_number
        to += self.word(to) == "the"
        name, kind = self._name(to), self._kind(first, end)
        if not name or (name != kind and (name == "year" or self.word(to) in PEOPLE)):
            return 0
        return to + 1

    def continues(self, at: int) -> bool:
        """Whether what begins there only goes on with what stands before it and was not read: "every Monday and |
        Friday", "the first and | second quarter"."""
        to = self._joint(at, TO - _MARKS)
        if at > 1 and to.word:
            return bool(self._name(to.end)) and self._name(at - 1) == self._name(to.end)
        word, before = self.word(at - 1) if at else "", at - 2 - (at > 2 and self.word(at - 2) in (",", "up"))
        if before < 0 or word not in (TO | LISTED) - _MARKS:
            return False
        lead = at + (self.word(at) == "the")
        ordinal = before - (before > 0 and self.word(before) in UNITS and self.word(before) not in ORDINALS)
        if self.word(lead) in ORDINALS and self.word(ordinal) in ORDINALS:
            return True
        if self._clock(before)[0] is not None and self._clock(lead)[0] is not None:
            return True  # "3pm and | 5pm yesterday"
        name = self._name(before)
        return bool(name) and (name == self._name(lead) or (word in TO and bool(self._name(lead))))

    # ---- its members ---------------------------------------------------------------------------------------------

    def _joint(self, end: int, joins: frozenset[str]) -> _Joint:
        end += self.word(end) == "," and self.word(end + 1) in ("and", "or") and self.word(end + 1) in joins
        end += self.word(end) == "up" and self.word(end + 1) in ("to", "until", "till")
        if self.word(end) not in joins:
            return _Joint("", end)
        including = self.word(end) in TO and self.words(end + 1, end + 3) == ["and", "including"]
        return _Joint(self.word(end), end + (3 if including else 1))

    def _name(self, at: int) -> str:
        """What is named by a word that names no certain date: a "month", "weekday", "quarter", "season" or "year", ""
        for none. In small letters "may" and "march" do so at the end of a phrase alone."""
        word = self.word(at)
        if self.month_number(at) is not None:
            verb = word in VERBS and not self._tokens[at].capital
            closed = self._joint(at + 1, _CLOSED).word or self.word(at + 1) == "" or self.year(at + 1)[0]
            return "month" if closed or not verb else ""
        if word in WEEKDAYS or (word in SHORT_DAYS and self._tokens[at].capital):
            return "weekday"
        if word in SEASONS or QUARTER.fullmatch(word):
            return "season" if word in SEASONS else "quarter"
        return "year" if YEAR.fullmatch(word) else ""

    def _kind(self, first: int, end: int) -> str:
        """What is named in a date, by its first name."""
        return next((name for at in range(first, end) if (name := self._name(at))), "")

    def _lead(self, after: str, at: int, to: int) -> str:
        """The word that leads to two names of a kind: where one of them is a time, so is the other."""
        name = self._name(to)
        if name == "month" and after in LOOSE:
            sure = any(not self.doubtful(one) and self.word(one) not in PEOPLE for one in (at, to))
            pair = after in ("from", "before", "after", "between") and not (self.doubtful(at) and self.doubtful(to))
            return "in" if sure or pair else after
        if name == "year" and after in ("", "over", "at", "for", "around"):
            return after
        return _LEADS.get(name, after)

    def _stands_alone(self, at: int, name: str, last: Read, *, same: bool, ranged: bool) -> bool:
        """Whether names in a row are a time without a word that leads to it: "Monday to Friday", "Q1 and Q2 2024".
        `same`: the last is of their kind, too; `ranged`: all are joined by "to"."""
        if name == "weekday":
            return self.is_day_of_week(at) and (not same or self.ends_weekday(last.end))
        if same and not last.span.cycle:
            return True
        months = [one for one in range(at, last.end) if self.month_number(one) is not None]
        named = name == "quarter" or any(self.word(one) not in PEOPLE for one in months)
        return ranged and named and not any(self.doubtful(one) for one in months)

    def _member(self, first: int, one: Read, joint: _Joint, after: str) -> Read | None:
        """The date that is joined to `one`, which begins at `first`."""
        word, to = joint
        beside = self._next_to(one, to) or self._this_one(one, to) or self._part_beside(one, to)
        if beside is not None:
            return beside
        if (word in TO or after == "between") and (now := self._now_at(to)) is not None:
            return now
        named = next((at for at in range(first, one.end) if self._name(at)), first)
        # What leads to the one leads to the other: "the first half of 2025 and | 2024".
        after = after or ("in" if {"of", "in"} & {*self.words(first, one.end)} else "")
        same = bool(self._name(to)) and self._name(named) == self._name(to)
        if same:
            other = self.read(to, self._lead(after, named, to))
        elif word in _MARKS and after not in ("from", "between", "since"):
            return None
        elif self.word(to) in VERBS and not self._name(to):
            return None  # "in March and may we"
        else:
            other = self.read(to, "from" if word in TO else after)
        if other is not None and word in _MARKS and self.word(other.end) not in _CLOSED:
            return None
        return other

    def _next_to(self, one: Read, at: int) -> Read | None:
        """The week before or after what stands before it: "last week and | the week before", "this week and | the
        previous one"."""
        lead = at + (self.word(at) == "the")
        unit, side, end = self.word(lead), self.word(lead + 1), lead + 2
        if unit in PREVIOUS:
            unit, side = self.word(one.end - 1) if side == "one" else side, "before"
        elif lead == at:
            return None
        else:
            end += self.word(end) == "that"
        if unit not in _UNITS or side not in ("before", "after"):
            return None
        if self.word(end) not in _CLOSED:
            return None
        before = side == "before"
        edge = one.span.since if before else one.span.before - _MOMENT
        return Read(unit_of(edge, unit, -1 if before else 1), end, one.relative)

    def _both(self, at: int) -> Read | None:
        to = self._joint(at + 1, LISTED - _MARKS).end
        first, last, unit = self.word(at), self.word(to), self.word(to + 1)
        if to == at + 1 or first == last or not {first, last} <= _WHICH.keys() or unit not in _UNITS:
            return None
        spans = sorted(unit_of(self._now, unit, _WHICH[which]) for which in (first, last))
        return Read(Span(spans[0].since, spans[1].before), to + 2, True)

    def _this_one(self, one: Read, at: int) -> Read | None:
        """The other one that is named without its unit: "last week or | this", "this month and | the last one"."""
        lead = at + (self.word(at) == "the")
        which, unit, end = self.word(lead), self.word(one.end - 1), lead + 1
        end += self.word(end) == "one"
        if self.word(one.end - 2) not in _WHICH or unit not in _UNITS or self.word(end) not in _CLOSED:
            return None
        return Read(unit_of(self._now, unit, _WHICH[which]), end, True) if which in _WHICH else None

    def _part_beside(self, one: Read, at: int) -> Read | None:
        """Another part of the day that is named before: "yesterday morning and | evening"."""
        part = at + (self.word(at) == "the")
        if self.word(one.end - 1) not in PARTS or self.word(part) not in PARTS or self.word(part + 1) not in _CLOSED:
            return None
        # Half a day before its end every part lies on its day, a night that ends on the next one, too.
        day = day_of(one.span.before - _HALF_DAY)._replace(cycle=one.span.cycle)
        return Read(part_of_day(day, self.word(part)), part + 1, one.relative)

    def _now_at(self, at: int) -> Read | None:
        """The moment of asking at the end of a range: "to now", "to date", "until the present day"."""
        lead = at + (self.word(at) == "the")
        word, end = self.word(lead), lead + 1
        if lead == at and word == "right" and self.word(end) == "now":
            word, end = "now", end + 1
        more = {"present": ("day", "moment", "time"), "this": ("day",)}.get(word, ())
        if self.word(end) in more and (word == "present" or self.word(end + 1) in ENDS | _AUXILIARY):
            end += 1
        elif word not in ("now", "date", "present") or (lead > at and word != "present"):
            return None
        elif word != "now" and self.word(end) not in ENDS | _AUXILIARY:
            return None  # "to date Bob", "to present our plan"
        return Read(Span(self._now, self.soon()), end, True)

    def _spanned(self, first: int, one: Read, other: Read, joint: _Joint, word: str) -> Read:
        """From the first up to the end of the last, behind the `word` that leads to them. In a range the first that is
        said comes first; of a list in several years or weeks the shortest stretch is meant that holds them all."""
        early, late, between = one.span, other.span, word == "between"
        same = bool(kind := self._kind(first, one.end)) and kind == self._kind(joint.end, other.end)
        listed = joint.word in LISTED and not between
        if not listed and _exact(early).since != _exact(late).before:
            early, late = _exact(early), _exact(late)
        if (same or not listed) and early.cycle == "year" and not late.cycle:
            early = early.back(early.since.year - late.since.year)  # "between May and July 2023"
        if (same or not listed) and early.since > late.since:
            if early.cycle:
                back = early.back(1)
                shorter = late.before - back.since < early.before - late.since
                early = back if shorter or not (listed and late.cycle) else early
            elif late.cycle and same and self.word(first) in _LAST:
                early = early._replace(cycle=late.cycle).back(1)
            elif late.cycle and (not between or same or early.since >= self._now):
                late = _onward(late, early)
        cycle = early.cycle if early.cycle == late.cycle else ""
        if early.since > late.since:
            early, late = late, early
        before = max(early.before, late.before) if listed else late.before
        since = early.before if word == "after" and not listed else early.since
        return Read(Span(since, before, cycle=cycle), other.end, one.relative and other.relative)


def _exact(span: Span) -> Span:
    """A time of a day at the end of a range is that moment, not its surroundings: "from 14:10 yesterday to now"."""
    if span.at is None or span.day:
        return span
    return span._replace(since=span.at, before=span.at)


def _onward(late: Span, early: Span) -> Span:
    """The first of what comes again that does not begin before the other."""
    if late.cycle == "week":
        return late.back((late.since - early.since) // WEEK)
    years = late.since.year - early.since.year
    moved = late.back(years)
    return moved if moved.since >= early.since else late.back(years - 1)
