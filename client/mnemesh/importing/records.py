"""Exports of other memories as memories: objects of JSON whose fields have other names. Values in, values out.

The reader knows fields, not programs: each field of ours has the names by which others call it. So it takes lists of
mem0, claude-memory and claude-memory-mcp, and objects that hold such a list. A field without a place here is reported
once a file. The graph of the MCP reference server, one JSON object a line, becomes one memory an entity. Relations
become lines of that text with wikilinks, so links resolve at reading.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from mnemesh.errors import shorten
from mnemesh.importing.items import ImportItem, Parsed, Problem, clip_title, pieces, placed, session_of
from mnemesh_proto.json_text import NotJson, read_json

# Our field, and the names of others for it, the surest first.
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "content": ("content", "memory", "text", "raw_content", "data"),
    "title": ("title",),
    "space": ("space", "project", "project_name"),
    "kind": ("kind", "memory_type", "type"),
    "tags": ("tags", "categories", "category"),
    "keywords": ("keywords", "keys", "expanded_keywords"),
    "importance": ("importance",),
    "created_at": ("created_at", "created", "timestamp", "date"),
    "valid_from": ("valid_from", "valid_at"),
    "valid_to": ("valid_to", "invalid_at"),
    "paths": ("paths", "file_path", "files"),
}
SESSION: Final = ("session_id", "source_session", "run_id")
DIRECTORY: Final = ("directory", "directory_context", "cwd", "project_dir")
LISTS: Final = ("memories", "results", "items", "data", "entries")
CHAT_FIELDS: Final = frozenset(("chat_messages", "mapping"))  # of a conversation of Claude or ChatGPT
# Fields that say nothing about the memory itself: its number elsewhere, vectors, hashes, scores.
DROPPED: Final = frozenset(
    {"id", "uuid", "memory_id", "server_id", "hash", "content_hash", "embedding", "vector", "score", "distance"}
    | {"similarity", "updated_at", "updated", "last_accessed", "last_accessed_at", "access_count", "rank", "deleted_at"}
)
# The kinds of a node and the words that it folds to these. Any other word of an export becomes a tag.
FOLDED_KINDS: Final = frozenset(
    (
        "fact", "decision", "error", "reference", "requirement", "project", "preference", "person", "procedure",
        "pattern", "episode", "prompt", "run", "summary", "note", "conversation", "insight", "semantic", "gotcha",
        "bug", "lesson", "infra", "docs", "todo", "user", "feedback", "behavior", "people", "contact", "skill",
        "procedural", "workflow", "howto", "episodic", "diary", "facts", "decisions", "preferences",
    )
)  # fmt: skip
PREFIX: Final = "from."  # of the attributes that keep what only another program knows
ATTR_BYTES_MAX: Final = 1_024
ATTRS_MAX: Final = 16
_BLANKS: Final = re.compile(r"[\s/]+")
_NOT_IN_SPACES: Final = re.compile(r"[^\w.@-]+")


@dataclass(slots=True)
class Unused:
    """The fields that found no place, counted, and noted at the end of a file."""

    names: Counter[str] = field(default_factory=Counter)

    def note(self) -> Iterator[Problem]:
        """The note on fields that were left out, if any."""
        if self.names:
            names = ", ".join(f"{shorten(name)} ({count})" for name, count in self.names.most_common(8))
            yield Problem(line=0, message=f"fields without a place here: {names}", refused=False)


def parse_json(text: str, path: str, place: str = "") -> Parsed:
    """The records of a JSON file. `place` as in `session_of`."""
    try:
        value = read_json(text.removeprefix("\ufeff"))
    except NotJson as error:
        yield Problem(line=0, message=f"is no JSON: {error}")
        return
    records = records_of(value)
    chats = value.get("conversations") if isinstance(value, dict) else records
    if isinstance(chats, list) and any(isinstance(chat, dict) and not CHAT_FIELDS.isdisjoint(chat) for chat in chats):
        command = f"mnemesh import-transcript {shlex.quote(path)}"
        yield Problem(line=0, message=f"holds conversations and no memories; {command} takes it")
        return
    if records is None:
        said = f"holds no list of memories: a list of objects, or an object with one of {', '.join(LISTS)}"
        yield Problem(line=0, message=said)
        return
    yield from parse_records(records, path, place)


def records_of(value: object) -> list[object] | None:
    """The list of records in a value of JSON; None where there is none."""
    if isinstance(value, dict):
        value = next((value[name] for name in LISTS if isinstance(value.get(name), list)), None)
    return value if isinstance(value, list) else None


def parse_records(records: Iterable[object], path: str, place: str = "") -> Parsed:
    """One or more items for each record, in order. A record without a text is a problem with its number."""
    session, unused, position = session_of(path, place), Unused(), 0
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            yield Problem(line=number, message=f"record {number} is no object but {shorten(record)}")
            continue
        if record.get("deleted_at") or record.get("status") in ("deprecated", "deleted"):
            yield Problem(line=number, message=f"record {number} was deleted there, not imported", refused=False)
            continue
        fields = fields_of(record, unused)
        content = fields.pop("content", "")
        if not content:
            yield Problem(line=number, message=f"record {number} has no text in {', '.join(NAMES['content'])}")
            continue
        parts = pieces(content)
        if len(parts) > 1:
            yield Problem(line=number, message=f"record {number} is stored in {len(parts)} parts", refused=False)
        for part in parts:
            position += 1
            own = fields.get("source")
            item = placed(path, session, position, {**fields, "content": part})
            yield ImportItem(line=number, fields={**item, "source": own} if own else item)
    yield from unused.note()


def fields_of(record: Mapping[str, Any], unused: Unused) -> dict[str, Any]:
    """The record in fields of `remember`. Metadata of mem0 count like fields of the record itself."""
    metadata = record.get("metadata")
    known: dict[str, Any] = {**(metadata if isinstance(metadata, dict) else {}), **record}
    known.pop("metadata", None)
    used: set[str] = set()

    def take(names: Sequence[str]) -> object:
        for name in names:
            if known.get(name) not in (None, "", [], {}):
                used.add(name)
                return known[name]
        return None

    fields: dict[str, Any] = {}
    for ours, names in NAMES.items():
        value = _FORMS[ours](take(names))
        if value not in (None, "", []):
            fields[ours] = value
    if (kind := fields.get("kind")) and kind not in FOLDED_KINDS:
        fields["tags"] = [*fields.get("tags", []), kind]
        del fields["kind"]
    session, directory = _line(take(SESSION)), _line(take(DIRECTORY))
    if session or directory:
        fields["source"] = {name: text for name, text in (("session", session), ("dir", directory)) if text}
    attrs: dict[str, str] = {}
    for name, value in known.items():
        if name in used or name in DROPPED or value in (None, "", [], {}):
            continue
        if (
            isinstance(value, str | int | float)
            and len(attrs) < ATTRS_MAX
            and len(str(value).encode()) <= ATTR_BYTES_MAX
        ):
            attrs[PREFIX + _NOT_IN_SPACES.sub("-", name)[:60]] = _line(value)
        else:
            unused.names[name] += 1
    return {**fields, "attrs": attrs} if attrs else fields


def space_name(name: object) -> str:
    """A project's name as a space: the last folder of a path, with hyphens for what a space's name can't hold."""
    last = str(name or "").strip().strip("/\\").replace("\\", "/").rpartition("/")[2]
    return _NOT_IN_SPACES.sub("-", last).strip("-.")[:80]


def importance(value: object, tops: Sequence[float] = (1.0, 5.0, 10.0)) -> float | None:
    """A number as its part of the first of `tops` that it does not exceed; None for anything else."""
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
    except ValueError:
        return None
    scale = next((top for top in tops if 0 <= number <= top), 0.0)
    return round(number / scale, 3) if scale else None


def moment(value: object) -> str | None:
    """A time of text or seconds since 1970 in RFC 3339, without a zone as UTC; None for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            time = datetime.fromtimestamp(value / 1_000 if value > 1e11 else value, UTC)
        else:
            time = datetime.fromisoformat(value.strip() if isinstance(value, str) else "")
    except (ValueError, OverflowError, OSError):
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat().replace("+00:00", "Z")


def words(value: object) -> list[str]:
    """A list of texts; one text is a JSON list or is split at commas. Duplicates go."""
    listed: object = value
    if isinstance(value, str):
        try:
            listed = read_json(value) if value.lstrip().startswith("[") else value.split(",")
        except NotJson:
            listed = value.split(",")
    texts = (_line(item)[:80] for item in listed) if isinstance(listed, list) else ()
    return list(dict.fromkeys(text for text in texts if text))


def _content(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _line(value: object) -> str:
    return " ".join(str(value).split()) if value is not None and not isinstance(value, dict | list) else ""


_FORMS: Final[Mapping[str, Any]] = {
    "content": _content,
    "title": lambda value: clip_title((_line(value),)) if value else None,
    "space": space_name,
    "kind": lambda value: _line(value).lower(),
    "tags": words,
    "keywords": words,
    "importance": importance,
    "created_at": moment,
    "valid_from": moment,
    "valid_to": moment,
    "paths": words,
}


def parse_graph(lines: Iterable[tuple[int, str]], path: str, place: str = "") -> Parsed:
    """The JSON lines of the MCP reference server, entities and relations, as one memory an entity."""
    entities: dict[str, tuple[int, dict[object, object]]] = {}
    relations: list[tuple[int, str, str]] = []
    for number, line in lines:
        try:
            value: dict[str, Any] | None = read_json(line) if line.strip() else None
        except NotJson as error:
            yield Problem(line=number, message=f"no JSON object: {error}")
            continue
        match value:
            case {"type": "entity", "name": str(name), **rest} if name.strip():
                entities[name] = (number, rest)
            case {"type": "relation", "from": str(source), "to": str(target), "relationType": str(kind)}:
                relations.append((number, source, f"- {kind} [[{target}]]"))
            case None:
                pass
            case _:
                yield Problem(line=number, message="neither an entity with a name nor a relation")
    said: dict[str, list[str]] = {}
    for number, source, told_line in relations:
        if source in entities:
            said.setdefault(source, []).append(told_line)
        else:
            yield Problem(line=number, message=f"relation of {shorten(source)}, which is no entity of the file")
    session = session_of(path, place)
    position = 0
    for name, (number, entity) in entities.items():
        observations = entity.get("observations")
        facts = [f"- {_line(text)}" for text in observations] if isinstance(observations, list) else []
        kind = _line(entity.get("entityType"))
        content = "\n".join([f"{name} ({kind})" if kind else name, *facts, *said.get(name, ())])
        for part in pieces(content):
            position += 1
            fields = {"content": part, "title": clip_title((name,)), "tags": [kind[:80]] if kind else []}
            yield ImportItem(line=number, fields=placed(path, session, position, fields))


def is_graph(line: bytes) -> bool:
    """Whether a file of JSON lines that begins with `line` is a graph of the reference server."""
    try:
        value = read_json(line)
    except (NotJson, UnicodeDecodeError):
        return False
    return isinstance(value, dict) and value.get("type") in ("entity", "relation")
