"""What a document's revisions mean: heads, the memory as it is read, its history. Pure functions of the
state.

Visible are the put revisions that no other revision names as parent. Two of them are a conflict, and both are
shown. Forgetting is one more revision, so an edit that did not know of it stays visible. Order is (n, actor),
never time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Final

from mnemesh_crdt.shape import FORGET, PUT, DocumentState, Edit, RevisionFields, rank
from mnemesh_memory.model import Link, Memory, Revision

SUPERSEDED_BY: Final = "superseded-by"
_FIELD_NAMES: Final = tuple(one.name for one in fields(RevisionFields))


def heads(state: DocumentState) -> tuple[str, ...]:
    """Ids of the revisions that no other names as parent, the winner first; empty when there are no
    revisions.

    Put revisions come before forget revisions, each by (n, actor), the largest first.
    """
    return tuple(revision.id for revision in _heads(state.revisions.values()))


def materialise(state: DocumentState, as_of: int | None = None) -> Memory | None:
    """The memory as it is read, or None when there is nothing (yet).

    With `as_of` (ms) only revisions written until then count, and tags and links whose last put was until
    then. A forgotten memory carries the content of its last visible revision: what `restore` would bring
    back.
    """
    known = [one for one in state.revisions.values() if as_of is None or one.at <= as_of]
    puts = [one for one in known if one.op == PUT]
    if not puts:
        return None
    current = _heads(known)
    winner = current[0]
    shown = winner if winner.op == PUT else max(puts, key=_rank)
    first = min(known, key=_rank)
    links = tuple(link for link in state.links if as_of is None or state.linked_at[link] <= as_of)
    successor = _successor(state, links)
    return Memory(
        id=state.id,
        space=state.space,
        kind=shown.kind,
        title=shown.title,
        content=shown.content,
        state="forgotten" if winner.op == FORGET else "superseded" if successor else "active",
        by=first.by,
        created_at=first.at,
        updated_at=winner.at,
        heads=tuple(one.id for one in current),
        version=len(known),
        tags=tuple(tag for tag in state.tags if as_of is None or state.tagged_at[tag] <= as_of),
        importance=shown.importance,
        tier=shown.tier,
        paths=shown.refs,
        source=shown.source,
        valid_from=shown.valid_from,
        valid_to=shown.valid_to,
        keywords=shown.keywords,
        attrs=shown.attrs,
        links=links,
        conflicts=tuple(one for one in current[1:] if one.op == PUT),
        superseded_by=successor,
    )


def history(state: DocumentState) -> tuple[Revision, ...]:
    """All revisions by (n, actor), oldest first: every revision comes after its parents."""
    return tuple(sorted(state.revisions.values(), key=_rank))


def fields_of(revision: Revision) -> RevisionFields:
    """The fields of `revision`, from which dataclasses.replace makes the next one."""
    return RevisionFields(**{name: getattr(revision, name) for name in _FIELD_NAMES})


def forget(state: DocumentState, by: str, at: int) -> Edit | None:
    """The edit that forgets the memory: a revision without content that names all heads. None when nothing is
    visible."""
    current = _heads(state.revisions.values())
    if not current or current[0].op == FORGET:
        return None
    names = tuple(one.id for one in current)
    return Edit(
        revision=RevisionFields(op=FORGET, kind=current[0].kind, title="", content="", by=by, at=at, parents=names),
        at=at,
    )


def restore(state: DocumentState, by: str, at: int) -> Edit | None:
    """The edit that brings a forgotten memory back: its last visible revision again, naming the forget heads.
    None when it is not forgotten."""
    puts = [one for one in state.revisions.values() if one.op == PUT]
    current = _heads(state.revisions.values())
    if not puts or current[0].op == PUT:
        return None
    names = tuple(one.id for one in current)
    return Edit(revision=replace(fields_of(max(puts, key=_rank)), by=by, at=at, parents=names), at=at)


def supersede(state: DocumentState, successor: str, by: str, at: int) -> Edit | None:
    """The edit that closes the memory in favour of `successor` (a memory id). None when nothing is visible.

    The winner is written again, naming all heads, with `valid_to` = `at` unless it ended earlier, and a link
    `superseded-by` is put.
    """
    current = _heads(state.revisions.values())
    if not current or current[0].op == FORGET:
        return None
    winner = current[0]
    closed = replace(
        fields_of(winner),
        by=by,
        at=at,
        parents=tuple(one.id for one in current),
        valid_to=at if winner.valid_to is None else min(winner.valid_to, at),
    )
    return Edit(revision=closed, links_put=(Link(SUPERSEDED_BY, successor),), at=at)


def _rank(revision: Revision) -> tuple[int, str]:
    return rank(revision.id)


def _heads(revisions: Iterable[Revision]) -> list[Revision]:
    known = list(revisions)
    named = {parent for one in known for parent in one.parents}
    free = (one for one in known if one.id not in named)
    return sorted(free, key=lambda one: (one.op == PUT, _rank(one)), reverse=True)


def _successor(state: DocumentState, links: tuple[Link, ...]) -> str:
    """The memory that replaced this one last, or ""; several are possible after a concurrent supersede."""
    found = [link for link in links if link.type == SUPERSEDED_BY]
    return max(found, key=lambda link: (state.linked_at[link], link.id)).id if found else ""
