"""Votes of the astrocytes: each domain that a question belongs to speaks for its memories (consolidation/votes.py)."""

from __future__ import annotations

from typing import Final

from mnemesh_memory.ranking.second_look.optional_signal import OptionalSignal, fetched

ROW: Final = OptionalSignal(
    "votes", 0.0, "Gain by the votes of the astrocytes of its domains.", gain=fetched, fetches=True
)
