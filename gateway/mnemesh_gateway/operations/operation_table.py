"""The table of operations. gRPC, HTTP, OpenAPI and MCP are generated from it. No door has an operation of its own.

A row names an operation, its function and its method in the contract. Toolset, needed grant, HTTP forms and effects
follow. Its function turns a request message into one call of the Mesh and decides nothing: validation, grants and
meaning are the Mesh's.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pool
from google.protobuf.message_factory import GetMessageClass

from mnemesh_gateway.operations import (
    admin_calls,
    conflict_calls,
    history_calls,
    memory_calls,
    peer_calls,
    report_calls,
    session_calls,
    upkeep_calls,
)
from mnemesh_gateway.operations.operation import Invoke as Invoke
from mnemesh_gateway.operations.operation import Operation as Operation
from mnemesh_gateway.operations.operation import Route as Route
from mnemesh_memory.access.grants import ADMINISTER, IDENTIFY, OWN, READ, WRITE


def _row(
    name: str,
    invoke: Invoke,
    method: str,
    toolset: str,
    needs: str,
    *routes: str,
    tool: bool = False,
    read_only: bool | None = None,
    idempotent: bool = False,
    **facts: Any,
) -> Operation:
    """A row. The contract knows the messages of `method`, such as "Memory.Remember". Each of `routes` is a method, a
    path, and the field that its `{id}` fills. A `tool` of MCP has the name of its operation. Reads can be repeated."""
    service, _, rpc = method.partition(".")
    service = f"mnemesh.v1.{service}Service"
    signature = descriptor_pool.Default().FindMethodByName(f"{service}.{rpc}")
    reads = needs in (READ, IDENTIFY) if read_only is None else read_only
    return Operation(
        name=name,
        service=service,
        rpc=rpc,
        request=GetMessageClass(signature.input_type),
        response=GetMessageClass(signature.output_type),
        routes=tuple(Route(*route.split()) for route in routes),
        toolset=toolset,
        needs=needs,
        invoke=invoke,
        streaming=signature.server_streaming,
        mcp_name=name if tool else "",
        read_only=reads,
        idempotent=idempotent or reads,
        **facts,
    )


OPERATIONS: Final[tuple[Operation, ...]] = (
    _row("remember", memory_calls.remember, "Memory.Remember", "core", WRITE, "POST /v1/memories", tool=True,
         begins=True, aliases=("remember", "save", "store", "write", "retain", "add_memory")),
    _row("remember_batch", memory_calls.remember_batch, "Memory.RememberBatch", "core", WRITE,
         "POST /v1/memories/batch", begins=True),
    _row("check", memory_calls.check, "Memory.Check", "curate", WRITE, "POST /v1/memories/check", tool=True,
         read_only=True, flatten="item"),
    _row("recall", memory_calls.recall, "Recall.Recall", "core", READ, "POST /v1/recall", "GET /v1/recall", tool=True,
         aliases=("find", "query", "search", "lookup", "retrieve")),
    # No MCP tool: an agent calls recall as often as it likes, and a host calls several tools at once.
    _row("recall_batch", memory_calls.recall_batch, "Recall.RecallBatch", "core", READ, "POST /v1/recall/batch"),
    _row("related", memory_calls.related, "Recall.Related", "curate", READ, "GET /v1/memories/{id}/related id",
         tool=True),
    _row("get", memory_calls.get, "Memory.Get", "core", READ, "GET /v1/memories/{id} ids", "POST /v1/get", tool=True),
    _row("list", memory_calls.page, "Memory.List", "curate", READ, "GET /v1/memories", tool=True),
    _row("timeline", memory_calls.timeline, "Memory.Timeline", "core", READ, "GET /v1/memories/{id}/timeline id",
         tool=True),
    _row("update", memory_calls.update, "Memory.Update", "curate", WRITE, "PATCH /v1/memories/{id} id", tool=True,
         destructive=True, idempotent=True),
    _row("supersede", memory_calls.supersede, "Memory.Supersede", "core", WRITE, "POST /v1/memories/{id}/supersede id",
         tool=True, destructive=True, flatten="item", begins=True),
    _row("forget", memory_calls.forget, "Memory.Forget", "core", WRITE, "DELETE /v1/memories/{id} id", tool=True,
         destructive=True, idempotent=True, frees=True),
    _row("restore", memory_calls.restore, "Memory.Restore", "curate", WRITE, "POST /v1/memories/{id}/restore id",
         tool=True, idempotent=True),
    _row("link", history_calls.link, "Link.Link", "curate", WRITE, "POST /v1/memories/{id}/link id", tool=True,
         idempotent=True),
    _row("unlink", history_calls.unlink, "Link.Unlink", "curate", WRITE, "POST /v1/memories/{id}/unlink id", tool=True,
         idempotent=True, frees=True),
    _row("rate", history_calls.rate, "Link.Rate", "core", WRITE, "POST /v1/memories/{id}/rate id", "POST /v1/rate",
         tool=True, idempotent=True),
    _row("anchor", upkeep_calls.anchor, "Upkeep.Anchor", "core", WRITE, "POST /v1/memories/{id}/anchor id", tool=True,
         idempotent=True),
    _row("validate", upkeep_calls.validate, "Upkeep.Validate", "curate", READ, "GET /v1/memories/{id}/validate id",
         "GET /v1/validate", tool=True),
    _row("tidy", upkeep_calls.tidy, "Upkeep.Tidy", "curate", WRITE, "POST /v1/tidy", tool=True, destructive=True,
         idempotent=True, frees=True),
    _row("history", history_calls.history, "History.History", "curate", READ, "GET /v1/memories/{id}/history id",
         tool=True),
    _row("blame", history_calls.blame, "History.Blame", "curate", READ, "GET /v1/memories/{id}/blame id", tool=True),
    _row("rollback", history_calls.rollback, "History.Rollback", "curate", WRITE, "POST /v1/memories/{id}/rollback id",
         tool=True, destructive=True, idempotent=True),
    _row("conflicts", conflict_calls.conflicts, "History.Conflicts", "curate", READ, "GET /v1/conflicts", tool=True),
    _row("resolve", conflict_calls.resolve, "History.Resolve", "curate", WRITE, "POST /v1/memories/{id}/resolve id",
         tool=True, destructive=True),
    _row("duplicates", report_calls.duplicates, "Hygiene.Duplicates", "curate", READ, "GET /v1/duplicates", tool=True),
    _row("hygiene", report_calls.hygiene, "Hygiene.Hygiene", "curate", READ, "GET /v1/hygiene", tool=True),
    _row("bulk_forget", memory_calls.bulk_forget, "Memory.BulkForget", "curate", WRITE, "POST /v1/forget", tool=True,
         destructive=True, idempotent=True, flatten="which", frees=True),
    _row("purge", memory_calls.purge, "Memory.Purge", "admin", WRITE, "POST /v1/memories/{id}/purge id", tool=True,
         destructive=True, idempotent=True, frees=True),
    _row("stats", memory_calls.stats, "Memory.Stats", "curate", READ, "GET /v1/stats", tool=True),
    _row("export", memory_calls.export, "Memory.Export", "admin", READ, "GET /v1/export"),
    _row("watch", memory_calls.watch, "Watch.Watch", "core", READ, "GET /v1/watch", standing=True),
    _row("transcript_add", session_calls.add, "Transcript.AddTranscript", "session", WRITE, "POST /v1/transcripts",
         tool=True, idempotent=True),
    _row("transcript_search", session_calls.search, "Transcript.SearchTranscripts", "session", READ,
         "POST /v1/transcripts/search", tool=True),
    _row("transcript_read", session_calls.read, "Transcript.ReadTranscript", "session", READ,
         "GET /v1/transcripts/{id} session", tool=True),
    _row("transcript_list", session_calls.page, "Transcript.ListTranscripts", "session", READ, "GET /v1/transcripts",
         tool=True),
    _row("transcript_erase", session_calls.erase, "Transcript.EraseTranscript", "session", WRITE,
         "DELETE /v1/transcripts/{id} session", tool=True, destructive=True, idempotent=True, frees=True),
    _row("create_trigger", upkeep_calls.create_trigger, "Trigger.CreateTrigger", "session", WRITE, "POST /v1/triggers",
         tool=True, begins=True),
    _row("list_triggers", upkeep_calls.list_triggers, "Trigger.ListTriggers", "session", READ, "GET /v1/triggers",
         tool=True),
    _row("delete_trigger", upkeep_calls.delete_trigger, "Trigger.DeleteTrigger", "session", WRITE,
         "DELETE /v1/triggers/{id} id", tool=True, destructive=True, frees=True),
    _row("context", session_calls.context, "Session.Context", "core", READ, "POST /v1/context", "GET /v1/context",
         tool=True, read_only=True),
    _row("checkpoint", session_calls.checkpoint, "Session.Checkpoint", "session", WRITE, "POST /v1/checkpoints",
         tool=True, begins=True),
    _row("resume", session_calls.resume, "Session.Resume", "session", READ, "GET /v1/resume", "POST /v1/resume",
         tool=True),
    # It reads the disk of the node's machine.
    _row("seed_project", upkeep_calls.seed_project, "Seed.SeedProject", "session", OWN, "POST /v1/seed", tool=True,
         idempotent=True),
    _row("record_run", session_calls.record_run, "Session.RecordRun", "session", WRITE, "POST /v1/runs", tool=True,
         idempotent=True, begins=True),
    _row("session_runs", session_calls.runs, "Session.Runs", "session", READ, "GET /v1/runs", tool=True),
    _row("settle", session_calls.settle, "Session.Settle", "session", WRITE, "POST /v1/requirements/{id} id", tool=True,
         idempotent=True),
    _row("requirements", session_calls.requirements, "Session.Requirements", "session", READ, "GET /v1/requirements",
         tool=True),
    _row("consolidate", upkeep_calls.consolidate, "Sleep.Consolidate", "knowledge", WRITE, "POST /v1/consolidate",
         tool=True, idempotent=True),
    _row("list_runs", upkeep_calls.list_runs, "Sleep.ListRuns", "knowledge", READ, "GET /v1/consolidate/runs",
         "GET /v1/list_runs", tool=True, aliases=("list_runs",)),
    _row("undo_run", upkeep_calls.undo_run, "Sleep.UndoRun", "knowledge", WRITE,
         "POST /v1/consolidate/runs/{id}/undo run",
         tool=True, destructive=True, idempotent=True, aliases=("undo_run",)),
    _row("add_rule", upkeep_calls.add_rule, "Rule.AddRule", "session", WRITE, "POST /v1/rules", tool=True, begins=True),
    _row("get_rules", upkeep_calls.get_rules, "Rule.GetRules", "session", READ, "GET /v1/rules", tool=True),
    _row("delete_rule", upkeep_calls.delete_rule, "Rule.DeleteRule", "session", WRITE, "DELETE /v1/rules/{id} id",
         tool=True,
         destructive=True, frees=True),
    _row("graph", report_calls.graph, "Knowledge.Graph", "knowledge", READ, "GET /v1/graph", tool=True,
         aliases=("graph",)),
    _row("graph_audit", report_calls.graph_audit, "Knowledge.GraphAudit", "knowledge", READ, "GET /v1/graph/audit",
         "GET /v1/graph_audit", tool=True, read_only=True, aliases=("graph_audit",)),
    _row("causal_chain", report_calls.causal_chain, "Knowledge.CausalChain", "knowledge", READ,
         "GET /v1/causal_chain", tool=True, aliases=("causal_chain",)),
    _row("graph_rebuild", report_calls.graph_rebuild, "Knowledge.GraphRebuild", "knowledge", ADMINISTER,
         "POST /v1/graph/rebuild", tool=True, idempotent=True, aliases=("graph_rebuild",)),
    _row("story", report_calls.story, "Map.Story", "knowledge", READ, "GET /v1/story", tool=True,
         aliases=("story",)),
    _row("gaps", report_calls.gaps, "Map.Gaps", "knowledge", READ, "GET /v1/gaps", tool=True, aliases=("gaps",)),
    _row("coverage", report_calls.coverage, "Map.Coverage", "knowledge", READ, "POST /v1/coverage", "GET /v1/coverage",
         tool=True, read_only=True),
    _row("recall_hierarchical", report_calls.recall_hierarchical, "Map.RecallHierarchical", "knowledge", READ,
         "POST /v1/topics", "GET /v1/topics", "GET /v1/recall_hierarchical", tool=True, read_only=True,
         aliases=("recall_hierarchical",)),
    _row("drill_down", report_calls.drill_down, "Map.DrillDown", "knowledge", READ, "GET /v1/topics/{id} cluster",
         "GET /v1/drill_down", tool=True, read_only=True, aliases=("drill_down",)),
    _row("navigate", report_calls.navigate, "Map.Navigate", "knowledge", READ, "POST /v1/navigate", "GET /v1/navigate",
         tool=True, read_only=True),
    _row("status", admin_calls.status, "Admin.Status", "admin", ADMINISTER, "GET /v1/status", read_only=True),
    # It names a folder of the node's machine, and the model that all recall depends on.
    _row("reembed", admin_calls.reembed, "Admin.Reembed", "admin", OWN, "POST /v1/reembed", tool=True, destructive=True,
         idempotent=True),
    _row("whoami", admin_calls.whoami, "Admin.Whoami", "admin", IDENTIFY, "GET /v1/whoami", tool=True),
    # No MCP tool: the token would stand in the context of a model and in the host's transcript.
    _row("agent_add", admin_calls.add_agent, "Admin.AddAgent", "admin", ADMINISTER, "POST /v1/agents"),
    _row("agent_list", admin_calls.list_agents, "Admin.ListAgents", "admin", ADMINISTER, "GET /v1/agents", tool=True,
         read_only=True),
    _row("agent_revoke", admin_calls.revoke_agent, "Admin.RevokeAgent", "admin", ADMINISTER,
         "DELETE /v1/agents/{id} name", tool=True, destructive=True, idempotent=True),
    # No MCP tool: an agent has no business with how much it may write.
    _row("agent_quota", admin_calls.set_agent_quota, "Admin.SetAgentQuota", "admin", ADMINISTER,
         "POST /v1/agents/{id}/quota name", idempotent=True),
    # No MCP tools either: they take a token.
    _row("peer_add", peer_calls.add_peer, "Peer.AddPeer", "admin", OWN, "POST /v1/peers"),
    _row("peer_token", peer_calls.set_peer_token, "Peer.SetPeerToken", "admin", OWN, "POST /v1/peers/{id}/token name",
         idempotent=True),
    _row("peer_remove", peer_calls.remove_peer, "Peer.RemovePeer", "admin", OWN, "DELETE /v1/peers/{id} name",
         tool=True, destructive=True),
    _row("sync_status", peer_calls.sync_status, "Peer.SyncStatus", "admin", OWN, "GET /v1/sync", tool=True,
         read_only=True),
    _row("sync_now", peer_calls.sync_now, "Peer.SyncNow", "admin", OWN, "POST /v1/sync", tool=True, idempotent=True),
    _row("sync_quarantine", peer_calls.list_quarantine, "Peer.ListQuarantine", "admin", OWN, "GET /v1/sync/quarantine",
         tool=True, read_only=True),
    # No MCP tools: a person decides about what a peer's agents wrote, after a look at it.
    _row("sync_retry", peer_calls.retry_quarantine, "Peer.RetryQuarantine", "admin", OWN,
         "POST /v1/sync/quarantine/retry"),
    _row("sync_discard", peer_calls.discard_quarantine, "Peer.DiscardQuarantine", "admin", OWN,
         "POST /v1/sync/quarantine/discard", destructive=True, idempotent=True),
    _row("sync_pending", peer_calls.list_pending, "Peer.ListPending", "admin", OWN, "GET /v1/sync/pending",
         read_only=True),
    _row("sync_pending_discard", peer_calls.discard_pending, "Peer.DiscardPending", "admin", OWN,
         "POST /v1/sync/pending/discard", destructive=True, idempotent=True),
    # No MCP tools: what they tell of is files of the node's machine.
    _row("backup_create", admin_calls.create_backup, "Backup.CreateBackup", "admin", OWN, "POST /v1/backups"),
    _row("backup_list", admin_calls.list_backups, "Backup.ListBackups", "admin", OWN, "GET /v1/backups",
         read_only=True),
)  # fmt: skip


def by_name(name: str) -> Operation:
    """The row called `name`. Raises KeyError."""
    return {operation.name: operation for operation in OPERATIONS}[name]
