"""The functions behind the rows of upkeep, sleep, seeds, rules and triggers in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mnemesh_gateway.contract.descriptors import descriptor_of
from mnemesh_gateway.contract.wire import Answer, asked_wait, form_of, optional, spaces
from mnemesh_memory.consolidation.steps import Run
from mnemesh_memory.policy.hygiene import LIMIT, STALE_DAYS
from mnemesh_memory.values.model import Caller, Written
from mnemesh_proto.v1 import rule_pb2, seed_pb2, sleep_pb2, trigger_pb2, upkeep_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def anchor(gate: MeshGate, caller: Caller, request: upkeep_pb2.AnchorRequest) -> Written:
    """A memory pinned for a reason, or let go."""
    mesh = await gate.ready()
    return await mesh.anchor(caller, request.id, request.reason, release=request.release, wait=asked_wait(request))


async def validate(gate: MeshGate, caller: Caller, request: upkeep_pb2.ValidateRequest) -> Answer:
    """The files that memories name, compared."""
    mesh, limit = await gate.ready(), optional(request, "limit", 50)
    return await mesh.validate(caller, request.id, spaces(request), limit=limit, cursor=request.cursor)


async def tidy(gate: MeshGate, caller: Caller, request: upkeep_pb2.TidyRequest) -> Answer:
    """The memories of a finding, forgotten or archived."""
    done = await (await gate.ready()).tidy(
        caller,
        request.finding,
        request.action or "forget",
        spaces(request),
        stale_days=optional(request, "stale_days", STALE_DAYS),
        limit=optional(request, "limit", LIMIT),
        dry_run=optional(request, "dry_run", True),
    )
    refused = [{"id": id_, "reason": reason} for id_, reason in done.refused]
    return done, {"refused": refused}


STEPS_SHOWN: Final = 500
_RUN: Final = descriptor_of(sleep_pb2.SleepRun)


async def consolidate(gate: MeshGate, caller: Caller, request: sleep_pb2.ConsolidateRequest) -> Answer:
    """Consolidate a space."""
    done = await (await gate.ready()).consolidate(caller, request.space, dry_run=request.dry_run)
    return done, {"steps": done.steps[:STEPS_SHOWN]}


async def list_runs(gate: MeshGate, caller: Caller, request: sleep_pb2.ListRunsRequest) -> Answer:
    """The latest runs."""
    runs = await (await gate.ready()).list_runs(caller, spaces(request), optional(request, "limit", 20))
    return {"runs": [_run_form(run) for run in runs]}


async def undo_run(gate: MeshGate, caller: Caller, request: sleep_pb2.UndoRunRequest) -> Answer:
    """Take a run back."""
    run, undone = await (await gate.ready()).undo_run(caller, request.run)
    return {"run": _run_form(run), "undone": undone}


def _run_form(run: Run) -> dict[str, object]:
    return form_of(_RUN, run, steps=run.steps[:STEPS_SHOWN])


async def seed_project(gate: MeshGate, caller: Caller, request: seed_pb2.SeedProjectRequest) -> Answer:
    """Store the first memories of a project."""
    mesh = await gate.ready()
    return await mesh.seed_project(caller, request.dir, space=request.space, dry_run=request.dry_run)


async def add_rule(gate: MeshGate, caller: Caller, request: rule_pb2.AddRuleRequest) -> Answer:
    """Store a rule."""
    rule = await (await gate.ready()).add_rule(
        caller,
        request.condition,
        request.effect,
        reason=request.reason,
        space=request.space,
        directory=request.directory,
        file=request.file,
    )
    return {"rule": rule}


async def get_rules(gate: MeshGate, caller: Caller, request: rule_pb2.GetRulesRequest) -> Answer:
    """One page of rules."""
    limit = optional(request, "limit", 20)
    rules, cursor, total = await (await gate.ready()).get_rules(
        caller, spaces(request), limit=limit, cursor=request.cursor
    )
    return {"rules": rules, "cursor": cursor, "total": total}


async def delete_rule(gate: MeshGate, caller: Caller, request: rule_pb2.DeleteRuleRequest) -> Answer:
    """End a rule."""
    rule = await (await gate.ready()).delete_rule(caller, request.id)
    return {"rule": rule}


async def create_trigger(gate: MeshGate, caller: Caller, request: trigger_pb2.CreateTriggerRequest) -> Answer:
    """Store or make a trigger."""
    trigger = await (await gate.ready()).create_trigger(
        caller,
        request.on,
        request.pattern,
        content=request.content,
        key=request.id,
        space=request.space,
        repeating=request.repeating,
    )
    return {"trigger": trigger}


async def list_triggers(gate: MeshGate, caller: Caller, request: trigger_pb2.ListTriggersRequest) -> Answer:
    """One page of triggers."""
    limit = optional(request, "limit", 20)
    triggers, cursor, total = await (await gate.ready()).list_triggers(
        caller, spaces(request), limit=limit, cursor=request.cursor
    )
    return {"triggers": triggers, "cursor": cursor, "total": total}


async def delete_trigger(gate: MeshGate, caller: Caller, request: trigger_pb2.DeleteTriggerRequest) -> Answer:
    """End a trigger."""
    trigger, kept = await (await gate.ready()).delete_trigger(caller, request.id)
    return {"trigger": trigger, "kept": kept}
