"""Ids in lines for people: short, yet long enough for a command, and longer where two ids of the lines begin alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

# The time of an id, 13 characters, is alike in a whole batch. The two groups after the time have 26 bits of chance.
COMMAND_CHARS: Final = 23
CHARS: Final = (COMMAND_CHARS, 36)


def shortened(lines: Iterable[str], ids: Iterable[str]) -> Iterator[str]:
    """The lines with these ids short. Ids in texts of memories that are none of these stay as they are."""
    named = sorted(set(ids) - {""})
    short = {id_: _short(id_, named) for id_ in named}
    for line in lines:
        for id_, beginning in short.items():
            line = line.replace(id_, beginning)
        yield line


def _short(id_: str, named: Iterable[str]) -> str:
    others = [one for one in named if one != id_]
    fitting = (chars for chars in CHARS if not any(one.startswith(id_[:chars]) for one in others))
    return id_[: next(fitting, len(id_))]
