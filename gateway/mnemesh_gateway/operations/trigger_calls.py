"""The functions behind the rows of TriggerService in the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import trigger_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def create(
    gate: MeshGate, caller: Caller, request: trigger_pb2.CreateTriggerRequest
) -> trigger_pb2.CreateTriggerResponse:
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
    return wire.message_of(trigger_pb2.CreateTriggerResponse, trigger=trigger)


async def page(
    gate: MeshGate, caller: Caller, request: trigger_pb2.ListTriggersRequest
) -> trigger_pb2.ListTriggersResponse:
    """One page of triggers."""
    limit = wire.optional(request, "limit", 20)
    found, cursor, total = await (await gate.ready()).list_triggers(
        caller, wire.spaces(request), limit=limit, cursor=request.cursor
    )
    return wire.message_of(trigger_pb2.ListTriggersResponse, triggers=found, cursor=cursor, total=total)


async def delete(
    gate: MeshGate, caller: Caller, request: trigger_pb2.DeleteTriggerRequest
) -> trigger_pb2.DeleteTriggerResponse:
    """End a trigger."""
    trigger, kept = await (await gate.ready()).delete_trigger(caller, request.id)
    return wire.message_of(trigger_pb2.DeleteTriggerResponse, trigger=trigger, kept=kept)
