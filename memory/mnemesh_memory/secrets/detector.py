"""Finds credentials in text: the type, never the characters. Knows nothing of what happens to a finding.

Three tables find them: forms of vendors (vendor_tokens.txt), structures (structures.txt) and assignments to a name
(assignments.py). Each row is anchored at a literal that a plain substring search finds. So a text without an anchor
costs microseconds, and any text linear time. Every repetition is bounded. bench/writing/secrets_corpus.py measures it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from mnemesh_memory.secrets.assignments import NAME_ANCHORS, find_assignment
from mnemesh_memory.secrets.credential_values import entropy, holds_placeholder
from mnemesh_memory.secrets.structures import STRUCTURES
from mnemesh_memory.wordlists import table

_EDGE: Final = r"(?<![A-Za-z0-9])"
_END: Final = r"(?![A-Za-z0-9])"
_MIXED: Final = r"(?=[A-Za-z_-]{0,60}\d)(?=[a-z0-9_-]{0,60}[A-Z])"
_LEAST_ENTROPY: Final = 2.8
# Every form holds such a run, and little prose does.
_RUN: Final = re.compile(r"[A-Za-z0-9_+/%~-]{16}")
_GIVEN_AS_KEY: Final = re.compile(
    r"(?:(?:api|sdk|access|auth|private|secret|client|app)[ _-]?key|token|secret)[\"'`]?(?:\s(?:is|was))?[\s:=]{1,3}"
    r"[\"'`]?[0-9a-f]{0,32}$",
    re.IGNORECASE,
)
_GIVEN_CHARS: Final = 80
_FIRST_LITERAL: Final = re.compile(r"(?:\\[.]|[\w/:=~-])+")


def find_token(text: str) -> str | None:
    """The type of a credential of a known form, for example "GitHub token"; None when `text` holds none."""
    if not _RUN.search(text):
        return None
    near = [form for form in FORMS if form.anchor in text]
    return next((form.type for form in near if form.accepts(text)), None)


class _Form(NamedTuple):
    """One row of vendor_tokens.txt."""

    type: str
    anchor: str
    pattern: str
    inside: bool  # whether a match begins before its anchor, so that all of the text is searched
    least_entropy: float
    vendor: str
    random: bool

    def accepts(self, text: str) -> bool:
        """Whether `text` holds a match that is no stand-in, such as a run of one character or of words."""
        pattern = _compiled(self.pattern)
        named = not self.vendor or self.vendor in text.lower()
        return any(
            entropy(match.group(1)) >= self.least_entropy
            and (self.random or not holds_placeholder(match.group(1)))
            and (named or _GIVEN_AS_KEY.search(text, max(0, match.start() - _GIVEN_CHARS), match.start()))
            for match in (pattern.finditer(text) if self.inside else _matches_at(text, self.anchor, pattern))
        )


@cache  # few texts need any of the patterns, and all of them together take long to compile
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _matches_at(text: str, anchor: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    at = text.find(anchor)
    while at >= 0:
        if match := pattern.match(text, at):
            yield match
        at = text.find(anchor, match.end() if match else at + 1)


def _form(type_: str, pattern: str, options: str = "") -> _Form:
    given = dict(option.partition("=")[::2] for option in options.split())
    literal = _FIRST_LITERAL.match(pattern)
    before, after = "" if "open" in given else _EDGE, "" if "open-end" in given else _END
    return _Form(
        type_,
        given.get("anchor") or (literal.group().replace("\\", "") if literal else ""),
        before + pattern.replace("<mixed>", _MIXED) + after,
        inside="anchor" in given,
        least_entropy=float(given.get("least", _LEAST_ENTROPY)),
        vendor=given.get("vendor", ""),
        random="random" in given,
    )


FORMS: Final = tuple(_form(*columns) for columns in table("secrets/vendor_tokens.txt"))


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
    if type_ := _type_in(text):
        return type_
    folded = text if text.isascii() else _UNSEEN.sub("", text)
    if "%" in folded:
        folded = _ENCODED_SIGN.sub(lambda match: _SIGNS[match.group(1).upper()], folded)
    return _type_in(folded) if folded != text else None


def _type_in(text: str) -> str | None:
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
            if type_ := find_assignment(text, lowered, at):
                return type_
    return None


def _occurrences(text: str, anchor: str) -> Iterator[int]:
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + len(anchor))
