"""Edits of mirrored notes: what a changed file asks of the memory that it mirrors. Values in, values out.

A mirrored file names its memory and the heads it was written from. An edit of a file whose memory has other heads by
now is no edit of what the node holds, so it is refused, and nobody's text is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mnemesh.api.json_form import as_json
from mnemesh.api.values.memories import Memory
from mnemesh.importing import frontmatter
from mnemesh.importing.export import MARKER
from mnemesh.importing.frontmatter import BadFrontMatter
from mnemesh.importing.items import ImportItem, Problem
from mnemesh.importing.markdown import parse_markdown

# The fields that an edit of the file changes, and those among them that can be emptied.
EDITED: Final = (
    "content", "kind", "title", "tags", "importance", "paths", "valid_from", "valid_to", "keywords", "attrs", "tier",
)  # fmt: skip
CLEARED: Final = frozenset(("importance", "valid_from", "valid_to", "title", "tags", "paths", "keywords", "attrs"))


class BadNote(ValueError):
    """A file of the vault that can't be taken, and why."""


@dataclass(frozen=True, slots=True)
class Mirrored:
    """An edited file: its memory, the heads it was written from, and its fields."""

    id: str
    heads: tuple[str, ...]
    fields: Mapping[str, Any]


def mirrored(text: str, path: str) -> Mirrored | None:
    """The mirrored memory of a file, None for a file that somebody wrote anew. Raises BadNote."""
    try:
        document = frontmatter.read(text)
    except BadFrontMatter as error:
        raise BadNote(f"line {error.line}: {error}") from None
    if MARKER not in document.fields:
        return None
    parts = list(parse_markdown(text, path))
    entries = [part for part in parts if isinstance(part, ImportItem)]
    if len(entries) != 1:
        said = "; ".join(f"line {part.line}: {part.message}" for part in parts if isinstance(part, Problem))
        raise BadNote(said or "holds no memory")
    heads = document.fields.get("heads")
    if not isinstance(heads, list) or not entries[0].origin:
        raise BadNote("its front matter has no id or no heads; it was not edited but broken")
    return Mirrored(entries[0].origin, tuple(map(str, heads)), entries[0].fields)


def changes(note: Mirrored, memory: Memory) -> dict[str, Any]:
    """The arguments of `update` that make the memory what the file says; {} when nothing differs. Raises BadNote when
    the memory was changed elsewhere meanwhile."""
    if set(note.heads) != set(memory.heads):
        raise BadNote("the memory was changed elsewhere meanwhile; its present text stands in its file")
    now = {name: value for name, value in as_json(memory).items() if value not in ("", [], {}, None)}
    changed: dict[str, Any] = {}
    clear: list[str] = []
    for name in EDITED:
        given = note.fields.get(name)
        if given in (None, "", [], {}):
            if name in now and name in CLEARED:
                clear.append(name)
        elif not _same(given, now.get(name)):
            changed[name] = given
    return {**changed, **({"clear": clear} if clear else {})}


def new_note(text: str, path: str) -> dict[str, Any]:
    """The arguments of `remember` for a file that somebody wrote: one memory, titled by its front matter, its first
    heading or its name. Raises BadNote."""
    entries = []
    for part in parse_markdown(text, path):
        if isinstance(part, Problem) and part.refused:
            raise BadNote(f"line {part.line}: {part.message}")
        if isinstance(part, ImportItem):
            entries.append(part.fields)
    if not entries:
        raise BadNote("is empty")
    fields = {name: value for name, value in entries[0].items() if name not in ("paths", "source")}
    fields["content"] = frontmatter.read(text).body.strip()
    if "space" not in fields and "/" in path:
        fields["space"] = path.rpartition("/")[0]
    return fields


def _same(given: object, now: object) -> bool:
    if isinstance(given, float) and isinstance(now, int | float):
        return abs(given - now) < 1e-9
    return json.dumps(given, sort_keys=True) == json.dumps(now, sort_keys=True)
