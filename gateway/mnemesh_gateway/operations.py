"""The table of operations. gRPC, HTTP, OpenAPI and MCP are generated from it; no door has an operation of its
own.

A row says what an operation is called on each door and what it may do; its function turns a request message
into one call of the Mesh and the result into a response message. It decides nothing: validation, grants and
meaning are the Mesh's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import Message

from mnemesh_gateway import backup_calls, history_calls, peer_calls, watch_calls, wire
from mnemesh_gateway.descriptors import descriptor_of, field_of, fields_of, inner_message
from mnemesh_gateway.message_json import from_json, require_known
from mnemesh_gateway.schema import Schema, brief_response_schema, request_schema
from mnemesh_memory import grants
from mnemesh_memory.grants import ADMINISTER, IDENTIFY, READ, WRITE
from mnemesh_memory.model import Caller
from mnemesh_proto.v1 import admin_pb2, backup_pb2, history_pb2, memory_pb2, peer_pb2, recall_pb2, watch_pb2
from mnemesh_proto.v1.field_help import FIELD_HELP

if TYPE_CHECKING:
    from mnemesh_gateway.gate import MeshGate

MEMORY: Final = "mnemesh.v1.MemoryService"
RECALL: Final = "mnemesh.v1.RecallService"
ADMIN: Final = "mnemesh.v1.AdminService"
HISTORY: Final = "mnemesh.v1.HistoryService"
WATCH: Final = "mnemesh.v1.WatchService"
BACKUP: Final = "mnemesh.v1.BackupService"
PEER: Final = "mnemesh.v1.PeerService"

Invoke = Callable[["MeshGate", Caller, Any], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP form of an operation. `key` names the request field that the `{id}` of the path fills. GET and
    DELETE take the other fields from the query string, POST and PATCH from the JSON body."""

    method: str
    path: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One row. `invoke(gate, caller, request)` gives an awaitable of the response; when `streaming`, an async
    generator of many. `standing`: that generator has no end of its own.

    `needs` is what a token has to grant for it, one of grants.NEEDS: the table that every door checks by, in `run`. It
    has no default, so that no operation comes without a decision.

    `toolset` is core, curate or admin; `mcp_name` is "" when it is no MCP tool. `flatten` names a message
    field of the request whose fields stand at the top level of its JSON form. `aliases` are other names, as
    POST /v1/<alias>.
    """

    name: str
    service: str
    rpc: str
    request: type[Message]
    response: type[Message]
    routes: tuple[Route, ...]
    toolset: str
    needs: str
    invoke: Invoke
    streaming: bool = False
    standing: bool = False
    mcp_name: str = ""
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    flatten: str = ""
    aliases: tuple[str, ...] = ()

    def run(self, gate: MeshGate, caller: Caller, request: Any) -> Any:
        """`invoke`, for a caller whose token grants it: the only way in for a door. Raises PermissionDenied."""
        grants.require(caller, self.needs, self.name, self.toolset)
        return self.invoke(gate, caller, request)

    def is_for(self, caller: Caller) -> bool:
        """Whether the caller's token grants it."""
        return grants.may(caller, self.needs, self.toolset)

    @property
    def method(self) -> str:
        """Path of the gRPC method."""
        return f"/{self.service}/{self.rpc}"

    @property
    def description(self) -> str:
        """What it does: the comment of the .proto file."""
        return FIELD_HELP[f"{self.service}.{self.rpc}"]

    @property
    def forms(self) -> tuple[Route, ...]:
        """Every HTTP form: the routes, then one POST for each alias."""
        return (*self.routes, *(Route("POST", f"/v1/{alias}") for alias in self.aliases))

    def request_schema(self) -> Schema:
        """JSON schema of what `read_json` accepts."""
        return request_schema(descriptor_of(self.request), self.flatten)

    def response_schema(self) -> Schema:
        """JSON schema of the response, without help texts."""
        return brief_response_schema(descriptor_of(self.response))

    def read_json(self, value: Mapping[str, Any]) -> Message:
        """The request that a JSON object stands for. Raises InvalidArgument naming the field."""
        if not self.flatten:
            return from_json(self.request, value)
        fields = fields_of(descriptor_of(self.request))
        outer = [field.name for field in fields if field.name != self.flatten]
        inner = fields_of(inner_message(field_of(descriptor_of(self.request), self.flatten)))
        for name in value:
            require_known(name, [*outer, *(field.name for field in inner)])
        request = from_json(self.request, {name: value[name] for name in value if name in outer})
        item: Message = getattr(request, self.flatten)
        item.CopyFrom(from_json(type(item), {name: value[name] for name in value if name not in outer}))
        return request


async def _remember(gate: MeshGate, caller: Caller, request: memory_pb2.RememberRequest) -> memory_pb2.RememberResponse:
    draft = wire.draft(request)
    return wire.remember_response(await (await gate.ready()).remember(caller, draft))


async def _remember_batch(
    gate: MeshGate, caller: Caller, request: memory_pb2.RememberBatchRequest
) -> memory_pb2.RememberBatchResponse:
    drafts = [wire.draft(item, f"items[{i}].") for i, item in enumerate(request.items)]
    return wire.batch_response(await (await gate.ready()).remember_batch(caller, drafts))


async def _check(gate: MeshGate, caller: Caller, request: memory_pb2.CheckRequest) -> memory_pb2.CheckResponse:
    draft = wire.draft(request.item)
    return wire.check_response(await (await gate.ready()).check(caller, draft))


async def _purge(gate: MeshGate, caller: Caller, request: memory_pb2.PurgeRequest) -> memory_pb2.PurgeResponse:
    mesh = await gate.ready()
    begun = (await mesh.identify(caller, request.id)).created_at
    gone = await mesh.purge(caller, request.id)
    return memory_pb2.PurgeResponse(
        id=gone.id,
        space=gone.space,
        changes=gone.changes,
        pending=gone.pending,
        backups=await backup_calls.may_hold(gate, caller, begun),
    )


async def _recall(gate: MeshGate, caller: Caller, request: recall_pb2.RecallRequest) -> recall_pb2.RecallResponse:
    query = wire.query(request)
    answer = await (await gate.ready()).recall(caller, query)
    return wire.recall_response(answer, snippets_only=query.snippets_only)


async def _get(gate: MeshGate, caller: Caller, request: memory_pb2.GetRequest) -> memory_pb2.GetResponse:
    keys = tuple(request.ids)
    found, missing = await (await gate.ready()).get(
        caller,
        keys,
        include_forgotten=request.include_forgotten,
        spaces=wire.spaces(request),
        as_of=wire.moment(request, "as_of"),
    )
    return wire.get_response(keys, found, missing)


async def _list(gate: MeshGate, caller: Caller, request: memory_pb2.ListRequest) -> memory_pb2.ListResponse:
    query = wire.list_query(request)
    return wire.list_response(await (await gate.ready()).list(caller, query))


async def _timeline(gate: MeshGate, caller: Caller, request: memory_pb2.TimelineRequest) -> memory_pb2.TimelineResponse:
    before = request.before if request.HasField("before") else 5
    after = request.after if request.HasField("after") else 5
    mesh, key = await gate.ready(), request.id
    if named := wire.spaces(request):  # where a title is looked for
        ((middle,), _) = await mesh.get(caller, [key], spaces=named)
        key = middle.id
    memories, position = await mesh.timeline(caller, key, before, after)
    return memory_pb2.TimelineResponse(memories=[wire.memory(item) for item in memories], position=position)


async def _update(gate: MeshGate, caller: Caller, request: memory_pb2.UpdateRequest) -> memory_pb2.UpdateResponse:
    patch = wire.patch(request)
    return wire.update_response(await (await gate.ready()).update(caller, request.id, patch))


async def _supersede(
    gate: MeshGate, caller: Caller, request: memory_pb2.SupersedeRequest
) -> memory_pb2.SupersedeResponse:
    draft = wire.draft(request.item)
    return wire.supersede_response(*await (await gate.ready()).supersede(caller, request.id, draft))


async def _forget(gate: MeshGate, caller: Caller, request: memory_pb2.ForgetRequest) -> memory_pb2.ForgetResponse:
    done = await (await gate.ready()).forget(caller, request.id, request.wait or "indexed")
    return memory_pb2.ForgetResponse(
        action=done.action, memory=wire.memory(done.memory), reason=done.reason, indexed=done.indexed
    )


async def _restore(gate: MeshGate, caller: Caller, request: memory_pb2.RestoreRequest) -> memory_pb2.RestoreResponse:
    done = await (await gate.ready()).restore(caller, request.id, request.wait or "indexed")
    return memory_pb2.RestoreResponse(
        action=done.action, memory=wire.memory(done.memory), reason=done.reason, indexed=done.indexed
    )


async def _stats(gate: MeshGate, caller: Caller, request: memory_pb2.StatsRequest) -> memory_pb2.StatsResponse:
    return wire.stats_response(await (await gate.ready()).stats(caller, wire.spaces(request)))


async def _export(
    gate: MeshGate, caller: Caller, request: memory_pb2.ExportRequest
) -> AsyncGenerator[memory_pb2.ExportResponse, None]:
    mesh = await gate.ready()
    async for item in mesh.export(
        caller,
        wire.spaces(request),
        include_forgotten=request.include_forgotten,
        include_superseded=request.include_superseded,
    ):
        yield memory_pb2.ExportResponse(memory=wire.memory(item))


async def _status(gate: MeshGate, caller: Caller, request: admin_pb2.StatusRequest) -> admin_pb2.StatusResponse:
    """Answers while the node starts, too: then with what the gateway knows of itself."""
    facts = gate.describe()
    mesh = gate.mesh_now()
    response = (
        admin_pb2.StatusResponse(state=facts.state) if mesh is None else wire.status_response(await mesh.status())
    )
    response.version, response.data_dir, response.pid = facts.version, facts.data_dir, facts.pid
    response.uptime_s, response.grpc, response.http = facts.uptime_s, facts.grpc, facts.http
    return response


async def _whoami(gate: MeshGate, caller: Caller, request: admin_pb2.WhoamiRequest) -> admin_pb2.WhoamiResponse:
    return admin_pb2.WhoamiResponse(
        agent=caller.agent,
        principal=caller.principal,
        role=caller.role,
        private_space=caller.private_space,
        default_space=caller.default_space or caller.private_space,
        spaces=caller.spaces,
        toolsets=caller.toolsets,
        expires_at=wire.timestamp(caller.expires_at),
    )


async def _add_agent(gate: MeshGate, caller: Caller, request: admin_pb2.AddAgentRequest) -> admin_pb2.AddAgentResponse:
    access = gate.agents()
    add = partial(
        access.add, caller, name=request.name, role=request.role, spaces=tuple(request.spaces),
        toolsets=tuple(request.toolsets), expires=request.expires,
    )  # fmt: skip
    agent, token = await asyncio.to_thread(add)
    return admin_pb2.AddAgentResponse(agent=wire.agent(agent, access.state(agent)), token=token)


async def _list_agents(
    gate: MeshGate, caller: Caller, request: admin_pb2.ListAgentsRequest
) -> admin_pb2.ListAgentsResponse:
    access = gate.agents()
    return admin_pb2.ListAgentsResponse(
        agents=[wire.agent(agent, access.state(agent)) for agent in access.list(caller)]
    )


async def _revoke_agent(
    gate: MeshGate, caller: Caller, request: admin_pb2.RevokeAgentRequest
) -> admin_pb2.RevokeAgentResponse:
    access = gate.agents()
    agent = await asyncio.to_thread(access.revoke, caller, request.name)
    return admin_pb2.RevokeAgentResponse(agent=wire.agent(agent, access.state(agent)))


OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        name="remember", service=MEMORY, rpc="Remember", toolset="core", needs=WRITE, mcp_name="remember",
        invoke=_remember, request=memory_pb2.RememberRequest, response=memory_pb2.RememberResponse,
        routes=(Route("POST", "/v1/memories"),),
        aliases=("remember", "save", "store", "write", "retain", "add_memory"),
    ),
    Operation(
        name="remember_batch", service=MEMORY, rpc="RememberBatch", toolset="core", needs=WRITE, invoke=_remember_batch,
        request=memory_pb2.RememberBatchRequest, response=memory_pb2.RememberBatchResponse,
        routes=(Route("POST", "/v1/memories/batch"),),
    ),
    Operation(
        name="check", service=MEMORY, rpc="Check", toolset="curate", needs=WRITE, mcp_name="check", invoke=_check,
        request=memory_pb2.CheckRequest, response=memory_pb2.CheckResponse, flatten="item",
        routes=(Route("POST", "/v1/memories/check"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="recall", service=RECALL, rpc="Recall", toolset="core", needs=READ, mcp_name="recall", invoke=_recall,
        request=recall_pb2.RecallRequest, response=recall_pb2.RecallResponse,
        routes=(Route("POST", "/v1/recall"), Route("GET", "/v1/recall")), read_only=True, idempotent=True,
        aliases=("find", "query", "search", "lookup", "retrieve"),
    ),
    Operation(
        name="get", service=MEMORY, rpc="Get", toolset="core", needs=READ, mcp_name="get", invoke=_get,
        request=memory_pb2.GetRequest, response=memory_pb2.GetResponse,
        routes=(Route("GET", "/v1/memories/{id}", "ids"), Route("POST", "/v1/get")),
        read_only=True, idempotent=True,
    ),
    Operation(
        name="list", service=MEMORY, rpc="List", toolset="curate", needs=READ, mcp_name="list", invoke=_list,
        request=memory_pb2.ListRequest, response=memory_pb2.ListResponse,
        routes=(Route("GET", "/v1/memories"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="timeline", service=MEMORY, rpc="Timeline", toolset="core", needs=READ, mcp_name="timeline",
        invoke=_timeline, request=memory_pb2.TimelineRequest, response=memory_pb2.TimelineResponse,
        routes=(Route("GET", "/v1/memories/{id}/timeline", "id"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="update", service=MEMORY, rpc="Update", toolset="curate", needs=WRITE, mcp_name="update", invoke=_update,
        request=memory_pb2.UpdateRequest, response=memory_pb2.UpdateResponse,
        routes=(Route("PATCH", "/v1/memories/{id}", "id"),), destructive=True, idempotent=True,
    ),
    Operation(
        name="supersede", service=MEMORY, rpc="Supersede", toolset="curate", needs=WRITE, mcp_name="supersede",
        invoke=_supersede, request=memory_pb2.SupersedeRequest, response=memory_pb2.SupersedeResponse,
        routes=(Route("POST", "/v1/memories/{id}/supersede", "id"),), flatten="item", destructive=True,
    ),
    Operation(
        name="forget", service=MEMORY, rpc="Forget", toolset="core", needs=WRITE, mcp_name="forget", invoke=_forget,
        request=memory_pb2.ForgetRequest, response=memory_pb2.ForgetResponse,
        routes=(Route("DELETE", "/v1/memories/{id}", "id"),), destructive=True, idempotent=True,
    ),
    Operation(
        name="restore", service=MEMORY, rpc="Restore", toolset="curate", needs=WRITE, mcp_name="restore",
        invoke=_restore, request=memory_pb2.RestoreRequest, response=memory_pb2.RestoreResponse,
        routes=(Route("POST", "/v1/memories/{id}/restore", "id"),), idempotent=True,
    ),
    Operation(
        name="history", service=HISTORY, rpc="History", toolset="curate", needs=READ, mcp_name="history",
        invoke=history_calls.history, request=history_pb2.HistoryRequest, response=history_pb2.HistoryResponse,
        routes=(Route("GET", "/v1/memories/{id}/history", "id"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="blame", service=HISTORY, rpc="Blame", toolset="curate", needs=READ, mcp_name="blame",
        invoke=history_calls.blame, request=history_pb2.BlameRequest, response=history_pb2.BlameResponse,
        routes=(Route("GET", "/v1/memories/{id}/blame", "id"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="rollback", service=HISTORY, rpc="Rollback", toolset="curate", needs=WRITE, mcp_name="rollback",
        invoke=history_calls.rollback, request=history_pb2.RollbackRequest, response=history_pb2.RollbackResponse,
        routes=(Route("POST", "/v1/memories/{id}/rollback", "id"),), destructive=True, idempotent=True,
    ),
    Operation(
        name="conflicts", service=HISTORY, rpc="Conflicts", toolset="curate", needs=READ, mcp_name="conflicts",
        invoke=history_calls.conflicts, request=history_pb2.ConflictsRequest,
        response=history_pb2.ConflictsResponse, routes=(Route("GET", "/v1/conflicts"),), read_only=True,
        idempotent=True,
    ),
    Operation(
        name="resolve", service=HISTORY, rpc="Resolve", toolset="curate", needs=WRITE, mcp_name="resolve",
        invoke=history_calls.resolve, request=history_pb2.ResolveRequest, response=history_pb2.ResolveResponse,
        routes=(Route("POST", "/v1/memories/{id}/resolve", "id"),), destructive=True,
    ),
    Operation(
        name="purge", service=MEMORY, rpc="Purge", toolset="admin", needs=WRITE, mcp_name="purge", invoke=_purge,
        request=memory_pb2.PurgeRequest, response=memory_pb2.PurgeResponse,
        routes=(Route("POST", "/v1/memories/{id}/purge", "id"),), destructive=True, idempotent=True,
    ),
    Operation(
        name="stats", service=MEMORY, rpc="Stats", toolset="curate", needs=READ, mcp_name="stats", invoke=_stats,
        request=memory_pb2.StatsRequest, response=memory_pb2.StatsResponse,
        routes=(Route("GET", "/v1/stats"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="export", service=MEMORY, rpc="Export", toolset="admin", needs=READ, invoke=_export, streaming=True,
        request=memory_pb2.ExportRequest, response=memory_pb2.ExportResponse,
        routes=(Route("GET", "/v1/export"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="watch", service=WATCH, rpc="Watch", toolset="core", needs=READ, invoke=watch_calls.watch,
        streaming=True, standing=True, request=watch_pb2.WatchRequest, response=watch_pb2.WatchResponse,
        routes=(Route("GET", "/v1/watch"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="status", service=ADMIN, rpc="Status", toolset="admin", needs=ADMINISTER, invoke=_status,
        request=admin_pb2.StatusRequest, response=admin_pb2.StatusResponse,
        routes=(Route("GET", "/v1/status"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="whoami", service=ADMIN, rpc="Whoami", toolset="admin", needs=IDENTIFY, mcp_name="whoami", invoke=_whoami,
        request=admin_pb2.WhoamiRequest, response=admin_pb2.WhoamiResponse,
        routes=(Route("GET", "/v1/whoami"),), read_only=True, idempotent=True,
    ),
    # No MCP tool: the token would stand in the context of a model and in the host's transcript.
    Operation(
        name="agent_add", service=ADMIN, rpc="AddAgent", toolset="admin", needs=ADMINISTER, invoke=_add_agent,
        request=admin_pb2.AddAgentRequest, response=admin_pb2.AddAgentResponse,
        routes=(Route("POST", "/v1/agents"),),
    ),
    Operation(
        name="agent_list", service=ADMIN, rpc="ListAgents", toolset="admin", needs=ADMINISTER, mcp_name="agent_list",
        invoke=_list_agents, request=admin_pb2.ListAgentsRequest, response=admin_pb2.ListAgentsResponse,
        routes=(Route("GET", "/v1/agents"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="agent_revoke", service=ADMIN, rpc="RevokeAgent", toolset="admin", needs=ADMINISTER,
        mcp_name="agent_revoke", invoke=_revoke_agent, request=admin_pb2.RevokeAgentRequest,
        response=admin_pb2.RevokeAgentResponse, routes=(Route("DELETE", "/v1/agents/{id}", "name"),),
        destructive=True, idempotent=True,
    ),
    # No MCP tool either: it takes a token.
    Operation(
        name="peer_add", service=PEER, rpc="AddPeer", toolset="admin", needs=ADMINISTER, invoke=peer_calls.add_peer,
        request=peer_pb2.AddPeerRequest, response=peer_pb2.AddPeerResponse, routes=(Route("POST", "/v1/peers"),),
    ),
    Operation(
        name="peer_remove", service=PEER, rpc="RemovePeer", toolset="admin", needs=ADMINISTER,
        mcp_name="peer_remove", invoke=peer_calls.remove_peer, request=peer_pb2.RemovePeerRequest,
        response=peer_pb2.RemovePeerResponse, routes=(Route("DELETE", "/v1/peers/{id}", "name"),), destructive=True,
    ),
    Operation(
        name="sync_status", service=PEER, rpc="SyncStatus", toolset="admin", needs=ADMINISTER,
        mcp_name="sync_status", invoke=peer_calls.sync_status, request=peer_pb2.SyncStatusRequest,
        response=peer_pb2.SyncStatusResponse, routes=(Route("GET", "/v1/sync"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="sync_now", service=PEER, rpc="SyncNow", toolset="admin", needs=ADMINISTER, mcp_name="sync_now",
        invoke=peer_calls.sync_now, request=peer_pb2.SyncNowRequest, response=peer_pb2.SyncNowResponse,
        routes=(Route("POST", "/v1/sync"),), idempotent=True,
    ),
    Operation(
        name="sync_quarantine", service=PEER, rpc="ListQuarantine", toolset="admin", needs=ADMINISTER,
        mcp_name="sync_quarantine", invoke=peer_calls.list_quarantine, request=peer_pb2.ListQuarantineRequest,
        response=peer_pb2.ListQuarantineResponse, routes=(Route("GET", "/v1/sync/quarantine"),), read_only=True,
        idempotent=True,
    ),
    # No MCP tools: what they tell of is files of the node's machine.
    Operation(
        name="backup_create", service=BACKUP, rpc="CreateBackup", toolset="admin", needs=ADMINISTER,
        invoke=backup_calls.create, request=backup_pb2.CreateBackupRequest, response=backup_pb2.CreateBackupResponse,
        routes=(Route("POST", "/v1/backups"),),
    ),
    Operation(
        name="backup_list", service=BACKUP, rpc="ListBackups", toolset="admin", needs=ADMINISTER,
        invoke=backup_calls.listed, request=backup_pb2.ListBackupsRequest, response=backup_pb2.ListBackupsResponse,
        routes=(Route("GET", "/v1/backups"),), read_only=True, idempotent=True,
    ),
)  # fmt: skip


def by_name(name: str) -> Operation:
    """The row called `name`. Raises KeyError."""
    return {operation.name: operation for operation in OPERATIONS}[name]
