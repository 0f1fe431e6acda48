"""Nearness in the knowledge graph: memories that personalised PageRank reaches from the names in the question."""

from __future__ import annotations

from typing import Final

from mnemesh_memory.ranking.second_look.optional_signal import OptionalSignal, fetched

ROW: Final = OptionalSignal("graph", 0.0, "Gain by nearness in the knowledge graph.", gain=fetched, fetches=True)
