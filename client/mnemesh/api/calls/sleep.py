"""The operations of consolidation: each builds the Call that asks for it."""

from __future__ import annotations

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Words, places
from mnemesh_proto.v1 import sleep_pb2

# A space is read anew at its first run.
RUN_S = 3600.0


def consolidate(*, space: str = "", dry_run: bool = False) -> Call[values.Consolidation]:
    """Consolidate what is new in a space: merge duplicates, promote repeated episodes to a fact, link related memories.
    With `dry_run` only tell. A second call right after applies nothing. Raises PermissionDenied.

    >>> client.consolidate(space="team/billing", dry_run=True).applied
    0
    """
    fields = {"space": space, "dry_run": dry_run}
    return ask(sleep_pb2, "Consolidate", fields, values.Consolidation, repeatable=True, timeout_s=RUN_S)


def list_runs(
    *, space: Words | None = None, spaces: Words | None = None, limit: int | None = None
) -> Call[values.Runs]:
    """Runs of consolidation with their steps, newest first, at most `limit` (1 to 200, default 20).

    >>> for run in client.list_runs(space="team/billing").runs:
    ...     print(run.id, run.state, run.applied)
    """
    fields = {"spaces": places(space, spaces), "limit": limit}
    return ask(sleep_pb2, "ListRuns", fields, values.Runs, repeatable=True)


def undo_run(run: str) -> Call[values.UndoneRun]:
    """Take every step of a run back. History keeps both. Raises NotFound, PermissionDenied.

    >>> client.undo_run("0190a1b2c3d4").undone
    3
    """
    return ask(sleep_pb2, "UndoRun", {"run": run}, values.UndoneRun, repeatable=True, timeout_s=RUN_S)
