"""The beginning of an id that is shown in listings: long enough for the next command to find that one memory."""

from __future__ import annotations

from typing import Final

CHARS: Final = 13  # Of an id that comes from a key: 48 bits, no two alike.
# An id without a key begins with its time, which is alike in a whole batch. Chance begins in the third group.
TIMED_CHARS: Final = 23
# The first byte of a time in milliseconds from 2004 to 2039.
_TIMED: Final = "01"


def short_id(id_: str) -> str:
    """The beginning of `id_`."""
    return id_[: TIMED_CHARS if id_.startswith(_TIMED) else CHARS]
