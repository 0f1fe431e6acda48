"""Spellings of code in text: identifiers, paths, versions, error codes, hashes. Text in, words out.

BM25 splits text at everything but letters and digits and folds case. So `parse_config` is two words and `parseConfig`
is one; neither finds the other. `spellings` gives the missing forms: the whole without its marks, its ends, the parts
of a name in camel case, the beginning of a version or of a hash. Memories and questions are treated alike. Plain words
have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

# Git shows so much of a hash, and people repeat it.
HASH_CHARS: Final = 7
# Of a path or a dotted name, the ends of two to so many words: people leave out where it begins.
ENDS_MAX: Final = 4
# Between the numbers of a version; a letter, because a word ends at everything else.
_POINT: Final = "x"
_RUN: Final = r"[^\W_]+"
# Runs of letters and digits with marks between them and no space, all of which people write inside a name.
_COMPOUND: Final = re.compile(rf"{_RUN}(?:(?:[_./\\@#+=-]|::?|->|\?\.){{1,3}}{_RUN})*")
_PARTS: Final = re.compile(_RUN)
_MARKS: Final = re.compile(r"[_./\\@#+=:?>-]+")
# A small letter before a large one, an abbreviation or a number before a word: parseConfig, HTTPServer, base64Encode.
_CAMEL: Final = re.compile(r"[^\W\d_A-Z][A-Z]|[A-Z]{2}[a-z]{2}|[^\W\d_]\d+[A-Z][a-z]")
# A number belongs to the word before it, the plural to its abbreviation: s3 Client, i18n Keys, user IDs.
_HUMP: Final = re.compile(r"[A-Z]?[a-z]*\d+[a-z]+|[A-Z]+s(?![a-z])|[A-Z]+\d*(?![a-z])|[A-Z]?[a-z]+\d*|[^\W_A-Za-z]+")
_NUMBERED: Final = re.compile(r"([^\W\d_]+)(\d+)")
_HEX: Final = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}", re.IGNORECASE)
_VERSION: Final = re.compile(r"[vV]?\d+(?:\.\d+)+")


def spellings(text: str) -> list[str]:
    """Other spellings of what in `text` is no plain word, each of letters and digits, in its order."""
    return [word for compound in _COMPOUND.findall(text) for word in _of(compound)]


def may_spell(text: str, words: Iterable[str]) -> bool:
    """Whether any of these folded words, or beginnings of words, can be among `spellings`, but for versions: a quick
    look."""
    run_together = _MARKS.sub("", text.casefold())
    return any(word in run_together for word in words)


def humps(text: str) -> str:
    """`text` with every name in camel case as the words that it is made of."""
    return _PARTS.sub(lambda run: " ".join(_HUMP.findall(run[0])) if _CAMEL.search(run[0]) else run[0], text)


def _of(compound: str) -> Iterator[str]:
    runs = _PARTS.findall(compound)
    for run in runs:
        if _CAMEL.search(run):
            for hump in _HUMP.findall(run):
                yield hump
                if numbered := _NUMBERED.fullmatch(hump):
                    yield from numbered.groups()  # "iPhone 15 Pro" for iPhone15Pro
        if _HEX.fullmatch(run):
            yield run[:HASH_CHARS]
    if len(runs) == 1:
        return
    version = _VERSION.match(compound)
    if version is not None:
        numbers = version.group().lstrip("vV").split(".")
        yield _POINT.join(numbers)
        if len(numbers) > 2:
            yield _POINT.join(numbers[:2])
    else:
        for start in range(max(0, len(runs) - ENDS_MAX), len(runs) - 1):
            yield "".join(runs[start:])
