"""The domain of code: identifiers, paths, functions, tests and files."""

from __future__ import annotations

import re
from typing import Final

from mnemesh_memory.consolidation.domains.domain import Domain
from mnemesh_memory.values.model import Memory

_IDENTIFIER: Final = re.compile(r"`([^`\s]{2,80})`|\b([A-Za-z_]\w*)\(\)|(?<![\w/])((?:[\w.-]+/)+[\w.-]+\.\w{1,5})\b")
_WORDS: Final = re.compile(
    r"\b(?:function|method|class|module|refactor\w*|lint\w*|test suite|unit tests?|compil\w+|type[- ]check\w*|"
    r"code|repository|branch|merge request|pull request|parser|endpoint|schema|migration|query)\b",
    re.IGNORECASE,
)


def _terms(text: str) -> set[str]:
    return {name for found in _IDENTIFIER.findall(text) for name in found if name}


def _claims(memory: Memory) -> float:
    named = 0.5 * bool(memory.paths) + 0.4 * bool(_IDENTIFIER.search(memory.content))
    return min(1.0, named + 0.25 * len(_WORDS.findall(memory.content[:1000])))


CODE: Final = Domain(name="code", claims=_claims, terms=_terms, half_life_days=45.0)
