"""The functions behind the rows of TriggerService in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_gateway.contract.wire import Answer
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import trigger_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def create(gate: MeshGate, caller: Caller, request: trigger_pb2.CreateTriggerRequest) -> Answer:
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


async def page(gate: MeshGate, caller: Caller, request: trigger_pb2.ListTriggersRequest) -> Answer:
    """One page of triggers."""
    limit = wire.optional(request, "limit", 20)
    found, cursor, total = await (await gate.ready()).list_triggers(
        caller, wire.spaces(request), limit=limit, cursor=request.cursor
    )
    return {"triggers": found, "cursor": cursor, "total": total}


async def delete(gate: MeshGate, caller: Caller, request: trigger_pb2.DeleteTriggerRequest) -> Answer:
    """End a trigger."""
    trigger, kept = await (await gate.ready()).delete_trigger(caller, request.id)
    return {"trigger": trigger, "kept": kept}
