"""OpenAPI's rules for requests beyond types and bounds: forms of texts, keys of maps, fields that exclude each other.

Programs that make requests from the schema need these. A model reads a shorter schema, without them. Nothing is judged
by them: the Mesh does that itself. A rule that compares two times, or knows what is stored, has no words here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mnemesh_memory.access import grants
from mnemesh_memory.policy.patches import REASON_BYTES_MAX
from mnemesh_memory.policy.rules.rule_grammar import GLOB_SIGNS_MAX
from mnemesh_memory.ranking.signals import DEFAULT_WEIGHTS, OPTIONAL
from mnemesh_memory.times.window import TIME_WORDS
from mnemesh_memory.transcripts.sessions import ROLES
from mnemesh_memory.validation.request_checks import CLEARABLE
from mnemesh_memory.values import limits
from mnemesh_memory.values.kinds import KIND_FOLD, KINDS, WRITABLE_LINK_TYPES
from mnemesh_memory.values.marks import TRUST_CLASSES

Schema = dict[str, Any]

# A line of text (checks.line), a line that is not blank, and any text that is not blank.
CONTROL: Final = "\\u0000-\\u001f\\u007f-\\u009f"
LINE: Final = f"^[^{CONTROL}]*$"
FULL_LINE: Final = f"^[^{CONTROL}]*[^\\s{CONTROL}][^{CONTROL}]*$"
FULL_TEXT: Final = "\\S"
WITHOUT_NUL: Final = "^[^\\u0000]*$"
FOLDER: Final = f"^[^*?\\[{CONTROL}]*$"
GLOB: Final = f"^[^*?\\[{CONTROL}]*([*?\\[][^*?\\[{CONTROL}]*){{0,{GLOB_SIGNS_MAX}}}$"
EFFECT: Final = "^(hide|only|[+-](0|1|0?\\.[0-9]{1,9}|1\\.0{1,9}))$"
REVISION_WHOLE: Final = "^[1-9][0-9]{0,8}@[0-9a-f]{32}$"
REVISION: Final = "^[1-9][0-9]{0,8}(@[0-9a-f]{0,32})?$"
NAME: Final = f"^[a-z0-9][a-z0-9._-]{{0,{limits.PRINCIPAL_BYTES_MAX - 1}}}$"
MEMORY_ID: Final = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
KIND_WORDS: Final = (*KINDS, *KIND_FOLD)


def _text(pattern: str, bytes_max: int) -> Schema:
    return {"pattern": pattern, "maxLength": bytes_max}


def _listed(pattern: str, bytes_max: int, items_max: int | None = None) -> Schema:
    most = {} if items_max is None else {"maxItems": items_max}
    return {"items": {"type": "string", **_text(pattern, bytes_max)}, **most}


def _one_of(**ways: Schema) -> Schema:
    """Exactly one of these fields is given, and the properties say what the others are then."""
    return {"oneOf": [{"required": [name], "properties": properties} for name, properties in ways.items()]}


def space_header() -> Schema:
    """The schema of the header that names a space: ASCII, in which % begins a percent-encoded byte."""
    return {"type": "string", "format": "space-path", "maxLength": limits.SPACE_BYTES_MAX}


def _by_name() -> dict[str, Schema]:
    path = {"format": "space-path", "maxLength": limits.SPACE_BYTES_MAX}
    key = _text(FULL_TEXT, limits.TITLE_BYTES_MAX)
    tags = _listed(FULL_LINE, limits.TAG_BYTES_MAX, limits.TAGS_MAX)
    weights = {name: {"type": "number", "minimum": 0, "maximum": 100} for name in DEFAULT_WEIGHTS}
    weights |= {name: {"type": "number", "minimum": 0, "maximum": 1} for name in OPTIONAL}
    return {
        "space": path,
        "spaces": {"items": {"type": "string", "minLength": 1, **path}, "maxItems": limits.SPACES_PER_QUERY_MAX},
        "content": {"pattern": "^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$"},
        "title": _text(LINE, limits.TITLE_BYTES_MAX),
        "session": _text(LINE, limits.SESSION_BYTES_MAX),
        **dict.fromkeys(("source_dir", "dir"), _text(LINE, limits.PATH_BYTES_MAX)),
        "idempotency_key": _text(LINE, limits.IDEMPOTENCY_KEY_BYTES_MAX),
        "kind": {"enum": ["", *KIND_WORDS]},
        "kinds": {"items": {"type": "string", "enum": list(KIND_WORDS)}},
        **dict.fromkeys(("tags", "tags_any", "tags_all", "tags_none"), tags),
        "keywords": _listed(FULL_LINE, limits.KEYWORD_BYTES_MAX, limits.KEYWORDS_MAX),
        "paths": _listed(FULL_LINE, limits.PATH_BYTES_MAX, limits.PATHS_MAX),
        "links": {"maxItems": limits.LINKS_MAX},
        "supersedes": _listed(FULL_LINE, limits.TITLE_BYTES_MAX, limits.SUPERSEDES_MAX),
        "attrs": {
            "propertyNames": _text(FULL_LINE, limits.ATTR_KEY_BYTES_MAX),
            "maxProperties": limits.ATTRS_MAX,
            "additionalProperties": {"type": "string", **_text(WITHOUT_NUL, limits.ATTR_VALUE_BYTES_MAX)},
        },
        "weights": {"properties": weights, "additionalProperties": False},
        "expected_heads": _listed(REVISION_WHOLE, limits.REVISION_ID_BYTES_MAX, limits.EXPECTED_HEADS_MAX),
        "clear": {"items": {"type": "string", "enum": list(CLEARABLE)}},
        "time_words": {"enum": ["", *TIME_WORDS]},
        "time_zone": {"format": "iana-time-zone"},
        "precision": {"enum": ["", "fp32", "int8"]},
        "wait_s": {"minimum": 0, "maximum": 600},
        "toolsets": {"items": {"type": "string", "enum": list(grants.TOOLSETS)}},
        "id": key,
        "ids": {"items": {"type": "string", **key}},
        "sensitive": {"const": False},
        "model": {"format": "model-name", "maxLength": 1024},
        "agent": _text(LINE, limits.AGENT_BYTES_MAX),
        "token": {"format": "mnemesh-token"},
        "cursor": {"format": "page-cursor"},
        "expires": {"format": "time-or-duration"},
        "roles": {"items": {"type": "string", "enum": list(ROLES)}, "maxItems": len(ROLES)},
    }


BY_NAME: Final[Mapping[str, Schema]] = MappingProxyType(_by_name())
_OF_ENTRIES: Final = ("RetryQuarantineRequest", "DiscardQuarantineRequest", "DiscardPendingRequest")
_ENTRIES: Final = {"items": {"type": "string", "format": "entry-id"}, "maxItems": 256}
_TRUST: Final = {"items": {"type": "string", "enum": list(TRUST_CLASSES)}}
_LISTS: Final = ("files", "decisions", "questions", "next_steps", "errors")
BY_FIELD: Final[Mapping[str, Schema]] = MappingProxyType(
    {
        **dict.fromkeys(("LinkRequest.to", "UnlinkRequest.to"), _text(FULL_TEXT, limits.TITLE_BYTES_MAX)),
        "HistoryRequest.cursor": _text("^$|" + REVISION_WHOLE, limits.REVISION_ID_BYTES_MAX),
        "BlameRequest.revision": _text("^$|" + REVISION, limits.REVISION_ID_BYTES_MAX),
        "Link.type": {"enum": list(WRITABLE_LINK_TYPES)},
        "Link.id": {"pattern": MEMORY_ID},
        "ReadTranscriptRequest.first": {"minimum": 1, "maximum": 1_000_000},
        "AddPeerRequest.url": {"pattern": "^(grpc://)?[a-z][a-z0-9]{0,30}:[1-9][0-9]{0,3}$"},
        "AddPeerRequest.name": {"pattern": "^([a-z0-9][a-z0-9._-]{0,63})?$"},
        "AddPeerRequest.spaces": {"items": {"type": "string", "minLength": 1, "format": "space-path"}, "minItems": 1},
        "UpdateRequest.kind": {"enum": list(KIND_WORDS)},
        "RecallRequest.current_session": _text(LINE, limits.SESSION_BYTES_MAX),
        "RateRequest.id": {"maxLength": limits.TITLE_BYTES_MAX},
        "TranscriptTurnDraft.id": _text(FULL_LINE, limits.TRANSCRIPT_TURN_ID_BYTES_MAX),
        **{f"{request}.ids": _ENTRIES for request in _OF_ENTRIES},
        "AddTranscriptRequest.part_of": _text(LINE, limits.SESSION_BYTES_MAX),
        "AddTranscriptRequest.source": _text(LINE, limits.TRANSCRIPT_LABEL_BYTES_MAX),
        "RollbackRequest.to": _text(REVISION, limits.REVISION_ID_BYTES_MAX),
        "CheckpointRequest.task": _text(LINE, limits.CHECKPOINT_TASK_BYTES_MAX),
        "CheckpointRequest.custom": {"pattern": WITHOUT_NUL},
        **{f"CheckpointRequest.{name}": _listed(FULL_LINE, limits.CHECKPOINT_ITEM_BYTES_MAX) for name in _LISTS},
        "AddAgentRequest.name": _text(NAME, limits.PRINCIPAL_BYTES_MAX),
        **{f"{request}Request.trust": _TRUST for request in ("Recall", "List", "BulkForget")},
        "CoverageRequest.query": {"pattern": FULL_TEXT},
        "CreateTriggerRequest.id": {"maxLength": limits.TITLE_BYTES_MAX},
        "NavigateRequest.id": {"maxLength": limits.TITLE_BYTES_MAX},
        "AnchorRequest.reason": _text(LINE, REASON_BYTES_MAX),
        "AddRuleRequest.condition": {"format": "rule-condition"},
        "AddRuleRequest.effect": {"pattern": EFFECT},
        "AddRuleRequest.reason": {"pattern": WITHOUT_NUL},
        "AddRuleRequest.directory": _text(FOLDER, limits.PATH_BYTES_MAX),
        "SettleRequest.note": _text(LINE, limits.ATTR_VALUE_BYTES_MAX),
        "AddRuleRequest.file": _text(GLOB, limits.PATH_BYTES_MAX),
    }
)


# Messages in the lists of these fields.
ITEMS: Final = MappingProxyType({"links": "Link", "turns": "TranscriptTurnDraft", "queries": "RecallRequest"})
# Requests of which each item succeeds or fails by itself.
EACH_BY_ITSELF: Final = ("RememberBatchRequest",)
_NONE: Final = {"enum": ["", None]}
_OFF: Final = {"enum": [False, None]}
_NO_LIST: Final = {"type": ["array", "null"], "maxItems": 0}
_IDS: Final = {"type": "array", "minItems": 1}
_IDS_OR_ALL: Final = _one_of(
    ids={"ids": _IDS, "everything": _OFF, "space": _NONE, "peer": _NONE},
    everything={"ids": _NO_LIST, "everything": {"const": True}, "trust": _OFF},
)
_RATED: Final = {"id": {"type": "string", "pattern": FULL_TEXT}, "useful": {"type": "boolean"}, "answer": _NONE}
_VOTE: Final = {"required": ["id", "useful"], "properties": _RATED}
_CITED: Final = {"answer": {"type": "string", "minLength": 1}, "id": _NONE, "useful": {"type": "null"}}
_KEPT: Final = {"keep": {"type": "string", "pattern": REVISION_WHOLE}, "content": {"type": "null"}}
_WORDED: Final = {"content": {"type": "string"}, "keep": _NONE}
_ANCHORED: Final = {"reason": {"type": "string", "pattern": FULL_LINE}, "release": _OFF}
_RELEASED: Final = {"release": {"const": True}, "reason": _NONE}
# A checkpoint says something in one of these at least.
_SAID: Final = (
    ("task", {"type": "string", "pattern": FULL_LINE}),
    ("custom", {"type": "string", "pattern": FULL_TEXT}),
    *((name, {"type": "array", "minItems": 1}) for name in _LISTS),
)
# A removal has one of these filters at least.
_LISTED: Final = ("spaces", "kinds", "tags_any", "tags_all", "tags_none", "trust")
_FILTERS: Final = (
    *((name, {"type": "array", "minItems": 1}) for name in _LISTED),
    *((name, {"type": "string", "pattern": FULL_LINE}) for name in ("agent", "session")),
    ("space", {"type": ["string", "array"], "minLength": 1, "minItems": 1}),
    *((name, {"type": "string"}) for name in ("since", "before", "valid_at")),
    ("everywhere", {"const": True}),
)
BY_MESSAGE: Final[Mapping[str, Schema]] = MappingProxyType(
    {
        **dict.fromkeys(_OF_ENTRIES, _IDS_OR_ALL),
        "RateRequest": {"oneOf": [_VOTE, {"required": ["answer"], "properties": _CITED}]},
        "ResolveRequest": _one_of(keep=_KEPT, content=_WORDED),
        "CheckpointRequest": {"anyOf": [{"required": [name], "properties": {name: given}} for name, given in _SAID]},
        "BulkForgetRequest": {"anyOf": [{"required": [name], "properties": {name: its}} for name, its in _FILTERS]},
        "AnchorRequest": _one_of(reason=_ANCHORED, release=_RELEASED),
        "UpdateRequest": {"minProperties": 1},
        "SetPeerTokenRequest": {"required": ["token"]},
        "AddPeerRequest": {"required": ["url", "token", "spaces"]},
    }
)
# Requests about one memory or a page of many: its key, and the fields of a page. Each form of the path has its own.
OF_PAGES: Final = MappingProxyType({"ValidateRequest": ("id", ("spaces", "space", "cursor"))})


def precise(schema: Schema, message: str) -> Schema:
    """`schema` of the request `message`, with these rules. A field may be null, which leaves it out."""
    if "properties" not in schema:
        return schema
    if message in EACH_BY_ITSELF:
        return {**_loose(schema), "type": "object", "required": schema["required"]}
    fields = {name: field_precise(value, message, name) for name, value in schema["properties"].items()}
    whole = {**schema, **BY_MESSAGE.get(message, {})}
    required = whole.get("required", ())
    return {
        **whole,
        "properties": {
            n: v if n in required else _or_null(v, kept=message == "UpdateRequest") for n, v in fields.items()
        },
    }


def field_precise(schema: Schema, message: str, name: str) -> Schema:
    """`schema` of one field of the request `message`."""
    rules = BY_FIELD.get(f"{message}.{name}") or BY_NAME.get(name, {})
    if "properties" in schema:
        return precise(schema, name)
    if "anyOf" in schema and "type" not in schema:  # one text, or a list of them
        many = BY_NAME.get(f"{name}s", {})
        one_or_many = ((each, many if "items" in each else rules) for each in schema["anyOf"])
        return {**schema, "anyOf": [{**each, **_merged(each, its, name)} for each, its in one_or_many]}
    return {**schema, **_merged(schema, rules, name)}


def _merged(schema: Schema, rules: Schema, name: str) -> Schema:
    if "items" not in schema:
        return rules
    within = ITEMS.get(name, "")
    items = schema["items"]
    if "anyOf" in items:
        items = {**items, "anyOf": [precise(each, within) for each in items["anyOf"]]}
    return {**rules, "items": {**precise(items, within), **rules.get("items", {})}}


def _loose(schema: Schema) -> Schema:
    """Types alone: what else is wrong with an item is answered for that item."""
    if schema.get("type") == "array":
        kind = "array" if "minItems" in schema else ["array", "null"]
        items = {**_loose(schema["items"]), "type": schema["items"].get("type", "object")}
        return {**schema, "type": kind, "items": items}
    if "properties" in schema:
        fields = {name: _loose(value) for name, value in schema["properties"].items()}
        return {"type": ["object", "null"], "properties": fields, "additionalProperties": False}
    return _or_null({name: schema[name] for name in ("type", "additionalProperties", "anyOf") if name in schema})


def with_key(body: Schema, key: str) -> Schema:
    """`body` of a request with the field `key` in the path. Of several alternatives, the one with that field."""
    body["properties"].pop(key, None)
    naming = [each for each in body.get("oneOf", ()) if key in each["required"]]
    if not naming:
        return body
    (chosen,) = naming
    kept = {name: value for name, value in body.items() if name != "oneOf"}
    fields = {name: chosen["properties"].get(name, value) for name, value in body["properties"].items()}
    return {**kept, "properties": fields, "required": [name for name in chosen["required"] if name != key]}


def _or_null(schema: Schema, *, kept: bool = False) -> Schema:
    """`schema` of a field that may be null or, unless that would be `kept` as a value, an empty text."""
    kind = schema.get("type")
    if kind is None and "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if not isinstance(kind, str):
        return schema
    wider = {**schema, "type": [kind, "null"]}
    if "enum" in schema:
        wider["enum"] = list(dict.fromkeys([*schema["enum"], *([""] if kind == "string" and not kept else []), None]))
    if "const" in schema:
        wider["enum"] = [wider.pop("const"), None]
    if "anyOf" in schema:
        wider["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    return wider
