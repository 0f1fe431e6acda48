"""Lists of words as data files, and words that say nothing by themselves (English)."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final


def rows(path: str) -> list[str]:
    """The lines of a data file of this package, without empty lines and comments (a line that begins with #)."""
    text = files("mnemesh_memory").joinpath(path).read_text("utf-8")
    return [row for line in text.splitlines() if (row := line.strip()) and not row.startswith("#")]


def table(path: str) -> list[list[str]]:
    """The rows of a data file, whose columns stand two blanks or more apart."""
    return [re.split(" {2,}", row) for row in rows(path)]


def sections(path: str) -> dict[str, list[str]]:
    """The entries of a data file, parted by white space, under the [names] of their sections."""
    entries: dict[str, list[str]] = {}
    for row in rows(path):
        if row.startswith("[") and row.endswith("]"):
            section = entries.setdefault(row[1:-1], [])
        else:
            section += row.split()
    return entries


def words(path: str) -> frozenset[str]:
    """The words of a data file, which white space parts."""
    return frozenset(" ".join(rows(path)).split())


COMMON_WORDS: Final = words("words/common.txt")
# Scripts without spaces: Thai to Lao, Burmese, Khmer, kana, Han. A term is a pair of neighbours.
UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
