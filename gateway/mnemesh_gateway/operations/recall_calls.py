"""The functions behind the rows of RecallService in the table of operations: each is one call of the Mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import recall_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def recall(gate: MeshGate, caller: Caller, request: recall_pb2.RecallRequest) -> recall_pb2.RecallResponse:
    """What fits a question, best first."""
    query = wire.query(request)
    answer = await (await gate.ready()).recall(caller, query)
    return wire.recall_response(answer, snippets_only=query.snippets_only)


async def recall_batch(
    gate: MeshGate, caller: Caller, request: recall_pb2.RecallBatchRequest
) -> recall_pb2.RecallBatchResponse:
    """What fits each of several questions."""
    queries = [wire.query(item, f"queries[{place}].") for place, item in enumerate(request.queries)]
    answers = await (await gate.ready()).recall_batch(caller, queries)
    return recall_pb2.RecallBatchResponse(
        answers=[
            wire.recall_response(answer, snippets_only=query.snippets_only)
            for query, answer in zip(queries, answers, strict=True)
        ]
    )


async def related(gate: MeshGate, caller: Caller, request: recall_pb2.RelatedRequest) -> recall_pb2.RelatedResponse:
    """The memories that have to do with one."""
    mesh, limit = await gate.ready(), wire.optional(request, "limit", 10)
    found = await mesh.related(caller, request.id, limit, spaces=wire.spaces(request))
    degraded = bool(found.degraded)
    return wire.message_of(recall_pb2.RelatedResponse, found, degraded=degraded, degraded_reasons=found.degraded)
