"""The functions behind the rows of RuleService and TriggerService in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract.wire import Answer, optional, spaces
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import rule_pb2, trigger_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


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
    found, cursor, total = await (await gate.ready()).get_rules(
        caller, spaces(request), limit=limit, cursor=request.cursor
    )
    return {"rules": found, "cursor": cursor, "total": total}


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
    found, cursor, total = await (await gate.ready()).list_triggers(
        caller, spaces(request), limit=limit, cursor=request.cursor
    )
    return {"triggers": found, "cursor": cursor, "total": total}


async def delete_trigger(gate: MeshGate, caller: Caller, request: trigger_pb2.DeleteTriggerRequest) -> Answer:
    """End a trigger."""
    trigger, kept = await (await gate.ready()).delete_trigger(caller, request.id)
    return {"trigger": trigger, "kept": kept}
