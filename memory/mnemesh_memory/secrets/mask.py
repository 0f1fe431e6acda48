"""Masks credentials: the type of each takes its place in a text that nobody can be asked to correct.

The detector decides and has the last word: a masked text holds no finding. A finding has a type and no place, so the
mask asks about parts of the text. The mask takes out the rest of the line from the first word of a finding on, and of
a private key every line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from mnemesh_memory.secrets.detector import find_secret

# Findings over several lines that a text may hold; of a text with more nothing is kept.
FINDINGS_MAX: Final = 16
_KEY: Final = re.compile(
    r"-{3,5}BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*?(?:-{3,5}END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{3,5}|\Z)", re.DOTALL
)
# A line of a key's body: one run of base64, perhaps quoted or behind a number.
_KEY_LINE: Final = re.compile(r"[\s\d>|\"'+]{0,12}[A-Za-z0-9+/=]{16,}[\s\"'+,\\n]{0,8}")
_WORD: Final = re.compile(r"\S+")


def masked(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` with `[masked: TYPE]` in place of each credential, and the types in order, each once."""
    if find_secret(text) is None:
        return text, ()
    types: list[str] = []
    text = _without_keys(text, types)
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if type_ := find_secret(line):
            lines[number] = _cut(line, type_, types)
    for _ in range(FINDINGS_MAX):
        if (type_ := find_secret("\n".join(lines))) is None:
            break
        lines = _without_lines(lines, type_, types)
    rest = "\n".join(lines)
    if type_ := find_secret(rest):  # so much that nothing of it is kept
        types.append(type_)
        rest = _shown(type_)
    return rest, tuple(dict.fromkeys(types))


def _shown(type_: str) -> str:
    return f"[masked: {type_}]"


def _without_keys(text: str, types: list[str]) -> str:
    """The text without private keys that the detector finds, from the header to the end line, else to the end."""

    def replacement(key: re.Match[str]) -> str:
        if type_ := find_secret(key.group()):
            types.append(type_)
        return _shown(type_) if type_ else key.group()

    return _KEY.sub(replacement, text)


def _cut(line: str, type_: str, types: list[str]) -> str:
    """The line up to the word with which its first finding begins."""
    words = list(_WORD.finditer(line))
    end = words[_first(len(words), lambda n: find_secret(line[: words[n].end()]) is not None)].end()
    last = _last(len(words), lambda n: words[n].start() < end and find_secret(line[words[n].start() : end]) is not None)
    kept = line[: words[last].start()]
    types.append(type_)
    # A credential may begin before the first finding in a part: then nothing of the line is kept.
    return (kept if find_secret(kept) is None else "") + _shown(type_)


def _without_lines(lines: list[str], type_: str, types: list[str]) -> list[str]:
    """The lines without the first ones that hold a finding together, and without the rest of a key."""
    end = _first(len(lines), lambda n: find_secret("\n".join(lines[: n + 1])) is not None) + 1
    start = _last(end, lambda n: find_secret("\n".join(lines[n:end])) is not None)
    while end < len(lines) and _KEY_LINE.fullmatch(lines[end]):
        end += 1
    types.append(type_)
    return [*lines[:start], _shown(type_), *lines[end:]]


def _first(count: int, holds: Callable[[int], bool]) -> int:
    """The smallest n below `count` for which `holds` of a predicate that goes on to hold; count-1 is not asked."""
    return bisect_left(range(count - 1), True, key=holds)


def _last(count: int, holds: Callable[[int], bool]) -> int:
    """The largest n below `count` for which `holds` of a predicate that held for all before; 0 is not asked."""
    return bisect_left(range(1, count), True, key=lambda n: not holds(n))
