"""The effect of each change of a memory, as a watcher sees it: a comparison of the visible revisions before and after.

Pure function of a document's state and the order in which its changes came to a ledger. A change builds only on earlier
changes, so its effect then follows from the state now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from mnemesh_crdt.document.revisions import SUPERSEDED_BY
from mnemesh_crdt.document.shape import PUT, DocumentState, rank
from mnemesh_memory.values.model import Revision
from mnemesh_memory.watch import watch_values


@dataclass(frozen=True, slots=True)
class Happening:
    """`type` is a word of mnemesh_memory.watch.watch_values; `shown` the revision visible after it, or that was
    last visible when none was."""

    type: str
    shown: Revision | None


def happenings(state: DocumentState, actors: Iterable[str], asked: Collection[str]) -> dict[str, Happening]:
    """The effects of the changes by the `asked` actors. `actors` (hex) are the actors of all the document's changes, in
    the order of the ledger. A renamed change has its name there."""
    written = {rank(id_)[1]: revision for id_, revision in state.revisions.items()}
    by_actor: dict[str, Happening] = {}
    free: dict[str, Revision] = {}  # named by no other yet
    last: Revision | None = None
    for actor in actors:
        own = written.get(actor)
        before, first = _visible(free), not free
        if own is not None:
            for parent in own.parents:
                free.pop(parent, None)
            free[own.id] = own
        after = _visible(free)
        if after:
            last = max(after, key=lambda revision: rank(revision.id))
        if actor in asked:
            by_actor[actor] = Happening(_type(state, own, len(before), len(after), first), last)
    return by_actor


def _visible(free: dict[str, Revision]) -> list[Revision]:
    return [revision for revision in free.values() if revision.op == PUT]


def _type(state: DocumentState, own: Revision | None, before: int, after: int, first: bool) -> str:
    if own is None:
        return watch_values.UPDATED
    if first:
        return watch_values.ADDED
    if not after:
        return watch_values.FORGOTTEN
    if not before:
        return watch_values.RESTORED
    if any(link.type == SUPERSEDED_BY and at == own.at for link, at in state.linked_at.items()):
        return watch_values.SUPERSEDED
    if after > max(before, 1):
        return watch_values.CONFLICTED
    return watch_values.RESOLVED if before > after else watch_values.UPDATED
