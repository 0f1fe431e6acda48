"""Memories as files: one JSON object a line with every field, or one Markdown file each. Values in, values out.

A Markdown file is front matter with every field, then the exact text plus one line break. An import gives the same text
back. Names of files are readable, and safe on every file system and in Obsidian's links. They end with the id's last
digits, so two memories never share a name.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import PurePosixPath
from typing import Any, Final

from mnemesh.api.json_form import as_json
from mnemesh.api.values.memories import Memory
from mnemesh.importing import frontmatter

# The front matter field that says a file is one whole memory, and the version of the form.
MARKER: Final = "mnemesh"
MARKER_VERSION: Final = "1"
NAME_CHARS_MAX: Final = 60
NAME_BYTES_MAX: Final = 120
ID_CHARS: Final = 12
# Characters that Windows forbids in names or Obsidian in links.
FORBIDDEN: Final = '\\/:*?"<>|#^[]'


def jsonl_line(memory: Memory) -> str:
    """The memory as one line of JSON, with its line break."""
    return json.dumps(as_json(memory), ensure_ascii=False) + "\n"


def markdown_text(memory: Memory) -> str:
    """The memory as a Markdown file; its content follows the front matter unchanged."""
    fields: dict[str, Any] = {MARKER: MARKER_VERSION, **as_json(memory)}
    derived = ("notes", "shown", "anchor", "stale", "replaces", "older_than", "may_be_replaced_by", "suspicious")
    for name in ("content", "conflicts", "useful", "not_useful", "linked", "linked_more", *derived):
        del fields[name]
    fields["links"] = [f"{link.type}:{link.id}" for link in memory.links]
    kept = {name: value for name, value in fields.items() if value not in ("", [], {})}
    return frontmatter.write(kept) + memory.content + "\n"


def markdown_path(memory: Memory) -> PurePosixPath:
    """Where the file of the memory lies: a folder for each segment of its space, then a name from its title."""
    folders = [safe_name(segment) or "_" for segment in memory.space.split("/")]
    title = safe_name(memory.title or memory.content[:200]) or memory.kind
    return PurePosixPath(*folders, f"{title} {memory.id.replace('-', '')[-ID_CHARS:]}.md")


def safe_name(text: str) -> str:
    """`text` as a part of a file name: one line without forbidden characters, and no dots or blanks at the ends."""
    clean = "".join(" " if ch in FORBIDDEN or not ch.isprintable() else ch for ch in unicodedata.normalize("NFC", text))
    short = " ".join(clean.split())[:NAME_CHARS_MAX].encode()[:NAME_BYTES_MAX].decode("utf-8", "ignore")
    return short.strip(". ")
