"""The beginning of an id in lines for people: long enough for the next command to find that one memory."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

CHARS: Final = 13  # Of an id that comes from a key: 48 bits, no two alike.
# An id without a key begins with its time, which is alike in a whole batch. Chance begins in the third group.
TIMED_CHARS: Final = 23
WHOLE_CHARS: Final = 36
# The first byte of a time in milliseconds from 2004 to 2039.
_TIMED: Final = "01"
# A quoted text of a memory is found first, and stays as its writer wrote it.
_IN_TEXT: Final = r"“[^”]*”|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"


def short_id(id_: str) -> str:
    """The beginning of `id_`."""
    return id_[: TIMED_CHARS if id_.startswith(_TIMED) else CHARS]


def with_short_ids(text: str) -> str:
    """A text of a node with its ids short."""
    import re  # no hook comes here

    return re.sub(_IN_TEXT, lambda match: match[0] if match[0].startswith("“") else short_id(match[0]), text)


def shortened(lines: Iterable[str], ids: Iterable[str]) -> Iterator[str]:
    """The lines with these ids short, and longer where two of them begin alike. Ids in texts of memories that are none
    of these stay as they are."""
    named = sorted(set(ids) - {""})
    short = {id_: _unique(id_, named) for id_ in named}
    for line in lines:
        for id_, beginning in short.items():
            line = line.replace(id_, beginning)
        yield line


def _unique(id_: str, named: Iterable[str]) -> str:
    others = [other for other in named if other != id_]
    fitting = (
        id_[:chars]
        for chars in (len(short_id(id_)), TIMED_CHARS, WHOLE_CHARS)
        if not any(other.startswith(id_[:chars]) for other in others)
    )
    return next(fitting, id_)
