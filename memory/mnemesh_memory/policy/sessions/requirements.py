"""Requirements: memories of kind requirement, and what became of each. Pure.

A requirement is open until it has the tag `done` or `dropped`. Tags of two writers merge, and one that is both is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition
from mnemesh_memory.values.model import ListQuery, Memory, Patch

KIND: Final = "requirement"
OPEN, DONE, DROPPED = STATUSES = ("open", "done", "dropped")
ENDED: Final = (DONE, DROPPED)
NOTE: Final = "requirement.note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A requirement, with the memory that holds it."""

    id: str
    content: str
    status: str
    note: str
    space: str
    by: str
    created_at: int
    updated_at: int


def status_of(tags: Iterable[str]) -> str:
    """The status that the tags of a requirement tell."""
    given = set(tags)
    return next((status for status in ENDED if status in given), OPEN)


def requirement_of(memory: Memory) -> Requirement:
    """The requirement that a memory is."""
    return Requirement(
        id=memory.id,
        content=memory.content,
        status=status_of(memory.tags),
        note=memory.attrs.get(NOTE, ""),
        space=memory.space,
        by=memory.by,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
    )


def settled(memory: Memory, status: str, note: str) -> Patch:
    """The change that gives a requirement a status, refused once the memory has changed. A memory in conflict takes
    the change without that check, because naming all heads would decide the conflict. Raises InvalidArgument,
    FailedPrecondition (another kind)."""
    field_checks.one_of("status", status, STATUSES)
    clean = field_checks.line("note", note, limits.ATTR_VALUE_BYTES_MAX)
    if memory.kind != KIND:
        raise FailedPrecondition(f"id: {memory.id} is of kind {memory.kind}, no requirement", field="id")
    tags = (*(tag for tag in memory.tags if tag not in ENDED), *([status] if status != OPEN else []))
    attrs = {name: value for name, value in memory.attrs.items() if name != NOTE} | ({NOTE: clean} if clean else {})
    return Patch(tags=tags, attrs=attrs, expected_heads=memory.heads if len(memory.heads) == 1 else ())


def query(spaces: Iterable[str], status: str, limit: int, cursor: str) -> ListQuery:
    """The listing of the requirements with a status, or of all. Raises InvalidArgument."""
    field_checks.one_of("status", status, (*STATUSES, "all"))
    return ListQuery(
        spaces=tuple(spaces),
        kinds=(KIND,),
        tags_any=(status,) if status in ENDED else (),
        tags_none={OPEN: ENDED, DROPPED: (DONE,)}.get(status, ()),
        limit=limit,
        cursor=cursor,
    )
