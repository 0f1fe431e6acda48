"""Ids in lines for people: as short as `list` shows ids, and longer only where two ids of the lines begin alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

# The groups of an id: 13 characters, which hold its time, then more and more of its chance.
CHARS: Final = (13, 18, 23, 36)


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
