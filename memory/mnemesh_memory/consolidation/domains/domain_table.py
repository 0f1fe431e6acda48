"""The domains, one row each. A memory belongs to the domain that claims it most, or to `general`."""

from __future__ import annotations

from typing import Final

from mnemesh_memory.consolidation.domains.code import CODE
from mnemesh_memory.consolidation.domains.decisions import DECISIONS
from mnemesh_memory.consolidation.domains.dependencies import DEPENDENCIES
from mnemesh_memory.consolidation.domains.domain import Domain
from mnemesh_memory.consolidation.domains.errors import ERRORS
from mnemesh_memory.values.model import Memory

DOMAINS: Final[tuple[Domain, ...]] = (CODE, DECISIONS, ERRORS, DEPENDENCIES)
# For memories that no domain claims.
GENERAL: Final = Domain(name="general", claims=lambda memory: 0.0, terms=lambda text: set(), half_life_days=90.0)
CLAIM_MIN: Final = 0.4
_BY_NAME: Final = {domain.name: domain for domain in (*DOMAINS, GENERAL)}


def domain_of(memory: Memory) -> Domain:
    """The domain of a memory."""
    best = max(DOMAINS, key=lambda domain: domain.claims(memory))
    return best if best.claims(memory) >= CLAIM_MIN else GENERAL


def named(name: str) -> Domain:
    """The domain of that name. Raises KeyError."""
    return _BY_NAME[name]
