"""Conflicts as lines for people: the versions of each memory, and the commands that end the conflict."""

from __future__ import annotations

from collections.abc import Iterator

from mnemesh.api import values
from mnemesh.cli.people import conflict_commands
from mnemesh.cli.people.history import INDENT, notes_of, revision_of
from mnemesh.cli.people.memories import DIM, YELLOW, paint
from mnemesh.cli.people.memory_notes import older_than, replaceable_by
from mnemesh.cli.shell import of_this_node, one_line
from mnemesh.short_id import shortened


def conflicts(page: values.Conflicts) -> Iterator[str]:
    """Each memory with all its versions."""
    pairs = [side.id for pair in page.contradictions for side in (pair.newer, pair.older)]
    yield from shortened(_shown(page), [*(conflict.id for conflict in page.conflicts), *pairs])
    if page.marks_total:
        yield paint(f"{page.marks_total} of {page.contradictions_total} pairs are mere marks, listed last", DIM)
    if page.cursor:
        shown, total = len(page.conflicts) + len(page.contradictions), page.total + page.contradictions_total
        yield paint(f"{shown} of {total}; next page: --cursor {page.cursor}", DIM)
    elif not (page.conflicts or page.contradictions):
        yield "no memories in conflict"


def _shown(page: values.Conflicts) -> Iterator[str]:
    for conflict in page.conflicts:
        state = "" if conflict.state in ("", "active") else f"  {one_line(conflict.state)}"
        yield f"{paint(conflict.id, YELLOW)}  {one_line(conflict.space)}  {len(conflict.versions)} versions{state}"
        for version in conflict.versions:
            yield from (INDENT + line for line in revision_of(version))
        yield from notes_of(conflict.notes)
        yield from conflict_commands.ends(conflict.id, [version.id for version in conflict.versions])
    for pair in page.contradictions:
        newer, older = pair.newer, pair.older
        likely = pair.relation == "may-replace"
        mark = replaceable_by([newer.id]) if likely else older_than([newer.id])
        yield f"{paint(newer.id, YELLOW)}  {one_line(newer.space)}  {'may replace' if likely else 'contradicts'}"
        yield from (INDENT + line for line in revision_of(newer.says))
        yield f"{paint(older.id, YELLOW)}  {one_line(older.space)}  {mark}"
        yield from (INDENT + line for line in revision_of(older.says))
        yield from (f"  {of_this_node(command)}" for command in pair.commands)
