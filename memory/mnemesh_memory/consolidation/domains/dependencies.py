"""The domain of dependencies: packages, versions, images, and what needs which."""

from __future__ import annotations

import re
from typing import Final

from mnemesh_memory.consolidation.domains.domain import Domain
from mnemesh_memory.values.model import Memory

_PACKAGE: Final = re.compile(
    r"\b([A-Za-z][\w.-]{1,40}?)\s?(?:==|>=|<=|~=|@|\^)\s?v?\d+(?:\.\d+)*|\b([A-Za-z][\w.-]{1,40})\s+v?\d+\.\d+(?:\.\d+)*\b"
)
_WORDS: Final = re.compile(
    r"\b(?:dependenc\w+|package|librar(?:y|ies)|upgrade\w*|downgrade\w*|pin(?:ned|s)?|lock ?file|version|npm|pip|cargo|"
    r"maven|gradle|docker image|base image|vendor\w*|depends on|requires)\b",
    re.IGNORECASE,
)


def _terms(text: str) -> set[str]:
    return {name for found in _PACKAGE.findall(text) for name in found if name}


def _claims(memory: Memory) -> float:
    text = memory.content[:1000]
    return min(1.0, 0.4 * bool(_PACKAGE.search(text)) + 0.4 * len(_WORDS.findall(text)))


DEPENDENCIES: Final = Domain(name="dependencies", claims=_claims, terms=_terms, half_life_days=60.0)
