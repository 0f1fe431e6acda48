"""The functions behind the rows of MemoryService, RecallService and WatchService in the table of operations, each one
call of the Mesh."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_gateway.contract.wire import Answer
from mnemesh_gateway.operations import admin_calls, peer_calls
from mnemesh_memory.access import grants
from mnemesh_memory.values.model import Caller, Checked, Written
from mnemesh_memory.watch.watch_values import Watched, WatchQuery
from mnemesh_proto.v1 import memory_pb2, recall_pb2, watch_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def remember(gate: MeshGate, caller: Caller, request: memory_pb2.RememberRequest) -> memory_pb2.RememberResponse:
    """Store one memory."""
    draft = wire.draft(request)
    response = wire.remember_response(await (await gate.ready()).remember(caller, draft))
    if not request.space:
        response.reason += _name_taken(caller)
    return response


def _name_taken(caller: Caller) -> str:
    """A note to a writer when another repository on the machine has the name of the project, or ""."""
    taken, space = caller.taken_space, caller.default_space
    if taken and taken == space:
        return f"; another repository on this machine has the space {space}, too: a .mnemesh.toml keeps them apart"
    if taken and space.startswith(f"{taken}-"):
        return (
            f"; the name {taken} is another project's on this machine, so this project's space is {space}: `space` in "
            "a .mnemesh.toml chooses another"
        )
    return ""


async def remember_batch(
    gate: MeshGate, caller: Caller, request: memory_pb2.RememberBatchRequest
) -> memory_pb2.RememberBatchResponse:
    """Store several. Each succeeds or fails by itself."""
    drafts = [wire.draft(item, f"items[{i}].") for i, item in enumerate(request.items)]
    mesh = await gate.ready()
    return wire.batch_response(await mesh.remember_batch(caller, drafts, at_rest=request.judge_at_rest))


async def check(gate: MeshGate, caller: Caller, request: memory_pb2.CheckRequest) -> Checked:
    """The outcome of remember, without writing."""
    draft = wire.draft(request.item)
    return await (await gate.ready()).check(caller, draft)


async def bulk_forget(gate: MeshGate, caller: Caller, request: memory_pb2.BulkForgetRequest) -> Answer:
    """Forget or erase the memories that filters name, or only list them. The answer to an erasure names the copies that
    remain."""
    if request.purge:
        grants.require(caller, grants.WRITE, "purge", "admin")
    dry_run = wire.optional(request, "dry_run", True)
    query = wire.list_query(request.which)
    done = await (await gate.ready()).bulk_forget(caller, query, purge=request.purge, dry_run=dry_run)
    backups, deaf = [], []
    if request.purge and done.ids:
        backups = await admin_calls.may_hold(gate, caller, done.oldest)
        deaf = peer_calls.not_told(gate, caller, done.spaces, others=done.others)
    refused = [{"id": id_, "reason": reason} for id_, reason in done.refused]
    return done, {"refused": refused, "backups": backups, "not_told": deaf}


async def purge(gate: MeshGate, caller: Caller, request: memory_pb2.PurgeRequest) -> Answer:
    """Erase a memory for good, and tell which backups may still hold it."""
    gone = await (await gate.ready()).purge(caller, request.id)
    backups = await admin_calls.may_hold(gate, caller, gone.begun)
    deaf = peer_calls.not_told(gate, caller, [gone.space], others=[gone.space] if gone.as_admin else ())
    pending = "; ".join(gone.pending)
    return gone, {"pending": pending, "backups": backups, "not_told": deaf}


async def get(gate: MeshGate, caller: Caller, request: memory_pb2.GetRequest) -> memory_pb2.GetResponse:
    """Memories by id or title."""
    keys = tuple(request.ids)
    memories, missing = await (await gate.ready()).get(
        caller,
        keys,
        include_forgotten=request.include_forgotten,
        spaces=wire.spaces(request),
        as_of=wire.moment(request, "as_of"),
    )
    return wire.get_response(keys, memories, missing)


async def page(gate: MeshGate, caller: Caller, request: memory_pb2.ListRequest) -> memory_pb2.ListResponse:
    """One page of memories in order of time."""
    query = wire.list_query(request)
    return wire.list_response(await (await gate.ready()).list(caller, query))


async def timeline(gate: MeshGate, caller: Caller, request: memory_pb2.TimelineRequest) -> Answer:
    """A memory among those written before and after it."""
    mesh, key = await gate.ready(), request.id
    if named := wire.spaces(request):  # where a title is looked for
        ((middle,), _) = await mesh.get(caller, [key], spaces=named)
        key = middle.id
    sides = wire.optional(request, "before", 5), wire.optional(request, "after", 5)
    memories, position = await mesh.timeline(caller, key, *sides)
    return {"memories": memories, "position": position}


async def update(gate: MeshGate, caller: Caller, request: memory_pb2.UpdateRequest) -> Written:
    """A new revision."""
    patch = wire.patch(request)
    return await (await gate.ready()).update(caller, request.id, patch)


async def supersede(gate: MeshGate, caller: Caller, request: memory_pb2.SupersedeRequest) -> Answer:
    """A new memory in place of an old one."""
    draft = wire.draft(request.item)
    done, old = await (await gate.ready()).supersede(caller, request.id, draft)
    return done, {"superseded": old}


async def forget(gate: MeshGate, caller: Caller, request: memory_pb2.ForgetRequest) -> Written:
    """Soft deletion."""
    return await (await gate.ready()).forget(caller, request.id, wire.asked_wait(request))


async def restore(gate: MeshGate, caller: Caller, request: memory_pb2.RestoreRequest) -> Written:
    """The end of a soft deletion."""
    return await (await gate.ready()).restore(caller, request.id, wire.asked_wait(request))


async def stats(gate: MeshGate, caller: Caller, request: memory_pb2.StatsRequest) -> memory_pb2.StatsResponse:
    """Counts."""
    return wire.stats_response(await (await gate.ready()).stats(caller, wire.spaces(request)))


async def export(
    gate: MeshGate, caller: Caller, request: memory_pb2.ExportRequest
) -> AsyncGenerator[memory_pb2.ExportResponse, None]:
    """Every memory, oldest first."""
    mesh = await gate.ready()
    async for item in mesh.export(
        caller,
        wire.list_query(request),
        include_forgotten=request.include_forgotten,
        include_superseded=request.include_superseded,
    ):
        yield memory_pb2.ExportResponse(memory=wire.memory(item))


async def recall(gate: MeshGate, caller: Caller, request: recall_pb2.RecallRequest) -> recall_pb2.RecallResponse:
    """Memories that fit a question, best first."""
    query = wire.query(request)
    answer = await (await gate.ready()).recall(caller, query)
    return wire.recall_response(answer, snippets_only=query.snippets_only)


async def recall_batch(gate: MeshGate, caller: Caller, request: recall_pb2.RecallBatchRequest) -> Answer:
    """Memories that fit each of several questions."""
    queries = [wire.query(item, f"queries[{place}].") for place, item in enumerate(request.queries)]
    answers = await (await gate.ready()).recall_batch(caller, queries)
    return {
        "answers": [
            wire.recall_response(answer, snippets_only=query.snippets_only)
            for query, answer in zip(queries, answers, strict=True)
        ]
    }


async def related(gate: MeshGate, caller: Caller, request: recall_pb2.RelatedRequest) -> Answer:
    """The memories that have to do with one."""
    mesh, limit = await gate.ready(), wire.optional(request, "limit", 10)
    return await mesh.related(caller, request.id, limit, spaces=wire.spaces(request))


async def watch(
    gate: MeshGate, caller: Caller, request: watch_pb2.WatchRequest
) -> AsyncGenerator[watch_pb2.WatchResponse, None]:
    """Changes as they happen. Ends by an error only."""
    mesh = await gate.ready()
    async with aclosing(mesh.watch(caller, query_of(request))) as stream:
        async for event in stream:
            yield response_of(event)


def query_of(item: watch_pb2.WatchRequest) -> WatchQuery:
    """The changes to see, and where they begin."""
    return wire.value_of(WatchQuery, item, spaces=wire.spaces(item))


def response_of(event: Watched) -> watch_pb2.WatchResponse:
    """One message of a watch."""
    if (change := event.change) is None:
        return watch_pb2.WatchResponse(type=event.type, cursor=event.cursor, spaces=event.spaces, reason=event.reason)
    return wire.message_of(watch_pb2.WatchResponse, event, change, node_id=change.node)
