"""The closed lists of words that a memory may carry, and the fold from predecessors' words to ours."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

KINDS: Final = (
    "fact", "decision", "error", "reference", "requirement", "project", "preference",
    "person", "procedure", "pattern", "episode", "prompt", "run", "summary",
)  # fmt: skip
DEFAULT_KIND: Final = "fact"
TIERS: Final = ("pinned", "normal", "archive")
WAITS: Final = ("indexed", "durable")
MODES: Final = ("hybrid", "semantic", "keyword")
SORTS: Final = ("relevance", "recency", "importance")
STATES: Final = ("active", "forgotten", "superseded")
ACTIONS: Final = ("ADD", "UPDATE", "NOOP", "SUPERSEDE", "FORGET", "RESTORE", "ROLLBACK", "RESOLVE", "LINK", "UNLINK")
LINK_TYPES: Final = (
    "supersedes", "superseded-by", "resolved-by", "part-of", "depends-on", "supports", "contradicts",
    "may-replace", "both-hold", "see-also", "derived-from", "copied-from",
)  # fmt: skip

# Written by the ledger alone, when a memory is replaced: a link of these types decides a memory's state.
LEDGER_LINK_TYPES: Final = ("supersedes", "superseded-by")
WRITABLE_LINK_TYPES: Final = tuple(word for word in LINK_TYPES if word not in LEDGER_LINK_TYPES)

KIND_FOLD: Final = MappingProxyType(
    {
        "facts": "fact", "note": "fact", "conversation": "fact", "insight": "fact", "semantic": "fact",
        "decisions": "decision",
        "gotcha": "error", "gotchas": "error", "bug": "error", "errors": "error", "lesson": "error",
        "infra": "reference", "infrastructure": "reference", "references": "reference", "docs": "reference",
        "requirements": "requirement", "todo": "requirement",
        "projects": "project",
        "user": "preference", "feedback": "preference", "preferences": "preference", "behavior": "preference",
        "people": "person", "contact": "person",
        "skill": "procedure", "procedural": "procedure", "workflow": "procedure", "howto": "procedure",
        "patterns": "pattern",
        "episodic": "episode", "episodes": "episode", "diary": "episode",
        "prompts": "prompt", "runs": "run", "summaries": "summary",
    }
)  # fmt: skip


def fold_kind(word: str) -> str | None:
    """The canonical kind for `word` (any case), or None when it is neither a kind nor a known alias."""
    lowered = word.strip().lower()
    return lowered if lowered in KINDS else KIND_FOLD.get(lowered)
