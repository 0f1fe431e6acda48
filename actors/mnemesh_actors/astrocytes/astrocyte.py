"""An astrocyte: a worker that plans the consolidation of a portion. It knows every domain and keeps nothing.

A plan is a pure function of its portion, so a portion may be planned twice, here or on another machine.
"""

from __future__ import annotations

from typing import Protocol

from mnemesh_memory.consolidation.portion import plan
from mnemesh_memory.consolidation.steps import Portion, Proposal


class AstrocytePort(Protocol):
    """One worker."""

    def plan(self, portion: Portion) -> Proposal: ...


class Astrocyte:
    """The actor of the port."""

    def plan(self, portion: Portion) -> Proposal:
        """The steps for a portion."""
        return plan(portion)
