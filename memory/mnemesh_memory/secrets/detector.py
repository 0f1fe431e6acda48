"""Finds credentials in text: the type, never the characters. Knows nothing of what happens to a finding.

Three tables find them: forms of vendors (vendor_tokens.txt), structures (structures.txt) and assignments to a name
(assignments.py). Each row is anchored at a literal that a plain substring search finds. So a text without an anchor
costs microseconds, and any text linear time. Every repetition is bounded. bench/secrets_corpus.py measures it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mnemesh_memory.secrets.assignments import NAME_ANCHORS, find_assignment
from mnemesh_memory.secrets.structures import STRUCTURES
from mnemesh_memory.secrets.vendor_tokens import find_token

_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]"
)
_SIGNS: Final = {"3D": "=", "3A": ":", "26": "&", "22": '"', "20": " ", "2B": "+", "2F": "/", "40": "@"}
_ENCODED_SIGN: Final = re.compile(rf"%({'|'.join(_SIGNS)})", re.IGNORECASE)


def find_secret(text: str) -> str | None:
    """The type of a credential that `text` holds, for example "GitHub token"; None when it holds none.

    The detector reads the text as written. It reads the text again without characters that nobody sees, and with the
    signs of an address decoded (%3D). A credential that is encoded otherwise, encrypted or spelt out is not found.
    """
    if found := _found_in(text):
        return found
    folded = text if text.isascii() else _UNSEEN.sub("", text)
    if "%" in folded:
        folded = _ENCODED_SIGN.sub(lambda match: _SIGNS[match.group(1).upper()], folded)
    return _found_in(folded) if folded != text else None


def _found_in(text: str) -> str | None:
    if token := find_token(text):
        return token
    # Positions in both texts agree: U+0130 alone would grow in lower case.
    lowered = text.replace("\u0130", "i").lower()
    # Most texts hold few of the anchors. An absent anchor costs no more than the search.
    for structure in [row for row in STRUCTURES if row.anchor in lowered]:
        if any(structure.begins_at(text, at) for at in _occurrences(lowered, structure.anchor)):
            return structure.type
    for anchor in [name for name in NAME_ANCHORS if name in lowered]:
        for at in _occurrences(lowered, anchor):
            if found := find_assignment(text, lowered, at):
                return found
    return None


def _occurrences(text: str, anchor: str) -> Iterator[int]:
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + len(anchor))
