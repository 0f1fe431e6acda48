"""The functions behind the rows of SleepService in the table of operations, each one call of the Mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mnemesh_gateway.contract.descriptors import descriptor_of
from mnemesh_gateway.contract.wire import Answer, form_of, optional, spaces
from mnemesh_memory.consolidation.steps import Run
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import sleep_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate

STEPS_SHOWN: Final = 500
_RUN: Final = descriptor_of(sleep_pb2.SleepRun)


async def consolidate(gate: MeshGate, caller: Caller, request: sleep_pb2.ConsolidateRequest) -> Answer:
    """Consolidate a space."""
    done = await (await gate.ready()).consolidate(caller, request.space, dry_run=request.dry_run)
    return done, {"steps": done.steps[:STEPS_SHOWN]}


async def runs(gate: MeshGate, caller: Caller, request: sleep_pb2.ListRunsRequest) -> Answer:
    """The latest runs."""
    found = await (await gate.ready()).list_runs(caller, spaces(request), optional(request, "limit", 20))
    return {"runs": [_form(run) for run in found]}


async def undo(gate: MeshGate, caller: Caller, request: sleep_pb2.UndoRunRequest) -> Answer:
    """Take a run back."""
    run, undone = await (await gate.ready()).undo_run(caller, request.run)
    return {"run": _form(run), "undone": undone}


def _form(run: Run) -> dict[str, object]:
    return form_of(_RUN, run, steps=run.steps[:STEPS_SHOWN])
