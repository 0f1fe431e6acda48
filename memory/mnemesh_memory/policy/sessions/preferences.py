"""How sure a preference is: said by somebody, shown by repeated behaviour, or inferred from one occasion. Pure."""

from __future__ import annotations

from typing import Final

from mnemesh_memory.values.model import Memory

KIND: Final = "preference"
EXPLICIT, SIGNALS, INFERRED = TIERS = ("explicit", "signals", "inferred")
TIER: Final = "preference.tier"
COUNT: Final = "preference.signals"  # how often behaviour showed it


def rank(memory: Memory) -> tuple[int, int]:
    """The place of a memory among preferences, the surest first: its tier, then its signals. A memory without a tier
    was said by somebody, and so was every memory of another kind."""
    tier = memory.attrs.get(TIER, EXPLICIT) if memory.kind == KIND else EXPLICIT
    place = TIERS.index(tier) if tier in TIERS else len(TIERS)
    count = memory.attrs.get(COUNT, "")
    return place, -int(count) if place and count.isdecimal() and len(count) < 10 else 0
