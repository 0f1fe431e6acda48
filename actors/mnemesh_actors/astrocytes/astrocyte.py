"""An astrocyte: a worker that plans the consolidation of a portion. It knows every domain and keeps nothing.

A plan is a pure function of its portion, so a portion may be planned twice, here or on another machine.
"""

from __future__ import annotations

import os
from typing import Final

from mnemesh_actors.astrocytes.planning_process import PlanningProcess
from mnemesh_actors.runtime.low_priority import NICENESS
from mnemesh_memory.consolidation.portions import plan
from mnemesh_memory.consolidation.steps import Portion, Proposal

# A portion of fewer new memories is planned sooner than a process begins (a memory takes about 1 ms, a start 300).
SMALL: Final = 16


class Astrocyte:
    """One worker. `alone` says that its process has no other work. Otherwise large portions go to a child."""

    def __init__(self, alone: bool = False) -> None:
        self._child = None if alone else PlanningProcess()
        if alone:
            os.nice(NICENESS)

    def plan(self, portion: Portion) -> Proposal:
        """The steps for a portion. Raises Unavailable when the child takes too long."""
        if self._child is None or len(portion.fresh) < SMALL:
            return plan(portion)
        return self._child.plan(portion)

    def interrupt(self) -> None:
        """End the plan of the child that is under way."""
        if self._child is not None:
            self._child.interrupt()

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()
