"""An astrocyte: a worker that plans the consolidation of a portion. It knows every domain and keeps nothing.

A plan is a pure function of its portion, so a portion may be planned twice, here or on another machine.
"""

from __future__ import annotations

from mnemesh_memory.consolidation.portion import plan
from mnemesh_memory.consolidation.steps import Portion, Proposal


class Astrocyte:
    """One worker."""

    def plan(self, portion: Portion) -> Proposal:
        """The steps for a portion."""
        return plan(portion)
