"""Conflicts as lines for people: the versions of each memory, and the commands that end the conflict."""

from __future__ import annotations

from collections.abc import Iterator

from mnemesh.api import values
from mnemesh.cli.people import conflict_commands
from mnemesh.cli.people.history import INDENT, notes_of, revision_of
from mnemesh.cli.people.memories import DIM, YELLOW, paint
from mnemesh.cli.shell import one_line


def conflicts(page: values.Conflicts) -> Iterator[str]:
    """Each memory with all its versions."""
    for conflict in page.conflicts:
        state = "" if conflict.state in ("", "active") else f"  {one_line(conflict.state)}"
        yield f"{paint(conflict.id, YELLOW)}  {one_line(conflict.space)}  {len(conflict.versions)} versions{state}"
        for version in conflict.versions:
            yield from (INDENT + line for line in revision_of(version))
        yield from notes_of(conflict.notes)
        yield from conflict_commands.ends(conflict.id, [version.id for version in conflict.versions])
    if page.cursor:
        yield paint(f"{len(page.conflicts)} of {page.total}; next page: --cursor {page.cursor}", DIM)
    elif not page.conflicts:
        yield "no memories in conflict"
