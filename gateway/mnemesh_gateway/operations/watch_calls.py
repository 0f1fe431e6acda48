"""The row of WatchService in the table of operations: one call of the Mesh, and how its messages look on the wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_memory.values.model import Caller
from mnemesh_memory.watch.watch_values import Watched, WatchQuery
from mnemesh_proto.v1 import watch_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def watch(
    gate: MeshGate, caller: Caller, request: watch_pb2.WatchRequest
) -> AsyncGenerator[watch_pb2.WatchResponse, None]:
    """Changes as they happen; ends by an error only."""
    mesh = await gate.ready()
    async with aclosing(mesh.watch(caller, query_of(request))) as told:
        async for one in told:
            yield response_of(one)


def query_of(item: watch_pb2.WatchRequest) -> WatchQuery:
    """The changes to see, and where they begin."""
    return wire.value_of(WatchQuery, item, spaces=wire.spaces(item))


def response_of(told: Watched) -> watch_pb2.WatchResponse:
    """One message of a watch."""
    if (change := told.change) is None:
        return watch_pb2.WatchResponse(type=told.type, cursor=told.cursor, spaces=told.spaces, reason=told.reason)
    return wire.message_of(watch_pb2.WatchResponse, told, change, node_id=change.node)
