"""Causes and fixes of errors as notes write them: "PoolExhaustedError: ... Cause: pool size 5. Fix: raise it to 20."

The line of a cause or a fix names no error. Its error is the nearest that the text names before, else the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mnemesh_memory.graph import noun_phrases
from mnemesh_memory.graph.relations import Relation
from mnemesh_memory.graph.sentence_reader import is_actor

_NOTE: Final = re.compile(
    r"(?:^|;\s+)(?:(?P<cause>(?:root |likely )?cause)|(?P<fix>fix|solution|resolution|workaround))\**:\**\s*"
    r"|^(?P<done>fixed|resolved|solved|cured) (?:by|with)\s+",
    re.IGNORECASE,
)
# Capitals with underscores are mostly settings, so these need a word of failure.
_ERROR: Final = re.compile(
    r"(?<!\w)(?:[A-Z]\w*(?:Error|Exception|Timeout|Fault|Panic)|E[A-Z]{4,}|SIG[A-Z]{2,}"
    r"|(?:E|ERR|ERROR)_[A-Z_]+|[A-Z]+_[A-Z_]*(?:ERROR|TIMEOUT|FAILED|REFUSED)[A-Z_]*)(?!\w)"
)
_UNKNOWN: Final = re.compile(
    r"(?:still )?(?:unknown|unclear|none|not|nobody|no|n/a|tbd|todo|pending|open|maybe|perhaps|probably|possibly)\b",
    re.IGNORECASE,
)


def noted(sentences: Iterable[str], title: str) -> Iterator[Relation]:
    """The causes and fixes in the sentences of a text."""
    read = list(sentences)
    named = _ERROR.search("\n".join((title, *read)))
    error = named.group() if named else ""
    for sentence in read:
        notes = list(_NOTE.finditer(sentence))
        for note in notes:
            rest = noun_phrases.clause(sentence, note.end())
            if not error or not rest or sentence.endswith("?") or _UNKNOWN.match(rest):
                continue
            if note["cause"]:
                yield Relation(error, "caused_by", rest, "errors")
            elif note["fix"] or not is_actor(rest):  # "fixed by Kim" names no fix
                yield Relation(error, "fixed_by", rest, "errors")
        before = sentence[: notes[0].start()] if notes else sentence
        if last := _ERROR.findall(before):
            error = last[-1]
