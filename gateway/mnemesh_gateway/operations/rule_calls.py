"""The functions behind the rows of RuleService in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_gateway.contract.wire import Answer
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import rule_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def add(gate: MeshGate, caller: Caller, request: rule_pb2.AddRuleRequest) -> Answer:
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


async def page(gate: MeshGate, caller: Caller, request: rule_pb2.GetRulesRequest) -> Answer:
    """One page of rules."""
    limit = wire.optional(request, "limit", 20)
    found, cursor, total = await (await gate.ready()).get_rules(
        caller, wire.spaces(request), limit=limit, cursor=request.cursor
    )
    return {"rules": found, "cursor": cursor, "total": total}


async def delete(gate: MeshGate, caller: Caller, request: rule_pb2.DeleteRuleRequest) -> Answer:
    """End a rule."""
    rule = await (await gate.ready()).delete_rule(caller, request.id)
    return {"rule": rule}
