"""Pages of what changed, for watchers: bounded by entries, by bytes and by how much of the log one question may pass.

Reads and keeps nothing. Entries of other spaces are passed by their numbers, so a page may be empty and yet move on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from mnemesh_actors.ledger.store.rows import marks
from mnemesh_crdt.admission.budget import within
from mnemesh_crdt.changes.envelope import CHANGE
from mnemesh_crdt.document.document import MemoryDocument
from mnemesh_crdt.document.happenings import Happening, happenings
from mnemesh_memory.watch.watch_values import ERASED, FORGOTTEN, Change, ChangesPage

CHANGES_BYTES_MAX = 1024 * 1024
# One question passes so many numbers of the log. Reading their spaces takes a few milliseconds.
SPAN = 4096
# A change by memory, space and hash.
Done: TypeAlias = tuple[str, str, bytes]


def page(
    db: sqlite3.Connection, after: int, spaces: Sequence[str], limit: int, head: int, incarnation: str
) -> ChangesPage:
    """Changes in `spaces` after `after`, at most `limit`, and CHANGES_BYTES_MAX of content or one."""
    rows = _entries(db, after, spaces, limit)
    end = int(rows[-1][0]) if len(rows) == limit else max(after, min(head, after + SPAN))
    told = _happenings(db, rows)
    taken: list[Change] = []
    size = 0
    for row in rows:
        change = _change(row, told)
        size += len(change.content)
        if taken and size > CHANGES_BYTES_MAX:
            end = taken[-1].seq
            break
        taken.append(change)
    return ChangesPage(tuple(taken), end, head, incarnation)


def _entries(db: sqlite3.Connection, after: int, spaces: Sequence[str], limit: int) -> list[Any]:
    # By number and never by an index of spaces (the +), so that the work is bounded by SPAN and comes in order.
    return db.execute(
        "SELECT seq, doc, space, type, hash, agent, node, at FROM entry "
        f"WHERE seq > ? AND seq <= ? AND +space IN ({marks(spaces)}) ORDER BY seq LIMIT ?",
        (after, after + SPAN, *spaces, limit),
    ).fetchall()


def _happenings(db: sqlite3.Connection, rows: Sequence[Any]) -> dict[Done, Happening]:
    """The effects of the changes among `rows`. Each memory is loaded once."""
    asked: dict[tuple[str, str], set[bytes]] = {}
    for _, doc, space, type_, hash, *_ in rows:
        if type_ == CHANGE:
            asked.setdefault((doc, space), set()).add(hash)
    found: dict[Done, Happening] = {}
    for (doc, space), hashes in asked.items():
        log = db.execute(
            "SELECT hash, raw, actor FROM entry WHERE doc = ? AND space = ? AND type = ? ORDER BY seq",
            (doc, space, CHANGE),
        ).fetchall()
        state = MemoryDocument(doc, space, *within(doc, space, {hash.hex(): raw for hash, raw, _ in log})).state()
        named = {hash: state.name_of(hash.hex(), actor.hex()) for hash, _, actor in log}
        did = happenings(state, named.values(), {named[hash] for hash in hashes})
        found |= {(doc, space, hash): did[named[hash]] for hash in hashes}
    return found


def _change(row: Any, told: Mapping[Done, Happening]) -> Change:
    seq, doc, space, type_, hash, agent, node, at = row
    change = Change(seq=seq, type=ERASED, id=doc, space=space, agent=agent, node=node, at=at)
    if type_ != CHANGE:
        return change
    done = told[doc, space, hash]
    if (shown := done.shown) is None:
        return replace(change, type=done.type)
    content = "" if done.type == FORGOTTEN else shown.content
    return replace(change, type=done.type, revision=shown.id, kind=shown.kind, title=shown.title, content=content)
