"""The MCP tools that change nothing on the node."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

READING_TOOLS: Final = frozenset(
    {
        *("recall", "get", "timeline"),
        *("check", "list", "stats", "history", "blame", "conflicts", "related", "duplicates", "hygiene", "validate"),
        *("transcript_search", "transcript_read", "transcript_list", "list_triggers", "list_runs", "context", "resume"),
        *("session_runs", "requirements", "preferences", "get_prompt"),
        "get_rules",
        *("graph", "graph_audit", "causal_chain"),
        *("story", "gaps", "coverage", "recall_hierarchical", "drill_down", "navigate"),
        *("whoami", "agent_list", "sync_status", "sync_quarantine"),
        *("search", "fetch"),
    }
)
