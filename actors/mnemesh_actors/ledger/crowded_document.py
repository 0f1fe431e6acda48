"""Writes to a memory that has nearly more changes than are read, or more: each is read afterwards, or is refused.

A change builds on all heads of its document. Either all of these are read with the change, or the change is not read.
"""

from __future__ import annotations

from dataclasses import replace

from mnemesh_crdt.admission.budget import heaviest, may_be_too_much, weigh, within
from mnemesh_crdt.document.document import AutomergeChange, Edit, MemoryDocument
from mnemesh_crdt.document.revisions import materialise
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition


def is_crowded(document: MemoryDocument) -> bool:
    """Whether a change just written to `document` may be one that is not read."""
    return document.unread is not None or may_be_too_much(document.changes)


def written(
    document: MemoryDocument, log: dict[str, bytes], edit: Edit, actor: bytes, change: AutomergeChange
) -> tuple[MemoryDocument, AutomergeChange]:
    """The change of `edit`, and the document of `log` with that change, as everybody reads the two. `change` is the
    edit on everything that is read now. When that change would not be read, the edit is made on less. Raises
    FailedPrecondition when no such change would be read, or only in place of an earlier change of its writer."""
    if (read := _read_with(document, log, change)) is not None:
        return read, change
    smaller = MemoryDocument(document.id, document.space, *within(document.id, document.space, log, heaviest()))
    again = smaller.write(_on(smaller, edit), actor)
    if again is not None and (read := _read_with(document, log, again)) is not None:
        own = {weigh(again.hash, again.raw).writer} - {""}
        gone = set(document.changes[:-1]).difference(read.changes)
        if own.isdisjoint(weigh(hash, raw).writer for hash, raw in log.items() if raw in gone):
            return read, again
    raise _no_room(document.id)


def _read_with(document: MemoryDocument, log: dict[str, bytes], change: AutomergeChange) -> MemoryDocument | None:
    changes, unread = within(document.id, document.space, log | {change.hash: change.raw})
    return MemoryDocument(document.id, document.space, changes, unread) if change.raw in changes else None


def _on(document: MemoryDocument, edit: Edit) -> Edit:
    """`edit` on the versions of `document`, when the edit's own parents are missing there."""
    if edit.revision is None:
        return edit
    state = document.state()
    parents = tuple(parent for parent in edit.revision.parents if parent in state.revisions)
    if not parents:
        shown = materialise(state)
        if shown is None:
            raise _no_room(document.id)
        parents = shown.heads
    return replace(edit, revision=replace(edit.revision, parents=parents))


def _no_room(id: str) -> FailedPrecondition:
    most = f"{limits.DOCUMENT_BYTES_MAX} bytes or {limits.DOCUMENT_CHANGES_MAX} changes"
    return FailedPrecondition(
        f"{id} is full: of its changes at most {most} are read, and this one would not be. Nothing was stored; "
        "write a new memory, and erase this one with `purge` if you began it",
        field="id",
        value=id,
        limit=f"at most {most} that are read",
    )
