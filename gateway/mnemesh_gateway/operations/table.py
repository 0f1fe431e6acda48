"""The table of operations. gRPC, HTTP, OpenAPI and MCP are generated from it; no door has an operation of its
own.

A row says what an operation is called on each door and what it may do; its function turns a request message
into one call of the Mesh and the result into a response message. It decides nothing: validation, grants and
meaning are the Mesh's.
"""

from __future__ import annotations

from typing import Final

from mnemesh_gateway.operations import (
    admin_calls,
    aside_calls,
    backup_calls,
    history_calls,
    link_calls,
    memory_calls,
    peer_calls,
    recall_calls,
    transcript_calls,
    watch_calls,
)
from mnemesh_gateway.operations.operation import Operation as Operation
from mnemesh_gateway.operations.operation import Route as Route
from mnemesh_memory.access.grants import ADMINISTER, IDENTIFY, OWN, READ, WRITE
from mnemesh_proto.v1 import (
    admin_pb2,
    backup_pb2,
    history_pb2,
    link_pb2,
    memory_pb2,
    peer_pb2,
    recall_pb2,
    transcript_pb2,
    watch_pb2,
)

MEMORY: Final = "mnemesh.v1.MemoryService"
RECALL: Final = "mnemesh.v1.RecallService"
ADMIN: Final = "mnemesh.v1.AdminService"
HISTORY: Final = "mnemesh.v1.HistoryService"
LINK: Final = "mnemesh.v1.LinkService"
WATCH: Final = "mnemesh.v1.WatchService"
BACKUP: Final = "mnemesh.v1.BackupService"
PEER: Final = "mnemesh.v1.PeerService"
TRANSCRIPT: Final = "mnemesh.v1.TranscriptService"

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        name="remember", service=MEMORY, rpc="Remember", toolset="core", needs=WRITE, begins=True, mcp_name="remember",
        invoke=memory_calls.remember, request=memory_pb2.RememberRequest, response=memory_pb2.RememberResponse,
        routes=(Route("POST", "/v1/memories"),),
        aliases=("remember", "save", "store", "write", "retain", "add_memory"),
    ),
    Operation(
        name="remember_batch", service=MEMORY, rpc="RememberBatch", toolset="core", needs=WRITE, begins=True,
        invoke=memory_calls.remember_batch,
        request=memory_pb2.RememberBatchRequest, response=memory_pb2.RememberBatchResponse,
        routes=(Route("POST", "/v1/memories/batch"),),
    ),
    Operation(
        name="check", service=MEMORY, rpc="Check", toolset="curate", needs=WRITE, mcp_name="check",
        invoke=memory_calls.check, request=memory_pb2.CheckRequest, response=memory_pb2.CheckResponse, flatten="item",
        routes=(Route("POST", "/v1/memories/check"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="recall", service=RECALL, rpc="Recall", toolset="core", needs=READ, mcp_name="recall",
        invoke=recall_calls.recall, request=recall_pb2.RecallRequest, response=recall_pb2.RecallResponse,
        routes=(Route("POST", "/v1/recall"), Route("GET", "/v1/recall")), read_only=True, idempotent=True,
        aliases=("find", "query", "search", "lookup", "retrieve"),
    ),
    # No MCP tool: an agent calls recall as often as it likes, and a host calls several tools at once.
    Operation(
        name="recall_batch", service=RECALL, rpc="RecallBatch", toolset="core", needs=READ,
        invoke=recall_calls.recall_batch, request=recall_pb2.RecallBatchRequest,
        response=recall_pb2.RecallBatchResponse, routes=(Route("POST", "/v1/recall/batch"),), read_only=True,
        idempotent=True,
    ),
    Operation(
        name="related", service=RECALL, rpc="Related", toolset="curate", needs=READ, mcp_name="related",
        invoke=recall_calls.related, request=recall_pb2.RelatedRequest, response=recall_pb2.RelatedResponse,
        routes=(Route("GET", "/v1/memories/{id}/related", "id"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="get", service=MEMORY, rpc="Get", toolset="core", needs=READ, mcp_name="get", invoke=memory_calls.get,
        request=memory_pb2.GetRequest, response=memory_pb2.GetResponse,
        routes=(Route("GET", "/v1/memories/{id}", "ids"), Route("POST", "/v1/get")),
        read_only=True, idempotent=True,
    ),
    Operation(
        name="list", service=MEMORY, rpc="List", toolset="curate", needs=READ, mcp_name="list",
        invoke=memory_calls.page, request=memory_pb2.ListRequest, response=memory_pb2.ListResponse,
        routes=(Route("GET", "/v1/memories"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="timeline", service=MEMORY, rpc="Timeline", toolset="core", needs=READ, mcp_name="timeline",
        invoke=memory_calls.timeline, request=memory_pb2.TimelineRequest, response=memory_pb2.TimelineResponse,
        routes=(Route("GET", "/v1/memories/{id}/timeline", "id"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="update", service=MEMORY, rpc="Update", toolset="curate", needs=WRITE, mcp_name="update",
        invoke=memory_calls.update, request=memory_pb2.UpdateRequest, response=memory_pb2.UpdateResponse,
        routes=(Route("PATCH", "/v1/memories/{id}", "id"),), destructive=True, idempotent=True,
    ),
    Operation(
        name="supersede", service=MEMORY, rpc="Supersede", toolset="core", needs=WRITE, begins=True,
        mcp_name="supersede",
        invoke=memory_calls.supersede, request=memory_pb2.SupersedeRequest, response=memory_pb2.SupersedeResponse,
        routes=(Route("POST", "/v1/memories/{id}/supersede", "id"),), flatten="item", destructive=True,
    ),
    Operation(
        name="forget", service=MEMORY, rpc="Forget", toolset="core", needs=WRITE, frees=True, mcp_name="forget",
        invoke=memory_calls.forget, request=memory_pb2.ForgetRequest, response=memory_pb2.ForgetResponse,
        routes=(Route("DELETE", "/v1/memories/{id}", "id"),), destructive=True, idempotent=True,
    ),
    Operation(
        name="restore", service=MEMORY, rpc="Restore", toolset="curate", needs=WRITE, mcp_name="restore",
        invoke=memory_calls.restore, request=memory_pb2.RestoreRequest, response=memory_pb2.RestoreResponse,
        routes=(Route("POST", "/v1/memories/{id}/restore", "id"),), idempotent=True,
    ),
    Operation(
        name="link", service=LINK, rpc="Link", toolset="curate", needs=WRITE, mcp_name="link", invoke=link_calls.link,
        request=link_pb2.LinkRequest, response=link_pb2.LinkResponse,
        routes=(Route("POST", "/v1/memories/{id}/link", "id"),), idempotent=True,
    ),
    Operation(
        name="unlink", service=LINK, rpc="Unlink", toolset="curate", needs=WRITE, frees=True, mcp_name="unlink",
        invoke=link_calls.unlink, request=link_pb2.UnlinkRequest, response=link_pb2.UnlinkResponse,
        routes=(Route("POST", "/v1/memories/{id}/unlink", "id"),), idempotent=True,
    ),
    Operation(
        name="rate", service=LINK, rpc="Rate", toolset="core", needs=WRITE, mcp_name="rate", invoke=link_calls.rate,
        request=link_pb2.RateRequest, response=link_pb2.RateResponse,
        routes=(Route("POST", "/v1/memories/{id}/rate", "id"), Route("POST", "/v1/rate")), idempotent=True,
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
        name="bulk_forget", service=MEMORY, rpc="BulkForget", toolset="curate", needs=WRITE, frees=True,
        mcp_name="bulk_forget",
        invoke=memory_calls.bulk_forget, request=memory_pb2.BulkForgetRequest,
        response=memory_pb2.BulkForgetResponse, routes=(Route("POST", "/v1/forget"),), flatten="which",
        destructive=True, idempotent=True,
    ),
    Operation(
        name="purge", service=MEMORY, rpc="Purge", toolset="admin", needs=WRITE, frees=True, mcp_name="purge",
        invoke=memory_calls.purge, request=memory_pb2.PurgeRequest, response=memory_pb2.PurgeResponse,
        routes=(Route("POST", "/v1/memories/{id}/purge", "id"),), destructive=True, idempotent=True,
    ),
    Operation(
        name="stats", service=MEMORY, rpc="Stats", toolset="curate", needs=READ, mcp_name="stats",
        invoke=memory_calls.stats, request=memory_pb2.StatsRequest, response=memory_pb2.StatsResponse,
        routes=(Route("GET", "/v1/stats"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="export", service=MEMORY, rpc="Export", toolset="admin", needs=READ,
        invoke=memory_calls.export, streaming=True,
        request=memory_pb2.ExportRequest, response=memory_pb2.ExportResponse,
        routes=(Route("GET", "/v1/export"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="watch", service=WATCH, rpc="Watch", toolset="core", needs=READ, invoke=watch_calls.watch,
        streaming=True, standing=True, request=watch_pb2.WatchRequest, response=watch_pb2.WatchResponse,
        routes=(Route("GET", "/v1/watch"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="transcript_add", service=TRANSCRIPT, rpc="AddTranscript", toolset="session", needs=WRITE,
        mcp_name="transcript_add", invoke=transcript_calls.add, request=transcript_pb2.AddTranscriptRequest,
        response=transcript_pb2.AddTranscriptResponse, routes=(Route("POST", "/v1/transcripts"),), idempotent=True,
    ),
    Operation(
        name="transcript_search", service=TRANSCRIPT, rpc="SearchTranscripts", toolset="session", needs=READ,
        mcp_name="transcript_search", invoke=transcript_calls.search,
        request=transcript_pb2.SearchTranscriptsRequest, response=transcript_pb2.SearchTranscriptsResponse,
        routes=(Route("POST", "/v1/transcripts/search"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="transcript_read", service=TRANSCRIPT, rpc="ReadTranscript", toolset="session", needs=READ,
        mcp_name="transcript_read", invoke=transcript_calls.read, request=transcript_pb2.ReadTranscriptRequest,
        response=transcript_pb2.ReadTranscriptResponse, routes=(Route("GET", "/v1/transcripts/{id}", "session"),),
        read_only=True, idempotent=True,
    ),
    Operation(
        name="transcript_list", service=TRANSCRIPT, rpc="ListTranscripts", toolset="session", needs=READ,
        mcp_name="transcript_list", invoke=transcript_calls.page, request=transcript_pb2.ListTranscriptsRequest,
        response=transcript_pb2.ListTranscriptsResponse, routes=(Route("GET", "/v1/transcripts"),), read_only=True,
        idempotent=True,
    ),
    Operation(
        name="transcript_erase", service=TRANSCRIPT, rpc="EraseTranscript", toolset="session", needs=WRITE, frees=True,
        mcp_name="transcript_erase", invoke=transcript_calls.erase, request=transcript_pb2.EraseTranscriptRequest,
        response=transcript_pb2.EraseTranscriptResponse,
        routes=(Route("DELETE", "/v1/transcripts/{id}", "session"),), destructive=True, idempotent=True,
    ),
    Operation(
        name="status", service=ADMIN, rpc="Status", toolset="admin", needs=ADMINISTER, invoke=admin_calls.status,
        request=admin_pb2.StatusRequest, response=admin_pb2.StatusResponse,
        routes=(Route("GET", "/v1/status"),), read_only=True, idempotent=True,
    ),
    # It names a folder of the node's machine, and the model that all recall depends on.
    Operation(
        name="reembed", service=ADMIN, rpc="Reembed", toolset="admin", needs=OWN, mcp_name="reembed",
        invoke=admin_calls.reembed, request=admin_pb2.ReembedRequest, response=admin_pb2.ReembedResponse,
        routes=(Route("POST", "/v1/reembed"),), destructive=True, idempotent=True,
    ),
    Operation(
        name="whoami", service=ADMIN, rpc="Whoami", toolset="admin", needs=IDENTIFY, mcp_name="whoami",
        invoke=admin_calls.whoami, request=admin_pb2.WhoamiRequest, response=admin_pb2.WhoamiResponse,
        routes=(Route("GET", "/v1/whoami"),), read_only=True, idempotent=True,
    ),
    # No MCP tool: the token would stand in the context of a model and in the host's transcript.
    Operation(
        name="agent_add", service=ADMIN, rpc="AddAgent", toolset="admin", needs=ADMINISTER,
        invoke=admin_calls.add_agent, request=admin_pb2.AddAgentRequest, response=admin_pb2.AddAgentResponse,
        routes=(Route("POST", "/v1/agents"),),
    ),
    Operation(
        name="agent_list", service=ADMIN, rpc="ListAgents", toolset="admin", needs=ADMINISTER, mcp_name="agent_list",
        invoke=admin_calls.list_agents, request=admin_pb2.ListAgentsRequest, response=admin_pb2.ListAgentsResponse,
        routes=(Route("GET", "/v1/agents"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="agent_revoke", service=ADMIN, rpc="RevokeAgent", toolset="admin", needs=ADMINISTER,
        mcp_name="agent_revoke", invoke=admin_calls.revoke_agent, request=admin_pb2.RevokeAgentRequest,
        response=admin_pb2.RevokeAgentResponse, routes=(Route("DELETE", "/v1/agents/{id}", "name"),),
        destructive=True, idempotent=True,
    ),
    # No MCP tool: an agent has no business with how much it may write.
    Operation(
        name="agent_quota", service=ADMIN, rpc="SetAgentQuota", toolset="admin", needs=ADMINISTER,
        invoke=admin_calls.set_agent_quota, request=admin_pb2.SetAgentQuotaRequest,
        response=admin_pb2.SetAgentQuotaResponse, routes=(Route("POST", "/v1/agents/{id}/quota", "name"),),
        idempotent=True,
    ),
    # No MCP tools either: they take a token.
    Operation(
        name="peer_add", service=PEER, rpc="AddPeer", toolset="admin", needs=OWN, invoke=peer_calls.add_peer,
        request=peer_pb2.AddPeerRequest, response=peer_pb2.AddPeerResponse, routes=(Route("POST", "/v1/peers"),),
    ),
    Operation(
        name="peer_token", service=PEER, rpc="SetPeerToken", toolset="admin", needs=OWN,
        invoke=peer_calls.set_peer_token, request=peer_pb2.SetPeerTokenRequest,
        response=peer_pb2.SetPeerTokenResponse, routes=(Route("POST", "/v1/peers/{id}/token", "name"),),
        idempotent=True,
    ),
    Operation(
        name="peer_remove", service=PEER, rpc="RemovePeer", toolset="admin", needs=OWN,
        mcp_name="peer_remove", invoke=peer_calls.remove_peer, request=peer_pb2.RemovePeerRequest,
        response=peer_pb2.RemovePeerResponse, routes=(Route("DELETE", "/v1/peers/{id}", "name"),), destructive=True,
    ),
    Operation(
        name="sync_status", service=PEER, rpc="SyncStatus", toolset="admin", needs=OWN,
        mcp_name="sync_status", invoke=peer_calls.sync_status, request=peer_pb2.SyncStatusRequest,
        response=peer_pb2.SyncStatusResponse, routes=(Route("GET", "/v1/sync"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="sync_now", service=PEER, rpc="SyncNow", toolset="admin", needs=OWN, mcp_name="sync_now",
        invoke=peer_calls.sync_now, request=peer_pb2.SyncNowRequest, response=peer_pb2.SyncNowResponse,
        routes=(Route("POST", "/v1/sync"),), idempotent=True,
    ),
    Operation(
        name="sync_quarantine", service=PEER, rpc="ListQuarantine", toolset="admin", needs=OWN,
        mcp_name="sync_quarantine", invoke=aside_calls.list_quarantine, request=peer_pb2.ListQuarantineRequest,
        response=peer_pb2.ListQuarantineResponse, routes=(Route("GET", "/v1/sync/quarantine"),), read_only=True,
        idempotent=True,
    ),
    # No MCP tools: a person decides about what a peer's agents wrote, after a look at it.
    Operation(
        name="sync_retry", service=PEER, rpc="RetryQuarantine", toolset="admin", needs=OWN,
        invoke=aside_calls.retry_quarantine, request=peer_pb2.RetryQuarantineRequest,
        response=peer_pb2.RetryQuarantineResponse, routes=(Route("POST", "/v1/sync/quarantine/retry"),),
    ),
    Operation(
        name="sync_discard", service=PEER, rpc="DiscardQuarantine", toolset="admin", needs=OWN,
        invoke=aside_calls.discard_quarantine, request=peer_pb2.DiscardQuarantineRequest,
        response=peer_pb2.DiscardQuarantineResponse, routes=(Route("POST", "/v1/sync/quarantine/discard"),),
        destructive=True, idempotent=True,
    ),
    Operation(
        name="sync_pending", service=PEER, rpc="ListPending", toolset="admin", needs=OWN,
        invoke=aside_calls.list_pending, request=peer_pb2.ListPendingRequest, response=peer_pb2.ListPendingResponse,
        routes=(Route("GET", "/v1/sync/pending"),), read_only=True, idempotent=True,
    ),
    Operation(
        name="sync_pending_discard", service=PEER, rpc="DiscardPending", toolset="admin", needs=OWN,
        invoke=aside_calls.discard_pending, request=peer_pb2.DiscardPendingRequest,
        response=peer_pb2.DiscardPendingResponse, routes=(Route("POST", "/v1/sync/pending/discard"),),
        destructive=True, idempotent=True,
    ),
    # No MCP tools: what they tell of is files of the node's machine.
    Operation(
        name="backup_create", service=BACKUP, rpc="CreateBackup", toolset="admin", needs=OWN,
        invoke=backup_calls.create, request=backup_pb2.CreateBackupRequest, response=backup_pb2.CreateBackupResponse,
        routes=(Route("POST", "/v1/backups"),),
    ),
    Operation(
        name="backup_list", service=BACKUP, rpc="ListBackups", toolset="admin", needs=OWN,
        invoke=backup_calls.listed, request=backup_pb2.ListBackupsRequest, response=backup_pb2.ListBackupsResponse,
        routes=(Route("GET", "/v1/backups"),), read_only=True, idempotent=True,
    ),
)  # fmt: skip


def by_name(name: str) -> Operation:
    """The row called `name`. Raises KeyError."""
    return {operation.name: operation for operation in OPERATIONS}[name]
