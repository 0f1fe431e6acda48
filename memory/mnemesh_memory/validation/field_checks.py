"""Checks of a single field, whatever the request: texts, lists, choices, numbers, times, ids.

Each check gives a cleaned copy, or a refusal that names field, value and limit; it never cuts and never guesses.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, shown_time
from mnemesh_memory.values.kinds import KINDS, LEDGER_LINK_TYPES, WRITABLE_LINK_TYPES, fold_kind
from mnemesh_memory.values.model import Link, Source
from mnemesh_memory.values.spaces import well_formed

Item = TypeVar("Item")
REVISION_KEY: Final = re.compile(r"[1-9][0-9]{0,9}(@[0-9a-f]{0,32})?")


def bounded_text(field: str, value: str, bytes_max: int, *, empty: bool) -> str:
    """Any well-formed Unicode of at most `bytes_max` bytes; blank text is refused unless `empty`."""
    well_formed(field, value)
    if not empty and not value.strip():
        raise InvalidArgument(field, value, f"1 to {bytes_max} bytes of text, not only blanks")
    if (size := len(value.encode())) > bytes_max:
        limit = f"at most {bytes_max} bytes of UTF-8"
        if field.rpartition(".")[2] == "content":
            limit += "; split it, for example with `mnemesh import`"
        raise InvalidArgument(field, f"{size} bytes", limit)
    return value


def kept_text(field: str, value: str, bytes_max: int, *, empty: bool) -> str:
    """`bounded_text` for a text to store. A NUL is refused, because many a later reader takes it for the end of the
    text. A NUL from another node is read as it is."""
    bounded_text(field, value, bytes_max, empty=empty)
    if (at := value.find("\0")) >= 0:
        raise InvalidArgument(field, f"U+0000 at character {at + 1}", "text without NUL characters")
    return value


def line(field: str, value: str, bytes_max: int) -> str:
    """One line without control characters, blanks trimmed, at most `bytes_max` bytes; may be empty."""
    well_formed(field, value)
    trimmed = value.strip()
    if any(unicodedata.category(ch) == "Cc" for ch in trimmed):
        raise InvalidArgument(field, value, "no control characters or line breaks")
    if len(trimmed.encode()) > bytes_max:
        raise InvalidArgument(field, value, f"at most {bytes_max} bytes of UTF-8")
    return trimmed


def lines(field: str, values: Iterable[str], count_max: int, bytes_max: int) -> tuple[str, ...]:
    """At most `count_max` non-empty lines, duplicates dropped, order kept."""
    given = at_most(field, tuple(values), count_max)
    if not given:
        return ()
    clean = tuple(line(f"{field}[{i}]", value, bytes_max) for i, value in enumerate(given))
    for i, value in enumerate(clean):
        if not value:
            raise InvalidArgument(f"{field}[{i}]", given[i], "not empty")
    return tuple(dict.fromkeys(clean))


def tags(field: str, values: Iterable[str]) -> tuple[str, ...]:
    """Tags, normalised to NFC, sorted, unique."""
    normal = (unicodedata.normalize("NFC", value) for value in values)
    return tuple(sorted(lines(field, normal, limits.TAGS_MAX, limits.TAG_BYTES_MAX)))


def kind(field: str, value: str) -> str:
    """The canonical kind, folding known aliases."""
    well_formed(field, value)
    folded = fold_kind(value)
    if folded is None:
        raise InvalidArgument(field, value, f"one of {', '.join(KINDS)}")
    return folded


def kinds(field: str, values: Iterable[str]) -> tuple[str, ...]:
    """Canonical kinds of a filter, unique."""
    return tuple(dict.fromkeys(kind(field, value) for value in at_most(field, tuple(values), len(KINDS) * 4)))


def one_of(field: str, value: str, allowed: Sequence[str]) -> str:
    """`value` if it is one of `allowed`."""
    if value not in allowed:
        raise InvalidArgument(field, value, f"one of {', '.join(allowed)}")
    return value


def unit_interval(field: str, value: float | None) -> float | None:
    """A finite number from 0 to 1, or None."""
    if value is not None and not (math.isfinite(value) and 0.0 <= value <= 1.0):
        raise InvalidArgument(field, value, "a number from 0 to 1")
    return value


def whole(field: str, value: int, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    if not low <= value <= high:
        raise InvalidArgument(field, value, f"a whole number from {low} to {high}")
    return value


def moment(field: str, value: int | None) -> int | None:
    """Milliseconds since the epoch, negative before it, within the years that a Timestamp holds."""
    if value is not None and not limits.TIME_MS_MIN <= value <= limits.TIME_MS_MAX:
        raise InvalidArgument(field, shown_time(value), "a time from 0001-01-01 to 9999-12-31")
    return value


def not_ahead(field: str, value: int | None, now: int) -> None:
    """A moment is not after `now`, but for what two clocks may differ by."""
    if moment(field, value) is not None and value is not None and value > now + limits.CLOCK_AHEAD_MS_MAX:
        raise InvalidArgument(field, shown_time(value), "a time that is not in the future")


def times_in_order(valid_from: int | None, valid_to: int | None) -> None:
    """valid_to is not before valid_from."""
    window("valid_from", valid_from, "valid_to", valid_to, equal=True)


def window(low: str, start: int | None, high: str, end: int | None, *, equal: bool = False) -> None:
    """Two moments in order; `equal` lets them be the same."""
    moment(low, start)
    moment(high, end)
    if start is not None and end is not None and (end < start or (end == start and not equal)):
        raise InvalidArgument(high, shown_time(end), f"after {low}" if not equal else f"not before {low}")


def attrs(field: str, values: Mapping[str, str]) -> dict[str, str]:
    """Free attributes, keys sorted."""
    if len(values) > limits.ATTRS_MAX:
        raise InvalidArgument(field, f"{len(values)} attributes", f"at most {limits.ATTRS_MAX}")
    clean: dict[str, str] = {}
    for key in sorted(values):
        name = line(f"{field} key", key, limits.ATTR_KEY_BYTES_MAX)
        if not name or name in clean:
            raise InvalidArgument(f"{field} key", key, "not empty, and each key once")
        clean[name] = kept_text(f"{field}.{name}", values[key], limits.ATTR_VALUE_BYTES_MAX, empty=True)
    return clean


def links(field: str, values: Iterable[Link]) -> tuple[Link, ...]:
    """Typed links to memory ids, sorted, unique; those that the ledger writes itself are refused."""
    given = at_most(field, tuple(values), limits.LINKS_MAX)
    clean = {
        Link(link_type(f"{field}[{place}].type", item.type), memory_id(f"{field}[{place}].id", item.id))
        for place, item in enumerate(given)
    }
    return tuple(sorted(clean, key=lambda item: (item.type, item.id)))


def link_type(field: str, value: str) -> str:
    """A type of link that a writer may put."""
    if value in LEDGER_LINK_TYPES:
        how = "the ledger writes these links when a memory is replaced: name it in `supersedes`, or call `supersede`"
        raise InvalidArgument(field, value, how)
    return one_of(field, value, WRITABLE_LINK_TYPES)


def source(given: Source) -> Source:
    """Session, directory and position."""
    if given.seq is not None:
        whole("source.seq", given.seq, 0, 2**32 - 1)
    return Source(
        session=line("source.session", given.session, limits.SESSION_BYTES_MAX),
        dir=line("source.dir", given.dir, limits.PATH_BYTES_MAX),
        seq=given.seq,
    )


def memory_id(field: str, value: str) -> str:
    """A whole UUID in text form, lower-cased."""
    lowered = value.strip().lower()
    parts = lowered.split("-")
    if [len(part) for part in parts] != [8, 4, 4, 4, 12] or any(ch not in "0123456789abcdef-" for ch in lowered):
        raise InvalidArgument(field, value, "a memory id such as 018f6f0e-7c1a-7000-8000-3f1f8d2f6a11")
    return lowered


def heads(field: str, values: Iterable[str]) -> tuple[str, ...]:
    """The heads that a writer saw, as whole revision ids."""
    return lines(field, values, limits.EXPECTED_HEADS_MAX, limits.REVISION_ID_BYTES_MAX)


def revision_key(field: str, value: str) -> str:
    """A revision id, or the beginning of one: "n" or "n@" and hex digits, lower-cased."""
    lowered = value.strip().lower()
    if REVISION_KEY.fullmatch(lowered) is None:
        raise InvalidArgument(field, value, "a revision id such as 2@9f86d081884c7d65, or its beginning, such as 2")
    return lowered


def at_most(field: str, values: tuple[Item, ...], count_max: int) -> tuple[Item, ...]:
    """`values` if there are at most `count_max`."""
    if len(values) > count_max:
        raise InvalidArgument(field, f"{len(values)} values", f"at most {count_max}")
    return values
