"""The authors of a revision's parts: fields, lines of the content, tags and links. Pure functions of the state.

The author of a field or line is the first revision among the ancestors that said the same. Where two sides of a merge
said the same, the later revision counts. A forget revision has no text, so blame looks through it. Lines are told apart
in a text of at most BLAME_LINES_MAX lines. A longer text is blamed as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from mnemesh_crdt.document.shape import FORGET, DocumentState, link_key, rank
from mnemesh_memory.values.errors import shown_time
from mnemesh_memory.values.limits import BLAME_LINES_MAX
from mnemesh_memory.values.model import Revision, Source
from mnemesh_memory.values.past import BlamedField, BlamedLines, Origin, Origins

_UNKNOWN: Final = Origin(agent="", node="", at=0, latest=0)


@dataclass(frozen=True, slots=True)
class _Set:
    """The fields and lines of a revision, with the revision that set each: fields by name, lines by position."""

    fields: Mapping[str, str]
    lines: Sequence[str]
    field_by: Mapping[str, str]
    line_by: Sequence[str]


def blamed(
    state: DocumentState, revision: str, origins: Origins
) -> tuple[tuple[BlamedLines, ...], tuple[BlamedField, ...]]:
    """The content of `revision` (a put revision of the state), cut where the setter changes. Then its fields with the
    memory's present tags and links, by name. A field that was always empty is left out."""
    of = _setters(state, revision)
    return tuple(_lines_of(state, of, origins)), tuple(
        sorted(_fields_of(state, of, origins), key=lambda field: field.field)
    )


def _lines_of(state: DocumentState, of: _Set, origins: Origins) -> Iterator[BlamedLines]:
    first = 1
    for setter, run in groupby(zip(of.line_by, of.lines, strict=True), key=lambda pair: pair[0]):
        text = "\n".join(line for _, line in run)
        said, node = state.revisions[setter], _origin(setter, origins).node
        yield BlamedLines(first=first, text=text, revision=setter, by=said.by, at=said.at, node=node)
        first += text.count("\n") + 1


def _fields_of(state: DocumentState, of: _Set, origins: Origins) -> Iterator[BlamedField]:
    for name, value in of.fields.items():
        setter = state.revisions[of.field_by[name]]
        if value or setter.parents:
            node = _origin(setter.id, origins).node
            yield BlamedField(field=name, value=value, revision=setter.id, by=setter.by, at=setter.at, node=node)
    for tag, at in state.tagged_at.items():
        yield _put_at(state, f"tags.{tag}", tag, at, origins)
    for link, at in state.linked_at.items():
        yield _put_at(state, f"links.{link_key(link)}", link_key(link), at, origins)


def kept_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Lines that stayed, as runs (position in `old`, position in `new`, how many); positions rise on both sides.

    Anchors are the lines that are unique on both sides, in their longest common order, and the ends. From each anchor,
    equal neighbours are followed both ways. O(n log n) for any texts.
    """
    runs: list[tuple[int, int, int]] = []
    top = _common(old, new)
    if top:
        runs.append((0, 0, top))
    low_old, low_new = top, top
    end = _common(old[top:][::-1], new[top:][::-1])
    middle = old[top : len(old) - end], new[top : len(new) - end]
    for next_old, next_new in (*_anchors(*middle), (len(middle[0]), len(middle[1]))):
        high_old, high_new = next_old + top, next_new + top
        down = _common(old[low_old:high_old], new[low_new:high_new])
        low_old, low_new = low_old + down, low_new + down
        up = _common(old[low_old:high_old][::-1], new[low_new:high_new][::-1])
        # The last anchor is the end of the middle, where the common end begins.
        length = up + (1 if next_new < len(middle[1]) else end)
        runs += [(low_old - down, low_new - down, down), (high_old - up, high_new - up, length)]
        low_old, low_new = high_old + 1, high_new + 1
    return [run for run in runs if run[2]]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines at the beginning are equal. Slices are compared, which is quicker than lines."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        half = (low + high + 1) // 2
        low, high = (half, high) if old[low:half] == new[low:half] else (low, half - 1)
    return low


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
        said = state.revisions[name]
        if said.op != FORGET:
            done[name] = _set_by(said, [done[parent] for parent in _said_before(state, said)])
    return done[revision]


def _set_by(revision: Revision, before: Sequence[_Set]) -> _Set:
    fields, lines = _fields(revision), _lines(revision.content)
    field_by = dict.fromkeys(fields, revision.id)
    line_by = [revision.id] * len(lines)
    for parent in before:
        for name, value in fields.items():
            if parent.fields.get(name) == value:
                known = field_by[name]
                field_by[name] = parent.field_by[name] if known == revision.id else _later(known, parent.field_by[name])
        for start, position, length in kept_lines(parent.lines, lines):
            there, here = slice(start, start + length), slice(position, position + length)
            pairs = zip(line_by[here], parent.line_by[there], strict=True)
            line_by[here] = [theirs if known == revision.id else _later(known, theirs) for known, theirs in pairs]
    return _Set(fields, lines, field_by, line_by)


def _later(left: str, right: str) -> str:
    return max(left, right, key=rank)


def _ancestry(state: DocumentState, revision: str) -> set[str]:
    ancestry: set[str] = set()
    todo = [revision]
    while todo:
        name = todo.pop()
        if name not in ancestry:
            ancestry.add(name)
            todo += state.revisions[name].parents
    return ancestry


def _said_before(state: DocumentState, revision: Revision) -> Iterator[str]:
    """The nearest put ancestors: the parents, and in place of a forget revision its own parents."""
    seen: set[str] = set()
    todo = list(revision.parents)
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


def _fields(revision: Revision) -> dict[str, str]:
    """Every field but the content, as text; "" when it is not set."""
    times = {"valid_from": revision.valid_from, "valid_to": revision.valid_to}
    return {
        "kind": revision.kind,
        "title": revision.title,
        "tier": revision.tier,
        "importance": "" if revision.importance is None else f"{revision.importance:g}",
        "source": _source(revision.source),
        "keywords": ", ".join(revision.keywords),
        "paths": ", ".join(revision.refs),
        **{name: "" if at is None else shown_time(at) for name, at in times.items()},
        **{f"attrs.{key}": value for key, value in revision.attrs.items()},
    }


def _source(source: Source) -> str:
    number = "" if source.seq is None else f"#{source.seq}"
    return " ".join(part for part in (source.session, number, source.dir) if part)


def _origin(revision: str, origins: Origins) -> Origin:
    return origins.get(rank(revision)[1], _UNKNOWN)


def _put_at(state: DocumentState, field: str, value: str, at: int, origins: Origins) -> BlamedField:
    """The change with the time of a tag or link has put it. When several changes have that time, nobody is named. The
    shown time is bounded as a revision's: by the latest time of the change, or of any change when none fits."""
    actors = [actor for actor, origin in origins.items() if origin.at == at]
    actor = actors[0] if len(actors) == 1 else ""
    origin = origins.get(actor, _UNKNOWN)
    revision = next((name for name in state.revisions if actor and rank(name)[1] == actor), "")
    shown = min(at, max((origins[name].latest for name in actors or origins), default=at))
    return BlamedField(field=field, value=value, revision=revision, by=origin.agent, at=shown, node=origin.node)
