"""Shown memories in the last words of an agent: named by id, or quoted.

A file a session keeps each memory from counting twice. No word of a shown text is kept. Its marks are numbers of runs
of six words, of a long text of some. A quotation holds half of them, or several in all. Words of the person do not
count. So a quoted line is found, and a phrase in common is not.
"""

from __future__ import annotations

import os
import re
import zlib

from mnemesh.hooks.session_file import SessionFile
from mnemesh.short_id import short_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Final

    from mnemesh.transport.space import StrPath

FOLDER: Final = "hosts/cited"
WORDS_CHARS_MAX: Final = 64 * 1024  # Of the last words.
CITED_MAX: Final = 32  # By one answer.
RUN_WORDS: Final = 6
MARKS_MAX: Final = 32  # Of one memory.
# Marks in a quotation: one in so many of the memory's, within these bounds.
SHARED_BY: Final = 2
MARKS_MIN: Final = 2
MARKS_ENOUGH: Final = 5
# Of a text with more than MARKS_MAX runs one in so many is marked, chosen by the number.
ONE_IN: Final = 3
_WORD: Final = re.compile(r"\w+")
_ID: Final = r"(?<![0-9a-f-])[0-9a-f]{8}-[0-9a-f]{4}(?:-[0-9a-f]{1,4}){0,2}(?:-[0-9a-f]{1,12})?(?![0-9a-f])"


class CitedMemories(SessionFile):
    """The ids that counted already, of one session."""

    def __init__(self, data_dir: StrPath, host: str, session: str) -> None:
        super().__init__(os.path.join(data_dir, FOLDER), host, session)


def marks_of(text: str) -> tuple[str, ...]:
    """The marks of a text, none for a short one."""
    runs = _runs(text)
    kept = runs if len(runs) <= MARKS_MAX else [number for number in runs if number % ONE_IN == 0]
    return tuple(f"{number:08x}" for number in kept[:MARKS_MAX])


def _runs(text: str) -> list[int]:
    """A number for each run of words in a text."""
    words = _WORD.findall(text.lower())
    runs = (" ".join(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1))
    return list(dict.fromkeys(zlib.crc32(run.encode("utf-8", "replace")) for run in runs))


def cited(words: str, shown: Mapping[str, Collection[str]], asked: str = "") -> list[str]:
    """The ids of `shown` that the last words of an agent name or quote. A part of an id counts when it fits one alone.
    `shown` has the marks of each. A run of words of the person in `asked` is no quotation."""
    words = words[-WORDS_CHARS_MAX:]
    named: dict[str, None] = {}
    for found in dict.fromkeys(re.findall(_ID, words.lower())):
        fitting = [id_ for id_ in shown if id_.startswith(found)]
        if len(fitting) == 1:
            named[fitting[0]] = None
    marks = frozenset(f"{number:08x}" for number in set(_runs(words)).difference(_runs(asked)))
    named |= dict.fromkeys(id_ for id_, own in shown.items() if own and len(marks.intersection(own)) >= _enough(own))
    return list(named)[:CITED_MAX]


def _enough(own: Collection[str]) -> int:
    share = -(-len(own) // SHARED_BY)
    return max(MARKS_MIN, min(share, MARKS_ENOUGH))


def with_marks(ids: Iterable[str], block: str) -> list[str]:
    """The lines to keep of a block that was shown: each id, and the marks of its text."""
    texts: dict[str, str] = {}
    for line in block.splitlines():
        head, _, text = line.partition("] ")
        if head.startswith("- ["):
            texts.setdefault(head[3:].partition(" ")[0], text)
    return [":".join((id_, ",".join(marks_of(texts.get(short_id(id_), ""))))) for id_ in ids]
