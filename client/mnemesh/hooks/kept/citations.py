"""Shown memories in the last words of an agent: named by id, or quoted.

A file a session keeps each memory from counting twice. A quotation holds half of the marks of a shown text, or several
in all. Words of the person do not count. So a quoted line is found, and a phrase in common is not.
"""

from __future__ import annotations

import re

from mnemesh.hooks.kept.session_file import SessionFile
from mnemesh.hooks.kept.text_marks import runs_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Final

WORDS_CHARS_MAX: Final = 64 * 1024  # Of the last words.
CITED_MAX: Final = 32  # By one answer.
# Marks in a quotation: one in so many of the memory's, within these bounds.
SHARED_BY: Final = 2
MARKS_MIN: Final = 2
MARKS_ENOUGH: Final = 5
_ID: Final = r"(?<![0-9a-f-])[0-9a-f]{8}-[0-9a-f]{4}(?:-[0-9a-f]{1,4}){0,2}(?:-[0-9a-f]{1,12})?(?![0-9a-f])"


class CitedMemories(SessionFile):
    """The ids that counted already, of one session."""

    folder = "hosts/cited"


def cited(words: str, shown: Mapping[str, Collection[str]], asked: str = "") -> list[str]:
    """The ids of `shown` that the last words of an agent name or quote. A part of an id counts when it fits one alone.
    `shown` has the marks of each. A run of words of the person in `asked` is no quotation."""
    words = words[-WORDS_CHARS_MAX:]
    named: dict[str, None] = {}
    for start in dict.fromkeys(re.findall(_ID, words.lower())):
        fitting = [id_ for id_ in shown if id_.startswith(start)]
        if len(fitting) == 1:
            named[fitting[0]] = None
    marks = frozenset(f"{number:08x}" for number in set(runs_of(words)).difference(runs_of(asked)))
    named |= dict.fromkeys(id_ for id_, own in shown.items() if own and len(marks.intersection(own)) >= _enough(own))
    return list(named)[:CITED_MAX]


def _enough(own: Collection[str]) -> int:
    share = -(-len(own) // SHARED_BY)
    return max(MARKS_MIN, min(share, MARKS_ENOUGH))
