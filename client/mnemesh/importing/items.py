"""Files as memories: Markdown by heading, plain text by paragraphs, JSON lines as exported. Values in, values out.

No text is cut: a text too long for a memory is split between paragraphs, with a note. A line that can't be understood
is a Problem with its line, and the rest goes on. The same file with the same options gives the same items with the same
idempotency keys, so that importing it again stores nothing again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from mnemesh.api import values
from mnemesh.api.batch import CONTENT_BYTES_MAX
from mnemesh.api.calls.options import DraftFields
from mnemesh.errors import shorten
from mnemesh_proto.json_text import NotJson, read_json

TEXT_CHARS: Final = 1500
TITLE_BYTES_MAX: Final = 200
SESSION_BYTES_MAX: Final = 200
OF_A_CALL: Final = ("sensitive", "force", "idempotency_key", "wait")
# Fields of a remember request that say something of the memory, and fields of an exported one that a node derives.
GIVEN: Final = ("content", *(name for name in DraftFields.__annotations__ if name not in OF_A_CALL))
DERIVED: Final = frozenset(values.Memory.__slots__).difference(GIVEN)
NODE_LINK_TYPES: Final = ("supersedes", "superseded-by")
LISTS: Final = ("tags", "paths", "keywords", "links", "supersedes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportItem:
    """One memory to be: `fields` are arguments of remember, `line` is where it starts in the file, from 1. `origin` is
    the id at the time of the export.
    """

    line: int
    fields: Mapping[str, Any]
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something in the file that was not taken. `refused`: it should have become a memory and did not."""

    line: int
    message: str
    refused: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The fields that an import gives to all items: `space` replaces theirs, `home` and `kind` are for those that name
    no space or kind, `tags` come in addition. `trust` is the class of what no export of Mnemesh is."""

    space: str = ""
    home: str = ""
    kind: str = ""
    tags: tuple[str, ...] = ()
    trust: str = ""


Parsed = Iterator[ImportItem | Problem]
KEY_PREFIX: Final = "import-"


def finish(entry: ImportItem, path: str, defaults: Defaults) -> ImportItem:
    """`entry` of the file `path`, relative to what is imported, with the defaults and its idempotency key."""
    fields = {name: value for name, value in entry.fields.items() if value not in (None, "", [], {})}
    for name, value in (("space", defaults.home), ("kind", defaults.kind)):
        if value:
            fields.setdefault(name, value)
    if defaults.space:
        fields["space"] = defaults.space
    if defaults.tags:
        own = fields.get("tags", [])
        fields["tags"] = [*own, *(tag for tag in defaults.tags if tag not in own)]
    key = key_of(path, fields)
    if defaults.trust and not entry.origin:
        fields["attrs"] = {**fields.get("attrs", {}), "trust": defaults.trust}
    return replace(entry, fields={**fields, "idempotency_key": key})


def without_future(part: ImportItem | Problem, now: datetime) -> Iterator[ImportItem | Problem]:
    """`part`, of an entry without a time of writing after `now`, and a remark where one was left out."""
    written = part.fields.get("created_at") if isinstance(part, ImportItem) else None
    if not isinstance(part, ImportItem) or not isinstance(written, str) or not _is_after(written, now):
        yield part
        return
    yield Problem(line=part.line, message=f"time of writing {written} is in the future, not used", refused=False)
    yield replace(part, fields={name: value for name, value in part.fields.items() if name != "created_at"})


def _is_after(written: str, now: datetime) -> bool:
    try:
        time = datetime.fromisoformat(written)
    except ValueError:
        return False  # the node says what is wrong with it
    return (time if time.tzinfo else time.replace(tzinfo=UTC)) > now


def key_of(path: str, fields: Mapping[str, Any]) -> str:
    """The idempotency key of an item: the same for the same item of the same file."""
    text = json.dumps([path, fields], sort_keys=True)
    return KEY_PREFIX + hashlib.sha256(text.encode()).hexdigest()[:40]


def session_of(path: str, place: str = "") -> str:
    """The session of all items of one file, in their order. `place`, where the file really lies, tells it from a file
    of the same name in another folder that was imported.
    """
    mark = "#" + hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:12] if place else ""
    name = f"import:{path}"
    if len(name.encode()) + len(mark) > SESSION_BYTES_MAX:
        name = f"import:{hashlib.sha256(path.encode()).hexdigest()[:40]}"
    return name + mark


def parse_text(text: str, path: str, place: str = "") -> Parsed:
    """Plain text: paragraphs, gathered up to about 1,500 characters. `place` as in `session_of`."""
    position = 0
    name = path.rpartition("/")[2]
    for line, group in _groups(text.removeprefix("\ufeff")):
        parts = pieces(group)
        if len(parts) > 1:
            yield Problem(line=line, message=_in_parts(group, parts), refused=False)
        for part in parts:
            position += 1
            title = name if position == 1 else f"{name}, part {position}"
            fields = {"content": part, "title": clip_title((title,))}
            yield ImportItem(line=line, fields=placed(path, session_of(path, place), position, fields))


def placed(path: str, session: str, position: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` of the item at `position`, from 1, of a file, with the place that it comes from."""
    return {"paths": [path], **fields, "source": {"session": session, "seq": position}}


def _groups(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs gathered while they stay below TEXT_CHARS together, each group with the line it starts on."""
    group, start = "", 0
    for paragraph in re.finditer(r"(?:[^\n]*[^\s][^\n]*(?:\n|\Z))+", text):
        if group and len(group) + len(paragraph.group()) > TEXT_CHARS:
            yield text.count("\n", 0, start) + 1, group.strip("\r\n")
            group = ""
        if not group:
            start = paragraph.start()
        group = text[start : paragraph.end()]
    if group:
        yield text.count("\n", 0, start) + 1, group.strip("\r\n")


def pieces(text: str, bytes_max: int = CONTENT_BYTES_MAX) -> list[str]:
    """`text` in parts of at most `bytes_max` bytes, split at paragraphs, else lines, else blanks, else anywhere. Only
    blank lines at the borders are lost."""
    parts: list[str] = []
    start = 0
    while start < len(text):
        window = text[start : start + bytes_max].encode()[:bytes_max].decode("utf-8", "ignore")
        end = len(window)
        if start + end < len(text):
            inner = window.lstrip()
            borders = (window.rfind(border) + len(border) for border in ("\n\n", "\n", " ") if border in inner)
            end = next(borders, end)
        parts.append(window[:end].strip("\r\n"))
        start += end
    return [part for part in parts if part.strip()]


def _in_parts(text: str, parts: Sequence[str]) -> str:
    return f"{len(text.encode())} bytes are stored in {len(parts)} parts"


def clip_title(parts: tuple[str, ...], mark: str = "") -> str:
    """`parts` as one title of at most 200 bytes: from the left, what does not fit becomes an ellipsis. `mark` stays."""
    room = TITLE_BYTES_MAX - len(mark.encode())
    names = [" ".join("".join(ch if ch.isprintable() else " " for ch in part).split()) for part in parts]
    for first in range(len(names)):
        title = " > ".join((["…"] if first else []) + names[first:])
        if len(title.encode()) <= room:
            return title + mark
    last = names[-1] if names else ""
    return last.encode()[: room - 3].decode("utf-8", "ignore") + "…" + mark


def parse_jsonl(lines: Iterable[tuple[int, str]]) -> Parsed:
    """JSON lines as `mnemesh export` writes them: numbered lines in, one item or problem each out; blank lines are
    skipped. A field that a memory doesn't have refuses its line."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            value = read_json(line.rstrip(), _unique)
        except NotJson as error:
            yield Problem(line=number, message=f"no JSON object: {error}")
        else:
            item = _item(number, value)
            if isinstance(item, ImportItem):
                fields, dropped = without_node_links(item.fields)
                item = replace(item, fields=fields)
                yield from dropped_links(number, dropped)
            yield item


def without_node_links(fields: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """`fields` without the links that only a node may write, and the number of these. An export shows them."""
    links = fields.get("links", [])
    kept = [link for link in links if _link_type(link) not in NODE_LINK_TYPES]
    if len(kept) == len(links):
        return fields, 0
    return {**fields, "links": kept}, len(links) - len(kept)


def _link_type(link: object) -> object:
    return link.get("type") if isinstance(link, dict) else str(link).partition(":")[0]


def dropped_links(line: int, count: int) -> Iterator[Problem]:
    """The note on links that were left out, if any."""
    if count:
        said = f"{count} {'links' if count > 1 else 'link'} of type {' or '.join(NODE_LINK_TYPES)} left out"
        yield Problem(line=line, message=f"{said}: memories that were replaced are not imported", refused=False)


def _item(number: int, value: object) -> ImportItem | Problem:
    if isinstance(value, dict) and list(value) == ["memory"]:
        value = value["memory"]  # as the node's HTTP export writes it
    if not isinstance(value, dict):
        return Problem(line=number, message=f"no JSON object but {shorten(value)}")
    unknown = [name for name in value if name not in GIVEN and name not in DERIVED]
    if unknown:
        names = ", ".join(map(shorten, unknown))
        return Problem(line=number, message=f"unknown field {names}; fields are {', '.join(GIVEN)}")
    if wrong := [name for name in LISTS if not isinstance(value.get(name, []), list)]:
        return Problem(line=number, message=f"field {wrong[0]!r} is no list")
    if value.get("state", "active") != "active":
        return Problem(line=number, message=f"{value['state']} memories are not imported", refused=False)
    fields = {name: value[name] for name in GIVEN if name in value}
    return ImportItem(line=number, fields=fields, origin=str(value.get("id", "")))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise NotJson("a field is given twice")
    return value
