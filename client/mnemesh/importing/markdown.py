"""Markdown as memories: a section under a heading is a memory, titled by the path of headings above.

Headings are CommonMark's, so none is found in code, quotes or lists. A file from `mnemesh export` is one unchanged
memory. Values in, values out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mnemesh.errors import shorten
from mnemesh.importing import frontmatter, items
from mnemesh.importing.export import MARKER, MARKER_VERSION
from mnemesh.importing.frontmatter import BadFrontMatter, FrontMatterDocument
from mnemesh.importing.records import importance, moment, space_name, words

# Names by which front matter says when a text was written, the surest first.
WRITTEN: Final = ("created_at", "created", "date")
TEXTS: Final = ("kind", "title", "space", "valid_from", "valid_to", "tier")
# Front matter of basic-memory and memem: fields with another name here, "" for those that only these programs need.
MEMEM: Final = "schema_version"
MEMEM_TOPS: Final = (5.0,)  # of importance
NOTE_MARKS: Final = frozenset(("permalink", MEMEM))
FOREIGN: Final = {
    "project": "space", "keys": "keywords", "valid_at": "valid_from", "invalid_at": "valid_to", "source_session": "",
    "permalink": "", MEMEM: "", "status": "", "type": "", "last_accessed_at": "", "access_count": "",
    "updated": "", "modified": "",
}  # fmt: skip
NOTE_TAGS_MAX: Final = 64
# As basic-memory writes it: - [category] text #tag (context). A task's [ ] and [x] are none.
_OBSERVATION: Final = re.compile(r"^[-*] \[(?P<category>[A-Za-z][\w -]{1,39})\] (?P<text>\S.*)$", re.M)
_TAG: Final = re.compile(r"(?<!\S)#[\w/-]+")
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The text from one heading to the next, its heading included. `path` are the headings above it and its own."""

    line: int
    path: tuple[str, ...]
    text: str


def parse_markdown(text: str, path: str, place: str = "") -> items.Parsed:
    """The sections of a file, or the single memory of an exported file. Front matter that can't be read refuses the
    file. `place` as in `session_of`.
    """
    try:
        document = frontmatter.read(text)
        fields, dropped = items.without_node_links(dict(_known(document)))
    except BadFrontMatter as error:
        yield items.Problem(line=error.line, message=str(error))
        return
    yield from items.dropped_links(document.line_of("links"), dropped)
    if MARKER in document.fields:
        yield from _exported(document, fields)
        return
    whole = is_note(document)
    if whole:
        if document.fields.get("status") in ("deprecated", "deleted"):
            yield items.Problem(
                line=document.line_of("status"), message="a deprecated note is not imported", refused=False
            )
            return
        fields = {**_foreign(document), **fields, "tags": _note_tags(document, fields.get("tags", ()))}
    used = {*fields, *items.DERIVED, *(WRITTEN if "created_at" in fields else ()), *(FOREIGN if whole else ())}
    for name in document.fields:
        if name not in used:
            line = document.line_of(name)
            yield items.Problem(line=line, message=f"front matter field {name!r} is not used", refused=False)
    parts = _noted(document, path) if whole else sections(document.body, document.body_line)
    yield from _sectioned(document, fields, path, items.session_of(path, place), parts)


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


def is_note(document: FrontMatterDocument) -> bool:
    """Whether the file is one note of basic-memory or memem, whose wikilinks name whole notes: it stays one memory."""
    return NOTE_MARKS & document.fields.keys() != set() or _OBSERVATION.search(document.body) is not None


def _noted(document: FrontMatterDocument, path: str) -> Iterator[Section]:
    """The note as a single section."""
    title = document.fields.get("title")
    stem = path.rpartition("/")[2].rpartition(".")[0] or path
    if text := document.body.strip():
        yield Section(line=document.body_line, path=(title if isinstance(title, str) and title else stem,), text=text)


def _foreign(document: FrontMatterDocument) -> dict[str, Any]:
    """The fields that other programs call by other names."""
    fields = {ours: document.fields[name] for name, ours in FOREIGN.items() if document.fields.get(name) and ours}
    fields = {name: value for name, value in fields.items() if isinstance(value, str | list)}
    for name in ("valid_from", "valid_to"):
        if name in fields:
            fields[name] = moment(fields[name]) or ""
    if "space" in fields:
        fields["space"] = space_name(fields["space"])
    if "keywords" in fields:
        fields["keywords"] = words(fields["keywords"])
    session = document.fields.get("source_session")
    return {**fields, "source": {"session": session}} if isinstance(session, str) and session else fields


def _note_tags(document: FrontMatterDocument, tags: Sequence[str]) -> list[str]:
    """The tags of the front matter, then those that observations of the text bear, and their categories."""
    own = list(tags)
    for match in _OBSERVATION.finditer(document.body):
        own += [match["category"].strip().lower(), *(tag[1:] for tag in _TAG.findall(match["text"]))]
    return [tag for tag in dict.fromkeys(own) if tag][:NOTE_TAGS_MAX]


def _sectioned(
    document: FrontMatterDocument, fields: Mapping[str, Any], path: str, session: str, parts_of: Iterable[Section]
) -> items.Parsed:
    stem = path.rpartition("/")[2].rpartition(".")[0] or path
    whole = fields.get("title", "")
    position = 0
    for section in parts_of:
        names = section.path if not whole or section.path[:1] == (whole,) else (whole, *section.path)
        parts = items.pieces(section.text)
        if len(parts) > 1:
            said = f"section {shorten(names[-1] if names else stem)} of {len(section.text.encode())} bytes"
            yield items.Problem(line=section.line, message=f"{said} is stored in {len(parts)} parts", refused=False)
        for number, part in enumerate(parts, 1):
            position += 1
            mark = f" ({number}/{len(parts)})" if len(parts) > 1 else ""
            title = items.clip_title(names or (stem,), mark)
            item = {**fields, "title": title, "content": part}
            yield items.ImportItem(line=section.line, fields=items.placed(path, session, position, item))


def _exported(document: FrontMatterDocument, fields: Mapping[str, Any]) -> items.Parsed:
    """One whole memory. Its content is the body without the line break added by the export."""
    if document.fields[MARKER] != MARKER_VERSION:
        yield items.Problem(
            line=document.line_of(MARKER), message="written by a newer Mnemesh; import it with that one"
        )
    elif document.fields.get("state", "active") != "active":
        said = f"{document.fields['state']} memories are not imported"
        yield items.Problem(line=document.line_of("state"), message=said, refused=False)
    else:
        content = document.body[:-1] if document.body.endswith("\n") else document.body
        origin = str(document.fields.get("id", ""))
        yield items.ImportItem(line=document.body_line, fields={**fields, "content": content}, origin=origin)


def _known(document: FrontMatterDocument) -> Iterator[tuple[str, Any]]:
    """The fields of the front matter that describe a memory, as remember takes them. Raises BadFrontMatter."""
    for name, value in document.fields.items():
        try:
            if name in TEXTS:
                yield name, _as_text(value)
            elif name in items.LISTS:
                yield name, _as_list(name, value)
            elif name == "importance":
                yield (
                    name,
                    importance(_as_text(value), MEMEM_TOPS) if MEMEM in document.fields else float(_as_text(value)),
                )
            elif name == "attrs":
                yield name, _as_mapping(value)
            elif name == "source":
                yield name, _as_source(_as_mapping(value))
        except ValueError:
            said = f"front matter field {name!r} can't be {shorten(value)}"
            raise BadFrontMatter(document.line_of(name), said) from None
    times = (moment(value) for name in WRITTEN if isinstance(value := document.fields.get(name), str))
    if written := next(filter(None, times), ""):
        yield "created_at", written


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
