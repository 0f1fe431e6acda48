"""The rules of the Mesh for fields of requests, in the words of JSON schema.

Schemas and errors quote them. The Mesh itself judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

from mnemesh_memory.access import grants
from mnemesh_memory.graph import answers
from mnemesh_memory.graph.causes import WINDOW_H_MAX
from mnemesh_memory.maps import answers as maps
from mnemesh_memory.policy.rules import triggers
from mnemesh_memory.policy.rules.rule_grammar import TEXT_BYTES_MAX
from mnemesh_memory.policy.sessions import requirements, session_runs
from mnemesh_memory.transcripts.sessions import ROLES
from mnemesh_memory.validation.request_checks import CLEARABLE, ORDERS
from mnemesh_memory.values import limits, quotas
from mnemesh_memory.values.kinds import LINK_TYPES, MODES, SORTS, STATES, TIERS, WAITS, WRITABLE_LINK_TYPES

# Proto3 has no required fields. The Mesh refuses a request without these.
_BY_ID: Final = (
    "RelatedRequest", "TimelineRequest", "UpdateRequest", "SupersedeRequest", "ForgetRequest", "RestoreRequest",
    "PurgeRequest", "HistoryRequest", "BlameRequest", "ResolveRequest", "AnchorRequest",
)  # fmt: skip
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        **dict.fromkeys(_BY_ID, ("id",)),
        "RememberRequest": ("content",),
        "RememberBatchRequest": ("items",),
        "GetRequest": ("ids",),
        "RecallBatchRequest": ("queries",),
        "RollbackRequest": ("id", "to"),
        "LinkRequest": ("id", "type", "to"),
        "UnlinkRequest": ("id", "type", "to"),
        "Link": ("type", "id"),
        "AddAgentRequest": ("name", "role"),
        "RevokeAgentRequest": ("name",),
        "SetAgentQuotaRequest": ("name",),
        "AddRuleRequest": ("condition", "effect"),
        "DeleteRuleRequest": ("id",),
        "TidyRequest": ("finding",),
        "AddTranscriptRequest": ("session", "turns"),
        "TranscriptTurnDraft": ("id", "role", "text"),
        "SearchTranscriptsRequest": ("query",),
        "ReadTranscriptRequest": ("session",),
        "EraseTranscriptRequest": ("session",),
        "CreateTriggerRequest": ("on", "pattern"),
        "RecordRunRequest": ("session",),
        "SeedProjectRequest": ("dir",),
        "SettleRequest": ("id", "status"),
        "DeleteTriggerRequest": ("id",),
        "UndoRunRequest": ("run",),
        "GraphRequest": ("name",),
        "CausalChainRequest": ("name",),
        "CoverageRequest": ("query",),
        "DrillDownRequest": ("cluster",),
    }
)


def _alike(requests: str, field: str, **rules: Any) -> dict[str, dict[str, Any]]:
    """The same rules for a field of several requests."""
    return {f"{request}Request.{field}": rules for request in requests.split()}


# Closed lists and bounds of request fields. `kind` is open here, because predecessors' words are folded.
REQUEST_RULES: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        **_alike("Remember Update Forget Restore Link Unlink Rollback Resolve Anchor", "wait", enum=list(WAITS)),
        **_alike("Remember Update", "importance", minimum=0, maximum=1),
        **_alike("Remember Update", "tier", enum=list(TIERS)),
        **_alike("Remember Update Resolve", "content", minLength=1, maxLength=limits.CONTENT_BYTES_MAX),
        **_alike(
            "List History Conflicts ListTranscripts ListTriggers ListRuns GetRules Validate ListQuarantine ListPending "
            "Runs Requirements",
            "limit",
            minimum=1,
            maximum=limits.LIST_LIMIT_MAX,
        ),
        **_alike(
            "AddTranscript ReadTranscript EraseTranscript RecordRun",
            "session",
            minLength=1,
            maxLength=limits.SESSION_BYTES_MAX,
        ),
        "CheckpointRequest.task": {"maxLength": limits.CHECKPOINT_TASK_BYTES_MAX},
        **{
            f"CheckpointRequest.{name}": {"maxItems": limits.CHECKPOINT_ITEMS_MAX}
            for name in ("files", "decisions", "questions", "next_steps", "errors")
        },
        **_alike("Checkpoint Resume Context Runs", "session", maxLength=limits.SESSION_BYTES_MAX),
        **{f"RecordRunRequest.{name}": {"maxItems": limits.CHECKPOINT_ITEMS_MAX} for name, _ in session_runs.HEADINGS},
        "RecordRunRequest.status": {"enum": ["", *session_runs.STATUSES]},
        "RecordRunRequest.outcome": {"maxLength": limits.CHECKPOINT_TASK_BYTES_MAX},
        "RecordRunRequest.cost_usd": {"minimum": 0, "maximum": session_runs.COST_MAX},
        "UndoRunRequest.run": {"minLength": 1, "maxLength": limits.TITLE_BYTES_MAX},
        "SettleRequest.status": {"enum": list(requirements.STATUSES)},
        "RequirementsRequest.status": {"enum": ["", *requirements.STATUSES, "all"]},
        **_alike(
            "Resume Context", "token_budget", minimum=limits.CONTEXT_BUDGET_MIN, maximum=limits.CONTEXT_BUDGET_MAX
        ),
        "ContextRequest.query": {"maxLength": limits.QUERY_CHARS_MAX},
        "ContextRequest.task": {"maxLength": limits.QUERY_CHARS_MAX},
        **_alike("Graph GraphAudit", "limit", minimum=1, maximum=answers.LIMIT_MAX),
        **_alike("Graph CausalChain", "name", minLength=1, maxLength=limits.TITLE_BYTES_MAX),
        "CausalChainRequest.window_hours": {"minimum": 1, "maximum": WINDOW_H_MAX},
        "StoryRequest.limit": {"minimum": 1, "maximum": maps.SENTENCES_MAX},
        "GapsRequest.limit": {"minimum": 1, "maximum": maps.GAPS_MAX},
        "CoverageRequest.query": {"minLength": 1, "maxLength": limits.QUERY_CHARS_MAX},
        "RecallHierarchicalRequest.query": {"maxLength": limits.QUERY_CHARS_MAX},
        "RecallHierarchicalRequest.level": {"minimum": maps.LEVELS[0], "maximum": maps.LEVELS[-1]},
        "RecallHierarchicalRequest.limit": {"minimum": 1, "maximum": maps.CLUSTERS_MAX},
        "DrillDownRequest.cluster": {"minLength": 1, "maxLength": limits.TITLE_BYTES_MAX},
        "DrillDownRequest.limit": {"minimum": 1, "maximum": maps.MEMBERS_MAX},
        "NavigateRequest.query": {"maxLength": limits.QUERY_CHARS_MAX},
        "NavigateRequest.limit": {"minimum": 1, "maximum": maps.POINTS_MAX},
        "SeedProjectRequest.dir": {"minLength": 1, "pattern": "^/"},
        "Link.type": {"enum": list(LINK_TYPES)},
        "CreateTriggerRequest.on": {"enum": list(triggers.ON)},
        "CreateTriggerRequest.pattern": {"minLength": 1, "maxLength": limits.PATH_BYTES_MAX},
        "CreateTriggerRequest.content": {"maxLength": limits.CONTENT_BYTES_MAX},
        "TidyRequest.finding": {"enum": ["idle", "orphaned", "stale"]},
        "TidyRequest.action": {"enum": ["forget", "archive"]},
        "TidyRequest.limit": {"minimum": 1, "maximum": limits.HYGIENE_LIMIT_MAX},
        "TidyRequest.stale_days": {"minimum": 1, "maximum": limits.STALE_DAYS_MAX},
        "AddRuleRequest.condition": {"minLength": 1, "maxLength": TEXT_BYTES_MAX},
        "AddRuleRequest.effect": {"minLength": 1},
        "AddRuleRequest.reason": {"maxLength": limits.CONTENT_BYTES_MAX},
        "RememberRequest.tags": {"maxItems": limits.TAGS_MAX},
        "RememberBatchRequest.items": {"minItems": 1, "maxItems": limits.BATCH_ITEMS_MAX},
        "UpdateRequest.clear": {"maxItems": len(CLEARABLE)},
        "GetRequest.ids": {"minItems": 1, "maxItems": limits.GET_IDS_MAX},
        "ListRequest.state": {"enum": [*STATES, "all"]},
        "ListRequest.order": {"enum": list(ORDERS)},
        "TimelineRequest.before": {"maximum": limits.TIMELINE_MAX},
        "TimelineRequest.after": {"maximum": limits.TIMELINE_MAX},
        "LinkRequest.type": {"enum": list(WRITABLE_LINK_TYPES)},
        "UnlinkRequest.type": {"enum": list(WRITABLE_LINK_TYPES)},
        "RateRequest.answer": {"maxLength": limits.ANSWER_BYTES_MAX},
        "RecallRequest.query": {"maxLength": limits.QUERY_CHARS_MAX},
        "RecallRequest.limit": {"minimum": 1, "maximum": limits.RECALL_LIMIT_MAX},
        "RecallRequest.mode": {"enum": list(MODES)},
        "RecallRequest.sort": {"enum": list(SORTS)},
        "RecallRequest.min_score": {"minimum": 0, "maximum": 1},
        "RecallRequest.min_heat": {"minimum": 0, "maximum": 1},
        "RecallBatchRequest.queries": {"minItems": 1, "maxItems": limits.RECALL_BATCH_MAX},
        "RelatedRequest.limit": {"minimum": 1, "maximum": limits.RELATED_LIMIT_MAX},
        **_alike("Duplicates Hygiene", "limit", minimum=1, maximum=limits.HYGIENE_LIMIT_MAX),
        "DuplicatesRequest.threshold": {"minimum": limits.DUPLICATE_MIN, "maximum": 1},
        "HygieneRequest.stale_days": {"minimum": 1, "maximum": limits.STALE_DAYS_MAX},
        "WatchRequest.cursor": {"maxLength": limits.WATCH_CURSOR_CHARS_MAX},
        "RecallRequest.token_budget": {"minimum": 1, "maximum": limits.TOKEN_BUDGET_MAX},
        **{
            f"{request}Request.{name}": {"minimum": quotas.NO_LIMIT, "maximum": most}
            for request in ("AddAgent", "SetAgentQuota")
            for name, most in quotas.MOST.items()
        },
        "AddAgentRequest.name": {"minLength": 1, "maxLength": limits.PRINCIPAL_BYTES_MAX},
        "AddAgentRequest.role": {"enum": list(grants.ROLES)},
        "AddAgentRequest.spaces": {"maxItems": grants.PATTERNS_MAX},
        "AddAgentRequest.toolsets": {"maxItems": len(grants.TOOLSETS)},
        "AddTranscriptRequest.turns": {"minItems": 1, "maxItems": limits.TRANSCRIPT_TURNS_MAX},
        "TranscriptTurnDraft.id": {"minLength": 1, "maxLength": limits.TRANSCRIPT_TURN_ID_BYTES_MAX},
        "TranscriptTurnDraft.role": {"enum": list(ROLES)},
        "TranscriptTurnDraft.text": {"minLength": 1, "maxLength": limits.TRANSCRIPT_TURN_BYTES_MAX},
        "SearchTranscriptsRequest.query": {"minLength": 1, "maxLength": limits.QUERY_CHARS_MAX},
        "SearchTranscriptsRequest.limit": {"minimum": 1, "maximum": limits.RECALL_LIMIT_MAX},
        "SearchTranscriptsRequest.context": {"maximum": limits.TRANSCRIPT_CONTEXT_MAX},
        "ReadTranscriptRequest.first": {"minimum": 1},
        "ReadTranscriptRequest.count": {"minimum": 1, "maximum": limits.TRANSCRIPT_READ_TURNS_MAX},
    }
)


def rules_of(field: FieldDescriptor) -> Mapping[str, Any]:
    """The rules of `field`, as JSON schema keywords. Empty when its type says all."""
    return REQUEST_RULES.get(field.full_name.removeprefix("mnemesh.v1."), {})
