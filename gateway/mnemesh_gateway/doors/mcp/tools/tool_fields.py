"""The fields of an operation that a tool shows to an agent, and their words. A host puts both into its model's context.

A tool shows few fields and takes the others of its operation all the same. An unknown name is refused with the nearest
known one. Shown schemas are plain: no references, no unions of types, every list with its limit. Pure: schemas and
arguments in, the same out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mnemesh_gateway.contract.schema import Schema
from mnemesh_gateway.doors.mcp.tools.tool_forms import ToolForm
from mnemesh_memory.transcripts.sessions import ROLES
from mnemesh_memory.validation.request_checks import CLEARABLE
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.kinds import KINDS
from mnemesh_memory.values.marks import TRUST_CLASSES

DETAIL: Final = "detail"
SNIPPETS, TEXTS, FULL = DETAILS = ("snippets", "texts", "full")

# The fields of each tool, in the order in which an agent reads them. A tool that is not here shows all but UNSHOWN.
SHOWN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "remember": "content kind title tags space paths importance valid_from valid_to supersedes force",
        "recall": "query spaces kinds tags_any since limit token_budget",
        "context": "query session token_budget",
        "get": "ids as_of",
        "timeline": "id before after",
        "supersede": "id content kind title tags",
        "forget": "id",
        "rate": "id useful answer",
        "anchor": "id reason release",
        "validate": "id spaces limit cursor",
        "tidy": "finding action spaces stale_days limit dry_run",
        "check": "content space",
        "update": "id content kind title tags importance paths valid_from valid_to tier clear",
        "restore": "id",
        "list": "spaces kinds tags_any since before state order limit cursor",
        "stats": "spaces",
        "history": "id limit cursor",
        "blame": "id revision",
        "rollback": "id to",
        "conflicts": "spaces limit cursor",
        "resolve": "id keep content other",
        "duplicates": "spaces threshold limit",
        "hygiene": "spaces stale_days limit",
        "related": "id limit",
        "link": "id type to",
        "unlink": "id type to",
        "bulk_forget": "spaces kinds tags_any since before agent session state limit cursor purge dry_run",
        "transcript_add": "session turns space title dir source part_of",
        "transcript_search": "query spaces session since before limit context",
        "transcript_read": "session space first count",
        "transcript_list": "spaces since before limit cursor",
        "transcript_erase": "session space",
        "create_trigger": "on pattern content id space repeating",
        "list_triggers": "spaces limit cursor",
        "delete_trigger": "id",
        "checkpoint": "task files decisions questions next_steps errors custom session space merge",
        "resume": "session spaces agent token_budget",
        "seed_project": "dir space dry_run",
        "record_run": "session prompts prompt_id files errors outcome status model tokens_in tokens_out cost_usd space",
        "session_runs": "spaces session limit cursor",
        "settle": "id status note",
        "requirements": "spaces status limit cursor",
        "consolidate": "space dry_run",
        "list_runs": "spaces limit",
        "undo_run": "run",
        "add_rule": "condition effect reason space directory file",
        "get_rules": "spaces limit cursor",
        "delete_rule": "id",
        "graph": "name spaces limit as_of community",
        "graph_audit": "spaces limit",
        "causal_chain": "name spaces window_hours",
        "story": "spaces since before limit",
        "gaps": "spaces limit",
        "coverage": "query spaces",
        "recall_hierarchical": "query spaces level limit",
        "drill_down": "cluster spaces limit",
        "navigate": "query id spaces limit",
    }
)
UNSHOWN: Final = ("wait", "idempotency_key", "sensitive")
WITH_DETAIL: Final = ("recall",)

# The meaning of a field to an agent: of one tool, else of all, else the comment of the .proto file.
READING_ALL: Final = ("duplicates", "hygiene", "graph", "causal_chain", "graph_audit")
WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "remember.content": "One statement, clear by itself.",
        "remember.kind": f"{', '.join(KINDS[:-1])} or {KINDS[-1]}. Default {KINDS[0]}.",
        "remember.title": "Short title.",
        "remember.tags": "Words to filter by.",
        "remember.space": "Default: the project's space.",
        "remember.paths": "Files or globs that it is about.",
        "remember.importance": "0 to 1.",
        "remember.supersedes": "Ids of memories that it replaces.",
        "remember.force": "Store even if the same text is there.",
        "recall.query": 'A question or words; "last week" is understood.',
        "recall.kinds": "Only these kinds, see remember.",
        "recall.limit": "Default 10.",
        "recall.token_budget": "Most tokens of the whole answer.",
        "context.query": "The subject of the work.",
        "context.session": "Any name of this session.",
        "context.token_budget": "Default 1500.",
        "checkpoint.session": "Any name of this session.",
        "get.ids": "Ids, their first 6 characters or more, or titles.",
        "get.as_of": "As recorded then: date or RFC 3339 time.",
        "timeline.before": "How many before. Default 5.",
        "timeline.after": "How many after. Default 5.",
        "supersede.content": "The new text.",
        "supersede.kind": "Default: as before.",
        "supersede.title": "Short title.",
        "supersede.tags": "Default: as before.",
        "rate.useful": "Whether it helped.",
        "rate.answer": "Instead of id: your answer, with whole ids of memories used.",
        "anchor.reason": "Why it must stay.",
        "anchor.release": "Let it go.",
        "update.tags": "All tags, in place of those before.",
        "update.paths": "All paths, in place of those before.",
        "restore.id": "Id, or its first 6 characters or more.",
        "bulk_forget.limit": "How many at a time. Default 20.",
        "bulk_forget.state": "active (default), forgotten, superseded or all.",
        "duplicates.threshold": "Least cosine similarity, 0.5 to 1. Default 0.92.",
        "duplicates.limit": "Pairs, default 20.",
        "hygiene.stale_days": "Idle when neither used nor changed for so long. Default 90.",
        "hygiene.limit": "Findings of each type, default 20.",
        "graph.name": "A name as memories write it, or a memory's id or title.",
        "graph.as_of": "Relations that held then: date or RFC 3339 time.",
        "causal_chain.name": "A name as memories write it.",
        "graph_audit.limit": "Findings of each type, default 20.",
        "create_trigger.content": "The text to be reminded of.",
        "create_trigger.id": "Instead of content: the memory that becomes a trigger.",
        **{f"{tool}.spaces": "Default: all that you may read." for tool in READING_ALL},
        "id": "Id, its first 6 characters or more, or title.",
        "spaces": "Default: the project's space and your own.",
        "kinds": "Only these kinds.",
        "tags_any": "With one of these tags.",
        "since": "Created since: date or RFC 3339 time.",
        "before": "Created before.",
        "valid_from": "When it begins to hold: date or RFC 3339 time.",
        "valid_to": "When it ends to hold.",
        "cursor": "From the page before.",
    }
)
DETAIL_SCHEMA: Final[Schema] = {
    "type": "string",
    "enum": list(DETAILS),
    "description": "Default texts; full has every field.",
}
# Of every list that a request has.
ITEMS_MAX: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(("tags", "tags_any", "tags_all", "tags_none"), limits.TAGS_MAX),
        "spaces": limits.SPACES_PER_QUERY_MAX,
        **dict.fromkeys(("files", "decisions", "questions", "next_steps", "errors"), limits.CHECKPOINT_ITEMS_MAX),
        "kinds": len(KINDS),
        "paths": limits.PATHS_MAX,
        "keywords": limits.KEYWORDS_MAX,
        "supersedes": limits.SUPERSEDES_MAX,
        "expected_heads": limits.EXPECTED_HEADS_MAX,
        "links": limits.LINKS_MAX,
        "roles": len(ROLES),
        "clear": len(CLEARABLE),
        "trust": len(TRUST_CLASSES),
    }
)
# Texts that name a memory, revision or session, for which an agent may give a number.
NAMES: Final = frozenset({"id", "ids", "to", "keep", "revision", "expected_heads", "supersedes", "session"})
UNBOUNDED: Final = 2**32 - 1


def shown_schema(tool: str, schema: Schema) -> Schema:
    """The input schema of `tool`, from that of its operation."""
    properties = schema["properties"]
    names = SHOWN[tool].split() if tool in SHOWN else [name for name in properties if name not in UNSHOWN]
    shown = {name: _plain(tool, name, properties[name]) for name in names}
    if tool in WITH_DETAIL:
        shown[DETAIL] = DETAIL_SCHEMA
    made: Schema = {"type": "object", "properties": shown}
    if required := schema.get("required"):
        made["required"] = required
    return {**made, "additionalProperties": False}


def form_schema(form: ToolForm, schema: Schema) -> Schema:
    """The input schema of a form of an operation."""
    shown = {name: _plain(form.of, name, schema["properties"][name]) for name in form.shown.split()}
    shown |= {name: {"type": "string", "description": words} for name, words in form.attrs.items()}
    made: Schema = {"type": "object", "properties": shown, "additionalProperties": False}
    required = [name for name in shown if name in schema.get("required", ()) or name in form.required.split()]
    return {**made, "required": required} if required else made


def _plain(tool: str, name: str, schema: Schema) -> Schema:
    """A field for an agent: one type, its limits and a short help."""
    plain = {key: value for key, value in schema.items() if key not in ("anyOf", "description")}
    if "anyOf" in schema and "type" not in plain:
        plain["type"] = "string"  # the plainest of its forms
    if plain.get("maximum") == UNBOUNDED:
        del plain["maximum"]
    if plain["type"] == "array" and "maxItems" not in plain:
        plain["maxItems"] = ITEMS_MAX[name]
    help_text = WORDS.get(f"{tool}.{name}") or WORDS.get(name) or schema["description"]
    return {**plain, "description": help_text}


def read(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The fields for the operation, and how much detail the answer shall have. Raises InvalidArgument."""
    fields = {name: _named(value) if name in NAMES else value for name, value in arguments.items()}
    detail = fields.pop(DETAIL, None)
    if detail is not None and detail not in DETAILS:
        raise InvalidArgument(DETAIL, detail, f"one of {', '.join(DETAILS)}")
    return fields, detail or TEXTS


def _named(value: Any) -> Any:
    """A whole number as the text that it stands for."""
    if isinstance(value, list):
        return [_named(item) for item in value]
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    return str(int(value)) if whole else value
