"""The terms of a text: its words with a meaning, as coverage and likeness compare them."""

from __future__ import annotations

import re
from typing import Final

from mnemesh_memory.text.scripts import spaced
from mnemesh_memory.wordlists import COMMON_WORDS

TERM_CHARS: Final = 6
_WORD: Final = re.compile(r"[^\W_]+")


def terms(text: str) -> frozenset[str]:
    """What of a text coverage matches: folded words without the common English ones, in place of a stemmer without a
    plural s and cut to their first letters; accents, other scripts and emoji as the index counts them."""
    found: set[str] = set()
    for word in _WORD.findall(spaced(text.casefold())):
        if word not in COMMON_WORDS:
            plural = len(word) > 3 and word[-1] == "s" and word[-2] not in "su"
            found.add(word[: -1 if plural else None][:TERM_CHARS])
    return frozenset(found)
