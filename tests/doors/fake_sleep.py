"""Consolidation of FakeMesh: it proposes to merge the first two memories, and its one run is called first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mnemesh_memory.consolidation.steps import APPLIED, DONE, MERGE, UNDONE, Consolidated, Run, Step
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.model import Caller, Memory

STARTED_MS = 1_700_000_000_000


class FakeSleep:
    """Over FakeMesh's own dict."""

    memories: dict[str, Memory]

    async def consolidate(self, caller: Caller, space: str = "", *, dry_run: bool = False) -> Consolidated:
        ids = list(self.memories)[:2]
        steps = (Step(action=MERGE, id=ids[0], others=tuple(ids[1:]), why="they say the same"),) if ids else ()
        return Consolidated(space=space or "@owner", dry_run=dry_run, read=len(self.memories), steps=steps)

    async def list_runs(self, caller: Caller, spaces: Sequence[str] = (), limit: int = 20) -> list[Run]:
        field_checks.whole("limit", limit, 1, limits.LIST_LIMIT_MAX)
        return [self._run()]

    async def undo_run(self, caller: Caller, run_id: str) -> tuple[Run, int]:
        return replace(self._run(), state=UNDONE), 1

    def _run(self) -> Run:
        step = Step(action=MERGE, id="first", others=("second",), why="they say the same", state=APPLIED)
        return Run(id="first", space="team", by="owner/sleep", state=DONE, started_at=STARTED_MS, read=2, steps=(step,))
