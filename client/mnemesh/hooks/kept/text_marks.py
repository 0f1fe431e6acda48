"""The marks of a shown text, by which a quotation is known later. No word is kept.

A mark is the number of a run of six words. A long text has marks of some runs only.
"""

from __future__ import annotations

import zlib

from mnemesh.hooks.context import words_in
from mnemesh.short_id import short_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

RUN_WORDS: Final = 6
MARKS_MAX: Final = 32  # Of one memory.
# Of a text with more than MARKS_MAX runs one in so many is marked, chosen by the number.
ONE_IN: Final = 3


def marks_of(text: str) -> tuple[str, ...]:
    """The marks of a text, none for a short one."""
    runs = runs_of(text)
    kept = runs if len(runs) <= MARKS_MAX else [number for number in runs if number % ONE_IN == 0]
    return tuple(f"{number:08x}" for number in kept[:MARKS_MAX])


def runs_of(text: str) -> list[int]:
    """A number for each run of words in a text."""
    words = list(words_in(text.lower()))
    runs = (" ".join(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1))
    return list(dict.fromkeys(zlib.crc32(run.encode("utf-8", "replace")) for run in runs))


def with_marks(ids: Iterable[str], block: str) -> list[str]:
    """The lines to keep of a block that was shown: each id, and the marks of its text."""
    texts: dict[str, str] = {}
    for line in block.splitlines():
        head, _, text = line.partition("] ")
        if head.startswith("- ["):
            texts.setdefault(head[3:].partition(" ")[0], text)
    return [":".join((id_, ",".join(marks_of(texts.get(short_id(id_), ""))))) for id_ in ids]
