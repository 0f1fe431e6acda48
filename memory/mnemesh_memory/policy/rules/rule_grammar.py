"""The condition of a rule: `field op value`, several joined by `and`. Pure.

There are no regular expressions: globs with few signs, whose match is bounded. A fault is refused with its place.
"""

from __future__ import annotations

import math
import re
from typing import Final

from mnemesh_memory.validation import field_checks
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.kinds import TIERS
from mnemesh_memory.values.rules import OPERATORS, RuleComparison

TEXT_BYTES_MAX: Final = 512
COMPARISONS_MAX: Final = 4
GLOB_SIGNS_MAX: Final = 8
GLOB_SIGNS: Final = re.compile(r"[*?\[]")
_TOKEN: Final = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(!=|<=|>=|=|<|>)|([^\s"=<>!]+))')
_ESCAPE: Final = re.compile(r"\\(.)")


class _Reader:
    """A text, read a token at a time."""

    def __init__(self, field: str, text: str) -> None:
        self._field = field
        self._text = text
        self.at = 0

    @property
    def ended(self) -> bool:
        return not self._text[self.at :].strip()

    def fault(self, wanted: str, at: int | None = None) -> InvalidArgument:
        """The refusal of what stands at a place, counted from 1."""
        place = self.at if at is None else at
        while at is None and place < len(self._text) and self._text[place].isspace():
            place += 1
        here = repr(self._text[place : place + 12]) if place < len(self._text) else "the end"
        return InvalidArgument(self._field, self._text, f"{wanted} at character {place + 1}, where {here} stands")

    def take(self, wanted: str) -> tuple[str, bool, int]:
        """The next token, whether it was quoted, and its place. Raises InvalidArgument at the end."""
        match = _TOKEN.match(self._text, self.at)
        if match is None:
            raise self.fault(wanted)
        self.at = match.end()
        quoted, sign, word = match.groups()
        start = match.start(match.lastindex or 0)
        return (_ESCAPE.sub(r"\1", quoted[1:-1]), True, start) if quoted else (sign or word, False, start)


def conditions(field: str, text: str) -> tuple[RuleComparison, ...]:
    """The comparisons of a condition, such as `kind = run and tag != keep`. Raises InvalidArgument with the place."""
    field_checks.line(field, text, TEXT_BYTES_MAX)
    reader, comparisons = _Reader(field, text), list[RuleComparison]()
    while True:
        comparisons.append(_comparison(reader, field))
        if reader.ended:
            return tuple(comparisons)
        if len(comparisons) == COMPARISONS_MAX:
            raise reader.fault(f"at most {COMPARISONS_MAX} comparisons, and so the end")
        joined, quoted, start = reader.take("`and` or the end")
        if joined != "and" or quoted:
            raise reader.fault('`and` or the end (a value with blanks stands in "...")', start)


def _comparison(reader: _Reader, field: str) -> RuleComparison:
    name, quoted, start = reader.take(f"one of {', '.join(OPERATORS)}")
    if quoted or name not in OPERATORS:
        raise reader.fault(f"one of {', '.join(OPERATORS)}", start)
    allowed = OPERATORS[name]
    op, quoted, start = reader.take(f"one of {' '.join(allowed)} after {name}")
    if quoted or op not in allowed:
        raise reader.fault(f"one of {' '.join(allowed)} after {name}", start)
    value, quoted, start = reader.take(f"a value of {name}")
    if not quoted and value in ("=", "!=", "<", "<=", ">", ">="):
        raise reader.fault(f"a value of {name}", start)
    try:
        return RuleComparison(name, op, _value(field, name, value))
    except InvalidArgument as error:
        raise reader.fault(f"{error.fields['limit']}", start) from None


def _value(field: str, name: str, value: str) -> str:
    """A value in its usual form."""
    if not value.strip():
        raise InvalidArgument(field, value, f"a value of {name}")
    if name == "kind":
        return field_checks.kind(field, value)
    if name == "tag":
        (tag,) = field_checks.tags(field, [value])
        return tag
    if name == "tier":
        return field_checks.one_of(field, value, TIERS)
    if name == "importance":
        return f"{_unit(field, value):g}"
    if name == "path":
        return glob(field, value)
    return value


def _unit(field: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise InvalidArgument(field, value, "a number from 0 to 1")
    return number


def glob(field: str, value: str) -> str:
    """A checked path or glob. Raises InvalidArgument."""
    if len(GLOB_SIGNS.findall(value)) > GLOB_SIGNS_MAX:
        raise InvalidArgument(field, value, f"at most {GLOB_SIGNS_MAX} of * ? [ in a glob")
    return value
