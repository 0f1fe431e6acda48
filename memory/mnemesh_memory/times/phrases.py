"""Phrases of time around a date: "since March", "between Monday and Friday", "in March or April", "as of May 3".

A phrase that is of time and can't be read whole, or is not the time that is meant, is a phrase without a stretch.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from mnemesh_memory.times.calendar import Span
from mnemesh_memory.times.grammar import date_at
from mnemesh_memory.times.meanings import Date, DatedQuestion
from mnemesh_memory.times.vocabulary import either, pattern

# Words before a date, and the side that they leave open: "since" begins with it, "after" ends with it.
_BOUNDS: Final = {
    said: side for side, several in {
        "since": ("since", "on or after", "no earlier than", "not earlier than"),
        "after": ("after", "later than", "newer than"),
        "before": ("before", "prior to", "earlier than", "older than"),
        "until": ("until", "till", "through", "by", "on or before", "no later than", "not later than", "up to",
                  "up to and including", "as of"),
    }.items() for said in several
}  # fmt: skip
_AT: Final = ("in", "on", "at", "during", "over", "within", "throughout", "from", "of", "for", "around")
_LEAD: Final = pattern(f"(?P<lead>{either(*_BOUNDS, *_AT, 'between')}) ")
# Before a time that stands alone these belong to the verb: "what is going on this week", "who logged in 3 days ago".
_PARTICLES: Final = frozenset(("in", "on", "at", "over", "around"))
_ALONE: Final = pattern(r"(?:today|yesterday|tomorrow|tonight|this|last|next|earlier)\b|.*\bago$")
_TO: Final = pattern(r"(?: ?(?:-|\u2013) ?| (?:to|until|till|through|thru|up to)(?: and including)? )")
_AND: Final = pattern(r"(?: ?,)? (?:and|or|&|vs\.?|versus) ")
_COMMA: Final = pattern(r" ?, ")
_NOW: Final = pattern(r"(?:right )?now\b|(?:(?:the )?present(?: day)?|date)(?= ?$| ?[.,?!])")
_OPEN: Final = pattern(r" (?:(?:or|and) (?:later|newer|beyond)|onwards?|or (?P<until>earlier|older)(?! \w))\b")
# The time behind these words is not meant, or is half of a range with another half that is no date.
_DENIED: Final = pattern(
    r"(?:(?<!or\s)\bnot|\bexcept(?: for)?|\bexcluding|\bwithout|\b(?:all|everything|anything) but|\bneither|\bnor"
    r"|\b(?:other|rather|more|less|longer) than|\bat (?:least|most)|\b(?:apart|aside)(?: from)?"
    r"|\bbetween\b[^.,?!;]* and|\bfrom\b[^.,?!;]* (?:to|until|till)) ?$"
)
# A name that goes on from another name is half of a phrase: "every Monday and | Friday", "Monday | through Friday".
_CUT: Final = pattern(r"\b(?:{names}|\d\d?(?:st|nd|rd|th)?),? (?:and|or|&|vs\.?|versus|to|thru)(?: the)? ?$")
_NAME: Final = pattern(r"\b{names} ?$")
_NAMED: Final = pattern(r"(?:the )?(?:{names}|\d)")
# How far it is to the time or event behind "before" is not known: "three days | before the release".
DISTANCE: Final = pattern(
    r"\b(?:(?:{a_number}|half an?)(?: of)? {a_unit}(?: or {a_number})?|and a half(?: {a_unit})?"
    r"|the (?:hour|day|night|morning|evening|week|weekend|month|quarter|year)) ?$"
)
_FROM_DISTANCE: Final = frozenset(("before", "after", "prior to", "from"))


class Phrase(NamedTuple):
    """A part of the text from `start` up to `end`, with its stretch; both ends are None when it has none."""

    start: int
    end: int
    since: datetime | None
    before: datetime | None
    relative: bool


def phrase_at(asked: DatedQuestion, at: int) -> Phrase | None:
    """The phrase of time that begins there."""
    words = _LEAD.match(asked.lower, at)
    lead, start = (" ".join(words["lead"].split()), words.end()) if words else ("", at)
    phrase = _range(asked, at, start, lead) or _listed(asked, at, start, lead)
    if phrase is None:
        return None
    text = asked.lower[:at]
    goes_on = _NAME if lead in ("until", "till", "through") else _CUT
    cut = (not lead or goes_on is _NAME) and _NAMED.match(asked.lower, start) and goes_on.search(text)
    if cut or _DENIED.search(text) or (lead in _FROM_DISTANCE and DISTANCE.search(text)):
        return phrase._replace(since=None, before=None)
    return phrase


def _range(asked: DatedQuestion, at: int, start: int, lead: str) -> Phrase | None:
    """From one date to another: "between A and B", "from A to B", "since A until B", "March to May 2023"."""
    inner_lead = "between" if lead in ("between", "from") else lead or "in"
    first = date_at(asked, start, inner_lead)
    if first is None or _BOUNDS.get(lead) in ("until", "before"):
        return None
    joint = (_AND if lead == "between" else _TO).match(asked.lower, first.end)
    last: Date | None = None
    if joint and (now := _NOW.match(asked.lower, joint.end())):
        last = Date(Span(asked.now, asked.soon()), now.end(), relative=True)
    elif joint:
        last = date_at(asked, joint.end(), inner_lead)
    if last is None:
        # Half of a range is not read alone: "from 1990 to 2010 items".
        half = lead == "between" or (lead == "from" and joint and asked.lower[joint.end() :][:1].isdigit())
        return Phrase(at, first.end, None, None, relative=False) if half else None
    named = first.span.cycle == "year" and not last.span.cycle
    if not (lead or named or date_at(asked, start, "")):
        return None  # "introduce June to August"
    span = _ranged(first.span, last.span)
    since = first.span.last if lead == "after" else span.since
    return Phrase(at, last.end, since, span.before, first.relative and last.relative)


def _listed(asked: DatedQuestion, at: int, start: int, lead: str) -> Phrase | None:
    """A date, or several as the stretch that holds them all: "since March", "in March or April", "March 3 or later"."""
    date = date_at(asked, start, lead)
    while date is not None:
        joint, comma = _AND.match(asked.lower, date.end), _COMMA.match(asked.lower, date.end)
        other = date_at(asked, joint.end(), lead and "list") if (joint := joint or comma) else None
        if other is None:
            break
        alike = other.span.cycle == date.span.cycle or (joint is not comma and date.span.cycle == "year")
        goes_on = _AND.match(asked.lower, other.end) or _COMMA.match(asked.lower, other.end)
        if not alike or (joint is comma and not goes_on):
            break  # "in October, November was warm"
        date = Date(_held(date.span, other.span), other.end, date.relative and other.relative)
    if date is None:
        return None
    side, end = _BOUNDS.get(lead, ""), date.end
    if not side and (beyond := _OPEN.match(asked.lower, end)):
        side, end = "until" if beyond["until"] else "since", beyond.end()
    alone = lead in _PARTICLES and _ALONE.match(asked.lower[start:end])
    return Phrase(start if alone else at, end, *_bounded(asked, side, date.span), date.relative)


def _bounded(asked: DatedQuestion, side: str, span: Span) -> tuple[datetime | None, datetime | None]:
    if side == "until" and span.cycle == "week" and span.before <= asked.now:
        span = span.back(-1)  # a weekday behind "until" is the coming one
    return {"since": (span.first, None), "after": (span.last, None), "before": (None, span.first),
            "until": (None, span.last)}.get(side, (span.since, span.before))  # fmt: skip


def _ranged(first: Span, last: Span) -> Span:
    """From the first up to the end of the last. The year or week of one may tell that of the other."""
    if last.cycle and not first.cycle:
        while last.first < first.first:
            last = last.back(-1)
        while last.back(1).first >= first.first:
            last = last.back(1)
    while first.cycle and first.since > last.since:
        first = first.back(1)
    if first.since > last.since:
        first, last = last, first
    return Span(first.first, last.last, cycle=last.cycle and first.cycle)


def _held(first: Span, last: Span) -> Span:
    """The shortest stretch that holds both, of the years or weeks that may be meant."""
    cycles = 1 if last.cycle else max(0, first.since.year - last.since.year) + 1
    firsts = [first.back(number) for number in range(cycles + 1)] if first.cycle else [first]
    held = [
        Span(min(one.since, last.since), max(one.before, last.before), cycle=one.cycle and last.cycle) for one in firsts
    ]
    return min(held, key=lambda span: span.before - span.since)
