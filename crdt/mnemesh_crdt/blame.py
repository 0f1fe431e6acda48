"""Who set what of a revision: each field, each line of the content, each tag and link. Pure functions of the state.

A field or line was set by the revision that said it first among those that the asked one builds on; where two sides of
a merge said the same, by the later of the two. Forgetting says nothing, so blame looks through it. Lines are told apart
as long as a text has at most BLAME_LINES_MAX of them; a longer one is blamed as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from mnemesh_crdt.shape import FORGET, DocumentState, link_key, rank
from mnemesh_memory.errors import shown_time
from mnemesh_memory.limits import BLAME_LINES_MAX
from mnemesh_memory.model import Revision, Source
from mnemesh_memory.past import BlamedField, BlamedLines, Origin, Origins

_UNKNOWN: Final = Origin(agent="", node="", at=0)


@dataclass(frozen=True, slots=True)
class _Set:
    """What a revision says, and which revision set each of it: fields by name, lines by position."""

    fields: Mapping[str, str]
    lines: Sequence[str]
    field_by: Mapping[str, str]
    line_by: Sequence[str]


def blamed_lines(state: DocumentState, revision: str, origins: Origins) -> tuple[BlamedLines, ...]:
    """The content of `revision` (an id that the state holds, no forgetting), cut where the setter changes."""
    of = _setters(state, revision)
    found: list[BlamedLines] = []
    first = 1
    for setter, run in groupby(zip(of.line_by, of.lines, strict=True), key=lambda pair: pair[0]):
        texts = [text for _, text in run]
        said = state.revisions[setter]
        node = _origin(setter, origins).node
        text = "\n".join(texts)
        found.append(BlamedLines(first=first, text=text, revision=setter, by=said.by, at=said.at, node=node))
        first += text.count("\n") + 1
    return tuple(found)


def blamed_fields(state: DocumentState, revision: str, origins: Origins) -> tuple[BlamedField, ...]:
    """The fields of `revision`, and the tags and links of its memory as they are now, by name. A field that is empty
    and always was is left out."""
    of = _setters(state, revision)
    found: list[BlamedField] = []
    for name, value in of.fields.items():
        setter = state.revisions[of.field_by[name]]
        if value or setter.parents:
            node = _origin(setter.id, origins).node
            found.append(
                BlamedField(field=name, value=value, revision=setter.id, by=setter.by, at=setter.at, node=node)
            )
    found += (_put_at(state, f"tags.{tag}", tag, at, origins) for tag, at in state.tagged_at.items())
    links = ((link_key(link), at) for link, at in state.linked_at.items())
    found += (_put_at(state, f"links.{key}", key, at, origins) for key, at in links)
    return tuple(sorted(found, key=lambda one: one.field))


def kept_lines(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Position in `new` of each line that stayed -> its position in `old`; both rise together.

    Anchors are the lines that are unique on both sides, in their longest common order, and the ends; from each anchor
    equal neighbours are followed both ways. O(n log n), however the texts look.
    """
    kept: dict[int, int] = {}
    last_old, last_new = -1, -1
    for next_old, next_new in (*_anchors(old, new), (len(old), len(new))):
        top_old, top_new = last_old + 1, last_new + 1
        end_old, end_new = next_old, next_new
        while top_old < end_old and top_new < end_new and old[top_old] == new[top_new]:
            kept[top_new] = top_old
            top_old, top_new = top_old + 1, top_new + 1
        while top_old < end_old and top_new < end_new and old[end_old - 1] == new[end_new - 1]:
            end_old, end_new = end_old - 1, end_new - 1
            kept[end_new] = end_old
        if next_new < len(new):
            kept[next_new] = next_old
        last_old, last_new = next_old, next_new
    return kept


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """(old, new) positions of lines that are unique on both sides, in their longest common order (patience diff)."""
    in_old, in_new = Counter(old), Counter(new)
    place = {line: position for position, line in enumerate(old) if in_old[line] == 1}
    pairs = [(place[line], position) for position, line in enumerate(new) if in_new[line] == 1 and line in place]
    ends: list[int] = []  # the smallest old position that ends a rising run of each length
    tops: list[int] = []  # index in `pairs` of that end
    before: list[int] = []
    for index, (position, _) in enumerate(pairs):
        length = bisect_left(ends, position)
        before.append(tops[length - 1] if length else -1)
        ends[length : length + 1] = [position]
        tops[length : length + 1] = [index]
    run: list[tuple[int, int]] = []
    index = tops[-1] if tops else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def _setters(state: DocumentState, revision: str) -> _Set:
    """Worked out from the oldest ancestor on, each revision once."""
    done: dict[str, _Set] = {}
    for name in sorted(_ancestry(state, revision), key=rank):
        one = state.revisions[name]
        if one.op != FORGET:
            done[name] = _set_by(one, [done[parent] for parent in _said_before(state, one)])
    return done[revision]


def _set_by(one: Revision, before: Sequence[_Set]) -> _Set:
    fields, lines = _fields(one), _lines(one.content)
    field_by = dict.fromkeys(fields, one.id)
    line_by: list[str | None] = [None] * len(lines)
    for parent in before:
        for name, value in fields.items():
            if parent.fields.get(name) == value:
                known = field_by[name]
                field_by[name] = parent.field_by[name] if known == one.id else _later(known, parent.field_by[name])
        for position, old in kept_lines(parent.lines, lines).items():
            so_far, theirs = line_by[position], parent.line_by[old]
            line_by[position] = theirs if so_far is None else _later(so_far, theirs)
    return _Set(fields, lines, field_by, [one.id if setter is None else setter for setter in line_by])


def _later(left: str, right: str) -> str:
    return max(left, right, key=rank)


def _ancestry(state: DocumentState, revision: str) -> set[str]:
    found: set[str] = set()
    todo = [revision]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += state.revisions[name].parents
    return found


def _said_before(state: DocumentState, one: Revision) -> Iterator[str]:
    """The nearest ancestors that say something: parents, and for a forgetting one what it forgot."""
    seen: set[str] = set()
    todo = list(one.parents)
    while todo:
        name = todo.pop(0)
        if name not in seen:
            seen.add(name)
            if state.revisions[name].op == FORGET:
                todo += state.revisions[name].parents
            else:
                yield name


def _lines(content: str) -> list[str]:
    lines = content.split("\n")
    return lines if len(lines) <= BLAME_LINES_MAX else [content]


def _fields(one: Revision) -> dict[str, str]:
    """Every field but the content, as text; "" when it is not set."""
    times = {"valid_from": one.valid_from, "valid_to": one.valid_to}
    return {
        "kind": one.kind,
        "title": one.title,
        "tier": one.tier,
        "importance": "" if one.importance is None else f"{one.importance:g}",
        "source": _source(one.source),
        "keywords": ", ".join(one.keywords),
        "paths": ", ".join(one.refs),
        **{name: "" if at is None else shown_time(at) for name, at in times.items()},
        **{f"attrs.{key}": value for key, value in one.attrs.items()},
    }


def _source(source: Source) -> str:
    number = "" if source.seq is None else f"#{source.seq}"
    return " ".join(part for part in (source.session, number, source.dir) if part)


def _origin(revision: str, origins: Origins) -> Origin:
    return origins.get(rank(revision)[1], _UNKNOWN)


def _put_at(state: DocumentState, field: str, value: str, at: int, origins: Origins) -> BlamedField:
    """A tag or link was put by the change that bears its time; when several do, nobody is named."""
    actors = [actor for actor, origin in origins.items() if origin.at == at]
    actor = actors[0] if len(actors) == 1 else ""
    origin = origins.get(actor, _UNKNOWN)
    revision = next((name for name in state.revisions if actor and rank(name)[1] == actor), "")
    return BlamedField(field=field, value=value, revision=revision, by=origin.agent, at=at, node=origin.node)
