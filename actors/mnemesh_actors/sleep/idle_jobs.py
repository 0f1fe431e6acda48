"""The work of an idle node, one row each. A new job is one function and one row.

A job gets the budget of sleep and asks for its turn between its steps, so operations of the node go first.
A job keeps its own place, may be cancelled at any point, and goes on the next time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.runtime.budget import Budget
from mnemesh_actors.sleep.consolidation import Consolidating


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleParts:
    """The parts of a node that a job may use. `owner` is the principal of the node's owner."""

    parts: NodePorts
    consolidating: Consolidating
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleJob:
    """One job. `run` says in words what was done, "" for nothing."""

    name: str
    run: Callable[[IdleParts, Budget], Awaitable[str]]


async def _consolidate(parts: IdleParts, budget: Budget) -> str:
    runs = await parts.consolidating.changed_spaces(parts.owner, budget)
    applied = sum(run.applied for run in runs)
    return f"{applied} steps in {sum(run.applied > 0 for run in runs)} of {len(runs)} spaces" if runs else ""


CONSOLIDATE: Final = IdleJob(name="consolidate", run=_consolidate)
IDLE_JOBS: Final[tuple[IdleJob, ...]] = (CONSOLIDATE,)
