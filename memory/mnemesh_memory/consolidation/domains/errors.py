"""The domain of errors: failures, their places and their remedies."""

from __future__ import annotations

import re
from typing import Final

from mnemesh_memory.consolidation.domains.domain import Domain
from mnemesh_memory.values.model import Memory

_NAMED: Final = re.compile(
    r"\b([A-Z]\w*(?:Error|Exception|Fault|Timeout)|E[A-Z]{4,}|SIG[A-Z]{3,5}|HTTP [45]\d\d|exit code \d+)\b"
)
_WORDS: Final = re.compile(
    r"\b(?:error|exception|fail(?:s|ed|ing|ure)?|crash\w*|broke(?:n)?|bug|flak\w+|time(?:d)?[ -]?out|stack ?trace|"
    r"regression|leak\w*|deadlock\w*|out of memory|oom|rejected|refused|corrupt\w*|hang(?:s)?|hung|stuck)\b",
    re.IGNORECASE,
)


def _terms(text: str) -> set[str]:
    return set(_NAMED.findall(text))


def _claims(memory: Memory) -> float:
    if memory.kind == "error":
        return 1.0
    text = memory.content[:1000]
    return min(1.0, 0.6 * bool(_NAMED.search(text)) + 0.45 * len(_WORDS.findall(text)))


ERRORS: Final = Domain(name="errors", claims=_claims, terms=_terms, half_life_days=30.0)
