"""Votes of the astrocytes in recall: the domains of a question speak for their memories.

vote(m) = sum over domains d of `q_d c_d(m) 2^(-age / h_d)` / sum of `q_d`, in [0, 1]. Here `q_d` and `c_d` are the
claims of the domain on question and memory, and `h_d` is the half-life of the domain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from mnemesh_memory.consolidation.domains import DOMAINS
from mnemesh_memory.policy.dynamics.heat import DAY_MS
from mnemesh_memory.values.model import Memory


def votes(question: str, memories: Mapping[str, Memory], now: int) -> dict[str, float]:
    """By memory the votes of the domains that the question belongs to. Nobody votes on a question of no domain."""
    asked = Memory(
        id="", space="", kind="", title="", content=question, state="active", by="",
        created_at=now, updated_at=now, heads=(),
    )  # fmt: skip
    claims = [(domain, claim) for domain in DOMAINS if (claim := domain.claims(asked)) > 0.0]
    whole = sum(claim for _, claim in claims)
    if not whole:
        return {}
    return {
        id_: sum(
            claim * domain.claims(memory) * math.exp2(-_days(memory, now) / domain.half_life_days)
            for domain, claim in claims
        )
        / whole
        for id_, memory in memories.items()
    }


def _days(memory: Memory, now: int) -> float:
    return max(0, now - memory.updated_at) / DAY_MS
