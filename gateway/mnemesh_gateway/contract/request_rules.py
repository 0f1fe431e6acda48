"""What the Mesh asks of the fields of requests, in the words of JSON schema.

Schemas and errors quote these; nothing is judged by them, the Mesh does that itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

from mnemesh_memory.access import grants
from mnemesh_memory.transcripts.sessions import ROLES
from mnemesh_memory.validation.request_checks import CLEARABLE, ORDERS
from mnemesh_memory.values import limits
from mnemesh_memory.values.kinds import LINK_TYPES, MODES, SORTS, STATES, TIERS, WAITS, WRITABLE_LINK_TYPES

# Proto3 has no required fields; these are the ones that the Mesh refuses a request without.
REQUIRED: Final = MappingProxyType(
    {
        "RememberRequest": ("content",),
        "RememberBatchRequest": ("items",),
        "GetRequest": ("ids",),
        "RecallBatchRequest": ("queries",),
        "RelatedRequest": ("id",),
        "TimelineRequest": ("id",),
        "UpdateRequest": ("id",),
        "SupersedeRequest": ("id",),
        "ForgetRequest": ("id",),
        "RestoreRequest": ("id",),
        "PurgeRequest": ("id",),
        "HistoryRequest": ("id",),
        "BlameRequest": ("id",),
        "RollbackRequest": ("id", "to"),
        "ResolveRequest": ("id",),
        "LinkRequest": ("id", "type", "to"),
        "UnlinkRequest": ("id", "type", "to"),
        "Link": ("type", "id"),
        "AddAgentRequest": ("name", "role"),
        "RevokeAgentRequest": ("name",),
        "AddTranscriptRequest": ("session", "turns"),
        "TranscriptTurnDraft": ("id", "role", "text"),
        "SearchTranscriptsRequest": ("query",),
        "ReadTranscriptRequest": ("session",),
        "EraseTranscriptRequest": ("session",),
    }
)
# Closed lists and bounds of request fields. `kind` is open here, because predecessors' words are folded.
REQUEST_RULES: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "Link.type": {"enum": list(LINK_TYPES)},
        "RememberRequest.content": {"minLength": 1, "maxLength": limits.CONTENT_BYTES_MAX},
        "RememberRequest.importance": {"minimum": 0, "maximum": 1},
        "RememberRequest.tier": {"enum": list(TIERS)},
        "RememberRequest.wait": {"enum": list(WAITS)},
        "RememberRequest.tags": {"maxItems": limits.TAGS_MAX},
        "RememberBatchRequest.items": {"minItems": 1, "maxItems": limits.BATCH_ITEMS_MAX},
        "UpdateRequest.content": {"minLength": 1, "maxLength": limits.CONTENT_BYTES_MAX},
        "UpdateRequest.importance": {"minimum": 0, "maximum": 1},
        "UpdateRequest.tier": {"enum": list(TIERS)},
        "UpdateRequest.wait": {"enum": list(WAITS)},
        "UpdateRequest.clear": {"maxItems": len(CLEARABLE)},
        "ForgetRequest.wait": {"enum": list(WAITS)},
        "RestoreRequest.wait": {"enum": list(WAITS)},
        "GetRequest.ids": {"minItems": 1, "maxItems": limits.GET_IDS_MAX},
        "ListRequest.state": {"enum": [*STATES, "all"]},
        "ListRequest.order": {"enum": list(ORDERS)},
        "ListRequest.limit": {"minimum": 1, "maximum": limits.LIST_LIMIT_MAX},
        "TimelineRequest.before": {"maximum": limits.TIMELINE_MAX},
        "TimelineRequest.after": {"maximum": limits.TIMELINE_MAX},
        "HistoryRequest.limit": {"minimum": 1, "maximum": limits.LIST_LIMIT_MAX},
        "ConflictsRequest.limit": {"minimum": 1, "maximum": limits.LIST_LIMIT_MAX},
        "LinkRequest.type": {"enum": list(WRITABLE_LINK_TYPES)},
        "LinkRequest.wait": {"enum": list(WAITS)},
        "UnlinkRequest.type": {"enum": list(WRITABLE_LINK_TYPES)},
        "UnlinkRequest.wait": {"enum": list(WAITS)},
        "RateRequest.answer": {"maxLength": limits.ANSWER_BYTES_MAX},
        "RollbackRequest.wait": {"enum": list(WAITS)},
        "ResolveRequest.content": {"minLength": 1, "maxLength": limits.CONTENT_BYTES_MAX},
        "ResolveRequest.wait": {"enum": list(WAITS)},
        "RecallRequest.query": {"maxLength": limits.QUERY_CHARS_MAX},
        "RecallRequest.limit": {"minimum": 1, "maximum": limits.RECALL_LIMIT_MAX},
        "RecallRequest.mode": {"enum": list(MODES)},
        "RecallRequest.sort": {"enum": list(SORTS)},
        "RecallRequest.min_score": {"minimum": 0, "maximum": 1},
        "RecallRequest.min_heat": {"minimum": 0, "maximum": 1},
        "RecallBatchRequest.queries": {"minItems": 1, "maxItems": limits.RECALL_BATCH_MAX},
        "RelatedRequest.limit": {"minimum": 1, "maximum": limits.RELATED_LIMIT_MAX},
        "WatchRequest.cursor": {"maxLength": limits.WATCH_CURSOR_CHARS_MAX},
        "RecallRequest.token_budget": {"minimum": 1, "maximum": limits.TOKEN_BUDGET_MAX},
        "AddAgentRequest.name": {"minLength": 1, "maxLength": limits.PRINCIPAL_BYTES_MAX},
        "AddAgentRequest.role": {"enum": list(grants.ROLES)},
        "AddAgentRequest.spaces": {"maxItems": grants.PATTERNS_MAX},
        "AddAgentRequest.toolsets": {"maxItems": len(grants.TOOLSETS)},
        "AddTranscriptRequest.session": {"minLength": 1, "maxLength": limits.SESSION_BYTES_MAX},
        "AddTranscriptRequest.turns": {"minItems": 1, "maxItems": limits.TRANSCRIPT_TURNS_MAX},
        "TranscriptTurnDraft.id": {"minLength": 1, "maxLength": limits.TRANSCRIPT_TURN_ID_BYTES_MAX},
        "TranscriptTurnDraft.role": {"enum": list(ROLES)},
        "TranscriptTurnDraft.text": {"minLength": 1, "maxLength": limits.TRANSCRIPT_TURN_BYTES_MAX},
        "SearchTranscriptsRequest.query": {"minLength": 1, "maxLength": limits.QUERY_CHARS_MAX},
        "SearchTranscriptsRequest.limit": {"minimum": 1, "maximum": limits.RECALL_LIMIT_MAX},
        "SearchTranscriptsRequest.context": {"maximum": limits.TRANSCRIPT_CONTEXT_MAX},
        "ReadTranscriptRequest.session": {"minLength": 1, "maxLength": limits.SESSION_BYTES_MAX},
        "ReadTranscriptRequest.first": {"minimum": 1},
        "ReadTranscriptRequest.count": {"minimum": 1, "maximum": limits.TRANSCRIPT_READ_TURNS_MAX},
        "ListTranscriptsRequest.limit": {"minimum": 1, "maximum": limits.LIST_LIMIT_MAX},
        "EraseTranscriptRequest.session": {"minLength": 1, "maxLength": limits.SESSION_BYTES_MAX},
    }
)


def rules_of(field: FieldDescriptor) -> Mapping[str, Any]:
    """The rules of `field`, as JSON schema keywords; empty when its type says all."""
    return REQUEST_RULES.get(field.full_name.removeprefix("mnemesh.v1."), {})
