"""Text without its credentials: each is replaced by what it was. For texts that nobody can be asked to correct.

The detector of `secrets` decides, and has the last word: no text leaves here in which it finds anything. It says which
type, not where, so the place is found by asking it of parts. What is taken out is taken generously: from the first word
of the finding to the end of its line, and of a private key every line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from mnemesh_memory.secrets import find_secret

# Findings over several lines that are looked for one by one; when there are more, nothing of the text is kept.
FINDINGS_MAX: Final = 16
_KEY_BEGINS: Final = re.compile(r"-{3,5}BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY")
_KEY_ENDS: Final = re.compile(r"-{3,5}END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{3,5}")
# A line of a key's body: one run of base64, perhaps quoted or behind a number.
_KEY_LINE: Final = re.compile(r"[\s\d>|\"'+]{0,12}[A-Za-z0-9+/=]{16,}[\s\"'+,\\n]{0,8}")
_WORD: Final = re.compile(r"\S+")


def masked(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` with credentials replaced by `[masked: TYPE]`, and their types in order, each once; the text itself and ()
    when it holds none."""
    if find_secret(text) is None:
        return text, ()
    types: list[str] = []
    text = _without_keys(text, types)
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if found := find_secret(line):
            lines[number] = _cut(line, found, types)
    for _ in range(FINDINGS_MAX):
        if (found := find_secret("\n".join(lines))) is None:
            break
        lines = _without_lines(lines, found, types)
    rest = "\n".join(lines)
    if found := find_secret(rest):  # so much that nothing of it is kept
        types.append(found)
        rest = _shown(found)
    return rest, tuple(dict.fromkeys(types))


def _shown(found: str) -> str:
    return f"[masked: {found}]"


def _without_keys(text: str, types: list[str]) -> str:
    """Private keys of which the detector says so, from their header to their end, or, without one, all that follows."""
    at = 0
    while begins := _KEY_BEGINS.search(text, at):
        ends = _KEY_ENDS.search(text, begins.end())
        end = ends.end() if ends else len(text)
        if found := find_secret(text[begins.start() : end]):
            types.append(found)
            text = text[: begins.start()] + _shown(found) + text[end:]
            at = begins.start()
        else:
            at = begins.end()
    return text


def _cut(line: str, found: str, types: list[str]) -> str:
    """The line up to the word with which its first finding begins."""
    words = list(_WORD.finditer(line))
    end = words[_first(len(words), lambda n: find_secret(line[: words[n].end()]) is not None)].end()
    last = _last(len(words), lambda n: words[n].start() < end and find_secret(line[words[n].start() : end]) is not None)
    kept = line[: words[last].start()]
    types.append(found)
    # What was found may begin before what is found first in a part: then nothing of the line is kept.
    return (kept if find_secret(kept) is None else "") + _shown(found)


def _without_lines(lines: list[str], found: str, types: list[str]) -> list[str]:
    """Without the first lines that hold a finding together, and without what follows of a key."""
    end = _first(len(lines), lambda n: find_secret("\n".join(lines[: n + 1])) is not None) + 1
    start = _last(end, lambda n: find_secret("\n".join(lines[n:end])) is not None)
    while end < len(lines) and _KEY_LINE.fullmatch(lines[end]):
        end += 1
    types.append(found)
    return [*lines[:start], _shown(found), *lines[end:]]


def _first(count: int, holds: Callable[[int], bool]) -> int:
    """An n for which `holds`, and not for n-1 as far as it was asked: the smallest when it goes on to hold. It holds
    for count-1, which is not asked."""
    low, high = -1, count - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _last(count: int, holds: Callable[[int], bool]) -> int:
    """An n for which `holds`, the largest when it held for all before. It holds for 0, which is not asked."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
