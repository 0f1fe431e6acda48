"""The meaning of a document's revisions: heads, the memory as it is read, its history. Pure functions of the state.

Visible are the put revisions that no other revision names as parent. Two of them are a conflict, and both are shown.
Forgetting is one more revision, so a concurrent edit stays visible. Order is (n, actor), never time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields, replace
from typing import Final, TypeVar

from mnemesh_crdt.document.shape import FORGET, PUT, DocumentState, Edit, link_key, rank
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, NotFound
from mnemesh_memory.values.model import Link, Memory, Revision, RevisionFields
from mnemesh_memory.values.past import in_conflict

Item = TypeVar("Item")
SUPERSEDED_BY: Final = "superseded-by"
# What a draft, a revision and a memory state by the same names.
STATED: Final = ("kind", "title", "content", "importance", "tier", "source", "valid_from", "keywords", "attrs")
_FIELD_NAMES: Final = tuple(field.name for field in fields(RevisionFields))


def heads(state: DocumentState) -> tuple[str, ...]:
    """Ids of the revisions that no other names as parent, the winner first; empty when there are no
    revisions.

    Put revisions come before forget revisions, each by (n, actor), the largest first.
    """
    return tuple(revision.id for revision in _heads(state.revisions.values()))


def materialise(state: DocumentState) -> Memory | None:
    """The memory as it is read, or None when there is nothing (yet). A forgotten memory carries the content of its
    last visible revision: what `restore` would bring back. The end of a superseded memory is the earliest end of its
    visible revisions, whichever revision wins. Several writers may have superseded it at once, and an edit may not have
    known."""
    known = list(state.revisions.values())
    puts = [revision for revision in known if revision.op == PUT]
    if not puts:
        return None
    current = _heads(known)
    winner = current[0]
    shown = winner if winner.op == PUT else max(puts, key=_rank)
    first = min(known, key=_rank)
    successor = _successor(state, state.links)
    memory = Memory(
        **{name: getattr(shown, name) for name in STATED},
        id=state.id,
        space=state.space,
        state="forgotten" if winner.op == FORGET else "superseded" if successor else "active",
        by=first.by,
        created_at=first.at,
        updated_at=winner.at,
        heads=tuple(head.id for head in current),
        version=len(known),
        tags=tuple(state.tags),
        paths=shown.refs,
        valid_to=_closed(state, shown).valid_to,
        links=tuple(state.links),
        conflicts=tuple(head for head in current[1:] if head.op == PUT),
        superseded_by=successor,
        useful=sum(state.votes.values()),
        not_useful=len(state.votes) - sum(state.votes.values()),
        forced=any(_forces(put, shown.content, first) for put in puts),
    )
    if memory.conflicts and not in_conflict(memory):
        memory = replace(memory, conflicts=())
    return _bounded(memory, state) if memory.conflicts or state.put_by or state.unread else memory


def _forces(put: Revision, content: str, first: Revision) -> bool:
    """Whether a revision passed the write guard with this text. The mark counts in the memory of its own writer
    alone."""
    return put.forced and put.content == content and principal_of(put.by) == principal_of(first.by)


def _bounded(memory: Memory, state: DocumentState) -> Memory:
    """`memory` as it is shown: no more tags, links and other versions than a reader can use, and a note of what is left
    out. Of links the one that leads to the successor is always there."""
    notes = []
    if state.put_by:
        tags = _ends(memory.tags, state.put_by["tags"], limits.TAGS_SHOWN_MAX, str)
        links = _ends(memory.links, state.put_by["links"], limits.LINKS_SHOWN_MAX, link_key)
        successor = Link(SUPERSEDED_BY, memory.superseded_by)
        if memory.superseded_by and successor not in links:
            links = (*links[1:], successor)
        for name, shown, all_ in (("tags", tags, memory.tags), ("links", links, memory.links)):
            if len(shown) < len(all_):
                notes.append(f"{len(shown)} of {len(all_)} {name} shown: those that were put first and last")
        memory = replace(memory, tags=tags, links=links)
    if len(versions := _fitting(memory.conflicts)) < len(memory.conflicts):
        notes.append(f"{1 + len(versions)} of {1 + len(memory.conflicts)} versions shown; `history` lists the others")
        memory = replace(memory, conflicts=versions)
    if state.unread:
        notes.append(
            f"{state.unread} of its changes are kept but not read: it has over {limits.DOCUMENT_BYTES_MAX} bytes "
            f"or {limits.DOCUMENT_CHANGES_MAX} changes. Write a new memory with `supersede`"
        )
    return replace(memory, notes=tuple(notes)) if notes else memory


def _ends(
    items: tuple[Item, ...], put_by: Mapping[str, tuple[int, str]], most: int, key: Callable[[Item], str]
) -> tuple[Item, ...]:
    """At most `most` of `items`, in their order: the first and the last by the time of the put."""
    if len(items) <= most:
        return items
    ordered = sorted(items, key=lambda item: put_by[key(item)])
    kept = {*ordered[: most // 2], *ordered[-(most - most // 2) :]}
    return tuple(item for item in items if item in kept)


def _fitting(versions: tuple[Revision, ...]) -> tuple[Revision, ...]:
    """The first of the other versions, as many as are not too long together, and one at least."""
    room, shown = limits.VERSIONS_SHOWN_BYTES_MAX, 0
    for version in versions:
        room -= bytes_of(version)
        if room < 0 and shown:
            break
        shown += 1
    return versions[:shown]


def bytes_of(revision: Revision) -> int:
    """About how many bytes a revision takes where it is shown."""
    texts = (revision.title, revision.content, *revision.attrs, *revision.attrs.values())
    lists = (*revision.keywords, *revision.refs, *revision.parents)
    return sum(len(text.encode()) for text in (*texts, *lists))


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
    names = tuple(head.id for head in current)
    return Edit(
        revision=RevisionFields(op=FORGET, kind=current[0].kind, title="", content="", by=by, at=at, parents=names),
        at=at,
    )


def restore(state: DocumentState, by: str, at: int) -> Edit | None:
    """The edit that brings a forgotten memory back: its last visible revision again, naming the forget heads.
    None when it is not forgotten."""
    puts = [revision for revision in state.revisions.values() if revision.op == PUT]
    current = _heads(state.revisions.values())
    if not puts or current[0].op == PUT:
        return None
    names = tuple(head.id for head in current)
    said = _closed(state, max(puts, key=_rank))
    return Edit(revision=replace(fields_of(said), by=by, at=at, parents=names), at=at)


def supersede(state: DocumentState, successor: str, by: str, at: int) -> Edit | None:
    """The edit that closes the memory in favour of `successor` (a memory id). None when nothing is visible.

    The winner is written again, naming all heads, with `valid_to` = `at` unless it ended earlier, and a link
    `superseded-by` is put.
    """
    current = _heads(state.revisions.values())
    if not current or current[0].op == FORGET:
        return None
    winner = _closed(state, current[0])
    closed = replace(
        fields_of(winner),
        by=by,
        at=at,
        parents=tuple(head.id for head in current),
        valid_to=at if winner.valid_to is None else min(winner.valid_to, at),
    )
    return Edit(revision=closed, links_put=(Link(SUPERSEDED_BY, successor),), at=at)


def reopen(state: DocumentState, dead: Collection[Link], by: str, at: int) -> Edit:
    """The edit that takes the links `dead` away from a superseded memory. When no other successor is left, a new
    revision names all heads and says again the shown text, with the end from before the closing."""
    dead = tuple(dead)[: limits.CHANGE_REMOVALS_MAX]
    if any(link.type == SUPERSEDED_BY and link not in dead for link in state.links):
        return Edit(links_remove=dead, at=at)
    known = sorted((revision for revision in state.revisions.values() if revision.op == PUT), key=_rank)
    closed = {put.valid_to for put in known if put.valid_to == put.at}  # as `supersede` writes it
    end = next((put.valid_to for put in reversed(known) if put.valid_to not in closed), None)
    said = shown(state)
    again = replace(said, valid_to=end if said.valid_to in closed else said.valid_to)
    return Edit(revision=_again(again, _heads(state.revisions.values()), by, at), links_remove=dead, at=at)


def named(state: DocumentState, field: str, key: str) -> Revision:
    """The revision named by `key`: an id, or a beginning that fits one id only. Raises NotFound or InvalidArgument for
    `field`, the latter when several fit."""
    start = key if "@" in key else f"{key}@"
    fitting = [revision for revision in history(state) if revision.id.startswith(start)]
    if not fitting:
        raise NotFound("revision", key, f"it is none of memory {state.id}; `history` lists them", field=field)
    if len(fitting) > 1:
        shown = ", ".join(revision.id for revision in fitting[:3]) + (", ..." if len(fitting) > 3 else "")
        rule = "a beginning that fits one revision only, with some of what follows the @, or the whole id"
        raise InvalidArgument(field, key, f"{rule}; this fits {shown}")
    return fitting[0]


def rollback(state: DocumentState, then: DocumentState, to: str, by: str, at: int) -> Edit | None:
    """The edit that says the text of revision `to` again, naming all heads. None when the memory says nothing else.
    `to` is a put revision. `then` is the document as the writer of `to` had it: its tags come back too. The links and
    the end of a superseded memory stay.
    """
    current = _heads(state.revisions.values())
    winner = current[0]
    again = _again(_closed(state, state.revisions[to]), current, by, at)
    put = tuple(tag for tag in then.tags if tag not in state.tags)[: limits.CHANGE_TAGS_MAX]
    removed = tuple(tag for tag in state.tags if tag not in then.tags)[: limits.CHANGE_REMOVALS_MAX]
    if len(current) == 1 and not (put or removed) and again == _again(winner, current, by, at):
        return None
    return Edit(revision=again, tags_put=put, tags_remove=removed, at=at)


def settle(state: DocumentState, keep: str, by: str, at: int, content: str | None = None) -> Edit:
    """The edit that ends a conflict: head `keep` again, or with other `content`, naming all heads. The links and the
    end of a superseded memory stay, as in `rollback`."""
    kept = _closed(state, state.revisions[keep])
    said = kept if content is None else replace(kept, content=content)
    return Edit(revision=_again(said, _heads(state.revisions.values()), by, at), at=at)


def shown(state: DocumentState) -> Revision:
    """The revision with the text of the memory: the winning head, for a forgotten memory the last visible revision."""
    seen = visible(state)
    return seen[0] if seen else max((put for put in state.revisions.values() if put.op == PUT), key=_rank)


def visible(state: DocumentState) -> tuple[Revision, ...]:
    """The heads that say something, the shown one first; two or more are a conflict."""
    return tuple(head for head in _heads(state.revisions.values()) if head.op == PUT)


def _again(said: Revision, current: Iterable[Revision], by: str, at: int) -> RevisionFields:
    return replace(fields_of(said), by=by, at=at, parents=tuple(head.id for head in current))


def _closed(state: DocumentState, said: Revision) -> Revision:
    """`said`, in a superseded memory with the end of that memory. One of the visible heads, or of the forgotten heads,
    may not know the end."""
    if not _successor(state, state.links):
        return said
    seen = visible(state)
    if not seen:
        gone = {parent for head in _heads(state.revisions.values()) for parent in head.parents}
        seen = tuple(put for put in state.revisions.values() if put.op == PUT and put.id in gone) or (said,)
    return replace(said, valid_to=min((put.valid_to for put in seen if put.valid_to is not None), default=None))


def _rank(revision: Revision) -> tuple[int, str]:
    return rank(revision.id)


def _heads(revisions: Iterable[Revision]) -> list[Revision]:
    known = list(revisions)
    named = {parent for revision in known for parent in revision.parents}
    free = (revision for revision in known if revision.id not in named)
    return sorted(free, key=lambda revision: (revision.op == PUT, _rank(revision)), reverse=True)


def _successor(state: DocumentState, links: tuple[Link, ...]) -> str:
    """The memory that replaced this one last, or ""; several are possible after a concurrent supersede."""
    successors = [link for link in links if link.type == SUPERSEDED_BY]
    return max(successors, key=lambda link: (state.linked_at[link], link.id)).id if successors else ""
