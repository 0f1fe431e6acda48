"""Markdown as memories: a section under a heading is a memory, titled by the path of headings above.

Headings are CommonMark's, so none is found in code, quotes or lists. A file from `mnemesh export` is one unchanged
memory. Values in, values out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from mnemesh.errors import shorten
from mnemesh.importing import frontmatter
from mnemesh.importing.export import MARKER, MARKER_VERSION
from mnemesh.importing.frontmatter import BadFrontMatter, Document
from mnemesh.importing.items import (
    DERIVED,
    LISTS,
    Entry,
    Parsed,
    Problem,
    clip_title,
    dropped_links,
    pieces,
    placed,
    session_of,
    without_node_links,
)

# Names by which front matter says when a text was written, the surest first.
WRITTEN: Final = ("created_at", "created", "date")
TEXTS: Final = ("kind", "title", "space", "valid_from", "valid_to", "tier")
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The text from one heading to the next, its heading included. `path` are the headings above it and its own."""

    line: int
    path: tuple[str, ...]
    text: str


def parse_markdown(text: str, path: str, place: str = "") -> Parsed:
    """The sections of a file, or the single memory of an exported file. Front matter that can't be read refuses the
    file. `place` as in `session_of`.
    """
    try:
        document = frontmatter.read(text)
        fields, dropped = without_node_links(dict(_known(document)))
    except BadFrontMatter as error:
        yield Problem(line=error.line, message=str(error))
        return
    yield from dropped_links(document.line_of("links"), dropped)
    if MARKER in document.fields:
        yield from _exported(document, fields)
        return
    used = {*fields, *DERIVED, *(WRITTEN if "created_at" in fields else ())}
    for name in document.fields:
        if name not in used:
            line = document.line_of(name)
            yield Problem(line=line, message=f"front matter field {name!r} is not used", refused=False)
    yield from _sectioned(document, fields, path, session_of(path, place))


def sections(body: str, first_line: int = 1) -> Iterator[Section]:
    """The sections of `body`, in order. A heading without own text before a deeper one is no section, but a part of the
    titles below.
    """
    from markdown_it import MarkdownIt  # only imports of Markdown pay for it

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse(body)
    lines = _LINE.findall(body)
    heads = [
        (token.map[0], token.map[1], int(token.tag[1]), tokens[position + 1].content)
        for position, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]
    starts = [start for start, _, _, _ in heads] + [len(lines)]
    if before := _trimmed(lines[: starts[0]]):
        yield Section(line=first_line + _blank(lines), path=(), text=before)
    above: list[tuple[int, str]] = []
    for number, (start, end, level, title) in enumerate(heads):
        above = [*(head for head in above if head[0] < level), (level, title)]
        following = heads[number + 1][2] if number + 1 < len(heads) else 0
        if _trimmed(lines[end : starts[number + 1]]) or following <= level:
            text = _trimmed(lines[start : starts[number + 1]])
            yield Section(line=first_line + start, path=tuple(name for _, name in above), text=text)


def _sectioned(document: Document, fields: Mapping[str, Any], path: str, session: str) -> Parsed:
    stem = path.rpartition("/")[2].rpartition(".")[0] or path
    whole = fields.get("title", "")
    position = 0
    for section in sections(document.body, document.body_line):
        names = section.path if not whole or section.path[:1] == (whole,) else (whole, *section.path)
        parts = pieces(section.text)
        if len(parts) > 1:
            said = f"section {shorten(names[-1] if names else stem)} of {len(section.text.encode())} bytes"
            yield Problem(line=section.line, message=f"{said} is stored in {len(parts)} parts", refused=False)
        for number, part in enumerate(parts, 1):
            position += 1
            mark = f" ({number}/{len(parts)})" if len(parts) > 1 else ""
            title = clip_title(names or (stem,), mark)
            item = {**fields, "title": title, "content": part}
            yield Entry(line=section.line, fields=placed(path, session, position, item))


def _exported(document: Document, fields: Mapping[str, Any]) -> Parsed:
    """One whole memory. Its content is the body without the line break added by the export."""
    if document.fields[MARKER] != MARKER_VERSION:
        yield Problem(line=document.line_of(MARKER), message="written by a newer Mnemesh; import it with that one")
    elif document.fields.get("state", "active") != "active":
        said = f"{document.fields['state']} memories are not imported"
        yield Problem(line=document.line_of("state"), message=said, refused=False)
    else:
        content = document.body[:-1] if document.body.endswith("\n") else document.body
        origin = str(document.fields.get("id", ""))
        yield Entry(line=document.body_line, fields={**fields, "content": content}, origin=origin)


def _known(document: Document) -> Iterator[tuple[str, Any]]:
    """The fields of the front matter that describe a memory, as remember takes them. Raises BadFrontMatter."""
    for name, value in document.fields.items():
        try:
            if name in TEXTS:
                yield name, _as_text(value)
            elif name in LISTS:
                yield name, _as_list(name, value)
            elif name == "importance":
                yield name, float(_as_text(value))
            elif name == "attrs":
                yield name, _as_mapping(value)
            elif name == "source":
                yield name, _as_source(_as_mapping(value))
        except ValueError:
            said = f"front matter field {name!r} can't be {shorten(value)}"
            raise BadFrontMatter(document.line_of(name), said) from None
    times = (_time(document.fields[name]) for name in WRITTEN if name in document.fields)
    if written := next(filter(None, times), ""):
        yield "created_at", written


def _time(value: object) -> str:
    """A date or time of front matter in RFC 3339, without a zone as UTC; "" for any other text."""
    try:
        time = datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        return ""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat().replace("+00:00", "Z")


def _as_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _as_list(name: str, value: object) -> list[str]:
    """A list of texts. One text is split at commas. Tags are also split at blanks and lose a #, as in Obsidian."""
    if isinstance(value, str) and name == "tags":
        value = [part.removeprefix("#") for part in re.split(r"[,\s]+", value)]
    elif isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError
    return [text for text in value if text]


def _as_mapping(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        raise ValueError
    return value


def _as_source(fields: Mapping[str, str]) -> dict[str, Any]:
    if not fields.keys() <= {"session", "dir", "seq"}:
        raise ValueError
    return {name: int(value) if name == "seq" else value for name, value in fields.items()}


def _trimmed(lines: list[str]) -> str:
    """The lines without blank ones at either end."""
    return "".join(lines[_blank(lines) :]).rstrip()


def _blank(lines: list[str]) -> int:
    """How many lines at the start are blank."""
    return next((number for number, line in enumerate(lines) if line.strip()), len(lines))
