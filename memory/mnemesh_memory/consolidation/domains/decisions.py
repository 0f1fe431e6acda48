"""The domain of decisions: choices, with the reasons and the rejected ways."""

from __future__ import annotations

import re
from typing import Final

from mnemesh_memory.consolidation.domains.domain import Domain
from mnemesh_memory.policy.slots import is_decision
from mnemesh_memory.values.model import Memory

_CHOSEN: Final = re.compile(r"\b(?:chose|picked|use|adopt|prefer|keep)\s+([A-Z][\w.+-]{1,40})")


def _terms(text: str) -> set[str]:
    return set(_CHOSEN.findall(text))


def _claims(memory: Memory) -> float:
    return 1.0 if memory.kind == "decision" else 0.7 if is_decision(memory.content, memory.kind) else 0.0


# A decision stands until it is replaced.
DECISIONS: Final = Domain(name="decisions", claims=_claims, terms=_terms, half_life_days=180.0)
